"""A history brought up to date: its snapshot, with the calls recorded in the log replayed."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from toprank.data.tables.ids import id_texts
from toprank.files.faults import ModelFileError
from toprank.payments.features import History, history_file
from toprank.payments.features.past import LabelCounts
from toprank.payments.history_store import row_payload
from toprank.payments.history_store.generations import Generations
from toprank.payments.history_store.record_log import Record, RecordLog, records
from toprank.payments.ledger import SOURCES, Ledger

_READ_TRIES, _READ_PAUSE = 5, 0.02  # seconds


@dataclass
class StoreState:
    """The history and what a writer needs to know to continue.

    `position` is how far the ledger was read. The archive has the rows from `first_row` up to
    `n_archived`; `pending_rows` came singly since. `generation` is the number of the log, of
    which the first `log_size` bytes are valid.
    """

    history: History
    generation: int = 1
    position: int = 0
    first_row: int = 0
    n_archived: int = 0
    pending_rows: list[dict[str, Any]] = field(default_factory=list)
    note: Any = None
    log_size: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def facts(self) -> dict[str, Any]:
        """What a snapshot contains besides the history; single rows must be archived before."""
        return {
            "ledger_position": self.position,
            "first_row": self.first_row,
            "n_rows": self.n_archived,
            "note": self.note,
        }


def state_of(folder: Path, ledger: Ledger) -> StoreState:
    """Return the state on disk, without unfinished changes.

    Raises FileNotFoundError if a writer has removed a file in the meantime; then call it again.
    """
    generations = Generations(folder)
    numbers = generations.numbers()
    faults: list[ModelFileError] = []
    for number in numbers:
        try:
            state = _read_snapshot(generations.snapshot(number))
        except ModelFileError as fault:
            faults.append(fault)
            continue
        state.notes += [
            f"{fault} The previous snapshot and the logs gave the same history."
            for fault in faults
        ]
        for each in range(number, numbers[0] + 1):
            state.generation = each
            _replay_log(generations.log(each), state, ledger, is_last=each == numbers[0])
        _check_ledger(ledger, state.position)
        return state
    raise faults[0]


def consistent_state(folder: Path, ledger: Ledger) -> StoreState:
    """Return the state of one moment, while another process may be writing.

    If a change came between two reads, everything is read again.
    """
    for _ in range(_READ_TRIES):
        try:
            return state_of(folder, ledger)
        except (FileNotFoundError, ModelFileError):
            time.sleep(_READ_PAUSE)
    return state_of(folder, ledger)


def record_labels(
    history: History,
    ledger: Ledger,
    row_id: Any,
    is_positive: ArrayLike,
    known_at: Any,
    source: str,
    who: str,
) -> LabelCounts:
    """Write labels of remembered rows to a ledger; return what it knew, and ids of no row.

    The history gets the others by `apply_labels`, so that it knows only what the ledger has.
    """
    if isinstance(row_id, list | tuple):  # numpy would turn 7.0 next to text into another id
        row_id = np.array(row_id, dtype=object)
    ids, labels = id_texts(np.atleast_1d(row_id), "row_id"), np.atleast_1d(is_positive)
    is_known = history.knows(ids)
    unknown = tuple(np.flatnonzero(~is_known).tolist())
    recorded = ledger.record(
        ids.filter(pa.array(is_known)).to_pylist(),
        labels[is_known],
        known=known_at if np.ndim(known_at) == 0 else np.asarray(known_at)[is_known],
        source=source,
        who=who,
    )
    return LabelCounts(n_known=recorded.n_known, n_unknown=len(unknown), unknown=unknown)


def moment_known(known_at: Any, until: np.datetime64 | None) -> Any:
    """Return when labels became known: as given, or else the time of the latest payment.

    No payment before it knew of them, and all after it may.
    """
    if known_at is not None:
        return known_at
    return np.datetime64(datetime.now(UTC).replace(tzinfo=None), "us") if until is None else until


def apply_labels(history: History, ledger: Ledger, start: int, stop: int) -> LabelCounts:
    """Give a history the ledger's labels from one position to another; return the counts."""
    if stop == start:
        return LabelCounts()
    entries = ledger.entries_after(start, stop - start)
    sources = np.array(SOURCES)[entries.source_code]
    return history.label(entries.ids, entries.is_positive, entries.known, source=sources)


