"""The features of one part of the keys, day by day, with a snapshot to resume from."""

import time as clock
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from toprank import files
from toprank.data.tables.spans import DAY
from toprank.payments.feature_folder.folder_settings import FolderSettings
from toprank.payments.feature_folder.key_parts import FORGET, KeyGroup
from toprank.payments.features import History, history_file
from toprank.payments.roles import rows_of

ROW = "row of the day"
_FORGET_EVERY = 30  # days: to forget keys means to write all others anew


class PartOfKeys:
    """One part of the keys of a group, and its files.

    `folder` has the features by day, and `snapshot` the history as it was after a day.
    """

    def __init__(self, settings: FolderSettings, group: KeyGroup, part: int, work: Path) -> None:
        self._settings, self._group, self._part = settings, group, part
        self.folder = work / f"{group.column}-{part}"
        self.snapshot = work / f"{group.column}-{part}.history"

    def run(
        self,
        days: Sequence[np.datetime64],
        file_of: Callable[[np.datetime64], Path],
        classes: tuple[Any, Any],
        on_day: Callable[[], None],
        snapshot_seconds: float,
    ) -> None:
        """Write the features of this part's rows for all days that come after the snapshot.

        A snapshot is written when the last one is this old, and in the end.
        """
        if self._is_done(days):
            for _ in days:
                on_day()
            return
        self.folder.mkdir(exist_ok=True)
        history, until = self._begun()
        saved = clock.monotonic()
        for day in days:
            if until is None or day > until:
                rows = self._rows(file_of(day), history)
                features = history.batch(rows_of(history, rows, classes))
                _write(rows[ROW], features, self.folder / f"{day}.parquet")
                _forget(history, day)
                until = day
                if clock.monotonic() - saved >= snapshot_seconds:
                    self._save(history, day)
                    saved = clock.monotonic()
            on_day()
        self._save(history, days[-1])

    def _is_done(self, days: Sequence[np.datetime64]) -> bool:
        """Return whether the snapshot is of the last day, without reading what is in it."""
        if not days or not self.snapshot.exists():
            return not days
        return files.read_manifest(self.snapshot)["facts"]["day"] == str(days[-1])

    def _begun(self) -> tuple[History, np.datetime64 | None]:
        """Return the history of the last snapshot and its day, or an empty one."""
        if not self.snapshot.exists():
            return self._settings.history(self._group.features), None
        history, facts = history_file.read_with_facts(self.snapshot, History._from_saved)
        return history, np.datetime64(facts["day"], "D")

    def _save(self, history: History, day: np.datetime64) -> None:
        history_file.write(history._to_saved(), self.snapshot, {"day": str(day)})

    def _rows(self, path: Path, history: History) -> pa.Table:
        """Return this part's rows of a day, with their places in it."""
        group, label = self._group, self._settings.label
        names = dict.fromkeys([*history.columns, label, group.part_column])
        rows = pq.read_table(path, columns=list(names))
        places = pa.array(np.arange(rows.num_rows, dtype=np.int32))
        rows = rows.append_column(ROW, places)
        if group.n_parts == 1:
            return rows
        return rows.filter(pc.equal(rows[group.part_column], self._part))


def read_part(path: Path, out: NDArray[np.float32], columns: Sequence[int]) -> None:
    """Fill the features of one part's rows into these columns of all features of a day."""
    table = pq.read_table(path)
    rows = table[ROW].to_numpy()
    for place, values in zip(columns, table.columns[1:], strict=True):
        out[place, rows] = values.to_numpy()


def _write(places: pa.ChunkedArray, features: pa.Table, path: Path) -> None:
    columns = [places, *(as_float32(values) for values in features.columns)]
    table = pa.table(columns, names=[ROW, *features.column_names])
    pq.write_table(table, path, compression="lz4", use_dictionary=False, write_statistics=False)


def as_float32(values: pa.ChunkedArray) -> NDArray[np.float32]:
    """Return values as models take them, NaN where missing."""
    return values.to_numpy().astype(np.float32)


def _forget(history: History, day: np.datetime64) -> None:
    """Forget what no row of a later day needs."""
    forget = day - FORGET if day.astype(int) % _FORGET_EVERY == 0 else None
    history.purge(day + DAY, forget=forget)
