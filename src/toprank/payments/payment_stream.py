"""Payments as they arrive, scored by a fitted model that knows each card's past.

The model does not change, but its history does: each payment is remembered for those after it, and
labels reach the ledger and the features from the moment they are known. A learner of streams can
score in place of the model, from the same columns and features, and learn from the labels.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from toprank.data import checks, tables
from toprank.data.tables.ids import id_text
from toprank.payments.history_store import HistoryStore
from toprank.payments.payment_model import PaymentModel
from toprank.rankers.online.event_stream import EventStream
from toprank.rankers.online.events import Event, LabelOutcome, Outcome, ReadLabel, notes_of_label
from toprank.rankers.online.online_learner import OnlineLearner
from toprank.rankers.online.pending import Scored
from toprank.rankers.online.windows import Window


class PaymentStream:
    """The stream of a payment model, with the counts and the window of an `EventStream`.

    Rows are in the history at once, and on disk with the next `checkpoint`, together with
    `position`: a stream that is killed is resumed there, and rows that are sent again count once.

    Parameters
    ----------
    model
        A fitted model; one whose history is on disk must have been loaded for writing.
    window, budget
        The number of last labelled rows that the metrics cover, and how many could be checked.
    threshold
        The lowest probability at which a row is an alert.
    n_reasons
        The number of reasons per alert.
    most_pending
        The number of scores kept until their label comes; beyond it, the oldest is dropped.
    learner
        None, or an online learner such as `StreamRanker`, which scores in place of the model and
        learns from each label as it comes. Until it has learned, scores say nothing; it may have
        been fitted before, on the columns of `model.with_features(...)` that the model ranks by.

    Attributes
    ----------
    learned
        None, or the `EventStream` of the learner; `toprank.save` stores it in a file of its own.
    """

    n_replaced = n_alarms = 0  # as an EventStream has them
    what_labels_do = "labels taken in"

    def __init__(
        self,
        model: PaymentModel,
        *,
        window: int = 10_000,
        budget: int = 100,
        threshold: float = 0.5,
        n_reasons: int = 3,
        most_pending: int = 1_000_000,
        learner: OnlineLearner | None = None,
    ) -> None:
        self.model = model
        self.learned: EventStream | None = None
        if learner is not None:
            self.learned = EventStream(
                learner,
                window=window,
                budget=budget,
                threshold=threshold,
                n_reasons=n_reasons,
                most_pending=most_pending,
            )
        self.window = Window(checks.whole_number(window, "window", 1, 2**53), budget)
        self.threshold = checks.number_from(threshold, "threshold", 0, 1)
        self.n_reasons = checks.whole_number(n_reasons, "n_reasons", 0)
        self.pending: OrderedDict[str, Scored] = OrderedDict()
        self._most_pending = checks.whole_number(most_pending, "most_pending", 1)
        noted = model.state_.note if isinstance(model.state_, HistoryStore) else None
        self.position: dict[str, Any] = dict(noted) if isinstance(noted, dict) else {}
        self.n_scored = self.n_labelled = self.n_alerts = self.n_unmatched = self.n_dropped = 0

    @property
    def fields(self) -> set[str]:
        """The fields of a payment that the model takes."""
        model = self.model
        roles = (model.time, model.card, model.terminal, model.amount)
        schema = () if model.schema_ is None else model.schema_.names
        return {*schema, *(name for name in roles if name is not None)}

    def score(self, row: Mapping[str, Any], event_id: str | int | None = None) -> Scored:
        """Return the score of a payment, and remember the payment."""
        payment = self._with_id(row, event_id)
        if self.learned is None:
            scored = self._scored(payment)
        else:
            scored = self.learned.score(self._values(payment), event_id)
        self._count(scored, event_id)
        return scored

    def learn(
        self, row: Mapping[str, Any], label: Any, event_id: str | int | None = None
    ) -> Scored:
        """Return the score of a payment whose label is known, and remember both."""
        is_positive = self._is_positive(label)
        if self.learned is not None and event_id is None:  # it cannot be found by a label later
            scored = self.learned.learn(self._values(dict(row)), is_positive)
            self._count(scored, None)
        else:
            scored = self.score(row, event_id)
        if event_id is None:
            self._judge(scored, is_positive)
        else:
            self.label(event_id, label)
        return scored

    def label(self, event_id: str | int, label: Any) -> bool:
        """Add the label of a payment; return whether the payment is known."""
        is_positive = self._is_positive(label)
        name = id_text(event_id, "id") or ""
        is_found = name in self.pending
        if self.model.row_id is not None:
            counts = self.model.label([name], [is_positive], source="claim")
            is_found = is_found or not counts.n_unknown
        if self.learned is not None and name in self.learned.pending:
            self.learned.label(name, is_positive)
        scored = self.pending.pop(name, None)
        if scored is not None:
            self._judge(scored, is_positive)
        elif is_found:
            self.n_labelled += 1
        else:
            self.n_unmatched += 1
        return is_found

    def take_in(
        self, events: Sequence[Event], read_label: ReadLabel, *, strict: bool = False
    ) -> list[Outcome]:
        """Take in events in their order; one that is refused has an error as its outcome.

        With `strict`, that is the last one. `read_label` turns a label into one of the model.
        """
        outcomes: list[Outcome] = []
        for event in events:
            try:
                outcomes.append(self._outcome(event, read_label))
            except (ValueError, TypeError) as error:
                outcomes.append(error)
                if strict:
                    break
        return outcomes

    def _outcome(self, event: Event, read_label: ReadLabel) -> Outcome:
        if event.label is None:
            return self.score(event.row, event.event_id)
        label = read_label(event.label)
        notes = notes_of_label(event, self.pending, self.fields)
        if notes is None:
            return self.learn(event.row, label, event.event_id)
        return LabelOutcome(self.label(event.event_id or "", label), notes)

    def checkpoint(self) -> None:
        """Write everything to disk, including `position`."""
        self.model.settle(self.position)

    def _with_id(self, row: Mapping[str, Any], event_id: str | int | None) -> dict[str, Any]:
        payment = dict(row)
        if event_id is not None and self.model.row_id is not None:
            payment[self.model.row_id] = event_id
        return payment

    def _scored(self, payment: Mapping[str, Any]) -> Scored:
        suspicion, probability, reasons, _ = self.model.take_in(payment, n_reasons=self.n_reasons)
        is_alert = probability is not None and probability >= self.threshold
        why = {each.feature: each.contribution for each in reasons} if is_alert else None
        return Scored(suspicion, probability or 0.0, is_alert, why)

    def _values(self, payment: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the learner takes of a payment; the history remembers it."""
        features_of = None if self.model.state_ is None else self.model.state_.take_in
        return self.model.row_scores().values(payment, features_of)

    def _count(self, scored: Scored, event_id: str | int | None) -> None:
        self.n_scored += 1
        self.n_alerts += scored.is_alert
        if event_id is not None:
            self._keep(id_text(event_id, "id") or "", scored)

    def _keep(self, name: str, scored: Scored) -> None:
        self.pending[name] = scored._replace(reasons=None)
        if len(self.pending) > self._most_pending:
            self.pending.popitem(last=False)
            self.n_dropped += 1

    def _judge(self, scored: Scored, is_positive: bool) -> None:
        self.n_labelled += 1
        self.window.add(scored.suspicion, is_positive, scored.is_alert != is_positive)

    def _is_positive(self, label: Any) -> bool:
        column = self.model.label_column
        found = tables.truths(pa.table({column: [label]}), column, *self.model.classes_)[0].as_py()
        if found is None:
            raise ValueError(f"{column} must be one of {self.model.classes_}; it is missing.")
        return found