def remember_row(history: History, call: str, row: dict[str, Any]) -> Any:
    """Remember one row by the named call: "one" returns its features, "commit" does not."""
    return getattr(history, call)(row)


def purge(history: History, before: int, forget: int | None) -> None:
    """Purge a history; moments are in microseconds."""
    since = None if forget is None else np.datetime64(forget, "us")
    history.purge(np.datetime64(before, "us"), since)


def _read_snapshot(path: Path) -> StoreState:
    history, facts = history_file.read_with_facts(path, History._from_saved)
    try:
        return StoreState(
            history,
            position=int(facts["ledger_position"]),
            first_row=int(facts["first_row"]),
            n_archived=int(facts["n_rows"]),
            note=facts.get("note"),
        )
    except (LookupError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path} must contain the positions of ledger and rows; {error!r}."
        ) from error


def _replay_log(path: Path, state: StoreState, ledger: Ledger, is_last: bool) -> None:
    """Replay the calls that the log records.

    If the history refuses the last record, it did so before, and the writer was killed before it
    could cut the record off.
    """
    refused = None
    state.log_size = RecordLog.HEAD_BYTES
    stop = _start_of_unfinished(path) if is_last else None
    for found in records(path):
        if found.start == stop:
            return
        if refused is not None:
            raise _unreadable(path, *refused)
        try:
            _replay(found, state, ledger)
        except ModelFileError:
            raise
        except (ValueError, TypeError) as error:
            refused = (found, error)
            continue
        state.log_size = found.stop
    if refused is not None and not is_last:
        raise _unreadable(path, *refused)


def _start_of_unfinished(path: Path) -> int | None:
    """Return where an unfinished change starts; None if all changes are complete."""
    start = None
    for found in records(path):
        kind, facts, _ = row_payload.read_payload(found.payload)
        if kind in (row_payload.TABLE, row_payload.ROW) and facts.get("is_part"):
            start = found.start if start is None else start
        else:
            start = None
    return start


def _replay(record: Record, state: StoreState, ledger: Ledger) -> None:
    kind, facts, body = row_payload.read_payload(record.payload)
    history = state.history
    if kind == row_payload.TABLE:
        history.batch(row_payload.table_of(body))
        state.n_archived = facts["n_rows"]
    elif kind == row_payload.FINISHED:
        state.note = facts.get("note", state.note)
    elif kind == row_payload.ROW:
        row = row_payload.row_of(facts["row"])
        remember_row(history, facts["call"], row)
        state.pending_rows.append(row)
    elif kind == row_payload.LABELS:
        _replay_labels(state, ledger, facts["position"])
    elif kind == row_payload.PURGE:
        purge(history, facts["before"], facts["forget"])
    elif kind == row_payload.ARCHIVED:
        state.n_archived = facts["n_rows"]
        state.pending_rows = []
    elif kind == row_payload.DROPPED:
        state.first_row = facts["first_row"]
    else:
        raise ModelFileError(f"the log has a record of kind {kind!r}; update toprank.")


def _replay_labels(state: StoreState, ledger: Ledger, position: int) -> None:
    _check_ledger(ledger, position)
    if position > state.position:
        apply_labels(state.history, ledger, state.position, position)
    state.position = position


def _check_ledger(ledger: Ledger, position: int) -> None:
    if ledger.position < position:
        raise ModelFileError(
            f"the label ledger must have the {position} entries that the history was given; it "
            f"has {ledger.position}; restore the whole folder from a copy."
        )


def _unreadable(path: Path, record: Record, error: Exception) -> ModelFileError:
    return ModelFileError(
        f"{path} has a record at byte {record.start} that the history refuses: {error}"
    )
