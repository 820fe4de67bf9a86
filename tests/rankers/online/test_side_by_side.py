import tracemalloc
from copy import deepcopy

import numpy as np
import pyarrow as pa
import pytest
from pytest import approx
from scipy.special import expit

from toprank import AdaBoostOL, OnlineLinearBoost, OnlineNonLinearBoost, metrics
from toprank.rankers.online.side_by_side import METRICS, SideBySide, grid
from toprank.rankers.online.validation import progressive_validation

pytestmark = pytest.mark.kernel


def made_table(n_rows, seed=0):
    random = np.random.default_rng(seed)
    amounts = random.normal(size=n_rows)
    table = pa.table({"amount": amounts, "country": random.choice(["FR", "US"], n_rows)})
    return table, amounts + random.normal(size=n_rows) / 2 > 0.5


def some_learners():
    return {
        "slow": OnlineNonLinearBoost(2, 2, learning_rate=1e-4, n_buckets=8),
        "fast": OnlineNonLinearBoost(2, 2, learning_rate=0.1, n_buckets=8),
        "linear": OnlineLinearBoost(n_learners=2, n_buckets=8),
        "calibrated": AdaBoostOL(n_learners=2, n_buckets=8),
    }


def new_learner(**parameters):
    return OnlineNonLinearBoost(2, 2, n_buckets=8, **parameters)


def figure_of(metric, labels, scores, validation):
    if metric == "error":
        return ((scores > 0) != labels).mean()
    if metric == "log-loss":
        return validation.log_loss
    return metrics.average_precision(labels, scores)


@pytest.mark.parametrize("metric", METRICS)
def test_each_figure_is_that_of_the_learner_validated_alone(metric):
    table, labels = made_table(150)
    race = SideBySide(some_learners(), metric).partial_fit(table, labels)
    alone = {
        name: progressive_validation(learner, table, labels)
        for name, learner in some_learners().items()
    }
    expected = {
        name: figure_of(metric, labels, validation.suspicion, validation)
        for name, validation in alone.items()
    }

    found = dict(zip(*race.results().to_pydict().values(), strict=True))
    assert found.keys() == expected.keys()
    # average precision is that of scores in bins
    within = 0.02 if metric == "average-precision" else 1e-12
    assert found == approx(expected, rel=within)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("window", [None, 20])
def test_rows_one_by_one_and_in_batches_give_the_same(metric, window):
    table, labels = made_table(60)
    in_batches, by_row = (SideBySide(some_learners(), metric, window) for _ in range(2))
    for part in (slice(0, 1), slice(1, 25), slice(25, 60)):
        in_batches.partial_fit(table[part], labels[part])
    for row, label in zip(table.to_pylist(), labels, strict=True):
        by_row.learn_one(row, label)

    assert in_batches.results().equals(by_row.results())
    assert in_batches.n_rows == by_row.n_rows == 60
    row = {"amount": 0.7, "country": "US"}
    for name in in_batches.learners:
        scores = [race.learners[name].score_one(row) for race in (in_batches, by_row)]
        assert scores[0] == scores[1]


@pytest.mark.parametrize("metric", METRICS)
def test_a_window_judges_by_the_last_rows_only(metric):
    table, labels = made_table(100)
    learners = {"first": new_learner(), "second": new_learner(learning_rate=0.01)}
    scores = {
        name: deepcopy(each).score_then_learn(table, labels)[-30:]
        for name, each in learners.items()
    }
    race = SideBySide(learners, metric, window=30).partial_fit(table, labels)
    figures = dict(zip(*race.results().to_pydict().values(), strict=True))

    last = labels[-30:]
    for name, own in scores.items():
        expected = {
            "error": ((own > 0) != last).mean(),
            "log-loss": np.logaddexp(0, np.where(last, -own, own)).mean(),
            "average-precision": metrics.average_precision(last, own),
        }
        assert figures[name] == approx(expected[metric])


