"""StreamRanker: the promises of online learners, refits by count, probabilities, memory."""

import copy
import io
import itertools
import math
import threading

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from contracts import check_models_are_equal, check_online_learner, learned
from files.packing import npy_of, refused, rewrite, with_member
from rankers.online.test_boosters import made_rows
from toprank import EventStream, StreamRanker, load, save
from toprank.metrics import average_precision
from toprank.rankers.online.drift import DriftWatch
from toprank.rankers.online.validation import progressive_validation
from toprank.rankers.stream import stream_model


def small(**settings):
    return StreamRanker(
        **{"n_estimators": 6, "max_depth": 3, "least_refit": 10, "n_buckets": 32, **settings}
    )


VARIED = [
    small(),
    small(background=False),
    small(corrects_leaves=False),
    small(most_positives=10, most_negatives=10, memory="by-age", span=10),
    small(most_positives=10, most_negatives=12, memory="decay", span=20, keeps_positives=False),
    small(memory="window", span=25, refit_share=0.5),
    small(loss="ap-exp", random_state=3),
    small(binning="balanced", least_refit=7, n_jobs=2),
]


def blobs(n_rows=3000, seed=0, log_odds=-3.0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    return X, random.random(n_rows) < expit(2 * X[:, 0] + X[:, 1] * X[:, 2] + log_odds)


# The promises of every online learner


@pytest.mark.parametrize("ranker", VARIED, ids=str)
def test_it_keeps_the_promises_of_every_online_learner(ranker, tmp_path):
    rows, labels = made_rows(60)
    path = tmp_path / "payments.toprank"
    check_online_learner(ranker, rows, labels, path, has_fixed_arrays=False)


@pytest.mark.parametrize("ranker", VARIED, ids=str)
@pytest.mark.parametrize("delay", [0, 33, 500])
def test_late_labels_give_the_same_scores_whatever_the_batches(ranker, delay):
    X, y = blobs(300, log_odds=-1.0)
    expected = []
    one_by_one = clone(ranker)
    for row in range(300):
        if row > delay:
            one_by_one.partial_fit(X[row - delay - 1 : row - delay], y[[row - delay - 1]], [0, 1])
        known = one_by_one._has_learned() if hasattr(one_by_one, "model_") else False
        expected.append(float(one_by_one.suspicion(X[row : row + 1])[0]) if known else 0.0)
    validation = progressive_validation(clone(ranker), X, y, delay=delay)
    assert_array_equal(validation.suspicion, expected)


@pytest.mark.parametrize("sizes", [(1,), (7, 900), (5000,)])
def test_what_is_learned_is_the_same_bit_for_bit_whatever_the_batches(sizes):
    """Also which rows are in the reservoir already, and which wait for their refit."""
    X, y = blobs(2900)
    models = []
    for own in (sizes, (64,)):
        ranker, start = small(refit_share=0.5, most_negatives=300), 0
        for size in itertools.cycle(own):
            ranker.partial_fit(X[start : start + size], y[start : start + size], [0, 1])
            start += size
            if start >= len(y):
                break
        models.append(ranker)
    assert "recent-values" in models[0].model_.arrays()
    check_models_are_equal(*models)


def test_scikit_learns_contract():
    sampled = {
        "check_sample_weight_equivalence_on_dense_data": (
            "a row of weight 2 is one row in memory, not two"
        )
    }
    outcomes = check_estimator(small(), expected_failed_checks=sampled, on_fail="raise")
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    assert len(passed) >= len(outcomes) - 2  # that one, and array API input where not enabled


def test_suspicious_negatives_are_kept_more_often():
    X, y = blobs(20_000, log_odds=-4.0)
    ranker = small(n_estimators=30, most_negatives=500).partial_fit(X, y)
    kept = ranker.model_.reservoir.negatives.rows
    truth = 2 * kept.values[:, 0] + kept.values[:, 1] * kept.values[:, 2]
    of_all = 2 * X[~y, 0] + X[~y, 1] * X[~y, 2]
    assert kept.favour.min() >= 1 and kept.favour.max() > 5
    assert np.mean(truth > 2) > 1.5 * np.mean(of_all > 2)


def test_fit_on_a_table_with_more_rows_than_there_is_room_for_keeps_the_suspicious_ones():
    X, y = blobs(20_000, log_odds=-4.0)
    ranker = small(n_estimators=30, most_negatives=500).fit(X, y)
    assert ranker.model_.n_refits == 2
    assert ranker.model_.n_rows == 20_000
    assert ranker.model_.reservoir.negatives.rows.favour.max() > 5
    assert average_precision(y, ranker.suspicion(X)) > 0.25


def test_fit_on_a_table_refits_once_on_all_rows():
    X, y = blobs()
    ranker = small().fit(X, y)
    assert ranker.model_.n_refits == 1
    assert average_precision(y, ranker.suspicion(X)) > 0.4
    assert ranker.score(X, y) == average_precision(y, ranker.suspicion(X))


# Refits


def refits_at(ranker, X, y):
    """Learn row by row; return the numbers of labels at which new trees took over."""
    found = []
    for row in range(len(y)):
        ranker.partial_fit(X[row : row + 1], y[row : row + 1], [0, 1])
        if ranker.model_.n_refits > len(found):
            found.append(row + 1)
    return found


def test_a_refit_is_due_once_the_positives_have_grown_by_a_share():
    X, y = blobs(4000)
    found = refits_at(small(memory="all", refit_share=0.5, least_refit=1), X, y)
    label_of = np.flatnonzero(y) + 1  # of each positive
    expected, begun_at, n_positives = [], 0, 5
    while n_positives <= label_of.size:
        at = int(label_of[n_positives - 1])
        expected.append(at + math.ceil((at - begun_at) / 10))
        begun_at, n_positives = at, n_positives + math.ceil(n_positives / 2)
    assert found == [each for each in expected if each <= 4000]
    assert len(found) > 5


def test_positives_that_have_faded_count_less_of_the_share():
    X, y = blobs(4000)
    counts = {
        span: len(refits_at(small(span=span, refit_share=0.5, least_refit=1), X, y))
        for span in (200, 100_000)
    }
    assert counts[200] > 1.2 * counts[100_000]


def test_labels_between_two_refits_are_at_least_and_at_most_so_many():
    X, y = blobs(3000)
    few = small(refit_share=10.0, least_refit=100, most_refit=300).partial_fit(X, y)
    many = small(refit_share=1e-6, least_refit=100, most_refit=300).partial_fit(X, y)
    assert few.model_.n_refits == pytest.approx(3000 / 300, abs=1)
    assert many.model_.n_refits == pytest.approx(3000 / 100, abs=1)


def test_until_both_classes_have_rows_it_scores_the_share_of_positives():
    ranker = small()
    for number in range(200):
        ranker.learn_one({"amount": float(number)}, number < 2)
    assert ranker.model_.trees is None
    assert ranker.score_one({"amount": 1.0}) == approx(np.log(2.5 / 198.5))
    assert ranker.effects_one({"amount": 1.0}) == {"amount": 0.0}


def test_rows_without_any_value_grow_no_trees():
    ranker = small()
    for number in range(100):
        ranker.learn_one({"amount": None}, number % 2 == 0)
    assert ranker.model_.trees is None
    assert ranker.probability_one({}) == approx(0.5)


def interrupted():
    """A ranker whose refit is under way, and the rows that come next."""
    X, y = blobs(2000)
    ranker = small(refit_share=0.5, least_refit=100).partial_fit(X[:1100], y[:1100])
    while not ranker.model_.is_refitting:
        n = ranker.model_.n_rows
        ranker.partial_fit(X[n : n + 1], y[n : n + 1])
    n = ranker.model_.n_rows + 20
    return ranker.partial_fit(X[n - 20 : n], y[n - 20 : n]), X[n:], y[n:]


def saved_and_loaded(ranker, path):
    save(ranker, path)
    return load(path)


def packed_and_unpacked(ranker, path):
    stream = io.BytesIO()
    joblib.dump(ranker, stream)
    stream.seek(0)
    return joblib.load(stream)


@pytest.mark.parametrize("again", [saved_and_loaded, packed_and_unpacked, copy.deepcopy])
def test_a_refit_under_way_is_started_again_and_gives_the_same_trees(again, tmp_path):
    ranker, X, y = interrupted()
    assert ranker.model_.is_refitting
    path = tmp_path / "a.toprank"
    other = again(ranker) if again is copy.deepcopy else again(ranker, path)
    assert other.model_.is_refitting
    assert_array_equal(other.score_then_learn(X, y), ranker.score_then_learn(X, y))
    check_models_are_equal(other, ranker)


def test_waiting_for_a_refit_changes_nothing(monkeypatch):
    ranker, X, y = interrupted()
    other = copy.deepcopy(ranker)
    for row in range(300):
        ranker.wait_for_refit()
        for each in (ranker, other):
            each.partial_fit(X[row : row + 1], y[row : row + 1])
    check_models_are_equal(ranker, other)
    StreamRanker().wait_for_refit()


def test_others_can_score_while_trees_are_grown(monkeypatch):
    growing, go_on = threading.Event(), threading.Event()
    grown = stream_model.grown

    def slowly(*arguments):
        growing.set()
        assert go_on.wait(20)
        return grown(*arguments)

    monkeypatch.setattr(stream_model, "grown", slowly)
    X, y = blobs(150, log_odds=-1.0)
    ranker = small(least_refit=100).partial_fit(X[:105], y[:105])
    assert growing.wait(20) and ranker.model_.trees is None
    assert np.isfinite(ranker.suspicion(X)).all()
    go_on.set()
    ranker.partial_fit(X[105:], y[105:])
    assert ranker.model_.trees is not None


def test_an_error_in_the_thread_is_raised_where_the_trees_are_needed_and_tried_again(monkeypatch):
    def fails(*arguments):
        raise MemoryError("no room for trees")

    X, y = blobs(300, log_odds=-1.0)
    ranker = small(least_refit=100).partial_fit(X[:99], y[:99])
    with monkeypatch.context() as patch:
        patch.setattr(stream_model, "grown", fails)
        with pytest.raises(MemoryError, match="no room for trees"):
            ranker.partial_fit(X[99:110], y[99:110])
    ranker.partial_fit(X[110:], y[110:])
    assert ranker.model_.trees is not None


@pytest.mark.parametrize("action", ["raise-rate", "renew-worst"])
def test_an_alarm_makes_a_refit_due_at_once(action):
    X, y = blobs(2000)
    ranker = small(refit_share=1000.0).partial_fit(X, y)
    watch = DriftWatch(ranker, action=action)
    assert not ranker.model_.is_refitting
    rows = ranker._checked(X).encode_all()
    for row in range(2000):
        own = slice(row, row + 1)
        if watch.labelled(rows.take(own), not y[row], loss=4.0 if row > 1000 else 0.1):
            break
    assert watch.alarms and ranker.model_.is_refitting
    assert ranker.model_.counts.begun_at == ranker.model_.n_rows


def test_refit_takes_all_rows_at_once():
    X, y = blobs(500)
    ranker = small(least_refit=10_000).partial_fit(X, y)
    assert ranker.model_.trees is None
    assert average_precision(y, ranker.refit().suspicion(X)) > 0.4


# Probabilities


@pytest.mark.parametrize(
    ("memory", "loss"),
    [("all", "log"), ("decay", "log"), ("by-age", "log"), ("window", "log"), ("all", "ap-exp")],
)
def test_probabilities_are_right_though_negatives_are_sampled(memory, loss):
    """Of rows to come, by thirds of the scores; a sixth of the negatives are in memory."""
    X, y = blobs(20_000, log_odds=-4.0)
    ranker = StreamRanker(
        loss,
        n_estimators=40,
        max_depth=3,
        most_negatives=3000,
        memory=memory,
        span=10_000,
        least_refit=3000,
    ).partial_fit(X, y)
    assert ranker.model_.reservoir.negatives.n_rows < 3400
    later, is_positive = blobs(20_000, seed=1, log_odds=-4.0)
    probability = ranker.probability(later)
    assert probability.sum() == approx(is_positive.sum(), rel=0.15)
    order = np.argsort(-probability)
    for part in (order[:300], order[300:2000], order[2000:]):
        spread = np.sqrt((probability[part] * (1 - probability[part])).sum())
        off = is_positive[part].sum() - probability[part].sum()
        assert abs(off) < 4 * spread + 0.15 * probability[part].sum()


def test_a_score_is_the_log_odds_of_its_probability():
    X, y = blobs(500)
    ranker = small().partial_fit(X, y)
    assert_array_equal(ranker.probability(X), expit(ranker.suspicion(X)))
    assert ranker.probability_at(1.5) == expit(1.5)


def test_weights_of_rows_count():
    X, y = blobs(1000)
    doubled = small().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    weighted = small().fit(X, y, np.full(1000, 2.0))
    assert_allclose(weighted.probability(X), doubled.probability(X), rtol=0.3, atol=0.02)


# Columns


def test_texts_are_categories_and_unknown_ones_are_missing():
    random = np.random.default_rng(0)
    ranker = small(n_buckets=1024, n_estimators=40, least_refit=50)
    shops = [f"shop {number}" for number in range(40)]
    for _ in range(4000):
        shop = int(random.integers(40))
        ranker.learn_one(
            {"shop": shops[shop]}, bool(random.random() < (0.6 if shop % 7 == 3 else 0.02))
        )
    scores = np.array([ranker.score_one({"shop": shop}) for shop in shops])
    is_bad = np.arange(40) % 7 == 3
    assert scores[is_bad].min() > scores[~is_bad].max()
    assert ranker.score_one({"shop": "never seen"}) == ranker.score_one({})


def test_columns_come_and_go():
    random = np.random.default_rng(0)
    ranker = small(n_estimators=20)
    for number in range(1500):
        label, x = bool(random.random() < 0.3), {}
        name = ("a", "b", "c")[number // 500]
        x[name] = float(random.normal(2.0 * label))
        ranker.score_one(x)
        ranker.learn_one(x, label)
    for name in ("a", "b", "c"):
        assert ranker.score_one({name: 3.0}) > ranker.score_one({name: -2.0}) + 1


def test_a_row_encoded_before_a_column_came_is_learned():
    ranker = small()
    early = ranker.encode_one({"a": 1.0})
    ranker.encode_one({"a": 1.0, "b": "text"})
    ranker.learn_encoded(early, True)
    assert ranker.model_.arrays()["recent-values"].shape == (1, 1)


def test_columns_may_come_while_labels_are_late():
    rows, labels = made_rows(400)
    stream = EventStream(small(background=False))
    for number, x in enumerate(rows):
        stream.score({**x, f"new{number // 100}": 1.0}, number)
        if number >= 60:
            stream.label(number - 60, labels[number - 60])
    assert stream.learner.model_.n_rows == 340
    assert np.isfinite(stream.score(rows[0]).suspicion)


def test_a_column_of_both_numbers_and_texts_is_used_as_both():
    random = np.random.default_rng(0)
    ranker = small(n_estimators=30)
    for _ in range(1500):
        label = bool(random.random() < 0.3)
        if random.random() < 0.5:
            value = float(random.normal(2.0 * label))
        else:
            value = "bad" if random.random() < (0.9 if label else 0.1) else "good"
        ranker.learn_one({"code": value}, label)
    assert ranker.score_one({"code": "bad"}) > ranker.score_one({"code": "good"}) + 1
    assert ranker.score_one({"code": 4.0}) > ranker.score_one({"code": -2.0}) + 1


def test_effects_of_columns_add_up_to_the_distance_from_the_mean():
    rows, labels = made_rows(300)
    ranker = learned(small(n_estimators=20), rows, labels)
    rest = [ranker.score_one(x) - sum(ranker.effects_one(x).values()) for x in rows[:20]]
    assert np.ptp(rest) < 1e-3
    assert set(ranker.effects_one({})) == {"amount", "country", "is_abroad", "hour"}


# In streams and files


def test_an_event_stream_learns_with_it_and_is_resumed(tmp_path):
    rows, labels = made_rows(400)
    stream, path = EventStream(small()), tmp_path / "stream.toprank"
    streams = [stream]
    for number, x in enumerate(rows):
        if number == 200:
            save(stream, path)
            streams.append(load(path))
        scores = {each.score(x, number).suspicion for each in streams}
        assert len(scores) == 1
        for each in streams if number >= 30 else ():
            each.label(number - 30, labels[number - 30])
    again = streams[1]
    check_models_are_equal(again.learner, stream.learner)
    scored = stream.learn(rows[0], labels[0])
    assert scored.probability == expit(scored.suspicion)


def test_a_file_is_for_its_owner_alone_since_it_contains_rows(tmp_path):
    path = tmp_path / "a.toprank"
    save(small().partial_fit(*blobs(100)), path)
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("recent-is_positive", np.zeros(3, dtype=bool), "array 'is_positive' must be"),
        ("negatives-limit", np.zeros(2), "array 'limit' must be"),
        ("trees-codes", np.zeros((1, 32), dtype=np.int16), "codes must be int16"),
    ],
)
def test_files_that_do_not_fit_together_are_refused(name, array, message, tmp_path):
    X, y = blobs(100, log_odds=-1.0)
    ranker, path = small(refit_share=5.0).partial_fit(X, y), tmp_path / "payments.toprank"
    ranker.learn_encoded(ranker._checked(X).encode(slice(0, 1)), True)
    save(ranker, path)
    rewrite(path, with_member(f"{name}.npy", npy_of(array)))
    with refused(message):
        load(path)


