"""A stream of events for an online learner: rows are scored at once, labels may come late."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from numpy.typing import NDArray

from toprank.data import checks
from toprank.data.tables.columns import shortened
from toprank.files.saved_learners import Saved, learner_class
from toprank.files.state import part_of, parts_together
from toprank.rankers.online.classes import Label
from toprank.rankers.online.event_batch import EventBatch
from toprank.rankers.online.events import Event, Outcome, ReadLabel, checked_id
from toprank.rankers.online.online_learner import OnlineLearner
from toprank.rankers.online.pending import PendingRows, Scored
from toprank.rankers.online.windows import Window

_COUNTERS = ("n_scored", "n_labelled", "n_alerts", "n_unmatched", "n_alarms")


class EventStream:
    """Scores events as they arrive and learns from each once its label is known.

    The window measures the scores given at arrival, in the order of the labels. `toprank.save`
    stores everything in one file, and a loaded stream resumes exactly where it stopped.

    Parameters
    ----------
    learner
        An online learner such as `OnlineNonLinearBoost`, fresh or not.
    window, budget
        Number of recent labelled rows that the metrics cover, and how many of them could be
        checked.
    threshold
        Lowest probability that makes a row an alert. Before anything is learned, there are none.
    drift, on_drift
        None, or the detector of changes: "adwin" or "page-hinkley", and what it does:
        "raise-rate", "renew-worst" or "none".
    most_pending
        Maximum number of rows pending a label; beyond it, the oldest is dropped.
    n_reasons
        Reasons per alert: the columns that raise its score most.

    Attributes
    ----------
    n_scored, n_labelled, n_alerts
        Rows scored, rows learned from, alerts among the scored.
    n_unmatched
        Labels without a pending row: never seen, dropped, or already labelled.
    n_dropped, n_replaced
        Pending rows dropped because there were too many, or replaced by one with the same id.
    n_alarms
        Changes detected.
    position
        A JSON-compatible dict for the caller, saved with the stream: for example, how far its
        input has been read.

    Examples
    --------
    >>> from toprank import OnlineNonLinearBoost
    >>> stream = EventStream(OnlineNonLinearBoost())
    >>> for i, (amount, is_fraud) in enumerate([(9.0, False), (900.0, True)] * 50):
    ...     scored = stream.score({"amount": amount, "country": "FR"}, event_id=i)
    ...     is_known = stream.label(i, is_fraud)
    >>> scored = stream.score({"amount": 950.0, "country": "FR"})
    >>> scored.is_alert, next(iter(scored.reasons))
    (True, 'amount')
    >>> stream.label("no such event", True), stream.n_unmatched
    (False, 1)
    """

    what_labels_do = "learned from"

    def __init__(
        self,
        learner: OnlineLearner,
        *,
        window: int = 10_000,
        budget: int = 100,
        threshold: float = 0.5,
        drift: str | None = None,
        on_drift: str = "raise-rate",
        most_pending: int = 1_000_000,
        n_reasons: int = 3,
    ) -> None:
        self.learner = _checked_learner(learner)
        self.window = Window(checks.whole_number(window, "window", 1, 2**53), budget)
        self.threshold = checks.number_from(threshold, "threshold", 0, 1)
        self.n_reasons = checks.whole_number(n_reasons, "n_reasons", 0)
        self.drift = drift
        self.on_drift = checks.one_of(on_drift, "on_drift", ("raise-rate", "renew-worst", "none"))
        self.pending = PendingRows(checks.whole_number(most_pending, "most_pending", 1))
        self.position: dict[str, Any] = {}
        self.n_scored = self.n_labelled = self.n_alerts = 0
        self.n_unmatched = self.n_alarms = 0
        self.watch = None if drift is None else _drift_watch()(learner, drift, on_drift)

    @property
    def n_dropped(self) -> int:
        """How many rows were dropped because too many were pending."""
        return self.pending.n_dropped

    @property
    def n_replaced(self) -> int:
        """How many pending rows were replaced by a newer one with the same id."""
        return self.pending.n_replaced

    def score(self, row: Mapping[str, Any], event_id: str | int | None = None) -> Scored:
        """Return the score of a row; with an id, the row is pending until its label arrives.

        It replaces a pending row with the same id.
        """
        return self._only(Event(event_id, None, row))

    def label(self, event_id: str | int, label: Label) -> bool:
        """Learn from the pending row with this id; return whether there is one."""
        if checked_id(event_id) is None:
            raise ValueError("event_id must be given with a label; got none.")
        return self._only(Event(event_id, label, {}, is_late_label=True)).is_found

    def learn(
        self, row: Mapping[str, Any], label: Label, event_id: str | int | None = None
    ) -> Scored:
        """Return the score of a row with a known label, and learn from it.

        It replaces a pending row with the same id.
        """
        checked_id(event_id)
        self.check_label(label)
        return self._only(Event(event_id, label, row, is_row=True))

    def take_in(
        self, events: Sequence[Event], read_label: ReadLabel | None = None, *, strict: bool = False
    ) -> list[Outcome]:
        """Take in events in their order; the result is that of one after the other.

        An event that is refused has an error as its outcome, and changes nothing; with `strict`,
        it is the last one. `read_label` is asked about labels that the stream does not know: it
        returns one that it takes, or raises.
        """
        outcomes: list[Outcome] = []
        most = len(events)
        while len(outcomes) < len(events):
            rest = events[len(outcomes) : len(outcomes) + most]
            done = EventBatch(self, rest, read_label or _as_it_is).outcomes(strict)
            outcomes += done
            if strict and isinstance(outcomes[-1], Exception):
                break
            most = 2 * len(done)  # a piece that ended early cost as much as a whole one
        return outcomes

    def _only(self, event: Event) -> Any:
        (outcome,) = self.take_in([event])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def check_label(self, label: Any) -> None:
        """Raise for a label that could not be learned from, before anything is changed."""
        self.learner._begin()
        classes = self.learner.model_.classes
        if isinstance(label, bool | int | float | str) and label in classes.places:
            return
        trial = classes.copy()
        trial.place(label)
        named = classes.positive_label
        if named is not None and isinstance(label, str) != isinstance(named, str):
            raise ValueError(
                f"label must be text or a number like the positive label {shortened(named)}; "
                f"got {shortened(label)}."
            )
        if trial.positive is None:
            raise ValueError(
                "labels must be true and false, 1 and 0, 1 and -1, yes and no or the like, or "
                f"`positive_label` must name the suspicious one; got {shortened(label)}."
            )
        if len(trial.places) > 2:
            known = " and ".join(map(shortened, classes.places))
            raise ValueError(f"label must be {known}, as before; got {shortened(label)}.")

    # To and from files

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a stream."""
        parts: dict[str, tuple[Any, Mapping[str, NDArray]]] = {
            "learner": _saved_learner(self.learner),
            "window": self.window.to_state(),
            "pending": self.pending.to_state(),
            "drift": (None, {}) if self.watch is None else self.watch.to_state(),
        }
        state: dict[str, Any] = {name: facts for name, (facts, _) in parts.items()}
        state["counters"] = {name: getattr(self, name) for name in _COUNTERS}
        state["position"] = self.position
        arrays = parts_together({part: own for part, (_, own) in parts.items()})
        parameters = {"threshold": self.threshold, "n_reasons": self.n_reasons}
        return Saved(state, arrays, {}, parameters, is_private=True)  # of pending rows

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the stream that `_to_saved` described; raises ValueError if it does not fit."""
        state = saved.state
        learner = _restored_learner(state["learner"], part_of(saved.arrays, "learner"))
        stream = cls(learner, **parameters)
        stream.window = Window.from_state(state["window"], part_of(saved.arrays, "window"))
        stream.pending = PendingRows.from_state(
            state["pending"], part_of(saved.arrays, "pending"), learner.n_buckets
        )
        stream._check_pending()
        if state["drift"] is not None:
            arrays = part_of(saved.arrays, "drift")
            stream.watch = _drift_watch().from_state(learner, state["drift"], arrays)
            stream.drift, stream.on_drift = stream.watch.detector, stream.watch.action
        for name in _COUNTERS:
            setattr(stream, name, checks.whole_number(state["counters"][name], name, 0))
        if not isinstance(state["position"], dict):
            raise ValueError(f"position must be a dict; got {shortened(state['position'])}.")
        stream.position = state["position"]
        return stream

    def _check_pending(self) -> None:
        """Raise a ValueError if pending rows of a file do not fit the learner."""
        n_known = len(self.learner.model_.columns) if hasattr(self.learner, "model_") else 0
        if self.pending.n_columns > n_known:
            raise ValueError(
                f"pending rows must have at most the {n_known} columns of the learner; "
                f"got {self.pending.n_columns}."
            )


def _checked_learner(learner: Any) -> OnlineLearner:
    if not isinstance(learner, OnlineLearner):
        raise TypeError(
            "learner must be an online learner such as OnlineNonLinearBoost(); "
            f"got {type(learner).__name__}."
        )
    classes = learner.model_.classes if hasattr(learner, "model_") else None
    if classes is not None and len(classes.places) > 2:
        raise ValueError(
            "learner must have two classes at most, since a stream ranks one against the other; "
            f"it has learned from {shortened(classes.sorted().tolist())}."
        )
    if classes is not None and classes.places and classes.positive is None:
        raise ValueError(
            "learner must have a positive_label, since none of its labels is positive by name; "
            f"it has learned from {shortened(classes.sorted().tolist())}."
        )
    return learner


def _drift_watch() -> Any:
    from toprank.rankers.online.drift import DriftWatch  # it needs River, which few have

    return DriftWatch


def _as_it_is(label: Any) -> Any:
    return label


def _saved_learner(learner: OnlineLearner) -> tuple[dict[str, Any], Mapping[str, NDArray]]:
    """Return what a file keeps of the learner; its state is None before it has seen a row."""
    saved = learner._to_saved() if hasattr(learner, "n_features_in_") else Saved({}, {}, {})
    facts = {
        "learner": type(learner).__name__,
        "parameters": learner._saved_parameters(),
        "state": saved.state or None,
    }
    return facts, saved.arrays


def _restored_learner(facts: dict[str, Any], arrays: Mapping[str, NDArray]) -> OnlineLearner:
    kind = learner_class(facts["learner"])
    if not issubclass(kind, OnlineLearner):
        raise ValueError(f"learner must be an online learner; got {facts['learner']!r}.")
    if facts["state"] is None:
        return kind._from_parameters(facts["parameters"])
    return kind._from_saved(facts["parameters"], Saved(facts["state"], arrays, {}))
