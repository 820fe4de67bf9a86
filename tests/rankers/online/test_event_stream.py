from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toprank
from examples import examples
from toprank import AdaBoostOL, BoostedRanker, OnlineNonLinearBoost, StreamBoost
from toprank.files import ModelFileError
from toprank.rankers.online import drift
from toprank.rankers.online.event_stream import EventStream
from toprank.rankers.online.windows import Window

pytestmark = pytest.mark.kernel


def fresh(**options):
    learner = options.pop("learner", None) or small()
    return EventStream(learner, **{"window": 50, "budget": 5} | options)


def small(**options):
    return OnlineNonLinearBoost(3, 2, n_buckets=16, **options)


def made_rows(n_rows, seed=0):
    """Return rows and labels; some cells are missing, and a column is added half-way."""
    random = np.random.default_rng(seed)
    rows, labels = [], []
    for i in range(n_rows):
        label = bool(random.random() < 0.2)
        row = {
            "amount": float(random.normal(2.0 * label)),
            "country": str(random.choice(["FR", "DE", "US"])),
            "age": None if random.random() < 0.3 else int(random.integers(20, 80)),
        }
        if i >= n_rows // 2:
            row["later"] = float(random.normal())
        rows.append(row)
        labels.append(label)
    return rows, labels


def play(stream, rows, labels, start=0, stop=None, delay=7):
    """Score rows: every third comes with its label, the others get theirs `delay` rows later."""
    said = []
    for i in range(start, len(rows) if stop is None else stop):
        if i % 3 == 0:
            said.append(stream.learn(rows[i], labels[i], i))
        else:
            said.append(stream.score(rows[i], i))
        if i >= delay and (i - delay) % 3:
            stream.label(i - delay, labels[i - delay])
    return said


def saved_and_loaded(stream, path):
    toprank.save(stream, path)
    return toprank.load(path)


def state_of(stream):
    """Return the state of a stream as plain values and bytes."""
    saved = stream._to_saved()
    arrays = {
        name: (array.dtype, array.shape, array.tobytes()) for name, array in saved.arrays.items()
    }
    return saved.state, saved.parameters, arrays


def learned_by(stream):
    arrays = state_of(stream)[2]
    return {name: array for name, array in arrays.items() if name.startswith("learner-")}


def test_a_pending_row_is_scored_and_learned_as_by_the_learner_alone():
    rows, labels = made_rows(60)
    stream, learner = fresh(), small()
    said, expected = [], []
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        said.append(stream.score(row, i))
        expected.append((learner.score_one(row), learner.probability_one(row)))
        assert stream.label(i, label)
        learner.learn_one(row, label)

    assert [each[:2] for each in said] == expected
    assert (stream.n_scored, stream.n_labelled, len(stream.pending)) == (60, 60, 0)


def test_a_row_with_its_label_is_scored_before_it_is_learned():
    rows, labels = made_rows(40)
    late, at_once = fresh(), fresh()
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        said = late.score(row, i)
        late.label(i, label)
        assert at_once.learn(row, label, i) == said

    assert learned_by(late) == learned_by(at_once)
    assert late.window.summary() == at_once.window.summary()


def test_the_window_gets_the_score_at_arrival():
    rows, labels = made_rows(60)
    stream, window = fresh(threshold=0.3), Window(50, 5)
    play(stream, rows[:20], labels)
    stream.window = Window(50, 5)
    said = [stream.score(row, f"pending {i}") for i, row in enumerate(rows[20:40])]
    for row, label in zip(rows[40:], labels[40:], strict=True):
        stream.learner.learn_one(row, label)
    for i, (label, each) in enumerate(zip(labels[20:40], said, strict=True)):
        stream.label(f"pending {i}", label)
        window.add(each.suspicion, label, each.is_alert != label)

    assert stream.window.summary() == window.summary()


def test_nothing_is_an_alert_before_anything_is_learned():
    stream = fresh(threshold=0.1)

    assert stream.score({"amount": 1.0}) == (0.0, 0.5, False, None)


