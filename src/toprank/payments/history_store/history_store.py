"""A history and its labels in a folder: every change is on disk before it is in memory."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from toprank.data import checks
from toprank.data.atomic import sync
from toprank.data.tables.columns import arrow_table, check_columns
from toprank.files.faults import ModelFileError
from toprank.payments.features import History, cells, history_file
from toprank.payments.features.past import LabelCounts
from toprank.payments.history_store import row_payload
from toprank.payments.history_store.generations import LEDGER, LOCK, PRIVATE, ROWS, Generations
from toprank.payments.history_store.key_rows import rows_in_file, rows_of_keys
from toprank.payments.history_store.new_folder import file_to_read, folder_from_file, new_folder
from toprank.payments.history_store.record_log import RecordLog
from toprank.payments.history_store.replayed import (
    StoreState,
    apply_labels,
    purge,
    record_labels,
    remember_row,
    state_of,
)
from toprank.payments.history_store.row_archive import RowArchive, first_of_each_id, table_of_rows
from toprank.payments.history_store.writer_lock import WriterLock
from toprank.payments.ledger import Ledger, MemoryLedger, SqliteLedger
from toprank.payments.ledger.entries import Entries

_LEAST_LOG = 16 * 2**20  # bytes: a log that is read in no time needs no snapshot
_MOST_PENDING = 20_000  # single rows that are in the log only
_READ_TRIES, _READ_PAUSE = 5, 0.02  # seconds

Durability = Literal["process", "power"]
FeaturesOf = Callable[[pa.Table], pa.Table]
"""Returns the features of a table's rows."""


