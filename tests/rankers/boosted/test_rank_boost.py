"""RankBoost against every pair and every cut; its bound on the loss; scikit-learn's contract."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import reference
from contracts import check_ranker
from examples import examples
from toprank import RankBoost
from toprank.metrics import roc_auc

FLOAT32 = {
    "check_sample_weight_equivalence_on_dense_data": (
        "XGBoost keeps gradients and leaves in float32: a weight of 3 and three copies agree to "
        "about 1e-6, the check wants 1e-7; our own test holds them to 1e-4 in log-odds"
    )
}
LARGEST_R = 1 - 1e-6


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_contract():
    ranker = RankBoost(n_estimators=3)
    outcomes = check_estimator(ranker, expected_failed_checks=FLOAT32, on_fail="raise")
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    assert len(passed) >= len(outcomes) - 2  # that one, and array API input where not enabled


@pytest.fixture(scope="module")
def payments():
    generator = np.random.default_rng(0)
    n = 1200
    amount = generator.gamma(2.0, 40.0, n)
    country = generator.choice(["FR", "DE", "US"], n, p=[0.7, 0.2, 0.1])
    online = generator.random(n) < 0.4
    risk = (amount > 150) & (country == "US") | (generator.random(n) < 0.01)
    hours = np.where(generator.random(n) < 0.1, np.nan, generator.exponential(10, n))
    frame = pd.DataFrame(
        {"amount": amount, "country": country, "online": online, "hours_since_last": hours}
    )
    return frame, risk


def test_it_keeps_the_promises_of_every_ranker(payments):
    check_ranker(RankBoost(n_estimators=15, n_jobs=1), *payments)


@st.composite
def samples(draw):
    """Rows of two features, many of them tied or missing; labels of both classes; weights."""
    n = draw(st.integers(2, 12))
    value = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, np.nan])
    features = np.array(draw(st.lists(value, min_size=2 * n, max_size=2 * n))).reshape(n, 2)
    features[0] = np.nan_to_num(features[0])  # a column without any value is refused
    is_positive = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    first, second = draw(st.permutations(range(n)))[:2]
    is_positive[first], is_positive[second] = True, False
    weight = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    return features, is_positive, np.array(weight, dtype=float)


@given(samples(), st.sampled_from([1.0, 0.3]))
@examples(60)
def test_every_stump_is_the_best_of_all_thresholds_on_all_pairs(sample, rate):
    features, is_positive, weight = sample
    ranker = RankBoost(n_estimators=4, learning_rate=rate, positive_label=True, n_jobs=1)
    ranker.fit(features, is_positive, weight)
    for round_ in range(4):
        raw = scores_after(ranker, features, round_)
        best = reference.best_weak_ranker(features, is_positive, raw, weight, depth=1)
        r = reference.weak_ranker_earns(best, is_positive, raw, weight)
        if round_ == ranker.n_trees_:
            assert r == approx(0, abs=1e-5)
            break
        assert math.tanh(ranker.alphas_[round_]) == approx(min(r, LARGEST_R), abs=1e-5)


@pytest.mark.parametrize(("depth", "n_values"), [(1, None), (1, 3), (2, 12), (3, 12), (3, 3)])
def test_the_scores_are_those_of_the_quadratic_twin(depth, n_values):
    generator = np.random.default_rng(depth)
    features = generator.normal(size=(60, 3))
    if n_values is not None:
        features = np.round(features * n_values / 6)
    features[generator.random((60, 3)) < 0.1] = np.nan
    is_positive = generator.random(60) < np.where(np.nansum(features, axis=1) > 0, 0.5, 0.2)
    weight = generator.uniform(0.5, 2, 60)  # no two cuts are worth the same
    ranker = RankBoost(n_estimators=5, max_depth=depth, positive_label=True, n_jobs=1)
    ranker.fit(features, is_positive, weight)

    expected = reference.rank_boost(features, is_positive, weight, n_rounds=5, depth=depth)
    assert ranker.suspicion(features) == approx(expected, abs=1e-4)


@pytest.mark.parametrize("n_categories", [3, 8])
def test_the_categories_ahead_are_those_with_more_of_the_positives(n_categories):
    generator = np.random.default_rng(0)
    codes = generator.integers(0, n_categories, 400)
    is_positive = generator.random(400) < generator.random(n_categories)[codes] / 2
    names = np.array([f"country {code}" for code in range(n_categories)])
    ranker = RankBoost(n_estimators=1, n_jobs=1)
    frame = pd.DataFrame({"country": names[codes]})
    ranker.fit(frame, is_positive)

    found, passed = (
        np.bincount(codes[part], minlength=n_categories) / part.sum()
        for part in (is_positive, ~is_positive)
    )
    assert math.tanh(ranker.alphas_[0]) == approx(np.maximum(found - passed, 0).sum())
    assert np.array_equal(ranker.suspicion(frame) > 0, (found > passed)[codes])


@pytest.mark.parametrize("depth", [1, 3])
def test_each_round_shrinks_the_loss_by_the_root_of_1_minus_r_squared(payments, depth):
    frame, risk = payments
    weight = np.random.default_rng(1).uniform(0.5, 2, len(frame))
    ranker = RankBoost(n_estimators=25, max_depth=depth, n_jobs=1).fit(frame, risk, weight)
    losses = np.log(
        [
            reference.pairs_exp(risk, scores_after(ranker, frame, round_), weight).sum()
            for round_ in range(ranker.n_trees_ + 1)
        ]
    )
    r = np.tanh(ranker.alphas_)
    assert (r > 0).all()
    assert (np.diff(losses) <= np.log(1 - r**2) / 2 + 1e-5).all()


def test_a_lower_rate_adds_that_share_of_alpha(payments):
    frame, risk = payments
    whole, tenth = (
        RankBoost(n_estimators=1, learning_rate=rate, n_jobs=1).fit(frame, risk)
        for rate in (1.0, 0.1)
    )
    assert np.array_equal(whole.alphas_, tenth.alphas_)
    assert tenth.suspicion(frame) == approx(whole.suspicion(frame) / 10)
    assert whole.suspicion(frame).max() == approx(whole.alphas_[0])


def test_trees_of_two_levels_rank_by_two_features_at_once():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    is_positive = X[:, 0] * X[:, 1] > 0  # either feature alone says nothing

    def area(depth):
        ranker = RankBoost(n_estimators=30, max_depth=depth, positive_label=True, n_jobs=1)
        return roc_auc(is_positive, ranker.fit(X, is_positive).suspicion(X))

    assert area(depth=1) < 0.7
    assert area(depth=2) > 0.99


def test_it_stops_when_no_weak_ranker_is_left():
    is_risky = np.arange(400) % 4 == 0
    is_positive = np.arange(400) % 10 < np.where(is_risky, 3, 1)
    ranker = RankBoost(n_jobs=1).fit(is_risky[:, None].astype(float), is_positive)
    assert 1 < ranker.n_trees_ == ranker.alphas_.size < 300
    assert ranker.alphas_[-1] < 1e-5


def test_features_that_say_nothing_give_one_tree_of_zero_height():
    X = np.ones((20, 2))
    ranker = RankBoost(n_jobs=1).fit(X, np.arange(20) < 3)
    assert ranker.alphas_.tolist() == [0.0]
    assert (ranker.suspicion(X) == 0).all()
    assert (ranker.feature_importances_ == 0).all()


def test_a_weak_ranker_without_a_mistake_keeps_a_finite_weight():
    X, y = np.arange(30.0)[:, None], np.arange(30) > 27
    ranker = RankBoost(n_estimators=40, n_jobs=1).fit(X, y)
    assert ranker.alphas_ == approx(math.atanh(LARGEST_R))
    assert roc_auc(y, ranker.suspicion(X)) == 1
    assert np.isfinite(ranker.suspicion(X)).all()


def test_one_positive_in_many_rows_is_enough():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    y = np.arange(20_000) == np.argmax(X[:, 1])
    ranker = RankBoost(n_estimators=5, binning="balanced", n_jobs=1).fit(X, y)
    assert roc_auc(y, ranker.suspicion(X)) > 0.99


def test_a_weight_counts_like_that_many_copies(payments):
    frame, risk = payments
    weight = np.random.default_rng(0).integers(0, 4, len(frame))
    copies = np.repeat(np.arange(len(frame)), weight)
    ranker = RankBoost(n_estimators=10, max_bins=2048, n_jobs=1)
    weighted = clone(ranker).fit(frame, risk, sample_weight=weight)
    copied = clone(ranker).fit(frame.iloc[copies], risk[copies])
    assert weighted.suspicion(frame) == approx(copied.suspicion(frame), abs=1e-4)
    assert weighted.contributions(frame) == approx(copied.contributions(frame), abs=1e-4)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_the_unit_of_the_weights_changes_nothing(payments, unit):
    frame, risk = payments
    weight = np.random.default_rng(0).uniform(0.5, 2, len(frame))
    ranker = RankBoost(n_estimators=10, n_jobs=1)
    plain = clone(ranker).fit(frame, risk, sample_weight=weight).suspicion(frame)
    other = clone(ranker).fit(frame, risk, sample_weight=weight * unit).suspicion(frame)
    assert other == approx(plain, abs=1e-4)


def test_contributions_add_up_to_the_suspicion_and_importances_to_1(payments):
    frame, risk = payments
    ranker = RankBoost(n_estimators=30, max_depth=2, n_jobs=1).fit(frame, risk)
    shares = ranker.contributions(frame)
    assert shares.shape == (len(frame), 5)
    assert shares.sum(axis=1) == approx(ranker.suspicion(frame), abs=1e-4)
    assert ranker.feature_importances_.sum() == approx(1)
    assert ranker.feature_importances_[:2].min() > ranker.feature_importances_[2:].max()


def test_balanced_bins_see_a_tail_that_quantiles_do_not():
    X = np.random.default_rng(0).normal(size=(20_000, 1))
    y = X[:, 0] > np.quantile(X[:, 0], 0.999)

    def area(binning):
        ranker = RankBoost(n_estimators=5, binning=binning, max_bins=16, n_jobs=1)
        return roc_auc(y, ranker.fit(X, y).suspicion(X))

    assert area("quantile") < 0.99
    assert area("balanced") > 0.999


def test_progress_is_reported_for_every_tree(payments):
    reported = []
    RankBoost(n_estimators=3, n_jobs=1).fit(
        *payments, progress=lambda what, done, total: reported.append((done, total))
    )
    assert reported == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_estimators": 0}, r"n_estimators must be at least 1; got 0"),
        ({"max_depth": 0}, r"max_depth must be between 1 and 30; got 0"),
        ({"learning_rate": 1.5}, r"learning_rate must be greater than 0 and at most 1; got 1.5"),
        ({"binning": "exact"}, r"binning must be one of 'quantile', 'balanced'; got 'exact'"),
        ({"max_bins": 1}, r"max_bins must be between 2 and 65535; got 1"),
        ({"random_state": -1}, r"random_state must be between 0"),
        ({"positive_label": "x"}, r"positive_label must be one of \[False, True\]; got 'x'"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named_when_fitting(payments, wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        RankBoost(**wrong).fit(*payments)


def scores_after(ranker, rows, n_rounds):
    """Return the suspicion after a number of rounds."""
    if n_rounds == 0:
        return np.zeros(len(rows))
    earlier = clone(ranker)
    vars(earlier).update(vars(ranker), booster_=ranker.booster_[:n_rounds])
    return earlier.suspicion(rows)
