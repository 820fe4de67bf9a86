"""Drift detection: when it raises alarms, what they do, and how a watch is resumed."""

import json
import sys
from copy import deepcopy
from functools import cache

import numpy as np
import pytest

from toprank import OnlineNonLinearBoost
from toprank.rankers.online.drift import ACTIONS, DriftWatch
from toprank.rankers.online.validation import progressive_validation

DETECTORS = ("adwin", "page-hinkley")
SWITCH = 10_000
SLOW = pytest.mark.slow
SEEDS = [0, pytest.param(1, marks=SLOW), pytest.param(2, marks=SLOW)]


def switching_stream(seed, n_rows=20_000, n_kept=14_000):
    """Return rows for which the effect of one column on the label reverses at the switch."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 6))
    weights = np.tile([2.0, -1.5, 1.0, 0.5, 0.0, 0.0], (n_rows, 1))
    weights[SWITCH:, 0] *= -1
    chance = 1 / (1 + np.exp(-(X * weights).sum(axis=1)))
    return X[:n_kept], (random.random(n_rows) < chance)[:n_kept]


@cache
def watched(seed, detector, action):
    """Return the errors of a learner on the switching stream, and the alarms of its watch.

    Alarms are only raised at the end of blocks of 100 rows, so those can be learned at once.
    """
    X, y = switching_stream(seed)
    learner = OnlineNonLinearBoost(random_state=seed)
    watch = DriftWatch(learner, detector, action)
    is_error = np.empty(y.size, dtype=bool)
    for start in range(0, y.size, 100):
        block = slice(start, start + 100)
        scores = learner.score_then_learn(X[block], y[block])
        is_error[block] = (scores > 0) != y[block]
        losses = np.logaddexp(0, np.where(y[block], -scores, scores))
        rows = learner._encoded(X[block])
        for i, (score, loss) in enumerate(zip(scores, losses, strict=True)):
            watch.scored(score > 0)
            watch.labelled(rows.take(slice(i, i + 1)), y[start + i], loss)
    return is_error, watch.alarms


def error_after_the_switch(seed, detector, action):
    return watched(seed, detector, action)[0][SWITCH : SWITCH + 3000].mean()


@pytest.mark.parametrize("detector", DETECTORS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_loss_raises_one_alarm_soon_after_the_switch_and_none_else(detector, seed):
    _, alarms = watched(seed, detector, "none")
    (row,) = [alarm.row for alarm in alarms if alarm.signal == "loss"]

    assert SWITCH < row <= SWITCH + 500


@pytest.mark.parametrize("detector", DETECTORS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_share_of_alerts_raises_no_alarm_before_the_switch(detector, seed):
    _, alarms = watched(seed, detector, "none")

    assert not [alarm for alarm in alarms if alarm.row <= SWITCH]


@pytest.mark.parametrize("detector", DETECTORS)
@pytest.mark.parametrize("action", ["raise-rate", "renew-worst"])
@pytest.mark.parametrize(
    ("seeds", "margin"), [((0,), 0.0), pytest.param((0, 1, 2), 0.02, marks=SLOW)], ids=str
)
def test_a_learner_that_is_adapted_recovers_faster(detector, action, seeds, margin):
    without = [error_after_the_switch(seed, detector, "none") for seed in seeds]
    helped = [error_after_the_switch(seed, detector, action) for seed in seeds]

    assert all(np.array(helped) < without)
    assert np.mean(helped) < np.mean(without) - margin


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_change_of_rows_raises_an_alarm_of_the_share_of_alerts_without_labels(detector):
    watch = DriftWatch(OnlineNonLinearBoost(), detector)
    random = np.random.default_rng(0)
    for chance in (0.05, 0.2):
        for is_alert in random.random(10_000) < chance:
            watch.scored(bool(is_alert))

    ((row, signal),) = watch.alarms
    assert signal == "alerts"
    assert SWITCH < row <= SWITCH + 500


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_share_of_alerts_that_falls_raises_an_alarm_and_a_loss_that_falls_does_not(detector):
    learner, row = learned()
    watch = DriftWatch(learner, detector)
    random = np.random.default_rng(0)
    for level in (0.4, 0.1):
        for chance in random.random(10_000):
            watch.scored(bool(chance < level))
            watch.labelled(row, True, level * 2 * chance)

    assert [alarm.signal for alarm in watch.alarms] == ["alerts"]


def learned():
    """Return a small learner that has learned a little, and an encoded row."""
    learner = OnlineNonLinearBoost(3, 2, n_buckets=8)
    row = learner.encode_one({"amount": 1.0, "country": "FR"})
    for label in (True, False):
        learner.learn_encoded(row, label)
    return learner, row


def rising_loss(watch, row, n_rows=6000, seed=0):
    """Return a watch's answers to losses that rise fourfold half-way."""
    losses = np.random.default_rng(seed).random(n_rows)
    losses[n_rows // 2 :] *= 4
    return [watch.labelled(row, True, loss) for loss in losses]


@pytest.mark.kernel
@pytest.mark.parametrize("detector", DETECTORS)
@pytest.mark.parametrize("action", ACTIONS)
def test_an_alarm_of_the_loss_takes_the_chosen_action(detector, action):
    learner, row = learned()
    before = deepcopy(learner.model_)
    answers = rising_loss(DriftWatch(learner, detector, action), row)
    squares = learner.model_.weights.head_squares

    assert sum(answers) == 1
    assert learner.model_.n_renewed == (action == "renew-worst")
    if action == "raise-rate":
        assert np.allclose(squares, before.weights.head_squares / 16)
    if action == "none":
        assert np.array_equal(squares, before.weights.head_squares)


@pytest.mark.parametrize("detector", DETECTORS)
def test_an_alarm_of_the_share_of_alerts_does_not_change_the_learner(detector):
    learner, _ = learned()
    before = deepcopy(learner.model_.arrays())
    watch = DriftWatch(learner, detector)
    answers = [watch.scored(number >= 5000) for number in range(10_000)]

    assert any(answers)
    for name, array in learner.model_.arrays().items():
        assert np.array_equal(array, before[name])


@pytest.mark.parametrize("detector", DETECTORS)
@pytest.mark.parametrize("usual", [0.0, 0.3])
def test_one_row_raises_no_alarm_whatever_its_loss(detector, usual):
    learner, row = learned()
    watch = DriftWatch(learner, detector)
    random = np.random.default_rng(0)
    for number in range(8000):
        watch.labelled(row, True, np.inf if number == 5000 else usual * random.random())

    assert watch.alarms == []


@pytest.mark.parametrize("detector", DETECTORS)
def test_only_the_last_hundred_alarms_are_kept(detector):
    watch = DriftWatch(OnlineNonLinearBoost(), detector)
    n_alarms = sum(watch.scored(number // 3000 % 2 == 0) for number in range(330_000))

    assert n_alarms > 100
    assert len(watch.alarms) == 100
    assert watch.alarms[-1].row > 320_000


@pytest.mark.parametrize("detector", DETECTORS)
def test_the_state_stays_small(detector):
    learner, row = learned()
    watch = DriftWatch(learner, detector, "renew-worst")
    lengths = []
    random = np.random.default_rng(0)
    for loss in random.random(310_000):
        watch.labelled(row, True, loss)
        if watch._signals["loss"].n_rows % 10_000 == 0:
            lengths.append(watch.to_state()[1]["loss_blocks"].size)

    assert lengths[:19] == list(range(100, 2000, 100))
    assert lengths[19:] == [*range(1000, 2000, 100), 1000, 1100]
    assert len(watch.to_state()[1]["recent_values"]) == 200


@pytest.mark.kernel
@pytest.mark.parametrize("detector", DETECTORS)
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("n_before", [0, 3050, pytest.param(1234, marks=SLOW), 3300])
def test_a_watch_resumes_from_its_state_exactly_where_it_stopped(detector, action, n_before):
    learner, row = learned()
    watch = DriftWatch(learner, detector, action)
    losses = np.random.default_rng(1).random(6000) * np.repeat([1, 4], 3000)
    answers_of(watch, row, losses[:n_before])
    state, arrays = watch.to_state()
    again = deepcopy(learner)
    resumed = DriftWatch.from_state(again, json.loads(json.dumps(state)), deepcopy(arrays))

    assert_same_state(resumed, watch)
    assert answers_of(resumed, row, losses[n_before:]) == answers_of(watch, row, losses[n_before:])
    assert_same_state(resumed, watch)
    assert len(watch.alarms) >= 1
    for name, array in learner.model_.arrays().items():
        assert np.array_equal(array, again.model_.arrays()[name])


def answers_of(watch, row, losses):
    answers = []
    for number, loss in enumerate(losses.tolist()):
        answers.append(watch.scored(loss > 0.8))
        answers.append(watch.labelled(row, number % 3 == 0, loss))
    return answers


def assert_same_state(first, second):
    (state_a, arrays_a), (state_b, arrays_b) = first.to_state(), second.to_state()
    assert state_a == state_b
    assert arrays_a.keys() == arrays_b.keys()
    for name, array in arrays_a.items():
        assert array.dtype == arrays_b[name].dtype
        assert np.array_equal(array, arrays_b[name], equal_nan=array.dtype == float)


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_watch_resumes_after_its_detector_restarted_on_the_later_blocks(detector):
    watch = DriftWatch(OnlineNonLinearBoost(), detector)
    random = np.random.default_rng(0)
    alerts = [*(random.random(230_000) < 0.1), *(random.random(5000) < 0.4)]
    for is_alert in alerts[:215_000]:
        watch.scored(bool(is_alert))
    resumed = DriftWatch.from_state(OnlineNonLinearBoost(), *watch.to_state())

    for each in (watch, resumed):
        for is_alert in alerts[215_000:]:
            each.scored(bool(is_alert))
    assert_same_state(resumed, watch)
    assert watch.alarms[-1].row > 230_000


@pytest.mark.kernel
def test_recent_rows_are_extended_by_later_columns():
    learner, row = learned()
    watch = DriftWatch(learner, "adwin", "renew-worst")
    watch.labelled(row, True, 0.1)
    wider = learner.encode_one({"amount": 1.0, "country": "FR", "hour": 3})
    learner.learn_encoded(wider, False)
    watch.labelled(wider, False, 0.1)

    values = watch.to_state()[1]["recent_values"]
    assert values.shape == (2, 3)
    assert np.isnan(values[0, 2])
    assert values[1, 2] == 3
    assert any(rising_loss(watch, row))


def test_a_label_that_was_never_learned_is_rejected():
    learner, row = learned()
    watch = DriftWatch(learner, action="renew-worst")
    with pytest.raises(ValueError, match="label must be one that the learner has learned"):
        watch.labelled(row, 7, 0.1)


@pytest.mark.parametrize("loss", [-0.1, np.nan])
def test_a_negative_loss_or_nan_is_rejected(loss):
    learner, row = learned()
    with pytest.raises(ValueError, match="loss must be at least 0; got"):
        DriftWatch(learner).labelled(row, True, loss)


def test_an_alert_is_true_or_false():
    with pytest.raises(ValueError, match=r"is_alert must be True or False; got 0\.5"):
        DriftWatch(OnlineNonLinearBoost()).scored(0.5)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"detector": "ddm"}, "detector must be one of 'adwin', 'page-hinkley'; got 'ddm'"),
        ({"action": "stop"}, "action must be one of 'raise-rate', 'renew-worst', 'none'"),
    ],
)
def test_unknown_settings_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        DriftWatch(OnlineNonLinearBoost(), **options)


