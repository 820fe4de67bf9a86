"""Parquet files as Dask collections, so that every worker reads its own part."""

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from toprank.cluster.dask_client import import_dask
from toprank.data.tables import TableError, TableWarning, check_columns

_FILES_AT_ONCE = 16  # whose columns are read; they may be far away


def read_parquet(
    source: str | Path, label: str, *, weight: str | None = None, drop: Sequence[str] = ()
) -> tuple[Any, Any, Any]:
    """Return features, labels and weights of Parquet files as Dask collections, no row read yet.

    `source` is a file, a folder or a pattern ("payments/*.parquet") that every worker can read.
    Rows without a label are left out. Weights are None unless their column is named.

    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     table = pa.table({"amount": [9.5, 3.0], "is_fraud": [True, False]})
    ...     pq.write_table(table, Path(folder, "2025-01.parquet"))
    ...     features, labels, weight = read_parquet(folder, "is_fraud")
    >>> list(features.columns), labels.name
    (['amount'], 'is_fraud')
    """
    names = [str(name) for name in parquet_frame(source).columns]
    others = [label] if weight is None else [label, weight]
    check_columns([*others, *drop], names, str(source))
    frame = parquet_frame(source, [name for name in names if name not in drop])
    frame = frame.dropna(subset=[label])
    return frame.drop(columns=others), frame[label], None if weight is None else frame[weight]


def parquet_frame(source: str | Path, columns: list[str] | None = None) -> Any:
    """Return Parquet files as one Dask data frame, all columns or some, no row read yet."""
    frames = import_dask().dataframe
    _check_there(source)
    if columns is not None:
        check_same_columns(source, columns)
    try:
        # as on one machine, an index that pandas wrote is a column like the others; with pandas'
        # types in place of Arrow's, one missing value would turn whole numbers into floats
        return frames.read_parquet(
            str(source), columns=columns, index=False, dtype_backend="pyarrow"
        )
    except ValueError as error:
        raise _damaged(source) from error


def check_same_columns(source: str | Path, columns: Sequence[str]) -> None:
    """Raise unless all files have these columns, apart from those that folder names give.

    Other columns that only some files have are left out with a warning.
    """
    names_of = dict(_names_in_files(source))
    for column in {name: None for names in names_of.values() for name in names}:
        lacking = [path for path, names in names_of.items() if column not in names]
        if not lacking:
            continue
        other = next(path for path in names_of if path not in lacking)
        if column in columns:
            raise TableError(
                f"all files of {source} must have the same columns; {lacking[0]} has no "
                f"{column!r}, which {other} has; write them again with the same columns, or leave "
                "it out (--drop)."
            )
        warnings.warn(
            f"column {column!r} of {other} is left out: {lacking[0]} does not have it.",
            TableWarning,
            stacklevel=3,
        )


def _names_in_files(source: str | Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each Parquet file and the names of its columns, of which no row is read."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    from fsspec.core import get_fs_token_paths
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    filesystem, _, paths = get_fs_token_paths(str(source))
    places = PyFileSystem(FSSpecHandler(filesystem))
    try:
        found = [
            fragment
            for path in paths
            for fragment in ds.dataset(path, filesystem=places, format="parquet").get_fragments()
        ]
        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            names = pool.map(lambda fragment: fragment.physical_schema.names, found)
            yield from zip((fragment.path for fragment in found), names, strict=True)
    except pa.ArrowInvalid as error:
        raise _damaged(source) from error


def _damaged(source: str | Path) -> TableError:
    return TableError(
        f"{source} must be complete Parquet files, in a folder named *.parquet; some are "
        "damaged, or there is none; write them again, or name others."
    )


def _check_there(source: str | Path) -> None:
    from fsspec.core import get_fs_token_paths

    filesystem, _, paths = get_fs_token_paths(str(source))
    if not paths or not filesystem.exists(paths[0]):
        raise FileNotFoundError(
            f"there is no Parquet file at {source}; name a file, a folder or a pattern, for "
            "example payments/*.parquet."
        )
