"""A history and its labels in a folder: one process writes, others read."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

import pyarrow as pa
from numpy.typing import ArrayLike

from toprank.data import checks
from toprank.data.tables.columns import arrow_table
from toprank.payments.features import History, cells
from toprank.payments.features.past import LabelCounts
from toprank.payments.history_store import row_payload
from toprank.payments.history_store.first_files import (
    fill_folder,
    ledger_to_read,
    ledger_to_write,
)
from toprank.payments.history_store.generations import LEDGER, LOCK, Generations
from toprank.payments.history_store.key_rows import rows_in_file, rows_of_keys
from toprank.payments.history_store.last_change import Change, last_change
from toprank.payments.history_store.new_folder import file_to_read, folder_from_file, new_folder
from toprank.payments.history_store.record_log import RecordLog
from toprank.payments.history_store.replayed import (
    StoreState,
    apply_labels,
    consistent_state,
    moment_known,
    purge,
    record_labels,
    state_of,
)
from toprank.payments.history_store.row_archive import first_of_each_id, table_of_rows
from toprank.payments.history_store.store_writer import OnStep, StoreWriter
from toprank.payments.history_store.writer_lock import WriterLock, check_system
from toprank.payments.ledger import Ledger, MemoryLedger
from toprank.payments.ledger.entries import Entries
from toprank.payments.ledger.holding import LAST_KNOWN

Durability = Literal["process", "power"]
FeaturesOf = Callable[[pa.Table], pa.Table]
"""Returns the features of a table's rows."""