def test_without_river_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(ImportError, match=r"pip install 'toprank\[river\]'"):
        DriftWatch(OnlineNonLinearBoost())


def stored():
    learner, row = learned()
    watch = DriftWatch(learner, "adwin", "renew-worst")
    for number in range(350):
        watch.scored(number % 2 == 0)
        watch.labelled(row, True, 0.5)
    return learner, *watch.to_state()


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"detector": "pickle"}, "detector must be one of"),
        ({"detector": ["adwin"]}, "detector must be one of"),
        ({"action": None}, "action must be one of"),
        ({"alarms": 3}, "alarms must be a list of at most 100; got 3"),
        ({"alarms": [[1, "loss"]] * 101}, "alarms must be a list of at most 100"),
        ({"alarms": [[1]]}, "an alarm must be a row and a signal"),
        ({"alarms": [["1", "loss"]]}, "row of an alarm must be a whole number; got '1'"),
        ({"alarms": [[0, "loss"]]}, "row of an alarm must be between 1 and"),
        ({"alarms": [[1, "noise"]]}, "signal of an alarm must be one of 'loss', 'alerts'"),
        ({"loss": None}, "loss must have n_rows and open; got None"),
        ({"loss": {"n_rows": 350}}, "loss must have n_rows and open"),
        ({"loss": {"n_rows": -1, "open": 0}}, "n_rows of loss must be between 0 and"),
        ({"loss": {"n_rows": 1.5, "open": 0}}, "n_rows of loss must be a whole number"),
        ({"loss": {"n_rows": 350, "open": 51}}, "open of loss must be at least 0 and at most 50"),
        ({"loss": {"n_rows": 350, "open": np.nan}}, "open of loss must be at least 0"),
        ({"loss": {"n_rows": 350, "open": "1"}}, "open of loss must be a number"),
        ({"alerts": {"n_rows": 250, "open": 0}}, "'alerts_blocks' must have at most 2 values"),
        ({"more": 1}, "state of a watch must be detector, action, alarms, loss, alerts"),
    ],
)
def test_an_invalid_stored_state_is_rejected_by_name(changed, message):
    learner, state, arrays = stored()
    with pytest.raises(ValueError, match=message):
        DriftWatch.from_state(learner, {**state, **changed}, arrays)


