"""What the history of a payment model contains, for people who look after it."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toprank.data.tables import time_column
from toprank.payments.history_store import HistoryStore
from toprank.payments.history_store.generations import Generations


@dataclass(frozen=True)
class Snapshot:
    """A snapshot on disk: its number, when it was written, and its bytes with those of its log."""

    number: int
    written: str
    n_bytes: int


@dataclass(frozen=True)
class LastChange:
    """What `restore` would undo; times are those of its rows."""

    kind: str
    n_rows: int
    first: str | None
    last: str | None


@dataclass(frozen=True)
class HistorySummary:
    """What is remembered: rows, the cards and events that features need, and labels.

    `n_unlabelled` counts the rows that have no label yet; None where rows have no ids.
    """

    folder: str
    n_rows: int
    first: str | None
    last: str | None
    n_cards: int | None
    n_events: int
    events_since: str | None
    n_labels: int
    n_unlabelled: int | None
    n_bytes: int
    snapshots: list[Snapshot]
    last_change: LastChange | None

    def to_json(self) -> dict[str, Any]:
        """Return all of it in plain values."""
        return asdict(self)


def history_summary(store: HistoryStore, card: str) -> HistorySummary:
    """Return what a history on disk contains; `card` is the column of cards."""
    history, rows = store.history, store.rows()
    times = time_column(rows, history.time) if rows.num_rows else np.empty(0, "datetime64[us]")
    first, last = _ends(times)
    n_unlabelled = None
    if history.row_id is not None and history.row_id in rows.column_names:
        has_label = history.held_labels(rows[history.row_id]).has_label
        n_unlabelled = int(np.count_nonzero(~has_label))
    return HistorySummary(
        folder=str(store.folder),
        n_rows=rows.num_rows,
        first=first,
        last=last,
        n_cards=history.n_values(card),
        n_events=history.n_remembered,
        events_since=None if history.since is None else _moment(history.since),
        n_labels=len(store.ledger),
        n_unlabelled=n_unlabelled,
        n_bytes=sum(_size(path) for path in store.folder.rglob("*")),
        snapshots=_snapshots(store.folder) if store.folder.is_dir() else [],
        last_change=_last_change(store) if store.folder.is_dir() else None,
    )


def _last_change(store: HistoryStore) -> LastChange | None:
    change = store.last_change()
    if change is None:
        return None
    return LastChange(change.kind, change.n_rows, *_ends(change.times(store.history)))


def _snapshots(folder: Path) -> list[Snapshot]:
    generations = Generations(folder)
    return [
        Snapshot(
            number,
            _moment(np.datetime64(int(generations.snapshot(number).stat().st_mtime), "s")),
            _size(generations.snapshot(number)) + _size(generations.log(number)),
        )
        for number in generations.numbers()
    ]


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _ends(times: Any) -> tuple[str, str] | tuple[None, None]:
    return (_moment(times.min()), _moment(times.max())) if times.size else (None, None)


def _moment(moment: np.datetime64) -> str:
    return str(moment.astype("datetime64[s]"))
