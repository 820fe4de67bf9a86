"""CostBoost: weights of a slow twin and of the classics, what costs do, scikit-learn's checks."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from contracts import check_file_keeps, check_ranker
from examples import examples
from toprank.decisions.cost_boost import CostBoost, _alpha, _RowWeights
from toprank.files.booster_check import check_booster
from toprank.metrics import average_precision, recall_at_k, roc_auc
from toprank.rankers.boosted import booster_trees

LARGEST_R = 1 - 1e-6
VARIANTS = ["adac2", "adacost"]


@pytest.mark.parametrize("variant", ["adac2", pytest.param("adacost", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_contract(variant):
    ranker = CostBoost(variant, n_estimators=2)
    outcomes = check_estimator(ranker, on_fail="raise")
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    assert len(passed) >= len(outcomes) - 1  # array API input where not enabled


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


@pytest.mark.parametrize("variant", VARIANTS)
def test_it_keeps_the_promises_of_every_ranker(payments, variant):
    check_ranker(CostBoost(variant, n_estimators=10, n_jobs=1), *payments)


def slow_rounds(variant, is_positive, cost, heights, rate=1.0):
    """Return each round's weights and r, computed row by row by definition."""
    rows = range(len(is_positive))
    y = [1 if each else -1 for each in is_positive]
    c = [each / max(cost) for each in cost]
    w = list(c)
    rounds = []
    for h in heights:
        w = [w[i] / sum(w) for i in rows]
        b = [1.0 for _ in rows]
        if variant == "adacost":
            b = [-0.5 * c[i] + 0.5 if y[i] * h[i] > 0 else 0.5 * c[i] + 0.5 for i in rows]
        r = sum(w[i] * y[i] * h[i] * b[i] for i in rows)
        rounds.append((w, r))
        alpha = rate * math.atanh(min(max(r, -LARGEST_R), LARGEST_R))
        w = [w[i] * math.exp(-alpha * y[i] * h[i] * b[i]) for i in rows]
        if variant == "adac2":
            w = [c[i] * w[i] for i in rows]
    return rounds


@st.composite
def boosted_rows(draw, heights):
    """Rows of both classes with costs, and the heights of a few trees at them."""
    n = draw(st.integers(2, 8))

    def each_row(values):
        return np.array(draw(st.lists(values, min_size=n, max_size=n)))

    is_positive = each_row(st.booleans())
    is_positive[:2] = True, False
    cost = each_row(st.sampled_from([0.5, 1.0, 2.0, 7.0]))
    trees = [each_row(heights) for _ in range(draw(st.integers(1, 5)))]
    return is_positive, cost, trees


@pytest.mark.parametrize("variant", VARIANTS)
@given(sample=boosted_rows(st.floats(-1, 1)), rate=st.sampled_from([1.0, 0.3]))
@examples(100)
def test_weights_and_r_are_those_of_the_slow_twin(variant, sample, rate):
    is_positive, cost, trees = sample
    weights = _RowWeights(variant, is_positive, cost)
    for h, (w, r) in zip(trees, slow_rounds(variant, *sample, rate), strict=True):
        assert weights.now == approx(np.array(w), abs=1e-9)
        assert weights.earned(h) == approx(r, abs=1e-9)
        weights.learn(h, rate * math.atanh(min(max(r, -LARGEST_R), LARGEST_R)))


@given(boosted_rows(st.sampled_from([-1.0, 1.0])))
@examples(100)
def test_with_heights_of_1_and_minus_1_adac2_is_that_of_sun_and_others(sample):
    is_positive, cost, trees = sample
    y = np.where(is_positive, 1, -1)
    weights = _RowWeights("adac2", is_positive, cost)
    classic = np.full(y.size, 1 / y.size)
    for h in trees:
        counted = cost * classic  # what their alpha is taken by
        right, wrong = counted[y == h].sum(), counted[y != h].sum()
        assert weights.now == approx(counted / counted.sum())
        if not right > wrong * (1 + 1e-5) > 0:
            break  # it ends here, or no mistake is left
        alpha = math.log(right / wrong) / 2
        assert _alpha(weights.earned(h)) == approx(alpha)
        weights.learn(h, alpha)
        classic = cost * classic * np.exp(-alpha * y * h)
        classic /= classic.sum()


