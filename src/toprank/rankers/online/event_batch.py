"""Events of a stream taken in together, with the result of one after the other.

A batch is planned in the order of its events: which rows are scored and which pending rows are
learned from, and when. Then the learner does all of it in one go, and the rows that are still
pending are stored:

    events   row a | row b | label of x | row c | label of a
    scored       a       b                    c               in the batch
    n_known      0       0                    1
    learned                   x                       a       x was pending, a is of the batch

While it runs no column may be added: such a row begins a batch of its own.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from toprank.rankers.online.events import (
    Event,
    LabelOutcome,
    Outcome,
    ReadLabel,
    checked_id,
    notes_of_label,
)
from toprank.rankers.online.pending import ArrivedRows, Scored
from toprank.rankers.online.steps import Effects, Scores, Steps
from toprank.rankers.online.stream_columns import EncodedEvent

_LEAST_PROBABILITY = 1e-15  # of what happened; its loss stays finite
_FOUND, _UNKNOWN = LabelOutcome(True), LabelOutcome(False)
_LABELS = frozenset((bool, int, float, str))


class EventBatch:
    """The first of some events of a stream, as many as can be taken in together."""

    def __init__(self, stream: Any, events: Sequence[Event], read_label: ReadLabel) -> None:
        self._stream, self._learner, self._read_label = stream, stream.learner, read_label
        self._rows = stream.learner.encode_known([e.row for e in events if not e.is_late_label])
        self._model, self._pending = stream.learner.model_, stream.pending
        self._columns, self._known = self._model.columns, self._model.classes.places
        self._had_learned = self._model.n_rows > 0
        self._events, self._is_new = self._first_of(events)
        self._outcomes: list[Any] = []
        self._chosen: list[int] = []  # the rows that are scored,
        self._answered: list[int] = []  # where their outcome is,
        self._n_known: list[int] = []  # and how many are learned before each
        self._learned: list[int] = []  # rows learned from: their place, or ~number of the batch
        self._labels: list[Any] = []  # and the label of each
        self._places: list[int] = []

    def outcomes(self, strict: bool) -> list[Outcome]:
        """Take in the events and return the outcome of each; `strict` ends with an error."""
        self._plan_all(strict)
        if self._chosen or self._learned:
            self._run()
        return self._outcomes

    # Planning

    def _first_of(self, events: Sequence[Event]) -> tuple[Sequence[Event], bool]:
        """Return the events up to the first row that is not encoded; if that is the first, it."""
        n_encoded = len(self._rows.values)
        number = 0
        for place, event in enumerate(events):
            if not event.is_late_label:
                if number == n_encoded:
                    return events[: max(place, 1)], place == 0
                number += 1
        return events, False

    def _plan_all(self, strict: bool) -> None:
        most_labels = self._most_labels()
        number = 0
        for event in self._events:
            try:
                self._plan(event, number)
            except (ValueError, TypeError) as error:
                self._outcomes.append(error)
                if strict:
                    return
            number += not event.is_late_label
            if len(self._places) == most_labels:
                return

    def _most_labels(self) -> float:
        """Return after how many labels the batch must end: what follows may depend on them."""
        if not self._had_learned:
            return 1  # scores begin with the first
        watch = self._stream.watch
        return math.inf if watch is None else watch.n_labels_left()

    def _plan(self, event: Event, number: int) -> None:
        event_id, label, row, is_late_label, is_row = event
        if is_late_label or label is not None:
            # most labels are known; the others are read, checked and added by slower functions
            is_known = type(label) in _LABELS and label in self._known
            label = label if is_known else self._read_label(label)
            if is_late_label:
                self._plan_label(event_id, label)
                return
            notes = None if is_row else notes_of_label(event, self._pending, self._columns.names)
            if notes is not None:
                self._plan_label(event_id, label, notes)
                return
        name = checked_id(event_id)
        if label is not None:
            self._stream.check_label(label)
        if self._is_new:
            self._rows = self._learner.encode_one(row)
        own = len(self._chosen)
        self._chosen.append(number)
        self._answered.append(len(self._outcomes))
        self._n_known.append(len(self._places))
        self._outcomes.append(None)
        if label is not None:
            if name is not None and self._pending.leave(name) is not None:
                self._pending.n_replaced += 1
            self._learn(~own, label)
        elif name is not None:
            self._pending.enter(name, own, self._rows.values.shape[1])

    def _plan_label(self, event_id: Any, label: Any, notes: tuple[str, ...] = ()) -> None:
        name = checked_id(event_id)
        if name is None:
            raise ValueError("event_id must be given with a label; got none.")
        if name not in self._pending:
            self._stream.n_unmatched += 1
            self._outcomes.append(_UNKNOWN)
            return
        self._stream.check_label(label)
        self._learn(self._pending.leave(name), label)
        self._outcomes.append(LabelOutcome(True, notes) if notes else _FOUND)

    def _learn(self, where: int, label: Any) -> None:
        place = self._known.get(label)
        self._learned.append(where)
        self._labels.append(label)
        self._places.append(self._model.classes.place(label) if place is None else place)

    # Running

    def _run(self) -> None:
        stream = self._stream
        rows = self._rows
        if len(self._chosen) < len(rows.values):
            rows = rows.take(self._chosen)
        learned = _Learned(self._learned, self._pending, self._columns)
        places = np.array(self._places, dtype=np.int64)
        n_known = np.array(self._n_known, dtype=np.int64)
        steps = Steps(rows, learned.rows(rows), places, n_known)
        scores, effects = self._scores(steps)
        batch = self._scored_rows(rows, scores)
        self._answer(batch, effects)
        stream.n_scored += n_known.size
        stream.n_alerts += int(batch.is_alert.sum())
        stream.n_labelled += places.size
        if places.size:
            known = learned.scores(batch)
            is_positive = places == 1
            is_error = known.is_alert != is_positive
            stream.window.add_batch(known.suspicion, is_positive, is_error)
            self._watch(batch, known, n_known)
        elif stream.watch is not None:
            self._watch(batch, batch.take(slice(0)), n_known)
        self._pending.store(batch)

    def _scores(self, steps: Steps) -> tuple[Scores, Effects]:
        """Return the scores of the scored rows, and the effects in those that may be alerts."""
        highest = math.inf
        if self._had_learned and self._stream.n_reasons:
            # a little lower than the threshold: the probability itself decides
            highest = float(logit(self._stream.threshold * (1 - 1e-9)))
        return self._learner.take_steps(steps, highest)

    def _scored_rows(self, rows: EncodedEvent, scores: Scores) -> ArrivedRows:
        suspicion = scores.raw[:, 0].copy()
        if not self._had_learned:
            return ArrivedRows(
                rows, suspicion, np.full(suspicion.size, 0.5), np.zeros(suspicion.size, dtype=bool)
            )
        probability = expit(scores.log_odds)
        return ArrivedRows(rows, suspicion, probability, probability >= self._stream.threshold)

    def _answer(self, batch: ArrivedRows, effects: Effects) -> None:
        columns = (each.tolist() for each in batch[1:])
        for place, scored in zip(self._answered, map(Scored, *columns), strict=True):
            self._outcomes[place] = scored
        for own, of_row in effects.items():
            place = self._answered[own]
            if self._outcomes[place].is_alert:
                reasons = _raising(of_row, self._stream.n_reasons)
                self._outcomes[place] = self._outcomes[place]._replace(reasons=reasons)

    def _watch(self, batch: ArrivedRows, known: ArrivedRows, n_known: NDArray[np.int64]) -> None:
        """Let the drift watch see rows and labels in their order."""
        stream, watch = self._stream, self._stream.watch
        if watch is None:
            return
        n_seen = 0
        for count, is_alert in zip(
            [*n_known.tolist(), None], [*batch.is_alert.tolist(), None], strict=True
        ):
            until = len(self._places) if count is None else count
            for each in range(n_seen, until):
                loss = _log_loss(float(known.probability[each]), self._places[each] == 1)
                row = known.rows.take(slice(each, each + 1))
                stream.n_alarms += watch.labelled(row, self._labels[each], loss)
            n_seen = until
            if is_alert is not None:
                stream.n_alarms += watch.scored(is_alert)


class _Learned:
    """The rows that a batch learns from: from among the pending ones, or from the batch."""

    def __init__(self, where: list[int], pending: Any, columns: Any) -> None:
        where_now = np.array(where, dtype=np.int64)
        self._is_stored = where_now >= 0
        self._numbers = ~where_now[~self._is_stored]
        self._stored = pending.stored(where_now[self._is_stored])
        self._columns = columns

    def rows(self, batch: EncodedEvent) -> EncodedEvent:
        """Return the rows; columns added since a row was stored are missing in it."""
        stored = self._columns.widened(
            EncodedEvent(self._stored.values, self._stored.buckets), self._stored.n_columns
        )
        return EncodedEvent(
            self._merged(stored.values, batch.values), self._merged(stored.buckets, batch.buckets)
        )

    def scores(self, batch: ArrivedRows) -> ArrivedRows:
        """Return the rows with the scores they got, once the batch is scored."""
        stored = self._stored
        return ArrivedRows(
            self.rows(batch.rows),
            self._merged(stored.suspicion, batch.suspicion),
            self._merged(stored.probability, batch.probability),
            self._merged(stored.is_alert, batch.is_alert),
        )

    def _merged(self, stored: NDArray, batch: NDArray) -> NDArray:
        if self._is_stored.all():
            return stored
        if not self._is_stored.any():
            return batch[self._numbers]
        merged = np.empty((self._is_stored.size, *batch.shape[1:]), dtype=batch.dtype)
        merged[self._is_stored] = stored
        merged[~self._is_stored] = batch[self._numbers]
        return merged


def _raising(effects: dict[str, float], most: int) -> dict[str, float]:
    """Return the columns that raise the score of a row most, and by how much."""
    raising = sorted(effects, key=effects.__getitem__, reverse=True)[:most]
    return {name: effects[name] for name in raising if effects[name] > 0}


def _log_loss(probability: float, is_positive: bool) -> float:
    of_what_happened = probability if is_positive else 1.0 - probability
    return -math.log(max(of_what_happened, _LEAST_PROBABILITY))
