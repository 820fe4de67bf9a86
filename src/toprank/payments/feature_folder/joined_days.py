"""A day's rows and the features of all parts, as one Parquet file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from toprank.data.atomic import PRIVATE, atomic_path
from toprank.payments.feature_folder.folder_settings import FolderSettings
from toprank.payments.feature_folder.key_parts import KeyGroup, own_features
from toprank.payments.feature_folder.part_pasts import as_float32, read_part
from toprank.payments.roles import rows_of

_GROUP_ROWS = 131_072


def day_path(folder: Path, day: np.datetime64) -> Path:
    """Return the file of a day's rows and features.

    >>> day_path(Path("features"), np.datetime64("2018-04-01")).as_posix()
    'features/day=2018-04-01/part-0.parquet'
    """
    return folder / f"day={day}" / "part-0.parquet"


def join_day(
    rows_path: Path,
    part_paths: Sequence[tuple[KeyGroup, Path]],
    target: Path,
    settings: FolderSettings,
) -> None:
    """Write a day's rows with their features to `target`, in one step.

    `part_paths` are the features of each part of each group.
    """
    rows, names = pq.read_table(rows_path), settings.history().names
    place = {name: i for i, name in enumerate(names)}
    rows = rows.select([name for name in rows.column_names if not name.startswith("part of ")])
    out = np.full((len(names), rows.num_rows), np.nan, dtype=np.float32)
    for group, path in part_paths:
        read_part(path, out, [place[each.name] for each in group.features])
    _fill_own(rows, settings, place, out)
    for name, column in zip(names, out, strict=True):
        if name not in rows.column_names:
            rows = rows.append_column(name, pa.array(column, from_pandas=True))
    target.parent.mkdir(exist_ok=True)
    with atomic_path(target, mode=PRIVATE) as unfinished:
        pq.write_table(
            rows, unfinished, compression="zstd", compression_level=1, row_group_size=_GROUP_ROWS
        )


def _fill_own(
    rows: pa.Table, settings: FolderSettings, place: dict[str, int], out: NDArray[np.float32]
) -> None:
    """Fill the features of the row itself, such as whether it is night."""
    own = own_features(settings.history())
    if own:
        history = settings.history(own)
        unlabelled = rows.drop_columns([settings.label])
        features = history.batch(rows_of(history, unlabelled, (True, False)))
        for name in features.column_names:
            out[place[name]] = as_float32(features[name])
