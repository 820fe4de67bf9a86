"""The rows of one file or of several, one after the other."""

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from toprank.data.sources.file_places import files_at
from toprank.data.tables import read as one_file
from toprank.data.tables.columns import TableError, TableWarning
from toprank.data.tables.file_reading import Reading
from toprank.data.tables.read import WrittenBatch
from toprank.data.tables.schema import Schema
from toprank.data.tables.store_file import StoreFile
from toprank.data.tables.values import is_number, is_text

_MOST_COUNTED = 20  # files that are opened to count their rows before they are read
_COLUMN_FOLDER = re.compile(r"[^/=]+=[^/]*")


@dataclass(frozen=True)
class FileRows:
    """Rows in files: `name` is how messages call all of them.

    Rows are numbered from 1 over all files. Parquet is read where it is; any other file of an
    object store is copied to disk first, since it is read more than once.
    """

    files: tuple[Path | StoreFile, ...]
    name: str

    @classmethod
    def at(cls, where: str | PathLike[str]) -> "FileRows":
        """Return the rows at a path, in a folder, of a pattern or of a URL.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     for day in (1, 2):
        ...         _ = Path(folder, f"day{day}.csv").write_text(f"day,amount\\n{day},9.5\\n")
        ...     FileRows.at(folder).table()["day"].to_pylist()
        [1, 2]
        """
        files, name = files_at(where)
        _warn_of_column_folders(files)
        return cls(tuple(files), name)

    @property
    def is_one(self) -> bool:
        """Whether there is but one file."""
        return len(self.files) == 1

    def table(
        self,
        columns: Sequence[str] | None = None,
        *,
        as_text: Sequence[str] = (),
        required: Sequence[str] = (),
        labels: Sequence[str] = (),
        reading: Reading | None = None,
    ) -> pa.Table:
        """Return all rows, as `tables.read_table` does of one file."""

        def read(texts: Sequence[str]) -> list[pa.Table]:
            found = []
            for file in self.files:
                with _readable(file) as here:
                    found.append(
                        one_file.read_table(
                            here, columns, as_text=texts, required=required, labels=labels,
                            reading=reading,
                        )
                    )  # fmt: skip
            return found

        parts = read(as_text)
        if self.is_one:
            return parts[0]
        if mixed := _text_in_some(parts):
            parts = read([*as_text, *mixed])
        return self._joined(parts)

    def batches(
        self,
        schema: Schema | None = None,
        rows: int = 100_000,
        on_bytes: Callable[[int], None] | None = None,
        reading: Reading | None = None,
    ) -> Iterator[pa.Table]:
        """Return an iterator over the rows, as `tables.read_batches` does of one file."""
        return self._each(one_file.read_batches, schema, rows, on_bytes, reading)

    def written(
        self,
        schema: Schema | None = None,
        rows: int = 100_000,
        on_bytes: Callable[[int], None] | None = None,
        reading: Reading | None = None,
    ) -> Iterator[WrittenBatch]:
        """Return an iterator over the rows, as `tables.read_written` does of one file."""
        return self._each(one_file.read_written, schema, rows, on_bytes, reading)

    def rows_as_written(
        self, row_numbers: Sequence[int], reading: Reading | None = None
    ) -> pa.Table:
        """Return the rows of these numbers, as `tables.rows_as_written` does of one file."""
        if self.is_one:
            with _readable(self.files[0]) as here:
                return one_file.rows_as_written(here, row_numbers, reading)
        wanted = np.asarray(row_numbers, dtype=np.int64)
        order = np.argsort(wanted, kind="stable")
        parts, n_before = [], 0
        for batch in self.written(reading=reading):
            n_rows = batch.written.num_rows
            here = wanted[order][(wanted[order] > n_before) & (wanted[order] <= n_before + n_rows)]
            if here.size:
                parts.append(batch.written.take(here - n_before - 1))
            n_before += n_rows
        if sum(part.num_rows for part in parts) < wanted.size:
            beyond = wanted[wanted > n_before][0]
            raise TableError(f"row {beyond} is not in {self.name}: it has {n_before:,} rows.")
        return pa.concat_tables(parts, promote_options="permissive").take(np.argsort(order))

    def column_names(self, reading: Reading | None = None) -> list[str]:
        """Return the names of the columns, those of all files."""
        names: dict[str, None] = {}
        for file in self.files:
            with _readable(file) as here:
                names |= dict.fromkeys(one_file.column_names(here, reading))
        return list(names)

    def count_rows(self) -> int | None:
        """Return how many rows there are where few files of Parquet say so; otherwise None."""
        if len(self.files) > _MOST_COUNTED or self.may_be_text:
            return None
        return sum(one_file.count_rows(each) or 0 for each in self.files)

    @property
    def may_be_text(self) -> bool:
        """Whether some file is not Parquet: it may have its rows as text."""
        return not all(one_file.is_parquet(each) for each in self.files)

    @property
    def n_bytes(self) -> int:
        """How large all files are together."""
        return sum(_size(each) for each in self.files)

    def _each(
        self,
        read: Callable[..., Iterator[Any]],
        schema: Schema | None,
        rows: int,
        on_bytes: Callable[[int], None] | None,
        reading: Reading | None,
    ) -> Iterator[Any]:
        n_done = 0
        for file in self.files:
            counted = None
            if on_bytes is not None:
                counted = _counted_from(n_done, on_bytes)
            with _readable(file) as here:
                yield from read(here, schema=schema, rows=rows, on_bytes=counted, reading=reading)
            n_done += _size(file)
            if on_bytes is not None:
                on_bytes(n_done)

    def _joined(self, parts: list[pa.Table]) -> pa.Table:
        """Return the tables of all files as one."""
        names = list(dict.fromkeys(name for part in parts for name in part.column_names))
        for name in names:
            self._warn_of_missing(name, [name in part.column_names for part in parts])
        known: dict[str, Any] = {"numbers": {}, "times": {}}
        for part in reversed(parts):  # the first file has the last word
            noted = Reading.of(part).to_json()
            for what, formats in known.items():
                formats |= noted[what]
        try:
            table = pa.concat_tables(parts, promote_options="permissive")
        except pa.ArrowException as error:
            raise self._mixed_types(parts) from error
        return Reading.from_json(known).found_in(table.replace_schema_metadata(None))

    def _warn_of_missing(self, name: str, is_there: list[bool]) -> None:
        if not all(is_there):
            first = self.files[is_there.index(False)].name
            warnings.warn(
                f"column {name!r} is not in {is_there.count(False):,} of the {len(is_there):,} "
                f"files of {self.name}, such as {first}; it is missing in their rows.",
                TableWarning,
                stacklevel=4,
            )

    def _mixed_types(self, parts: list[pa.Table]) -> TableError:
        """Return the error of the first column whose types do not go together."""
        first = parts[0]
        for part, file in zip(parts, self.files, strict=True):
            for name in part.column_names:
                try:
                    pa.unify_schemas(
                        [pa.schema([first.schema.field(name)]), pa.schema([part.field(name)])],
                        promote_options="permissive",
                    )
                except (pa.ArrowException, KeyError):
                    if name in first.column_names:
                        return TableError(
                            f"column {name!r} must hold one type of values in all files; "
                            f"{self.files[0].name} has {first.schema.field(name).type}, "
                            f"{file.name} has {part.field(name).type}; write one of them again."
                        )
        return TableError(f"the files of {self.name} must have columns of the same types.")