@given(boosted_rows(st.floats(-1, 1)))
@examples(50)
def test_at_a_cost_of_1_adac2_weighs_rows_as_ada_boost_does(sample):
    is_positive, cost, trees = sample
    y = np.where(is_positive, 1, -1)
    weights = _RowWeights("adac2", is_positive, np.ones(cost.size))
    raw = np.zeros(y.size)
    for h in trees:
        weights.learn(h, 0.7)
        raw += 0.7 * h
        boosted = np.exp(-y * raw)
        assert weights.now == approx(boosted / boosted.sum())


@pytest.mark.parametrize(("variant", "rate"), [("adac2", 1.0), ("adacost", 0.4)])
def test_every_tree_is_the_weighted_mean_of_its_leaves_and_has_its_alpha(payments, variant, rate):
    frame, risk = payments
    generator = np.random.default_rng(1)
    cost = generator.uniform(1, 9, len(frame))
    ranker = CostBoost(variant, n_estimators=6, max_depth=2, learning_rate=rate, n_jobs=1)
    ranker.fit(frame, risk, cost=cost)
    heights = [
        (scores_after(ranker, frame, tree + 1) - scores_after(ranker, frame, tree)) / rate / alpha
        for tree, alpha in enumerate(ranker.alphas_)
    ]
    assert len(heights) > 2
    twin = slow_rounds(variant, risk, cost, heights, rate)
    for h, (w, r), alpha in zip(heights, twin, ranker.alphas_, strict=True):
        assert math.tanh(alpha) == approx(r, abs=1e-5)
        w, y = np.array(w), np.where(risk, 1, -1)
        leaves = np.unique(np.round(h, 3), return_inverse=True)[1]
        means = np.bincount(leaves, w * y) / np.bincount(leaves, w)
        assert h == approx(means[leaves], abs=2e-3)


def test_at_a_cost_of_1_the_exponential_loss_keeps_ada_boosts_bound(payments):
    frame, risk = payments
    ranker = CostBoost(positive_cost=1, n_estimators=20, n_jobs=1).fit(frame, risk)
    y = np.where(risk, 1, -1)
    r = np.tanh(ranker.alphas_)
    losses = [np.exp(-y * scores_after(ranker, frame, n)).mean() for n in range(r.size + 1)]
    assert (np.diff(np.log(losses)) <= np.log(1 - r**2) / 2 + 1e-5).all()
    assert losses[-1] < 0.5


@pytest.mark.parametrize(
    ("variant", "costs"), [("adac2", (1, 1.2, 1.5, 2, 3)), ("adacost", (1.5, 3, 10, 20, 40))]
)
def test_the_more_a_positive_costs_the_more_are_found_above_0(variant, costs):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(6000, 4))
    is_positive = X[:, 0] + X[:, 1] + generator.normal(size=6000) > 3.5
    found, alarms = [], []
    for cost in costs:
        ranker = CostBoost(variant, positive_cost=cost, n_estimators=10, n_jobs=1)
        is_alarm = ranker.fit(X[:3000], is_positive[:3000]).suspicion(X[3000:]) > 0
        found.append(is_alarm[is_positive[3000:]].mean())
        alarms.append(is_alarm.mean())
    assert found == sorted(found)
    assert alarms == sorted(alarms)
    assert found[-1] > found[0] + 0.4


def test_balanced_is_negatives_by_positives(payments):
    frame, risk = payments
    balance = (~risk).sum() / risk.sum()
    # AdaC2 counts the cost in each of the three rounds
    for variant, power in (("adac2", 1 / 3), ("adacost", 1)):
        ranker = CostBoost(variant, n_estimators=3, n_jobs=1)
        balanced = clone(ranker).fit(frame, risk)
        named = ranker.set_params(positive_cost=balance**power).fit(frame, risk)
        assert np.array_equal(balanced.suspicion(frame), named.suspicion(frame))