def test_a_ranker_that_never_refits_is_saved_like_others(tmp_path):
    X, y = blobs(200, log_odds=-1.0)
    ranker = small(refit_share=1e6, most_refit=2**53, background=False).fit(X, y)
    again = saved_and_loaded(ranker, tmp_path / "a.toprank")
    for each in (ranker, again):
        each.partial_fit(X, y)
        assert each.model_.n_refits == 1
    check_models_are_equal(again, ranker)


def test_a_file_of_an_earlier_form_is_refused(tmp_path):
    ranker, path = small().partial_fit(*blobs(100)), tmp_path / "payments.toprank"
    state = ranker.model_.state
    ranker.model_.state = lambda: {k: v for k, v in state().items() if k != "refits"}
    save(ranker, path)
    with refused("earlier form of StreamRanker"):
        load(path)


def test_rows_of_a_file_are_numbered_as_it_counts_them(tmp_path):
    ranker, path = small(refit_share=5.0).partial_fit(*blobs(100)), tmp_path / "payments.toprank"
    ranker.model_.n_negatives -= 50
    save(ranker, path)
    with refused("numbers of"):
        load(path)


def test_memory_is_bounded():
    X, y = blobs(30_000, log_odds=-1.0)
    ranker = small(most_positives=100, most_negatives=200, refit_share=20.0, background=False)
    for start in range(0, 30_000, 3000):
        ranker.partial_fit(X[start : start + 3000], y[start : start + 3000])
        arrays = ranker.model_.arrays()
        assert arrays["positives-number"].size <= 100 + 64
        assert arrays["negatives-number"].size <= 200 + 64
        # a block comes at once here, and is settled with the next one
        assert arrays.get("recent-number", np.empty(0)).size <= 3000 + 1024
        assert arrays["trees-node_child"].size <= 6 * 15


# Errors


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory": "forever"}, "memory must be one of"),
        ({"span": 0}, "span must be"),
        ({"most_positives": 3}, "most_positives must be"),
        ({"most_negatives": 0}, "most_negatives must be"),
        ({"refit_share": 0}, "refit_share must be greater than 0"),
        ({"least_refit": 0}, "least_refit must be"),
        ({"least_refit": 50, "most_refit": 20}, "most_refit must be"),
        ({"n_buckets": 2**16}, "n_buckets must be"),
        ({"loss": "squares"}, "loss must be"),
        ({"max_depth": 0}, "max_depth must be"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        StreamRanker(**settings).learn_one({"amount": 1.0}, True)


def test_a_third_class_is_refused():
    ranker = small().partial_fit(*blobs(50))
    with pytest.raises(ValueError, match="labels must be of 2 classes"):
        ranker.partial_fit(np.zeros((1, 4)), [7])