def test_alerts_have_the_columns_that_raise_their_score_most_as_reasons():
    rows, labels = made_rows(300)
    stream = fresh(threshold=0.3, n_reasons=2)
    said = play(stream, rows, labels)

    assert {each.reasons is None for each in said if not each.is_alert} == {True}
    alerts = [each for each in said if each.is_alert]
    assert alerts
    row = rows[0]
    scored = stream.score(row)
    effects = stream.learner.effects_one(row)
    most = sorted(effects, key=effects.get, reverse=True)[:2]
    stream.threshold = 0.0
    assert stream.score(row).reasons == {name: effects[name] for name in most if effects[name] > 0}
    assert scored.suspicion == stream.learner.score_one(row)
    assert fresh(n_reasons=0).n_reasons == 0
    reasons = [each.reasons for each in alerts]
    assert all(len(each) <= 2 and all(effect > 0 for effect in each.values()) for each in reasons)


def test_alerts_are_the_rows_at_or_above_the_threshold_and_are_counted():
    rows, labels = made_rows(200)
    stream = fresh(threshold=0.3)
    said = play(stream, rows, labels)
    learned = said[1:]  # the first row was learned from at once

    assert [each.is_alert for each in learned] == [each.probability >= 0.3 for each in learned]
    assert 0 < stream.n_alerts == sum(each.is_alert for each in said) < 200


def test_a_label_of_an_unknown_row_is_counted_and_learns_nothing():
    stream = fresh()
    stream.learn({"amount": 1.0}, True, "a")
    before = state_of(stream)[2]

    assert not stream.label("a", True)
    assert not stream.label("never seen", True)
    assert stream.n_unmatched == 2
    assert stream.n_labelled == 1
    assert state_of(stream)[2] == before


def test_a_fresh_stream_knows_no_row():
    assert not fresh().label("a", True)


def test_a_number_and_its_digits_are_the_same_id():
    stream = fresh()
    stream.score({"amount": 1.0}, 17)
    stream.score({"amount": 1.0}, "18")

    assert stream.label("17", False)
    assert stream.label(np.int64(18), True)


def test_rows_beyond_the_maximum_are_dropped_and_counted():
    stream = fresh(most_pending=2)
    for i in range(5):
        stream.score({"amount": float(i)}, i)

    assert (len(stream.pending), stream.n_dropped) == (2, 3)
    assert not stream.label(0, True)
    assert stream.label(4, True)


def test_the_newer_row_of_an_id_replaces_the_pending_one():
    stream, alone = fresh(), fresh()
    for _ in range(2):
        stream.score({"amount": 1.0}, "again")
    stream.score({"amount": 2.0}, "again")
    stream.learn({"amount": 3.0}, True, "again")
    alone.learn({"amount": 3.0}, True)

    assert stream.n_replaced == 3
    assert not stream.label("again", True)
    assert learned_by(stream) == learned_by(alone)


@pytest.mark.parametrize("label", [None, float("nan"), [1], {"a": 1}, "fraud", 2, object()])
def test_a_bad_label_is_refused_and_changes_nothing(label):
    rows, labels = made_rows(30)
    stream = fresh()
    play(stream, rows, labels)
    stream.score({"amount": 1.0}, "pending")
    before = state_of(stream)
    with pytest.raises(ValueError, match="label"):
        stream.label("pending", label)
    with pytest.raises(ValueError, match="label"):
        stream.learn({"amount": 1.0}, label)

    assert state_of(stream) == before
    assert stream.label("pending", True)


def test_text_labels_without_a_known_positive_one_need_a_positive_label():
    with pytest.raises(ValueError, match=r"labels must be .* `positive_label` must name .*; got"):
        fresh().learn({"amount": 1.0}, "stolen")
    stream = fresh(learner=small(positive_label="stolen"))
    stream.learn({"amount": 1.0}, "fine")
    stream.learn({"amount": 1.0}, "stolen")

    assert stream.window.summary().n_positives == 1


def test_labels_have_the_type_of_the_positive_label():
    with pytest.raises(ValueError, match=r"label must be .*'fraud'; got 1"):
        fresh(learner=small(positive_label="fraud")).learn({"amount": 1.0}, 1)


def test_a_third_label_is_refused_and_changes_nothing():
    stream = fresh(learner=small(positive_label="fraud"))
    for label in ["genuine", "fraud", "genuine"]:
        stream.learn({"amount": 1.0}, label)
    stream.score({"amount": 2.0}, "pending")
    before = state_of(stream)
    sentence = "label must be 'genuine' and 'fraud'.*; got 'fruad'"
    with pytest.raises(ValueError, match=sentence):
        stream.learn({"amount": 1.0}, "fruad")
    with pytest.raises(ValueError, match=sentence):
        stream.label("pending", "fruad")

    assert state_of(stream) == before