@pytest.mark.parametrize("metric", METRICS)
def test_the_leader_has_the_best_figure_and_its_scores_are_given(metric):
    table, labels = made_table(200)
    race = SideBySide(some_learners(), metric).partial_fit(table, labels)
    figures = race.results().column(1).to_pylist()

    assert race.leader == race.results()["learner"][0].as_py()
    assert figures == sorted(figures, reverse=metric == "average-precision")
    assert figures[0] != figures[-1]
    assert race.best is race.learners[race.leader]
    row = {"amount": 0.7, "country": "US"}
    assert race.score_one(row) == race.best.score_one(row) != 0


@pytest.mark.parametrize("metric", METRICS)
def test_of_equal_learners_the_first_leads(metric):
    table, labels = made_table(50)
    race = SideBySide({"b": new_learner(), "a": new_learner()}, metric)
    assert race.leader == "b"

    race.partial_fit(table, labels)
    assert race.leader == "b"
    assert race.results()["learner"].to_pylist() == ["b", "a"]


def test_before_the_first_row_no_figure_is_defined_and_every_row_scores_zero():
    for metric in METRICS:
        race = SideBySide(some_learners(), metric)
        assert race.score_one({"amount": 1.0}) == 0
        assert race.results().column(1).to_pylist() == [None] * 4


def test_average_precision_is_undefined_until_a_positive_comes():
    table, _ = made_table(10)
    race = SideBySide(some_learners(), "average-precision")
    race.partial_fit(table, np.zeros(10, dtype=bool))
    assert race.results().column(1).to_pylist() == [None] * 4

    race.partial_fit(table[:1], [True])
    assert all(0 < figure <= 1 for figure in race.results().column(1).to_pylist())


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("window", [None, 100])
def test_the_memory_of_the_figures_levels_off(metric, window):
    race = SideBySide({"only": new_learner()}, metric, window)
    scores = np.random.default_rng(0).normal(size=10_000)
    judged = ("only", scores, expit(scores), scores > 1)
    race._judge(*judged)
    tracemalloc.start()
    for _ in range(5):
        race._judge(*judged)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert grown < 100_000


def test_a_grid_has_a_learner_for_every_combination():
    learners = grid(OnlineNonLinearBoost, n_learners=[5, 10], learning_rate=[0.03, 0.1])
    settings = [(each.n_learners, each.learning_rate) for each in learners.values()]

    assert settings == [(5, 0.03), (5, 0.1), (10, 0.03), (10, 0.1)]
    assert next(iter(learners)) == "n_learners=5, learning_rate=0.03"
    assert list(grid(AdaBoostOL)) == ["AdaBoostOL"]


@pytest.mark.parametrize("values", ["full", 5, []])
def test_a_grid_is_made_of_lists(values):
    with pytest.raises(ValueError, match="update must be a list of values to try; got"):
        grid(OnlineNonLinearBoost, update=values)


SAME = AdaBoostOL()


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"learners": {}}, ValueError, "learners must be a dict of names and learners; got {}"),
        ({"learners": [SAME]}, ValueError, "learners must be a dict of names and learners"),
        ({"learners": {"a": 1}}, TypeError, "learner 'a' must be an online booster; got int"),
        ({"learners": {"a": SAME, "b": SAME}}, ValueError, "learners must be different objects"),
        ({"metric": "auc"}, ValueError, "metric must be one of 'error', 'log-loss'"),
        ({"window": 0}, ValueError, "window must be at least 1; got 0"),
    ],
)
def test_settings_that_are_invalid_are_rejected_by_name(options, error, message):
    with pytest.raises(error, match=message):
        SideBySide(**{"learners": some_learners(), **options})


def test_a_third_class_is_refused():
    table, labels = made_table(9)
    race = SideBySide(some_learners()).partial_fit(table, labels.astype(int))
    with pytest.raises(ValueError, match="labels must be of 2 classes; got 2"):
        race.learn_one({"amount": 1.0}, 2)