class HistoryStore:
    """A history kept in a folder, with its label ledger and the rows it was given.

    Made by `create` and `open`; a context manager. One process writes at a time, any number may
    read meanwhile: each sees the history as it was at one moment. Every change is in the log
    before it is in memory: whenever a writer is killed, what it had acknowledged is there.

    Attributes
    ----------
    history
        The history, up to date. Change it through the store only; a reader's is its own copy.
    ledger
        The labels. Add to it through the store only.
    notes
        What was found odd and mended while opening, in sentences.

    Examples
    --------
    >>> import tempfile
    >>> from toprank.payments.features import Recent
    >>> folder = Path(tempfile.mkdtemp(), "payments.history")
    >>> history = History([Recent("count", "card", "1d")], time="at", row_id="tx")
    >>> with HistoryStore.create(folder, history) as store:
    ...     times = ["2025-03-01 10:00", "2025-03-01 11:00"]
    ...     store.remember(pa.table({"tx": [1, 2], "at": times, "card": ["A", "A"]})).to_pydict()
    {'card_count_1d': [1.0, 2.0]}
    >>> with HistoryStore.open(folder, mode="write") as store:
    ...     store.one({"tx": 3, "at": "2025-03-01 12:00", "card": "A"})
    {'card_count_1d': 3.0}
    >>> HistoryStore.open(folder).rows()["tx"].to_pylist()
    [1, 2, 3]
    """

    def __init__(
        self,
        folder: Path,
        state: StoreState,
        ledger: Ledger,
        lock: WriterLock | None,
        *,
        is_synced: bool = False,
        compact_share: float | None = None,
        on_step: Callable[[str], None] | None = None,
    ) -> None:
        self.folder, self.history, self.notes = folder, state.history, state.notes
        self.ledger = ledger
        self._state, self._lock = state, lock
        self._is_synced, self._compact_share = is_synced, compact_share
        self._step = on_step or (lambda name: None)
        self._generations = Generations(folder)
        times = [state.history.time, *filter(None, [state.history.known_at])]
        self._archive = RowArchive(folder / ROWS, times)
        self._log: RecordLog | None = None
        self._unsettled: list[dict[str, Any]] = []
        self._why_not = "" if lock else f"{folder} was opened to read; open it with mode='write'."
        self._mutex = threading.RLock()

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        history: History,
        rows: Any = None,
        labels: Entries | None = None,
        *,
        durability: Durability = "process",
        compact_share: float | None = 1.0,
        on_step: Callable[[str], None] | None = None,
    ) -> Self:
        """Make the folder of a history and return it open for writing.

        `rows` is the table that the history has already learned from, if there is one: it is
        kept for training again. `labels` are those it has learned from by their ids, for the
        ledger. The folder appears in one step, whole.
        """
        state = StoreState(history, log_size=RecordLog.HEAD_BYTES)
        step = on_step or (lambda name: None)
        lock = new_folder(
            Path(folder), lambda beside: _fill(beside, state, rows, step, labels), step
        )
        return cls._writer(Path(folder), lock, durability, compact_share, on_step, state)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        mode: Literal["read", "write"] = "read",
        *,
        durability: Durability = "process",
        wait: float = 5.0,
        compact_share: float | None = 1.0,
        on_step: Callable[[str], None] | None = None,
    ) -> Self:
        """Return the history in a folder, or in a single file of an earlier version.

        Parameters
        ----------
        path
            The folder. A single file is read as it is; to write, it is turned into a folder of
            the same name, and kept beside it with `.bak` added.
        mode
            "read" takes no lock and makes no change. "write" is for one process at a time.
        durability
            "process": what was acknowledged survives a killed process; "power": also a machine
            that loses its power, at the price of waiting for the disk on every change.
        wait
            Seconds to wait for another writer before giving up with a StoreBusyError.
        compact_share
            Write a new snapshot by itself when the log is larger than this share of the snapshot
            and 16 MB; None leaves that to `compact`.
        on_step
            Called with a name after each step on disk, for tests and measurements.
        """
        checks.one_of(mode, "mode", ("read", "write"))
        path = Path(path)
        if mode == "read":
            return cls._reader(path)
        step = on_step or (lambda name: None)
        folder_from_file(path, lambda beside, state: _fill(beside, state, None, step), wait, step)
        if not path.is_dir():
            raise _no_such(path)
        Generations(path).numbers()  # no lock is made in a folder of something else
        lock = WriterLock(path / LOCK, path, wait)
        return cls._writer(path, lock, durability, compact_share, on_step)

    @classmethod
    def _reader(cls, path: Path) -> Self:
        file = file_to_read(path)
        if file is not None:
            return cls(path, StoreState(History.load(file)), MemoryLedger(), None)
        if not path.is_dir():
            raise _no_such(path)
        ledger = _ledger_to_read(path / LEDGER)
        state, position = _seen_at_once(path, ledger), ledger.position
        if position > state.position:
            apply_labels(state.history, ledger, state.position, position)
        return cls(path, state, ledger, None)

    @classmethod
    def _writer(
        cls,
        folder: Path,
        lock: WriterLock,
        durability: str,
        compact_share: float | None,
        on_step: Callable[[str], None] | None,
        state: StoreState | None = None,
    ) -> Self:
        """Return the folder open for writing, what killed writers left undone mended.

        The lock is held by what is returned, or released.
        """
        ledger = None
        try:
            is_synced = checks.one_of(durability, "durability", ("process", "power")) == "power"
            generations = Generations(folder)
            mode = generations.mode_of(generations.numbers()[0])
            ledger = _ledger_to_write(folder / LEDGER, mode)
            store = cls(
                folder,
                state or state_of(folder, ledger),
                ledger,
                lock,
                is_synced=is_synced,
                compact_share=compact_share,
                on_step=on_step,
            )
            store._mend()
        except BaseException:
            if ledger is not None:
                ledger.close()
            lock.release()
            raise
        return store

    # What is asked

    @property
    def n_rows(self) -> int:
        """How many rows were remembered, copies included."""
        n_single = len(self._state.pending_rows) + len(self._unsettled)
        return self._state.n_archived + n_single

    def rows(self, since: Any = None) -> pa.Table:
        """Return the remembered rows with all their columns, in the order they came.

        With `since`, those from that moment on. A row that came again under the same id is there
        once, as it came first. Columns whose type has changed over time are made alike.
        """
        state, archive = self._state, self._archive
        moment = None if since is None else cells.instant(since, "since")
        pending = archive.from_moment(table_of_rows(state.pending_rows), moment)
        tables = [*archive.read(state.first_row, state.n_archived, moment), pending]
        found = archive.joined([table for table in tables if table.num_rows] or tables[:1])
        return first_of_each_id(found, self.history.row_id)

    def rows_of(self, column: str, texts: Sequence[str], since: Any = None) -> pa.Table:
        """Return the remembered rows whose key, such as the card, is one of these texts.

        Of the other rows, no more than that column is read.
        """
        state, archive = self._state, self._archive
        parts = archive.files(state.first_row, state.n_archived)
        pending = table_of_rows(state.pending_rows)
        time = self.history.time
        tables = [
            *(rows_in_file(path, column, texts, time, since) for path in parts),
            rows_of_keys(pending, column, texts, time, since),
        ]
        found = archive.joined([table for table in tables if table.num_rows] or tables[:1])
        return first_of_each_id(found, self.history.row_id)

    @contextmanager
    def looking(self) -> Iterator[FeaturesOf]:
        """Give features of tables that see each other, and remember nothing of them afterwards."""
        with self._mutex, self.history.looking():
            yield self.history.batch

    def look(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, and remember nothing."""
        with self._mutex:
            return self.history.look(row)

    # What is changed

    def remember(self, table: Any) -> pa.Table:
        """Return the features of a table's rows, in its order, and remember the rows."""
        with self._changing():
            self._settle_and_archive()
            features = self._remember_table(arrow_table(table), is_part=False)
            self._compact_if_long()
            return features

    @contextmanager
    def remembering(self, note: Callable[[], Any] | None = None) -> Iterator[FeaturesOf]:
        """Give a function that returns the features of tables and remembers them: all or none.

        The tables count once the block has ended well; `note` is then asked for what `self.note`
        keeps with them, in plain values. Otherwise folder and history are as they were.
        """
        with self._changing():
            assert self._log is not None
            self._settle_and_archive()
            state, start, n_before = self._state, self._log.size, self._state.n_archived
            try:
                yield lambda table: self._remember_table(table, is_part=True)
                facts = {} if note is None else {"note": note()}
                self._logged(row_payload.FINISHED, facts, lambda _: None)
                state.note = facts.get("note", state.note)
                self._step("rows finished")
            except BaseException:
                self._log.cut(start)
                self._archive.drop_outside(state.first_row, n_before)
                # the history has taken in some of the rows: the folder has it as it was
                self._state = state_of(self.folder, self.ledger)
                self.history = self._state.history
                raise
            self._compact_if_long()

    @property
    def note(self) -> Any:
        """What was noted with the rows that were remembered last."""
        return self._state.note

    def one(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, NaN where missing, and remember the row."""
        return self._remember_row("one", row)

    def take_in(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, and remember it: on disk with the next `settle`."""
        exact = row_payload.row_of(row_payload.row_facts(row))  # what a replay will see
        with self._changing():
            features = self.history.one(exact)
            self._unsettled.append(exact)
            return features

    def settle(self, note: Any = None) -> None:
        """Have rows on disk that were taken in, all of them or none, and `note` with them."""
        with self._changing():
            self._settle({} if note is None else {"note": note})
            self._compact_if_long()

    def commit(self, row: Mapping[str, Any]) -> bool:
        """Remember one row whose features were looked at before; say whether it is new."""
        return self._remember_row("commit", row)

    def label(
        self,
        row_id: Any,
        is_positive: ArrayLike,
        known_at: Any = None,
        source: str = "claim",
        who: str = "",
    ) -> LabelCounts:
        """Add labels of remembered rows to the ledger, then to the history; say what came of it.

        Without `known_at` they count as known from the time of the latest payment on. Ids of no
        remembered row are counted and not recorded; nor is what the ledger says already.
        """
        with self._changing():
            if self._unsettled:  # the ledger is on disk at once: so must be what it speaks of
                self._settle({})
            self._catch_up()
            known = moment_known(known_at, self.history.until)
            others = record_labels(
                self.history, self.ledger, row_id, is_positive, known, source, who
            )
            self._step("ledger written")
            counts = self._catch_up()
            self._compact_if_long()
            return others._replace(
                n_new=counts.n_new,
                n_corrected=counts.n_corrected,
                n_known=counts.n_known + others.n_known,
            )

    def purge(self, before: Any, forget: Any = None) -> None:
        """Let go of what no row from `before` on needs, and of keys unseen since `forget`."""
        since = cells.instant(before, "before")
        unseen_since = None if forget is None else cells.instant(forget, "forget")
        facts = {"before": since, "forget": unseen_since}
        with self._changing():
            if self._unsettled:
                self._settle({})
            self._logged(
                row_payload.PURGE, facts, lambda _: purge(self.history, since, unseen_since)
            )
            self._compact_if_long()

    def drop_rows(self, before: Any) -> None:
        """Remove rows that are kept for training, in whole files: those with older rows only."""
        moment = cells.instant(before, "before")
        with self._changing():
            self._settle_and_archive()
            state = self._state
            first = self._archive.first_from(moment, state.first_row, state.n_archived)
            if first > state.first_row:
                self._logged(row_payload.DROPPED, {"first_row": first}, lambda _: None)
                state.first_row = first
                self._archive.drop_outside(first, state.n_archived)
                self._step("rows removed")

    def compact(self) -> None:
        """Write the next snapshot and begin its log; opening is quick again.

        The generation before is kept, and removed by the next `compact`.
        """
        with self._changing():
            self._compact()

    def close(self) -> None:
        """Close the files and let others write."""
        with self._mutex:
            if self._unsettled and not self._why_not:
                self._settle({})
            self.ledger.close()
            if self._log is not None:
                self._log.close()
            if self._lock is not None:
                self._lock.release()
                self._why_not = f"{self.folder} was closed; open it again."
            self._log = self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # How

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Let one thread change the store; what stops half-way stops all that would follow."""
        with self._mutex:
            if self._why_not:
                raise ValueError(self._why_not)
            try:
                yield
            except (ValueError, TypeError, GeneratorExit):
                raise  # refused as a whole, or left before the end: nothing has changed
            except BaseException as error:
                self._why_not = (
                    f"{self.folder} could not be written ({error!r}); what it has on disk is "
                    "sound; open it again."
                )
                raise

    def _mend(self) -> None:
        """Make the folder match its log, and open the log to be continued."""
        state = self._state
        self._generations.drop_all_but(state.generation)
        self._open_log()
        self._archive.drop_outside(state.first_row, state.n_archived)
        self._catch_up()

    def _open_log(self) -> None:
        path, state = self._generations.log(self._state.generation), self._state
        n_bytes = path.stat().st_size
        size = state.log_size
        if n_bytes > size:
            state.notes.append(
                f"{path} ended in {n_bytes - size} bytes that are no whole record, as a writer "
                "leaves them that is killed; they were cut off."
            )
        self._log = RecordLog(path, size, self._is_synced)

    @property
    def _mode(self) -> int:
        return self._generations.mode_of(self._state.generation)

    def _needed(self, rows: pa.Table) -> pa.Table:
        """Return the columns that the history reads."""
        history = self.history
        optional = (history.label_column, history.known_at, history.row_id)
        names = dict.fromkeys([*history.columns, *filter(None, optional)])
        return rows.select([name for name in names if name in rows.column_names])

    def _remember_table(self, rows: pa.Table, is_part: bool) -> pa.Table:
        """Write rows to archive and log, then let the history take them in."""
        check_columns(self.history.columns, rows.column_names)
        if not rows.num_rows:
            return self.history.batch(rows)
        state = self._state
        stop = state.n_archived + rows.num_rows
        needed = row_payload.table_bytes(self._needed(rows))
        self._archive.append(rows, state.n_archived, self._mode)
        self._step("rows written")
        facts = {"n_rows": stop, "is_part": True} if is_part else {"n_rows": stop}
        try:
            features = self._logged(
                row_payload.TABLE,
                facts,
                lambda body: self.history.batch(row_payload.table_of(body)),
                needed,
            )
        except (ValueError, TypeError):
            self._archive.drop_outside(state.first_row, state.n_archived)
            raise
        state.n_archived = stop
        return features

    def _settle(self, facts: dict[str, Any]) -> None:
        """Log the rows that are in memory only."""
        assert self._log is not None
        start = self._log.size
        try:
            for row in self._unsettled:
                names_and_values = row_payload.row_facts(row)
                part = {"call": "one", "row": names_and_values, "is_part": True}
                self._log.append(row_payload.packed(row_payload.ROW, part))
                self._step("row written")
            self._log.append(row_payload.packed(row_payload.FINISHED, facts))
            self._step("rows finished")
        except BaseException:
            self._log.cut(start)
            raise
        self._state.pending_rows += self._unsettled
        self._unsettled, self._state.note = [], facts.get("note", self._state.note)
        if len(self._state.pending_rows) >= _MOST_PENDING:
            self._archive_pending()

    def _remember_row(self, call: str, row: Mapping[str, Any]) -> Any:
        as_json = row_payload.row_facts(row)
        facts = {"call": call, "row": as_json}
        exact = row_payload.row_of(as_json)  # what a replay will see
        with self._changing():
            if self._unsettled:
                self._settle({})
            result = self._logged(
                row_payload.ROW, facts, lambda _: remember_row(self.history, call, exact)
            )
            self._state.pending_rows.append(exact)
            if len(self._state.pending_rows) >= _MOST_PENDING:
                self._archive_pending()
            self._compact_if_long()
            return result

    def _logged(
        self, kind: bytes, facts: Any, change: Callable[[Any], Any], body: Any = b""
    ) -> Any:
        """Write a record, then make its change; take it back if the history refuses it."""
        assert self._log is not None
        raw = memoryview(body)
        start = self._log.append(row_payload.packed(kind, facts), raw)
        self._step("log written")
        try:
            return change(raw)
        except (ValueError, TypeError):
            self._log.cut(start)
            raise

    def _catch_up(self) -> LabelCounts:
        """Give the history what the ledger has and it has not; return what it says."""
        state, position = self._state, self.ledger.position
        if position == state.position:
            return LabelCounts()
        counts = self._logged(
            row_payload.LABELS,
            {"position": position},
            lambda _: apply_labels(self.history, self.ledger, state.position, position),
        )
        state.position = position
        return counts

    def _settle_and_archive(self) -> None:
        if self._unsettled:
            self._settle({})
        self._archive_pending()

    def _archive_pending(self) -> None:
        """Write rows that came singly to a file of their own."""
        state = self._state
        if not state.pending_rows:
            return
        rows = table_of_rows(state.pending_rows)
        self._archive.append(rows, state.n_archived, self._mode)
        self._step("rows written")
        stop = state.n_archived + rows.num_rows
        self._logged(row_payload.ARCHIVED, {"n_rows": stop}, lambda _: None)
        state.n_archived, state.pending_rows = stop, []

    def _compact_if_long(self) -> None:
        assert self._log is not None
        if self._compact_share is None or self._log.size <= _LEAST_LOG:
            return
        snapshot = self._generations.snapshot(self._state.generation)
        if self._log.size <= self._compact_share * snapshot.stat().st_size:
            return
        try:
            self._compact()
        except OSError as error:  # what was asked for is done and safe
            self.notes.append(f"no new snapshot of {self.folder} could be written: {error}.")

    def _compact(self) -> None:
        assert self._log is not None
        self._settle_and_archive()
        state, mode = self._state, self._mode
        number = state.generation + 1
        log = RecordLog.create(self._generations.log(number), number, self._is_synced, mode)
        try:
            self._step("log created")
            _write_snapshot(self._generations.snapshot(number), state, mode)
        except BaseException:
            log.close()
            raise
        self._log.close()
        self._log, state.generation = log, number
        self._step("snapshot written")
        self._generations.drop_all_but(number)
        self._step("old files removed")


def _no_such(path: Path) -> FileNotFoundError:
    return FileNotFoundError(f"there is no history {path}; make it with HistoryStore.create.")


def _seen_at_once(folder: Path, ledger: Ledger) -> StoreState:
    """Return the state as it was at one moment, while a writer may be at work.

    What it read half before and half after a change, a reader reads again.
    """
    for _ in range(_READ_TRIES):
        try:
            return state_of(folder, ledger)
        except (FileNotFoundError, ModelFileError):
            time.sleep(_READ_PAUSE)
    return state_of(folder, ledger)


def _write_snapshot(path: Path, state: StoreState, mode: int) -> None:
    history_file.write(state.history._to_saved(), path, state.facts, mode)


def _fill(
    folder: Path,
    state: StoreState,
    rows: Any,
    step: Callable[[str], None],
    labels: Entries | None = None,
) -> None:
    """Write the first generation of a folder."""
    with _ledger_to_write(folder / LEDGER, PRIVATE) as ledger:
        if labels is not None:
            ledger.take_over(labels)
        state.position = ledger.position
    step("ledger created")
    generations = Generations(folder)
    (folder / ROWS).mkdir(mode=0o700)
    table = None if rows is None else arrow_table(rows)
    if table is not None and table.num_rows:
        RowArchive(folder / ROWS, []).append(table, 0, PRIVATE)
        state.n_archived = table.num_rows
        step("rows written")
    RecordLog.create(generations.log(1), 1, is_synced=False).close()
    step("log created")
    _write_snapshot(generations.snapshot(1), state, PRIVATE)
    step("snapshot written")
    sync(folder)


def _ledger_to_read(path: Path) -> Ledger:
    return SqliteLedger(path) if path.exists() else MemoryLedger()


def _ledger_to_write(path: Path, mode: int) -> Ledger:
    path.touch(mode=mode)  # SQLite's own files beside it take its mode
    return SqliteLedger(path)


def moment_known(known_at: Any, until: np.datetime64 | None) -> Any:
    """Return when labels became known: as given, or now, by the clock of the payments.

    That is the time of the latest payment: no payment before it knew of them, all after it may.
    """
    if known_at is not None:
        return known_at
    return np.datetime64(datetime.now(UTC).replace(tzinfo=None), "us") if until is None else until