def test_a_learner_of_three_classes_is_refused():
    learner = small(positive_label="fraud")
    for label in ["genuine", "fraud", "unclear"]:
        learner.learn_one({"amount": 1.0}, label)
    with pytest.raises(ValueError, match="learner must have two classes at most"):
        fresh(learner=learner)


def test_a_rejected_row_leaves_no_column_and_no_count():
    stream = fresh()
    stream.learn({"amount": 1.0}, True)
    for row, event_id in [({"new": 1e200}, "a"), ({"amount": 2.0}, "x" * 300)]:
        with pytest.raises(ValueError, match="must"):
            stream.score(row, event_id)
        with pytest.raises(ValueError, match="must"):
            stream.learn(row, True, event_id)

    assert stream.n_scored == 1
    assert stream.learner.model_.columns.names == ["amount"]


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"learner": BoostedRanker()}, TypeError, "learner must be an online learner such as"),
        ({"window": 0}, ValueError, "window must be between 1"),
        ({"budget": 51}, ValueError, "budget must be between 1 and 50; got 51"),
        ({"threshold": 1.5}, ValueError, "threshold must be at least 0 and at most 1; got 1.5"),
        ({"most_pending": 0}, ValueError, "most_pending must be at least 1; got 0"),
        ({"drift": "sea"}, ValueError, "detector must be one of"),
        ({"drift": "adwin", "on_drift": "panic"}, ValueError, "on_drift must be one of"),
    ],
)
def test_invalid_options_of_a_stream_are_rejected(options, error, sentence):
    with pytest.raises(error, match=sentence):
        fresh(**options)


def test_a_learner_without_a_known_positive_label_is_rejected():
    learner = small()
    learner.learn_one({"amount": 1.0}, "stolen")
    with pytest.raises(ValueError, match="learner must have a positive_label"):
        EventStream(learner)


@pytest.mark.parametrize("event_id", [1.5, True, b"a", ["a"]])
def test_an_id_is_text_or_a_whole_number(event_id):
    stream = fresh()
    with pytest.raises(ValueError, match="event_id must hold ids, text or whole numbers"):
        stream.score({"amount": 1.0}, event_id)

    assert stream.n_scored == 0


# Saved and loaded


def learners():
    return [
        small(class_weight="balanced", averaged=True),
        small(loss="ap", positive_label=1),
        AdaBoostOL(3, n_buckets=16),
        StreamBoost(3, n_buckets=16),
    ]


@pytest.mark.parametrize("place", range(4))
def test_a_loaded_stream_resumes_exactly_where_it_stopped(place, tmp_path):
    rows, labels = made_rows(90)
    whole = fresh(learner=learners()[place])
    said = play(whole, rows, labels)
    parts = fresh(learner=learners()[place])
    said_in_parts = []
    for start, stop in [(0, 1), (1, 4), (4, 40), (40, 46), (46, 90)]:
        parts = saved_and_loaded(parts, tmp_path / "a.toprank")
        said_in_parts += play(parts, rows, labels, start, stop)

    assert said_in_parts == said
    assert state_of(parts) == state_of(whole)


@examples(25)
@given(st.sets(st.integers(0, 60), max_size=4), st.integers(1, 20), st.integers(0, 9))
def test_wherever_it_is_cut_a_stream_ends_the_same(cuts, most, seed):
    rows, labels = made_rows(60, seed)
    whole, parts = fresh(most_pending=most), fresh(most_pending=most)
    play(whole, rows, labels)
    bounds = [0, *sorted(cuts), 60]
    for start, stop in pairwise(bounds):
        saved = parts._to_saved()
        parts = EventStream._from_saved(saved.parameters, saved)
        play(parts, rows, labels, start, stop)

    assert state_of(parts) == state_of(whole)


def test_a_long_window_resumes_after_loading(tmp_path):
    rows, labels = made_rows(60)
    whole, parts = fresh(window=20_000), fresh(window=20_000)
    play(whole, rows, labels)
    for start in range(0, 60, 20):
        parts = saved_and_loaded(parts, tmp_path / "a.toprank")
        play(parts, rows, labels, start, start + 20)

    assert parts.window.summary() == whole.window.summary()
    assert state_of(parts) == state_of(whole)


