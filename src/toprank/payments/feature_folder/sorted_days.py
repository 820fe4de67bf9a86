"""The rows of many files, split by day: each day sorted by time, each id once.

Rows come in any order. A buffer of bounded size collects them by day; when it is full, the rows of
each day become one more piece on disk:

    files -> buffer by day -> pieces/2018-04-01/000003.parquet -> days/2018-04-01.parquet
"""

import shutil
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from toprank.data import tables
from toprank.data.tables import TableError, TableWarning
from toprank.data.tables.ids import comparable_ids
from toprank.data.tables.labels import rows_by_value
from toprank.payments.far_times import FAR
from toprank.payments.feature_folder.folder_settings import FolderSettings
from toprank.payments.feature_folder.key_parts import DayRows, KeyGroup, part_numbers
from toprank.payments.feature_folder.source_files import SourceFile, rows_of_file
from toprank.rankers.progress import Progress, silent

_BUFFER_ROWS = 1_000_000
_FEW = 0.01  # of all rows: a day far after the others with fewer is taken for a wrong date


class SplitRows(NamedTuple):
    """What was read: the days with their rows, how often each label value came, odd days."""

    days: list[DayRows]
    labels: Counter[Any]
    set_aside: list[DayRows]


def split_by_day(
    files: Sequence[SourceFile],
    schema: pa.Schema,
    settings: FolderSettings,
    folder: Path,
    progress: Progress | None = None,
) -> SplitRows:
    """Write the rows of all files as pieces by day; return what they are."""
    report, n_rows = progress or silent, sum(file.n_rows for file in files)
    pieces, labels, n_read = _Pieces(folder), Counter[Any](), 0
    seen: dict[tuple[Any, ...], Path] = {}
    for file in files:
        before = Counter(pieces.n_rows)
        for table in rows_of_file(file, schema):
            try:
                time = tables.time_column(table, settings.roles.time)
                values = rows_by_value(table, settings.label)
            except TableError as error:
                raise TableError(f"{file.path}: {error}") from error
            labels.update({value: rows.size for value, rows in values.items()})
            pieces.add(table, time.astype("datetime64[D]"))
            n_read += table.num_rows
            report("reading rows by day", n_read, n_rows)
        if settings.roles.row_id is None:
            _check_new(file, pieces.n_rows - before, seen)
    pieces.flush()
    days = [DayRows(day, n) for day, n in sorted(pieces.n_rows.items())]
    kept = _without_far(days)
    for each in days[len(kept) :]:
        shutil.rmtree(folder / str(each.day))
    return SplitRows(kept, labels, days[len(kept) :])


def write_day(
    day: np.datetime64,
    pieces: Path,
    target: Path,
    settings: FolderSettings,
    groups: Sequence[KeyGroup],
) -> None:
    """Write the rows of a day in order of time, with the part of each key.

    Rows of equal time stay in the order of their files. Of rows with the same id, the first
    counts.
    """
    files = sorted((pieces / str(day)).iterdir())
    rows = pa.concat_tables([pq.read_table(file) for file in files])
    time = tables.time_column(rows, settings.roles.time)
    rows = rows.take(pa.array(np.argsort(time, kind="stable")))
    if settings.roles.row_id is not None:
        rows = _each_id_once(rows, settings.roles.row_id)
    for group in groups:
        parts = part_numbers(rows[group.column], group.column, group.n_parts)
        rows = rows.append_column(group.part_column, pa.array(parts))
    unfinished = target.with_suffix(".part")  # not synced: all of it can be read again
    pq.write_table(rows, unfinished, compression="zstd", compression_level=1)
    unfinished.replace(target)


class _Pieces:
    """Rows by day, in memory until there are many, then on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._held = folder, 0
        self._tables: dict[np.datetime64, list[pa.Table]] = {}
        self._n_written = 0
        self.n_rows: Counter[np.datetime64] = Counter()

    def add(self, table: pa.Table, day: Any) -> None:
        """Add rows of these days."""
        for each in np.unique(day):
            own = table if (day == each).all() else table.filter(pa.array(day == each))
            self._tables.setdefault(each, []).append(own)
            self.n_rows[each] += own.num_rows
        self._held += table.num_rows
        if self._held >= _BUFFER_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write all rows in memory."""
        for day, held in self._tables.items():
            place = self._folder / str(day)
            place.mkdir(parents=True, exist_ok=True)
            rows = pa.concat_tables(held)
            pq.write_table(rows, place / f"{self._n_written:06}.parquet", compression="lz4")
        self._tables, self._held = {}, 0
        self._n_written += 1


def _check_new(
    file: SourceFile, days: Counter[np.datetime64], seen: dict[tuple[Any, ...], Path]
) -> None:
    """Raise if a file has as many rows of each day as one before, to the row: it is a copy."""
    fingerprint = tuple(sorted(days.items()))
    if file.n_rows and fingerprint in seen and _equal(file.path, seen[fingerprint]):
        raise TableError(
            f"{file.path} has the same rows as {seen[fingerprint]}, and each would count twice; "
            "move one of them away, or name the column of ids with `row_id`."
        )
    seen.setdefault(fingerprint, file.path)


def _equal(first: Path, second: Path) -> bool:
    """Return whether the first rows of two files are equal."""
    heads = []
    for path in (first, second):
        with pq.ParquetFile(path) as opened:
            heads.append(next(opened.iter_batches(1_000)).to_pylist())
    return bool(heads[0] == heads[1])


def _without_far(days: list[DayRows]) -> list[DayRows]:
    """Return the days without a few rows far after all others, which are set aside."""
    most = _FEW * sum(each.n_rows for each in days)
    kept, n_after = len(days), 0
    for i in range(len(days) - 1, 0, -1):
        n_after += days[i].n_rows
        if n_after >= most:
            break
        if days[i].day - days[i - 1].day > FAR:
            kept = i
    if kept < len(days):
        n_rows = sum(each.n_rows for each in days[kept:])
        warnings.warn(
            f"{n_rows:,} rows are set aside: their times, such as {days[kept].day}, are far after "
            f"those of all other rows, which end on {days[kept - 1].day}; correct the times and "
            "try again.",
            TableWarning,
            stacklevel=4,
        )
    return days[:kept]


def _each_id_once(rows: pa.Table, name: str) -> pa.Table:
    """Return the rows without those whose id came before on the same day; a missing id counts."""
    ids = comparable_ids(rows[name], name)
    codes = ids.dictionary_encode().indices
    code = codes.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    is_first = np.zeros(code.size, dtype=bool)
    is_first[np.unique(code, return_index=True)[1]] = True
    is_kept = is_first | (code < 0)
    return rows if is_kept.all() else rows.filter(pa.array(is_kept))