@pytest.mark.parametrize("variant", VARIANTS)
def test_costs_of_rows_replace_positive_cost_in_any_unit(payments, variant):
    frame, risk = payments
    ranker = CostBoost(variant, positive_cost=5, n_estimators=5, n_jobs=1)
    plain = clone(ranker).fit(frame, risk).suspicion(frame)
    for unit in (1, 1e-200, 1e200):
        cost = np.where(risk, 5.0, 1.0) * unit
        ranker.set_params(positive_cost=77).fit(frame, risk, cost=pd.Series(cost))
        assert ranker.suspicion(frame) == approx(plain, abs=1e-4)


def test_frauds_of_high_amounts_come_first_when_amounts_are_the_cost():
    generator = np.random.default_rng(0)
    n = 4000
    is_dear, is_fraud = generator.random(n) < 0.5, generator.random(n) < 0.1
    # the dear frauds show in one column, the cheap ones in another
    X = generator.normal(size=(n, 2)) + 1.5 * np.column_stack(
        [is_fraud & is_dear, is_fraud & ~is_dear]
    )
    amount = np.where(is_dear, 100.0, 1.0)
    ranker = CostBoost(max_depth=1, n_estimators=5, n_jobs=1)
    suspicion = ranker.fit(X, is_fraud, cost=amount).suspicion(X)
    assert roc_auc(is_fraud[is_dear], suspicion[is_dear]) > 0.8
    assert roc_auc(is_fraud[~is_dear], suspicion[~is_dear]) < 0.6


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_row_that_costs_nothing_leaves_the_trees_alone(payments, variant):
    frame, risk = payments
    is_free = np.arange(len(frame)) % 3 == 0
    cost = np.where(is_free, 0.0, np.where(risk, 5.0, 1.0))
    ranker = CostBoost(variant, n_estimators=5, positive_label=True, n_jobs=1)
    plain = clone(ranker).fit(frame, risk, cost=cost).suspicion(frame)
    other = clone(ranker).fit(frame, risk ^ is_free, cost=cost).suspicion(frame)
    assert np.array_equal(other, plain)


@pytest.mark.parametrize("variant", VARIANTS)
def test_neither_the_order_of_rows_nor_the_seed_matters(payments, variant):
    frame, risk = payments
    order = np.random.default_rng(0).permutation(len(frame))
    ranker = CostBoost(variant, n_estimators=5, n_jobs=1)
    plain = clone(ranker).fit(frame, risk).suspicion(frame)
    turned = clone(ranker).fit(frame.iloc[order], risk[order]).suspicion(frame)
    seeded = clone(ranker).set_params(random_state=7).fit(frame, risk).suspicion(frame)
    assert turned == approx(plain, abs=1e-4)
    assert np.array_equal(seeded, plain)


def test_polars_and_text_labels_are_taken_as_they_are(payments):
    frame, risk = payments
    labels = np.where(risk, "fraud", "genuine")
    ranker = CostBoost(n_estimators=5, n_jobs=1)
    plain = clone(ranker).fit(frame, risk).suspicion(frame)
    table = pl.from_pandas(frame)
    text = clone(ranker).fit(table, pl.Series(labels), cost=pl.Series(np.ones(len(frame))))
    assert text.positive_label_ == "fraud"
    assert roc_auc(risk, text.suspicion(table)) > 0.8
    assert np.array_equal(clone(ranker).fit(table, labels).suspicion(table), plain)


def test_probabilities_are_at_the_true_share_whatever_mistakes_cost():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(5_000, 3))
    is_positive = generator.random(5_000) < 0.8 / (1 + np.exp(4 - 4 * X[:, 0]))
    for variant, cost in (("adac2", 1), ("adac2", 1.2), ("adacost", "balanced")):
        ranker = CostBoost(variant, positive_cost=cost, n_estimators=10, n_jobs=1)
        probability = ranker.fit(X, is_positive).probability(X)
        assert probability.mean() == approx(is_positive.mean(), rel=0.01)


def test_costs_spread_over_the_rounds_rank_better_than_costs_in_each():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20_000, 5))
    is_positive = X[:, 0] + X[:, 1] * X[:, 2] + generator.normal(size=20_000) > 4.5

    def precision(cost):
        ranker = CostBoost(positive_cost=cost, n_estimators=40, n_jobs=1)
        ranker.fit(X[:10_000], is_positive[:10_000])
        return average_precision(is_positive[10_000:], ranker.suspicion(X[10_000:]))

    ratio = 1 / is_positive.mean()
    assert precision("balanced") > precision(ratio) + 0.1