@pytest.mark.parametrize("action", ["raise-rate", "renew-worst"])
def test_the_drift_watch_resumes_after_loading(action, tmp_path, monkeypatch):
    monkeypatch.setattr(drift, "_BLOCK", 10)
    rows, labels = made_rows(1500)
    labels = [label == (i < 750) for i, label in enumerate(labels)]  # they turn round at once
    whole, parts = (fresh(drift="page-hinkley", on_drift=action) for _ in range(2))
    play(whole, rows, labels)
    for start in range(0, 1500, 300):
        parts = saved_and_loaded(parts, tmp_path / "a.toprank")
        play(parts, rows, labels, start, start + 300)

    assert whole.n_alarms > 0
    assert (parts.drift, parts.on_drift) == ("page-hinkley", action)
    assert state_of(parts) == state_of(whole)


def test_an_alarm_of_the_watch_is_counted(monkeypatch):
    stream = fresh(drift="adwin")
    monkeypatch.setattr(stream.watch, "scored", lambda is_alert: True)
    monkeypatch.setattr(stream.watch, "labelled", lambda row, label, loss: loss > 0.69)
    stream.learn({"amount": 1.0}, True)

    assert stream.n_alarms == 2


def test_a_stream_without_rows_can_be_saved(tmp_path):
    stream = fresh(threshold=0.25, most_pending=7)
    stream.position = {"input": {"bytes": 3}}
    again = saved_and_loaded(stream, tmp_path / "a.toprank")

    assert state_of(again) == state_of(stream)
    assert (again.threshold, again.pending.most, again.position) == (0.25, 7, stream.position)
    assert again.learner.get_params() == stream.learner.get_params()
    assert again.learn({"amount": 1.0}, True) == stream.learn({"amount": 1.0}, True)


def broken(change):
    """Return an invalid state of a stream."""
    rows, labels = made_rows(30)
    stream = fresh()
    play(stream, rows, labels)
    saved = stream._to_saved()
    change(saved)
    return saved


def replace_state(name, value):
    return lambda saved: saved.state.update({name: value})


@pytest.mark.parametrize(
    "change",
    [
        replace_state("position", []),
        replace_state("counters", {"n_scored": -1}),
        replace_state("window", {}),
        replace_state("drift", {}),
        lambda saved: saved.state["learner"].update(learner="EventStream"),
        lambda saved: saved.state["learner"].update(learner="BoostedRanker"),
        lambda saved: saved.state["learner"].update(learner="os.system"),
        lambda saved: saved.state["learner"].update(state=None),  # pending rows have columns
        lambda saved: saved.arrays.pop("learner-units"),
        lambda saved: saved.arrays.pop("pending-values"),
        lambda saved: saved.arrays.pop("window-scores"),
        lambda saved: saved.arrays["pending-buckets"].fill(16),
        lambda saved: saved.parameters.update(threshold=7),
        lambda saved: saved.parameters.update(learner=None),
    ],
)
def test_a_broken_file_is_rejected_in_a_sentence(change, tmp_path, monkeypatch):
    path = Path(tmp_path, "a.toprank")
    saved = broken(change)
    stream = fresh()
    monkeypatch.setattr(stream, "_to_saved", lambda: saved)
    toprank.save(stream, path)
    with pytest.raises(ModelFileError, match=r"a\.toprank cannot be loaded: its contents do not"):
        toprank.load(path)


def test_a_number_and_its_digits_are_one_event_and_an_empty_id_is_none():
    stream = fresh()
    stream.score({"amount": 1.0}, 7)
    assert stream.label("7", True)
    stream.score({"amount": 1.0}, "")
    assert len(stream.pending) == 0
    with pytest.raises(ValueError, match="event_id must be given"):
        stream.label("", True)


def test_labels_in_words_need_no_positive_label():
    stream = fresh()
    for event_id, label in enumerate(["genuine", "fraud", "genuine"]):
        stream.score({"amount": 1.0}, event_id)
        assert stream.label(event_id, label)
    assert stream.learner.model_.classes.positive == "fraud"