class HistoryStore:
    """A history kept in a folder, with its label ledger and the rows it was given.

    Made by `create` and `open`; a context manager. One process writes at a time while any number
    of others read: each of them sees the history of one moment. Every change is in the log before
    it is in memory, so whatever a writer acknowledged is still there after it is killed.

    Attributes
    ----------
    ledger
        The labels. Add to it only through the store.
    notes
        What was repaired while opening, in sentences.

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
        **options: Any,
    ) -> None:
        self.folder, self.ledger, self.notes = folder, ledger, state.notes
        self._lock, self._writer = lock, StoreWriter(folder, state, ledger, **options)
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
        on_step: OnStep | None = None,
    ) -> Self:
        """Make the folder of a history and return it open for writing.

        `rows` is the table that the history has already learned from, if there is one: it is
        kept for training again. `labels` are those it has learned from by their ids, for the
        ledger. The folder appears in one step, when it is complete.
        """
        state = StoreState(history, log_size=RecordLog.HEAD_BYTES)
        step = on_step or (lambda name: None)
        lock = new_folder(
            Path(folder),
            lambda unfinished: fill_folder(unfinished, state, rows, step, labels),
            step,
        )
        return cls._for_writing(Path(folder), lock, durability, compact_share, on_step, state)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        mode: Literal["read", "write"] = "read",
        *,
        durability: Durability = "process",
        wait: float = 5.0,
        compact_share: float | None = 1.0,
        on_step: OnStep | None = None,
    ) -> Self:
        """Return the history in a folder, or in a single file of an earlier version.

        Parameters
        ----------
        path
            The folder. A single file is only read; to write, it is turned into a folder of the
            same name, and kept next to it with `.bak` added.
        mode
            "read" takes no lock and makes no change. "write" is for one process at a time.
        durability
            "process": what was acknowledged survives a killed process; "power": also a power
            failure, at the price of waiting for the disk on every change.
        wait
            Seconds to wait for another writer before giving up with a StoreBusyError.
        compact_share
            Write a new snapshot automatically when the log is larger than this share of the
            snapshot and than 16 MB; None leaves that to `compact`.
        on_step
            Called with a name after each step on disk, for tests and measurements.
        """
        checks.one_of(mode, "mode", ("read", "write"))
        path = Path(path)
        if mode == "read":
            return cls._for_reading(path)
        step = on_step or (lambda name: None)
        folder_from_file(
            path, lambda unfinished, state: fill_folder(unfinished, state, None, step), wait, step
        )
        if not path.is_dir():
            raise _no_such(path)
        Generations(path).numbers()  # raises for other folders, before a lock is made there
        check_system()
        lock = WriterLock(path / LOCK, path, wait)
        return cls._for_writing(path, lock, durability, compact_share, on_step)

    @classmethod
    def _for_reading(cls, path: Path) -> Self:
        file = file_to_read(path)
        if file is not None:
            return cls(path, StoreState(History.load(file)), MemoryLedger(), None)
        if not path.is_dir():
            raise _no_such(path)
        ledger = ledger_to_read(path / LEDGER)
        state, position = consistent_state(path, ledger), ledger.position
        if position > state.position:
            apply_labels(state.history, ledger, state.position, position)
        return cls(path, state, ledger, None)

    @classmethod
    def _for_writing(
        cls,
        folder: Path,
        lock: WriterLock,
        durability: str,
        compact_share: float | None,
        on_step: OnStep | None,
        state: StoreState | None = None,
    ) -> Self:
        """Return the folder open for writing, repaired after killed writers.

        The returned store holds the lock; on an error, it is released.
        """
        ledger = None
        try:
            is_synced = checks.one_of(durability, "durability", ("process", "power")) == "power"
            generations = Generations(folder)
            mode = generations.mode_of(generations.numbers()[0])
            ledger = ledger_to_write(folder / LEDGER, mode)
            store = cls(
                folder,
                state or state_of(folder, ledger),
                ledger,
                lock,
                is_synced=is_synced,
                compact_share=compact_share,
                on_step=on_step,
            )
            store._writer.open()
        except BaseException:
            if ledger is not None:
                ledger.close()
            lock.release()
            raise
        return store

    # Reading

    @property
    def history(self) -> History:
        """The history, up to date. Change it only through the store; a reader has a copy."""
        return self._writer.history

    @property
    def note(self) -> Any:
        """The note of the caller that was kept with the last rows."""
        return self._writer.state.note

    @property
    def n_rows(self) -> int:
        """The number of remembered rows, copies included."""
        state = self._writer.state
        return state.n_archived + len(state.pending_rows) + len(self._writer.unsettled)

    def rows(self, since: Any = None) -> pa.Table:
        """Return the remembered rows with all their columns, in the order they came.

        With `since`, those from that moment on. A row that came again with the same id is
        returned once, as it came first. Columns whose type has changed over time are converted.
        """
        state, archive = self._writer.state, self._writer.archive
        moment = None if since is None else cells.instant(since, "since")
        pending = archive.from_moment(table_of_rows(state.pending_rows), moment)
        tables = [*archive.read(state.first_row, state.n_archived, moment), pending]
        found = archive.joined([table for table in tables if table.num_rows] or tables[:1])
        return first_of_each_id(found, self.history.row_id)

    def rows_of(self, column: str, texts: Sequence[str], since: Any = None) -> pa.Table:
        """Return the remembered rows whose key, such as the card, is one of these texts.

        Of the other rows, no more than that column is read.
        """
        state, archive = self._writer.state, self._writer.archive
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
        """Yield a function that returns features of tables; none of them is remembered.

        Within the block, later tables see earlier ones.
        """
        with self._mutex, self.history.looking():
            yield self.history.batch

    def look(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, without remembering it."""
        with self._mutex:
            return self.history.look(row)

    # Changes

    def remember(self, table: Any) -> pa.Table:
        """Return the features of a table's rows, in its order, and remember the rows."""
        with self._changing() as writer:
            writer.settle_and_archive()
            features = writer.remember_table(arrow_table(table), is_part=False)
            writer.compact_if_long()
            return features

    @contextmanager
    def remembering(self, note: Callable[[], Any] | None = None) -> Iterator[FeaturesOf]:
        """Yield a function that returns the features of tables and remembers them: all or none.

        The tables count once the block has ended without an error; `note` is then called for a
        value of plain types that `self.note` keeps with them. After an error, folder and history
        are unchanged.
        """
        with self._changing() as writer:
            writer.settle_and_archive()
            with writer.all_or_none(note):
                yield lambda table: writer.remember_table(table, is_part=True)
            writer.compact_if_long()

    def one(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, NaN where missing, and remember the row."""
        return self._remember_row("one", row)

    def take_in(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, and remember it: on disk with the next `settle`."""
        exact = row_payload.row_of(row_payload.row_facts(row))  # what a replay will see
        with self._changing() as writer:
            features = writer.history.one(exact)
            writer.unsettled.append(exact)
            return features

    def settle(self, note: Any = None) -> None:
        """Write the rows that were taken in to disk, all or none, and `note` with them."""
        with self._changing() as writer:
            writer.settle({} if note is None else {"note": note})
            writer.compact_if_long()

    def commit(self, row: Mapping[str, Any]) -> bool:
        """Remember one row that was looked at before; return whether it is new."""
        return self._remember_row("commit", row)

    def label(
        self,
        row_id: Any,
        is_positive: ArrayLike,
        known_at: Any = None,
        source: str = "claim",
        who: str = "",
    ) -> LabelCounts:
        """Add labels of remembered rows to the ledger, then to the history; return the counts.

        Without `known_at` they count as known from the time of the latest payment on. Ids of no
        remembered row are counted and not recorded; nor are labels that the ledger has already.
        """
        with self._changing() as writer:
            writer.settle()  # the ledger is on disk at once, so its rows must be, too
            writer.catch_up()
            known = moment_known(known_at, self.history.until)
            others = record_labels(
                self.history, self.ledger, row_id, is_positive, known, source, who
            )
            writer.step("ledger written")
            counts = writer.catch_up()
            writer.compact_if_long()
            return others._replace(
                n_new=counts.n_new,
                n_corrected=counts.n_corrected,
                n_known=counts.n_known + others.n_known,
                n_overruled=counts.n_overruled,
            )

    def purge(self, before: Any, forget: Any = None) -> None:
        """Forget what no row from `before` on needs, and keys not seen since `forget`."""
        since = cells.instant(before, "before")
        unseen_since = None if forget is None else cells.instant(forget, "forget")
        facts = {"before": since, "forget": unseen_since}
        with self._changing() as writer:
            writer.settle()
            writer.logged(
                row_payload.PURGE, facts, lambda _: purge(self.history, since, unseen_since)
            )
            writer.compact_if_long()

    def drop_rows(self, before: Any) -> None:
        """Remove rows kept for training, by whole files: those with only older rows."""
        moment = cells.instant(before, "before")
        with self._changing() as writer:
            writer.settle_and_archive()
            state = writer.state
            first = writer.archive.first_from(moment, state.first_row, state.n_archived)
            if first > state.first_row:
                writer.logged(row_payload.DROPPED, {"first_row": first}, lambda _: None)
                state.first_row = first
                writer.archive.drop_outside(first, state.n_archived)
                writer.step("rows removed")

    def last_change(self) -> Change | None:
        """Return what `restore` would undo; None if there is nothing."""
        return last_change(self.folder, self._writer.state.generation)

    def restore(self) -> Change:
        """Undo the last change, rows that were remembered or a purge, and return it.

        The labels stay in the ledger. Rows that have one there by now are not undone.
        """
        with self._changing() as writer:
            writer.settle()
            change = self.last_change()
            if change is None:
                raise ValueError(
                    f"{self.folder} has no change to undo: only rows and purges since its last "
                    "snapshots can be undone, and none before rows were dropped."
                )
            ids = change.ids(self.history)
            n_labelled = int(self.ledger.as_known(LAST_KNOWN, ids).has_label.sum()) if ids else 0
            if n_labelled:
                raise ValueError(
                    f"rows must have no labels to be undone; {n_labelled:,} of the {len(ids):,} "
                    f"last remembered in {self.folder} have."
                )
            writer.undo(change.generation, change.start)
            return change

    def compact(self) -> None:
        """Write the next snapshot and start its log, so that opening is fast again.

        The previous generation is kept, and removed by the next `compact`.
        """
        with self._changing() as writer:
            writer.compact()

    def close(self) -> None:
        """Close the files and let others write."""
        with self._mutex:
            if not self._why_not:
                self._writer.settle()
            self.ledger.close()
            self._writer.close()
            if self._lock is not None:
                self._lock.release()
                self._why_not = f"{self.folder} was closed; open it again."
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _changing(self) -> Iterator[StoreWriter]:
        """Yield the writer to one thread; after an error half-way, no change can follow."""
        with self._mutex:
            if self._why_not:
                raise ValueError(self._why_not)
            try:
                yield self._writer
            except (ValueError, TypeError, GeneratorExit):
                raise  # refused as a whole, or left before the end: nothing has changed
            except BaseException as error:
                self._why_not = (
                    f"{self.folder} could not be written ({error!r}); what it has on disk is "
                    "sound; open it again."
                )
                raise

    def _remember_row(self, call: str, row: Mapping[str, Any]) -> Any:
        with self._changing() as writer:
            result = writer.remember_row(call, row)
            writer.compact_if_long()
            return result


def _no_such(path: Path) -> FileNotFoundError:
    return FileNotFoundError(f"there is no history {path}; make it with HistoryStore.create.")
