"""Events taken in by batches give what a slow twin gives that takes them one by one."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank import OnlineNonLinearBoost
from toprank.rankers.online import drift
from toprank.rankers.online.event_stream import EventStream
from toprank.rankers.online.events import Event, LabelOutcome
from toprank.rankers.online.pending import Scored
from toprank.rankers.online.windows import Window

N_BUCKETS = 32


class Twin:
    """What a stream does with one event after the other, its pending rows in a dict."""

    def __init__(self, most_pending, threshold, watch=None):
        self.learner = made_learner()
        self.window = Window(20, 5)
        self.pending = {}
        self.most, self.threshold, self.watch = most_pending, threshold, watch
        self.n_unmatched = self.n_dropped = self.n_replaced = self.n_alarms = 0

    def outcome(self, event):
        try:
            return self.taken_in(event)
        except (ValueError, TypeError) as error:
            return str(error)

    def taken_in(self, event):
        name = event.event_id
        if event.is_late_label or self.is_only_a_label(event):
            if name not in self.pending:
                self.n_unmatched += 1
                return LabelOutcome(False)
            check_label(self.learner, event.label)
            self.learn(*self.pending.pop(name), event.label)
            return LabelOutcome(True, () if event.is_late_label else tuple(sorted(event.row)))
        if event.label is not None:
            check_label(self.learner, event.label)
        row, scored = self.scored(event.row)
        if name is not None:
            self.n_replaced += self.pending.pop(name, None) is not None
        if event.label is not None:
            self.learn(row, scored, event.label)
        elif name is not None:
            if len(self.pending) == self.most:
                del self.pending[next(iter(self.pending))]
                self.n_dropped += 1
            self.pending[name] = (row, scored)
        return scored

    def is_only_a_label(self, event):
        if event.label is None or event.event_id not in self.pending:
            return False
        return not set(event.row) & set(self.learner.model_.columns.names)

    def scored(self, given):
        learner = self.learner
        row = learner.encode_one(given)
        suspicion = learner.score_encoded(row)
        probability, is_alert, reasons = 0.5, False, None
        if learner.model_.n_rows:
            probability = learner.probability_at(suspicion)
            is_alert = probability >= self.threshold
        if is_alert:
            effects = learner.effects_encoded(row)
            first = sorted(effects, key=effects.get, reverse=True)[:3]
            reasons = {name: effects[name] for name in first if effects[name] > 0}
        if self.watch is not None:
            self.n_alarms += self.watch.scored(is_alert)
        return row, Scored(suspicion, probability, is_alert, reasons)

    def learn(self, row, scored, label):
        self.learner.learn_encoded(row, label)
        is_positive = self.learner.model_.classes.places[label] == 1
        self.window.add(scored.suspicion, is_positive, scored.is_alert != is_positive)
        if self.watch is not None:
            chance = scored.probability if is_positive else 1 - scored.probability
            self.n_alarms += self.watch.labelled(row, label, -math.log(max(chance, 1e-15)))


def check_label(learner, label):
    EventStream(learner).check_label(label)


def made_learner():
    return OnlineNonLinearBoost(3, 2, n_buckets=N_BUCKETS)


cells = {
    "amount": st.one_of(st.integers(-3, 3), st.floats(-2, 2), st.none(), st.just(1e200)),
    "country": st.sampled_from(["FR", "DE", None, "", 7.5]),
    "is_new": st.booleans(),
    "late column": st.floats(-1, 1),
}
ids = st.one_of(st.none(), st.sampled_from("abcdef"))
labels = st.sampled_from([True, False, False, False, 2])


@st.composite
def made_events(draw):
    kinds = st.sampled_from(["row", "row", "row", "labelled", "late", "late", "noted"])
    events = []
    for kind in draw(st.lists(kinds, max_size=40)):
        names = draw(st.sets(st.sampled_from(["amount", "country", "is_new"]), min_size=1))
        if len(events) > 10 and draw(st.integers(0, 5)) == 0:
            names.add("late column")
        row = {name: draw(cells[name]) for name in sorted(names)}
        if kind == "row":
            events.append(Event(draw(ids), None, row))
        elif kind == "labelled":
            events.append(Event(draw(ids), draw(labels), row))
        elif kind == "late":
            events.append(Event(draw(st.sampled_from("abcdef")), draw(labels), {}, True))
        else:
            events.append(Event(draw(ids), draw(labels), {"decided_by": 1.0}))
    return events


def comparable(outcome):
    return str(outcome) if isinstance(outcome, Exception) else outcome


def learned_by(learner):
    return {name: array.tobytes() for name, array in learner.model_.arrays().items()}


@examples(150)
@given(made_events(), st.lists(st.integers(1, 12), min_size=1), st.integers(1, 5), st.booleans())
def test_batches_of_any_sizes_give_what_events_one_by_one_give(events, sizes, most, is_easy):
    threshold = 0.3 if is_easy else 0.6
    stream = EventStream(
        made_learner(), window=20, budget=5, threshold=threshold, most_pending=most
    )
    twin = Twin(most, threshold)
    found, start = [], 0
    while start < len(events):
        size = sizes[len(found) % len(sizes)]
        found += stream.take_in(events[start : start + size])
        start += size
    expected = [twin.outcome(event) for event in events]

    assert [comparable(each) for each in found] == expected
    assert list(stream.pending._place_of) == list(twin.pending)
    for name in ("n_unmatched", "n_dropped", "n_replaced"):
        assert getattr(stream, name) == getattr(twin, name)
    assert stream.window.summary() == twin.window.summary()
    if hasattr(twin.learner, "n_features_in_"):
        assert learned_by(stream.learner) == learned_by(twin.learner)


@examples(20)
@given(st.integers(0, 1000), st.integers(1, 60), st.sampled_from(["raise-rate", "renew-worst"]))
def test_a_drift_watch_acts_at_the_same_label_whatever_the_batches(seed, size, action):
    pytest.importorskip("river")
    draw = random.Random(seed)
    block = drift._BLOCK
    drift._BLOCK = 5
    try:
        stream = EventStream(
            made_learner(), window=20, budget=5, drift="page-hinkley", on_drift=action
        )
        twin = Twin(10**6, 0.5)
        twin.watch = drift.DriftWatch(twin.learner, "page-hinkley", action)
        events, truth = [], {}
        for number in range(600):
            is_fraud = draw.random() < 0.3
            amount = draw.gauss(2.0 * (is_fraud == (number < 300)), 0.3)
            events.append(Event(f"{number}", None, {"amount": amount}))
            if number >= 7:
                events.append(Event(f"{number - 7}", truth[number - 7], {}, True))
            truth[number] = is_fraud
        found = []
        for start in range(0, len(events), size):
            found += stream.take_in(events[start : start + size])
        expected = [twin.outcome(event) for event in events]
    finally:
        drift._BLOCK = block

    assert found == expected
    assert stream.n_alarms == twin.n_alarms
    assert learned_by(stream.learner) == learned_by(twin.learner)


def test_with_strict_the_first_error_is_the_last_outcome():
    events = [Event(None, None, {"amount": amount}) for amount in (1.0, 1e200, 2.0)]
    stream = EventStream(made_learner())

    first, error = stream.take_in(events, strict=True)

    assert first.suspicion == 0.0
    assert "amount" in str(error)
    assert stream.n_scored == 1
    assert [type(each) for each in EventStream(made_learner()).take_in(events)] == [
        Scored,
        type(error),
        Scored,
    ]