def test_a_tree_without_a_mistake_has_a_finite_weight_and_ends_boosting():
    X, y = np.arange(30.0)[:, None], np.arange(30) > 27
    sure = CostBoost(n_jobs=1).fit(X, y)
    assert sure.alphas_ == approx(math.atanh(LARGEST_R))
    assert sure.suspicion(X) == approx(np.where(y, 1, -1) * sure.alphas_[0])
    # the classes weigh the same; b is 0 at a positive, (1 - 2 / 28) / 2 at a negative
    cost = CostBoost("adacost", n_jobs=1).fit(X, y)
    assert np.tanh(cost.alphas_) == approx((1 - 2 / 28) / 4)
    assert sure.n_trees_ == cost.n_trees_ == 1


def test_rounding_errors_are_not_cut_for():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3000, 4))
    cost = generator.uniform(0.1, 1, 3000)
    ranker = CostBoost(max_bins=4096, n_jobs=1).fit(X, X[:, 0] > 1.5, cost=cost)
    (tree,) = booster_trees.trees_of(ranker.booster_)
    assert len(tree["left_children"]) == 3  # both sides of the first cut are of one class


def test_a_first_tree_that_earns_nothing_is_kept_with_a_warning(payments):
    frame, risk = payments
    for cost in (1, 1000):  # all alike, and far above balanced
        ranker = CostBoost("adacost", positive_cost=cost, n_jobs=1)
        with pytest.warns(UserWarning, match=r"ended with its first tree, .* variant='adac2'"):
            ranker.fit(frame, risk)
        assert ranker.alphas_.tolist() == [1.0]
        assert roc_auc(risk, ranker.suspicion(frame)) > 0.6
    X = np.ones((20, 2))
    with pytest.warns(UserWarning, match=r"first tree, .* no column distinguishes the classes"):
        ranker = CostBoost(positive_cost=17 / 3, n_jobs=1).fit(X, np.arange(20) < 3)
    assert ranker.suspicion(X) == approx(0, abs=1e-6)
    assert (ranker.feature_importances_ == 0).all()


def test_adacost_stops_when_no_tree_earns_any_more():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(4000, 3))
    is_positive = X[:, 0] + 2 * generator.normal(size=4000) > 4.5
    ranker = CostBoost("adacost", n_estimators=300, n_jobs=1).fit(X, is_positive)
    assert 1 < ranker.n_trees_ == ranker.alphas_.size < 300
    assert (ranker.alphas_ > 0).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.filterwarnings("ignore:boosting ended")
def test_costs_of_any_size_leave_every_number_finite(payments, variant):
    frame, risk = payments
    spread = 10.0 ** np.random.default_rng(0).uniform(-300, 300, len(frame))
    for settings_, cost in (({"positive_cost": 1e9}, None), ({}, spread)):
        ranker = CostBoost(variant, n_estimators=40, n_jobs=1, **settings_)
        ranker.fit(frame, risk, cost=cost)
        assert np.isfinite(ranker.suspicion(frame)).all()
        assert np.isfinite(ranker.predict_proba(frame)).all()
        assert np.isfinite(ranker.contributions(frame)).all()


def test_one_positive_in_many_rows_is_enough():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    y = np.arange(20_000) == np.argmax(X[:, 1])
    for variant in VARIANTS:
        ranker = CostBoost(variant, n_estimators=5, binning="balanced", n_jobs=1).fit(X, y)
        assert recall_at_k(y, ranker.suspicion(X), 5) == 1


def test_contributions_add_up_to_the_suspicion_and_importances_to_1(payments):
    frame, risk = payments
    ranker = CostBoost(positive_cost=2, n_estimators=20, n_jobs=1).fit(frame, risk)
    shares = ranker.contributions(frame)
    assert shares.shape == (len(frame), 5)
    assert shares.sum(axis=1) == approx(ranker.suspicion(frame), abs=1e-4)
    assert np.ptp(shares[:, -1]) == 0
    assert ranker.feature_importances_.sum() == approx(1)
    assert ranker.feature_importances_[:2].min() > ranker.feature_importances_[2]


