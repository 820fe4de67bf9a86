"""The last change of a history that can be undone, as its logs record it.

That is rows which were remembered together, or a purge. Labels are not undone, since the ledger
only adds, nor are dropped rows, whose files are gone.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data.tables import time_column
from toprank.data.tables.ids import id_texts
from toprank.payments.features import History
from toprank.payments.history_store import row_payload
from toprank.payments.history_store.generations import Generations
from toprank.payments.history_store.record_log import Record, records
from toprank.payments.history_store.row_archive import table_of_rows


class Change(NamedTuple):
    """What the records of log `generation` from byte `start` on changed.

    Of rows, `tables` has the columns that the history reads.
    """

    kind: Literal["rows", "purge"]
    generation: int
    start: int
    tables: list[pa.Table]

    @property
    def n_rows(self) -> int:
        """The number of rows that were remembered."""
        return sum(table.num_rows for table in self.tables)

    def times(self, history: History) -> NDArray[np.datetime64]:
        """Return the times of the rows."""
        none = np.empty(0, "datetime64[us]")
        return np.concatenate([none, *(time_column(each, history.time) for each in self.tables)])

    def ids(self, history: History) -> list[str]:
        """Return the ids of the rows; none where they have no ids."""
        name = history.row_id
        columns = [each[name] for each in self.tables if name in each.column_names]
        return [each for column in columns for each in id_texts(column, str(name)).to_pylist()
                if each is not None]  # fmt: skip


def last_change(folder: Path, generation: int) -> Change | None:
    """Return the last change in the logs up to this generation; None if none can be undone."""
    generations = Generations(folder)
    for number in (generation, generation - 1):
        if not (generations.log(number).exists() and generations.snapshot(number).exists()):
            return None
        found, is_end = _last_in(generations.log(number), number)
        if found is not None or is_end:
            return found
    return None


def _last_in(log: Path, number: int) -> tuple[Change | None, bool]:
    """Return the last change of a log, and whether no change before it can be undone."""
    last: Change | None = None
    is_end = False
    parts: list[Record] = []
    for record in records(log):
        kind, facts, _ = row_payload.read_payload(record.payload)
        if kind in (row_payload.TABLE, row_payload.ROW):
            parts.append(record)
        is_part = kind in (row_payload.TABLE, row_payload.ROW) and facts.get("is_part")
        if parts and not is_part:
            last = Change("rows", number, parts[0].start, list(_tables(parts)))
            parts = []
        if kind == row_payload.PURGE:
            last = Change("purge", number, record.start, [])
        elif kind == row_payload.DROPPED:
            last, is_end = None, True
    return last, is_end


def _tables(parts: list[Record]) -> Iterator[pa.Table]:
    rows = []
    for part in parts:
        kind, facts, body = row_payload.read_payload(part.payload)
        if kind == row_payload.TABLE:
            yield row_payload.table_of(body)
        else:
            rows.append(row_payload.row_of(facts["row"]))
    if rows:
        yield table_of_rows(rows)