def _text_in_some(parts: list[pa.Table]) -> list[str]:
    """Return the columns that are text in some files and numbers in others: they are codes."""
    kinds: dict[str, set[str]] = {}
    for part in parts:
        for field in part.schema:
            if is_text(field.type):
                kinds.setdefault(field.name, set()).add("text")
            elif is_number(field.type):
                kinds.setdefault(field.name, set()).add("number")
    return [name for name, found in kinds.items() if len(found) > 1]


def _counted_from(n_done: int, on_bytes: Callable[[int], None]) -> Callable[[int], None]:
    return lambda done: on_bytes(n_done + done)


def _readable(file: Path | StoreFile) -> AbstractContextManager[Path | StoreFile]:
    """Give a file that can be read more than once."""
    if isinstance(file, StoreFile) and not one_file.is_parquet(file):
        return file.on_disk()
    return nullcontext(file)


def _size(file: Path | StoreFile) -> int:
    return file.n_bytes if isinstance(file, StoreFile) else file.stat().st_size


def _warn_of_column_folders(files: Sequence[Path | StoreFile]) -> None:
    """Warn of folders such as day=2026-11-01, whose columns are not read."""
    if len(files) < 2:
        return
    for file in files:
        folders = (file.as_posix() if isinstance(file, Path) else file.path).split("/")[:-1]
        if named := [each for each in folders if _COLUMN_FOLDER.fullmatch(each)]:
            warnings.warn(
                f"folders such as {named[0]!r} are not read as columns; a query of DuckDB can: "
                "--sql \"select * from read_parquet('FOLDER/**/*.parquet', "
                'hive_partitioning=true)" --database duckdb://',
                TableWarning,
                stacklevel=3,
            )
            return