@pytest.mark.parametrize("state", [None, [], {}])
def test_a_state_that_is_not_one_is_rejected(state):
    learner, _, arrays = stored()
    with pytest.raises(ValueError, match="state of a watch must be"):
        DriftWatch.from_state(learner, state, arrays)


@pytest.mark.parametrize(
    "changed, message",
    [
        (
            {"loss_blocks": np.array([1.0, np.nan])},
            "'loss_blocks' must contain sums between 0 and",
        ),
        ({"loss_blocks": np.array([1.0, 101.0])}, "'loss_blocks' must contain sums between 0 and"),
        ({"loss_blocks": np.array([-1.0])}, "'loss_blocks' must contain sums between 0 and 100"),
        ({"loss_blocks": np.ones(4)}, "'loss_blocks' must have at most 3 values; got 4"),
        ({"loss_blocks": np.ones((1, 1))}, "'loss_blocks' must be one row of float64"),
        ({"recent_values": np.ones(200)}, "must be tables of the same size"),
        ({"recent_values": np.ones((199, 2))}, "must be tables of the same size"),
        ({"recent_values": np.ones((200, 2), np.float32)}, "recent_values must be float64 and"),
        ({"recent_values": np.full((200, 2), np.inf)}, "recent_values must be finite numbers"),
        ({"recent_buckets": np.full((200, 2), 8, np.int32)}, "must be between -1 and 7; got 8"),
        ({"recent_buckets": np.full((200, 2), -2, np.int32)}, "must be between -1 and 7; got -2"),
        ({"recent_places": np.full(200, 2)}, "recent_places must be between 0 and 1; got 2"),
        ({"recent_places": np.full(200, -1)}, "recent_places must be between 0 and 1; got -1"),
        ({"recent_places": np.zeros(3, int)}, "'recent_places' must be one row of 200 int64"),
        (
            {
                "recent_values": np.ones((201, 2)),
                "recent_buckets": np.full((201, 2), -1, np.int32),
                "recent_places": np.zeros(201, int),
            },
            "recent_values must be 1 to 200 rows of at most 2 columns",
        ),
        (
            {
                "recent_values": np.ones((200, 3)),
                "recent_buckets": np.full((200, 3), -1, np.int32),
            },
            "recent_values must be 1 to 200 rows of at most 2 columns",
        ),
    ],
)
def test_invalid_stored_arrays_are_rejected_by_name(changed, message):
    learner, state, arrays = stored()
    with pytest.raises(ValueError, match=message):
        DriftWatch.from_state(learner, state, {**arrays, **changed})


@pytest.mark.parametrize("name", ["loss_blocks", "alerts_blocks", "recent_places"])
def test_missing_stored_arrays_are_rejected_by_name(name):
    learner, state, arrays = stored()
    del arrays[name]
    with pytest.raises(ValueError, match=f"array '{name}' is missing"):
        DriftWatch.from_state(learner, state, arrays)


def test_recent_rows_need_their_learner():
    _, state, arrays = stored()
    with pytest.raises(ValueError, match="recent rows need the learner"):
        DriftWatch.from_state(OnlineNonLinearBoost(), state, arrays)


def test_validation_with_a_watch_adapts_the_learner_along_the_stream():
    X, y = switching_stream(0)
    X, y = X[: SWITCH + 1000], y[: SWITCH + 1000]
    learner = OnlineNonLinearBoost(random_state=0)
    watch = DriftWatch(learner)
    suspicion = progressive_validation(learner, X, y, watch=watch).suspicion
    is_error, alarms = watched(0, "adwin", "raise-rate")

    assert watch.alarms == alarms[:1]
    assert np.array_equal((suspicion > 0) != y, is_error[: y.size])
