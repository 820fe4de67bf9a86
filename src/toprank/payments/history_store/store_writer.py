"""The files of a history's folder: every change is in the log before it is in memory.

`HistoryStore` decides which changes are made, by whom and when; this is how each gets to disk.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from toprank.data.atomic import sync
from toprank.data.tables.columns import check_columns
from toprank.payments.features import History, history_file
from toprank.payments.features.past import LabelCounts
from toprank.payments.history_store import row_payload
from toprank.payments.history_store.generations import ROWS, Generations
from toprank.payments.history_store.record_log import RecordLog
from toprank.payments.history_store.replayed import (
    StoreState,
    apply_labels,
    remember_row,
    state_of,
)
from toprank.payments.history_store.row_archive import RowArchive, table_of_rows
from toprank.payments.ledger import Ledger

_LEAST_LOG = 16 * 2**20  # bytes: a shorter log is read quickly and needs no snapshot
_MOST_PENDING = 20_000  # single rows that are only in the log

OnStep = Callable[[str], None]


class StoreWriter:
    """The snapshot, the log and the archived rows of a folder.

    A reader has one, too, whose log is not open: it reads the archive and changes nothing.
    """

    def __init__(
        self,
        folder: Path,
        state: StoreState,
        ledger: Ledger,
        *,
        is_synced: bool = False,
        compact_share: float | None = None,
        on_step: OnStep | None = None,
    ) -> None:
        self.state, self.notes = state, state.notes
        self.step = on_step or (lambda name: None)
        times = [state.history.time, *filter(None, [state.history.known_at])]
        self.archive = RowArchive(folder / ROWS, times)
        self.unsettled: list[dict[str, Any]] = []
        """Rows that are in the history and not yet on disk."""
        self._folder, self._ledger = folder, ledger
        self._is_synced, self._compact_share = is_synced, compact_share
        self._generations = Generations(folder)
        self._log: RecordLog | None = None

    @property
    def history(self) -> History:
        """The history, up to date."""
        return self.state.history

    @property
    def log(self) -> RecordLog:
        """The log, which must be open."""
        assert self._log is not None
        return self._log

    # Opening and closing

    def open(self) -> None:
        """Make the folder match its log, and open the log for adding to it."""
        self._generations.drop_all_but(self.state.generation)
        self._open_log()
        self.archive.drop_outside(self.state.first_row, self.state.n_archived)
        self.catch_up()

    def close(self) -> None:
        """Close the log."""
        if self._log is not None:
            self._log.close()
        self._log = None

    def _open_log(self) -> None:
        path, size = self._generations.log(self.state.generation), self.state.log_size
        n_bytes = path.stat().st_size
        if n_bytes > size:
            self.notes.append(
                f"{path} ended in {n_bytes - size} bytes that are no complete record, as a "
                "killed writer leaves them; they were cut off."
            )
        self._log = RecordLog(path, size, self._is_synced)

    # Changes

    def logged(
        self, kind: bytes, facts: Any, change: Callable[[Any], Any], body: Any = b""
    ) -> Any:
        """Write a record, then make its change; remove the record if the history refuses it."""
        raw = memoryview(body)
        start = self.log.append(row_payload.packed(kind, facts), raw)
        self.step("log written")
        try:
            return change(raw)
        except (ValueError, TypeError):
            self.log.cut(start)
            raise

    def remember_table(self, rows: pa.Table, is_part: bool) -> pa.Table:
        """Write rows to archive and log, then add them to the history; return their features."""
        check_columns(self.history.columns, rows.column_names)
        if not rows.num_rows:
            return self.history.batch(rows)
        state = self.state
        stop = state.n_archived + rows.num_rows
        needed = row_payload.table_bytes(self._needed(rows))
        self.archive.append(rows, state.n_archived, self._mode)
        self.step("rows written")
        facts = {"n_rows": stop, "is_part": True} if is_part else {"n_rows": stop}
        try:
            features = self.logged(
                row_payload.TABLE,
                facts,
                lambda body: self.history.batch(row_payload.table_of(body)),
                needed,
            )
        except (ValueError, TypeError):
            self.archive.drop_outside(state.first_row, state.n_archived)
            raise
        state.n_archived = stop
        return features

    def remember_row(self, call: str, row: Mapping[str, Any]) -> Any:
        """Log one row, then add it to the history; return what that call returns."""
        as_json = row_payload.row_facts(row)
        exact = row_payload.row_of(as_json)  # what a replay will see
        self.settle()
        result = self.logged(
            row_payload.ROW,
            {"call": call, "row": as_json},
            lambda _: remember_row(self.history, call, exact),
        )
        self.state.pending_rows.append(exact)
        self._archive_if_many()
        return result

    @contextmanager
    def all_or_none(self, note: Callable[[], Any] | None) -> Iterator[None]:
        """Finish the tables remembered within, with a note; on an error, undo all of them."""
        state, start, n_before = self.state, self.log.size, self.state.n_archived
        try:
            yield
            facts = {} if note is None else {"note": note()}
            self.logged(row_payload.FINISHED, facts, lambda _: None)
            state.note = facts.get("note", state.note)
            self.step("rows finished")
        except BaseException:
            self.log.cut(start)
            self.archive.drop_outside(state.first_row, n_before)
            # the history contains some of the rows already: read it again from the folder
            self.state = state_of(self._folder, self._ledger)
            raise

    def settle(self, facts: dict[str, Any] | None = None) -> None:
        """Log the rows that are only in memory, all or none, and a note of the caller."""
        if not self.unsettled and facts is None:
            return
        facts = facts or {}
        start = self.log.size
        try:
            for row in self.unsettled:
                part = {"call": "one", "row": row_payload.row_facts(row), "is_part": True}
                self.log.append(row_payload.packed(row_payload.ROW, part))
                self.step("row written")
            self.log.append(row_payload.packed(row_payload.FINISHED, facts))
            self.step("rows finished")
        except BaseException:
            self.log.cut(start)
            raise
        self.state.pending_rows += self.unsettled
        self.unsettled, self.state.note = [], facts.get("note", self.state.note)
        self._archive_if_many()

    def settle_and_archive(self) -> None:
        """Have all rows in the archive, including those that came singly."""
        self.settle()
        self._archive_pending()

    def catch_up(self) -> LabelCounts:
        """Give the history the labels that only the ledger has; return what it counts."""
        state, position = self.state, self._ledger.position
        if position == state.position:
            return LabelCounts()
        counts = self.logged(
            row_payload.LABELS,
            {"position": position},
            lambda _: apply_labels(self.history, self._ledger, state.position, position),
        )
        state.position = position
        return counts

    def undo(self, generation: int, start: int) -> None:
        """Go back to the state before the record at byte `start` of the log of a generation.

        Labels that came later are still in the ledger, and are given to the history again.
        """
        self.close()
        if generation < self.state.generation:
            # without its snapshot, the last generation does not count; the one before gives the
            # same history until its log is cut
            self._generations.snapshot(self.state.generation).unlink()
            sync(self._folder)
            self.step("snapshot removed")
        RecordLog(self._generations.log(generation), start, self._is_synced).close()
        self.step("log cut")
        self.state = state_of(self._folder, self._ledger)
        self.open()

    # Snapshots

    def compact_if_long(self) -> None:
        """Write a snapshot if the log is long compared with the last one."""
        if self._compact_share is None or self.log.size <= _LEAST_LOG:
            return
        snapshot = self._generations.snapshot(self.state.generation)
        if self.log.size <= self._compact_share * snapshot.stat().st_size:
            return
        try:
            self.compact()
        except OSError as error:  # the change itself is done and safe
            self.notes.append(f"no new snapshot of {self._folder} could be written: {error}.")

    def compact(self) -> None:
        """Write the next snapshot and start its log."""
        self.settle_and_archive()
        state, mode = self.state, self._mode
        number = state.generation + 1
        log = RecordLog.create(self._generations.log(number), number, self._is_synced, mode)
        try:
            self.step("log created")
            write_snapshot(self._generations.snapshot(number), state, mode)
        except BaseException:
            log.close()
            raise
        self.log.close()
        self._log, state.generation = log, number
        self.step("snapshot written")
        self._generations.drop_all_but(number)
        self.step("old files removed")

    # How

    @property
    def _mode(self) -> int:
        return self._generations.mode_of(self.state.generation)

    def _needed(self, rows: pa.Table) -> pa.Table:
        """Return the columns that the history reads."""
        history = self.history
        optional = (history.label_column, history.known_at, history.row_id)
        names = dict.fromkeys([*history.columns, *filter(None, optional)])
        return rows.select([name for name in names if name in rows.column_names])

    def _archive_if_many(self) -> None:
        if len(self.state.pending_rows) >= _MOST_PENDING:
            self._archive_pending()

    def _archive_pending(self) -> None:
        """Write rows that came singly to a file of their own."""
        state = self.state
        if not state.pending_rows:
            return
        rows = table_of_rows(state.pending_rows)
        self.archive.append(rows, state.n_archived, self._mode)
        self.step("rows written")
        stop = state.n_archived + rows.num_rows
        self.logged(row_payload.ARCHIVED, {"n_rows": stop}, lambda _: None)
        state.n_archived, state.pending_rows = stop, []


def write_snapshot(path: Path, state: StoreState, mode: int) -> None:
    """Write the history and the facts of a state to a snapshot file."""
    history_file.write(state.history._to_saved(), path, state.facts, mode)
