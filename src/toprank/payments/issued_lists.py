"""Lists that were made for checking, kept until it is known what was in them.

What they found, compared with what they promised, says how the model does now: the promise of the
next list follows it. They are kept next to the history, one JSON document per line:

    {"until": ..., "day": ..., "age": ..., "doubt": ..., "ids": [...], "probability": [...]}
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from toprank.calibration import Calibration
from toprank.calibration.list_drift import ListDay
from toprank.data.atomic import PRIVATE
from toprank.data.tables import time_column
from toprank.data.tables.ids import id_texts
from toprank.data.tables.spans import span_of
from toprank.payments.history_store import HistoryStore
from toprank.payments.ledger.holding import LAST_KNOWN
from toprank.workflow.alert_list import AlertList
from toprank.workflow.promise import Promise, list_days

SILENCE = "30d"
"""Payments without a verdict or claim for this long count as genuine."""

FILE = "lists.ndjson"
MOST_LISTS = 60
"""The newest lists that are looked at: about two months of days."""


@dataclass(frozen=True)
class IssuedList:
    """The rows of a list that are of one day, by a model that had learned `until` then."""

    until: str
    day: str
    age: float
    doubt: float
    ids: list[str]
    probability: list[float]

    def outcome(self, labels: dict[str, bool], silent_before: np.datetime64) -> ListDay | None:
        """Return what was found, once each row has a label or is so old that silence counts."""
        is_old = np.datetime64(self.day) < silent_before
        if not (is_old or all(each in labels for each in self.ids)):
            return None
        found = sum(labels.get(each, False) for each in self.ids)
        return ListDay(np.array(self.probability), self.age, self.doubt, float(found))


def keep(
    alerts: AlertList, promise: Promise, calibration: Calibration, store: HistoryStore
) -> None:
    """Keep a list that has just been made; one that is made again counts once."""
    path = store.folder / FILE
    known = _read(path)
    new = [each for each in _by_day(alerts, promise, calibration) if each not in known]
    if not new:
        return
    # a line that a crash cut off must not swallow the next one
    lines = "".join(f"\n{json.dumps(asdict(each))}" for each in new)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(lines)


def followed(promise: Promise, store: HistoryStore) -> Promise:
    """Return the promise as it is now that some lists' contents are known.

    These are lists by the same model whose rows all have a label, or are as old as it takes for
    silence to count as genuine.
    """
    newest = store.history.until
    own = [
        each
        for each in _read(store.folder / FILE)
        # rows that are no longer known were undone, and their list with them
        if each.until == str(promise.until) and store.history.knows(each.ids).all()
    ]
    if not own or newest is None or not len(store.ledger):
        return promise
    known = store.ledger.as_known(LAST_KNOWN)
    labels = dict(zip(known.ids.tolist(), known.is_positive.tolist(), strict=True))
    silent_before = newest - span_of(SILENCE, "silence")
    outcomes = [each.outcome(labels, silent_before) for each in own[-MOST_LISTS:]]
    drift = promise.drift.after([each for each in outcomes if each is not None])
    return replace(promise, drift=drift)


def _by_day(alerts: AlertList, promise: Promise, calibration: Calibration) -> Iterator[IssuedList]:
    """Yield the rows of a list, day by day; days with rows of no id are left out."""
    if alerts.facts is None or not {"id", "time"} <= set(alerts.facts.column_names):
        return
    time = time_column(alerts.facts, "time")
    ids = np.array(id_texts(alerts.facts["id"], "id").to_pylist(), dtype=object)
    days = time.astype("datetime64[D]")
    parts = list_days(calibration, alerts.suspicion, time, promise.until)
    for day, part in zip(np.unique(days), parts, strict=True):
        here = ids[days == day].tolist()
        if None not in here:
            own = (part.age, part.doubt, here, part.probability.tolist())
            yield IssuedList(str(promise.until), str(day), *own)


def _read(path: Path) -> list[IssuedList]:
    """Return the lists in a file; a line that was cut off by a crash is left out."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(IssuedList(**json.loads(line)))
        except (TypeError, ValueError):
            continue
    return found
