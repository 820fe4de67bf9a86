"""BalanceCascade: the paper's schedule, rates of false negatives, scikit-learn's contract."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from contracts import check_file_keeps, check_ranker
from toprank import BalanceCascade, BoostedRanker
from toprank.decisions.balance_cascade import _settled_by_schedule
from toprank.metrics import average_precision

SMALL = BoostedRanker("log", n_estimators=5, n_jobs=1)


@pytest.fixture(scope="module")
def rare():
    """Positives are 1 % and overlap with the rest."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(8000, 3))
    score = X[:, 0] + X[:, 1] + 0.7 * generator.normal(size=8000)
    return X, score > np.quantile(score, 0.99)


@pytest.mark.parametrize("rate", [None, pytest.param(0.1, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_contract(rate):
    smallest = BoostedRanker(n_estimators=2, n_jobs=1)
    cascade = BalanceCascade(smallest, n_estimators=2, false_negative_rate=rate)
    outcomes = check_estimator(cascade, on_fail="raise")
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    assert len(passed) >= len(outcomes) - 1  # array API input where not enabled


def test_it_keeps_the_promises_of_every_ranker(tmp_path):
    generator = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(
        {
            "amount": generator.gamma(2.0, 40.0, n),
            "country": generator.choice(["FR", "DE", "US"], n),
            "hours": np.where(generator.random(n) < 0.1, np.nan, generator.exponential(10, n)),
        }
    )
    is_positive = ((frame.amount > 150) | (generator.random(n) < 0.03)).to_numpy()
    cascade = BalanceCascade(SMALL, n_estimators=3)
    check_ranker(cascade, frame, is_positive)
    again = check_file_keeps(cascade.fit(frame, is_positive), frame, tmp_path / "model.toprank")
    assert again.stages_ == cascade.stages_


@given(st.integers(1, 1000), st.integers(1, 10**6), st.integers(2, 20))
def test_the_schedule_ends_with_as_many_negatives_as_positives(n_positive, more, n_stages):
    n_negative = n_positive + more
    left = (1 - _settled_by_schedule(n_positive, n_negative, n_stages)) ** (n_stages - 1)
    assert left * n_negative == approx(n_positive, rel=1e-6)


def test_each_stage_draws_from_the_negatives_no_stage_before_was_sure_of(rare):
    X, y = rare
    cascade = BalanceCascade(SMALL, n_estimators=5).fit(X, y)
    left = ~y
    for stage, ranker in zip(cascade.stages_, cascade.rankers_, strict=True):
        assert stage.n_negative == left.sum()
        scores = ranker.calibration_.log_odds(ranker.suspicion(X))
        assert stage.false_positive_rate == approx((scores[left] >= stage.threshold).mean())
        left = left & (scores >= stage.threshold)
    sizes = [stage.n_negative for stage in cascade.stages_]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] == (~y).sum()


def test_suspicion_is_the_mean_of_log_odds_above_thresholds(rare):
    X, y = rare
    cascade = BalanceCascade(LogisticRegression(), n_estimators=3).fit(X, y)
    by_hand = np.zeros(len(X))
    for stage, model in zip(cascade.stages_, cascade.rankers_, strict=True):
        by_hand += model.decision_function(X.astype(np.float32)) - stage.threshold
    assert cascade.suspicion(X) == approx(by_hand / 3, rel=1e-3, abs=1e-3)


def test_a_stage_loses_the_positives_it_may_on_rows_it_has_not_seen(rare):
    """The rate is measured on positives kept apart; one more draw of rows loses about as many."""
    X, y = rare
    rate = 0.2
    cascade = BalanceCascade(
        SMALL,
        n_estimators=1,
        false_negative_rate=rate,
    ).fit(X[:4000], y[:4000])
    (stage,) = cascade.stages_
    assert stage.false_negative_rate <= rate
    new = X[4000:][y[4000:]]
    lost = (cascade.suspicion(new) < 0).mean()
    assert lost == approx(rate, abs=0.15)


def test_a_lower_rate_of_false_negatives_settles_fewer_negatives(rare):
    X, y = rare
    shares = [
        BalanceCascade(SMALL, n_estimators=1, false_negative_rate=rate).fit(X, y).stages_[0][-1]
        for rate in (0.02, 0.1, 0.4)
    ]
    assert shares[0] > shares[1] > shares[2]


def test_it_ends_when_no_negatives_are_left():
    X = np.r_[np.zeros(500), np.ones(20)][:, None]
    cascade = BalanceCascade(SMALL, n_estimators=9, false_negative_rate=0.0)
    fitted = cascade.fit(X, X[:, 0] > 0)
    assert len(fitted.stages_) < 9
    assert average_precision(X[:, 0] > 0, fitted.suspicion(X)) == 1


def test_it_ranks_as_well_as_one_balanced_draw_or_better(rare):
    X, y = rare
    learn, judge = slice(0, 4000), slice(4000, None)
    one, many = (
        average_precision(
            y[judge],
            BalanceCascade(SMALL, n_estimators=n).fit(X[learn], y[learn]).suspicion(X[judge]),
        )
        for n in (1, 10)
    )
    assert many > one


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_estimators": 0}, "n_estimators must be at least 1; got 0"),
        ({"false_negative_rate": 0.9}, "false_negative_rate must be at least 0 and at most 0.5"),
        ({"positive_label": False}, "positives must be the rarer class"),
    ],
)
def test_invalid_parameters_are_rejected(options, sentence, rare):
    with pytest.raises(ValueError, match=sentence):
        BalanceCascade(SMALL, **options).fit(*rare)


def test_too_few_positives_to_hold_some_out_are_rejected():
    X, y = np.arange(50.0)[:, None], np.arange(50) > 48
    with pytest.raises(
        ValueError, match=r"false_negative_rate needs at least 2 positives .*got 1"
    ):
        BalanceCascade(SMALL, false_negative_rate=0.1).fit(X, y)


@pytest.mark.parametrize(
    "stage", [[1e308, 10, 0.1, 0.1], [0.0, -3, 0.1, 0.1], [0.0, 10, 7, 0.1], [0.0, 10, 0.1]]
)
def test_an_invalid_stage_in_a_file_is_rejected(stage, rare):
    saved = BalanceCascade(SMALL, n_estimators=1).fit(*rare)._to_saved()
    broken = saved._replace(state={**saved.state, "stages": [stage]})
    with pytest.raises(ValueError, match=r"stage"):
        BalanceCascade._from_saved(saved.parameters, broken)