def test_progress_is_reported_for_every_tree(payments):
    reported = []
    CostBoost(n_estimators=3, n_jobs=1).fit(
        *payments, progress=lambda what, done, total: reported.append((done, total))
    )
    assert reported == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_saved_makes_the_same_ranker(payments, variant, tmp_path):
    frame, risk = payments
    ranker = CostBoost(variant, n_estimators=6, learning_rate=0.5, n_jobs=1).fit(frame, risk)
    saved = ranker._to_saved()
    check_booster(saved.boosters["trees"], n_features=4)
    saved = saved._replace(state=json.loads(json.dumps(saved.state)))
    again = CostBoost._from_saved(ranker.get_params(), saved)
    assert np.array_equal(again.predict_proba(frame), ranker.predict_proba(frame))
    assert np.array_equal(again.contributions(frame), ranker.contributions(frame))
    assert np.array_equal(again.alphas_, ranker.alphas_)
    assert again._to_saved().boosters == saved.boosters
    check_file_keeps(ranker, frame, tmp_path / "model.toprank")


@pytest.mark.parametrize(
    ("state", "parameters", "sentence"),
    [
        ({"alphas": [0.5]}, {}, "alphas must be 3, one per tree; got 1"),
        ({"alphas": [0.5, 0.5, math.nan]}, {}, "alphas must .* finite numbers"),
        ({}, {"variant": "adac3"}, "variant must be one of"),
        ({}, {"positive_cost": -1.0}, "positive_cost must be greater than 0"),
    ],
    ids=str,
)
def test_invalid_contents_of_a_file_are_rejected(payments, state, parameters, sentence):
    ranker = CostBoost(n_estimators=3, n_jobs=1).fit(*payments)
    saved = ranker._to_saved()
    saved = saved._replace(state={**saved.state, **state})
    with pytest.raises(ValueError, match=sentence):
        CostBoost._from_saved({**ranker.get_params(), **parameters}, saved)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"variant": "adac1"}, r"variant must be one of 'adac2', 'adacost'; got 'adac1'"),
        ({"positive_cost": 0}, r"positive_cost must be greater than 0 and at most 1e\+09; got 0"),
        ({"positive_cost": math.inf}, r"positive_cost must be .* at most 1e\+09; got inf"),
        ({"positive_cost": "even"}, r"positive_cost must be 'balanced' or a number .* 'even'"),
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
        CostBoost(**wrong).fit(*payments)


@pytest.mark.parametrize(
    ("cost", "sentence"),
    [
        ([1.0, 2.0], r"cost must have 6 values, one per row; got 2"),
        (3.0, r"cost must have one dimension; got shape \(\)"),
        ([1, 1, 1, 1, 1, -2], r"cost must not be negative; got -2"),
        ([1, 1, 1, 1, 1, math.nan], r"cost must .* finite numbers; 1 of 6 are not"),
        ([0] * 6, r"cost must be above 0 for at least one positive; all 2 cost 0"),
        ([1, 1, 0, 0, 0, 0], r"cost must be above 0 for at least one negative; all 4 cost 0"),
    ],
    ids=str,
)
def test_wrong_costs_are_named_when_fitting(cost, sentence):
    y = np.array([1, 1, 0, 0, 0, 0])
    with pytest.raises(ValueError, match=sentence):
        CostBoost(n_jobs=1).fit(np.arange(6.0)[:, None], y, cost=cost)


def test_rows_without_a_positive_are_rejected():
    with pytest.raises(ValueError, match=r"y must .* two classes; got one class"):
        CostBoost().fit(np.arange(5.0)[:, None], np.zeros(5))


def scores_after(ranker, rows, n_trees):
    """Return the suspicion after a number of trees."""
    if n_trees == 0:
        return np.zeros(len(rows))
    earlier = clone(ranker)
    vars(earlier).update(vars(ranker), booster_=ranker.booster_[:n_trees])
    return earlier.suspicion(rows)
