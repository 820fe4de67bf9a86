"""SampledRanker: what it samples, what its probabilities mean, scikit-learn's contract."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imblearn.under_sampling import ClusterCentroids, RandomUnderSampler
from pytest import approx
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import toprank
from contracts import check_file_keeps, check_ranker
from examples import examples
from toprank import BoostedRanker, MetaAP
from toprank.data.tables import Schema
from toprank.decisions import SampledRanker, undersampling_corrected
from toprank.decisions.samplers import SAMPLERS, Sampling, resampled

SMALL = BoostedRanker("log", n_estimators=5, n_jobs=1)
META_AP = pytest.param(MetaAP(), marks=pytest.mark.slow)  # compiles for long


@pytest.fixture(scope="module")
def payments():
    generator = np.random.default_rng(0)
    n = 900
    amount = generator.gamma(2.0, 40.0, n)
    country = generator.choice(["FR", "DE", "US"], n, p=[0.7, 0.2, 0.1])
    online = generator.random(n) < 0.4
    risk = (amount > 150) & (country == "US") | (generator.random(n) < 0.03)
    hours = np.where(generator.random(n) < 0.1, np.nan, generator.exponential(10, n))
    frame = pd.DataFrame(
        {"amount": amount, "country": country, "online": online, "hours_since_last": hours}
    )
    return frame, risk


@pytest.mark.parametrize(
    "sampler",
    [
        "under",
        *(pytest.param(each, marks=pytest.mark.slow) for each in SAMPLERS if each != "under"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_contract(sampler):
    smallest = BoostedRanker(n_estimators=2, n_jobs=1)
    ranker = SampledRanker(smallest, sampler, n_subsets=2, k_neighbors=1)
    outcomes = check_estimator(ranker, on_fail="raise")
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    assert len(passed) >= len(outcomes) - 1  # array API input where not enabled


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_it_keeps_the_promises_of_every_ranker(sampler, payments, tmp_path):
    frame, risk = (part[:400] for part in payments)
    ranker = SampledRanker(SMALL, sampler, ratio=0.5, n_subsets=2)
    check_ranker(ranker, frame, risk)
    again = check_file_keeps(ranker.fit(frame, risk), frame, tmp_path / "model.toprank")
    assert again.n_sampled_ == ranker.n_sampled_


@pytest.mark.parametrize("sampler", ["under", "over", "smote", "easy-ensemble"])
def test_the_ratio_is_that_of_the_rows_learned_from(sampler, payments):
    frame, is_positive = payments
    ranker = SampledRanker(SMALL, sampler, ratio=0.25, n_subsets=3).fit(frame, is_positive)
    for n_rows, n_positive in ranker.n_sampled_:
        assert n_positive / (n_rows - n_positive) == approx(0.25, abs=0.01)
    assert len(ranker.rankers_) == (3 if sampler == "easy-ensemble" else 1)


def test_leaving_out_keeps_positives_and_adding_keeps_negatives(payments):
    frame, is_positive = payments
    n_positive = int(is_positive.sum())
    under, over = (
        SampledRanker(SMALL, sampler).fit(frame, is_positive) for sampler in ("under", "over")
    )
    assert under.n_sampled_ == [(2 * n_positive, n_positive)]
    n_negative = is_positive.size - n_positive
    assert over.n_sampled_ == [(2 * n_negative, n_negative)]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0.001, 1))
def test_the_correction_undoes_what_undersampling_does_to_probabilities(probability, kept):
    """Bayes' rule in a population: keep a share of the negatives, and the odds grow by 1/kept."""
    whole = np.array(probability)
    negatives_kept = kept * (1 - whole)
    sampled = whole / (whole + negatives_kept)
    assert undersampling_corrected(sampled, kept) == approx(whole, abs=1e-12)


def test_the_correction_keeps_ranks_and_ends():
    sampled = np.linspace(0, 1, 50)
    corrected = undersampling_corrected(sampled, 0.01)
    assert (np.diff(corrected) > 0).all() and corrected[[0, -1]] == approx([0, 1])


@pytest.mark.parametrize("sampler", ["under", "over"])
def test_probabilities_add_up_to_the_positives_of_all_rows(sampler):
    """A model that is right on sampled rows must be right on all of them after the correction."""
    generator = np.random.default_rng(1)
    X = generator.normal(size=(40_000, 1))
    y = generator.random(40_000) < 1 / (1 + np.exp(4.5 - 1.5 * X[:, 0]))
    new = generator.normal(size=(40_000, 1))
    expected = (1 / (1 + np.exp(4.5 - 1.5 * new[:, 0]))).sum()
    model = SampledRanker(LogisticRegression(C=1e6), sampler, ratio=1.0).fit(X, y)
    assert model.probability(new).sum() == approx(expected, rel=0.1)
    by_formula = undersampling_corrected(
        model.rankers_[0].predict_proba(new)[:, 1], kept=np.exp(model.calibration_.intercept)
    )
    assert model.probability(new) == approx(by_formula, rel=1e-5)


def test_smote_makes_rows_between_positives_with_categories_that_positives_have():
    generator = np.random.default_rng(2)
    is_positive = np.arange(300) < 20
    numbers = np.where(is_positive, 5 + generator.random(300), generator.random(300))
    frame = pd.DataFrame(
        {
            "amount": 1e6 * numbers,
            "place": np.where(is_positive, "abroad", "home"),
            "is_night": is_positive,
        }
    )
    frame.loc[::5, "amount"] = np.nan
    schema = Schema.of(frame)
    features = schema.encode(frame)
    rows, labels = resampled(features, is_positive, schema, Sampling("smote", 1.0, 3, 0))
    made = rows[300:]
    assert labels[300:].all() and len(made) == 260
    np.testing.assert_array_equal(rows[:300], features)
    abroad = schema.columns[1].categories.index("abroad")
    assert set(made[:, 1]) == {abroad} and set(made[:, 2]) == {1.0}
    assert np.isfinite(made[:, 0]).all() and np.isnan(features[:300:5, 0]).all()
    middle = np.nanmedian(features[:, 0])  # gaps are filled with it, so that new rows reach there
    assert (made[:, 0] >= middle - 1).all() and (made[:, 0] <= 6e6).all()


def test_smote_of_categories_only():
    frame = pd.DataFrame({"place": ["home", "home", "abroad"] * 40, "kind": list("abc") * 40})
    is_positive = np.arange(120) % 3 == 2
    is_positive[::2] = False
    schema = Schema.of(frame)
    rows, labels = resampled(
        schema.encode(frame), is_positive, schema, Sampling("smote", 1.0, 3, 0)
    )
    assert labels.sum() == (~labels).sum()
    np.testing.assert_array_equal(np.unique(rows[120:], axis=0), [[0.0, 2.0]])


def test_smote_finds_neighbours_whatever_the_unit():
    """In euros or in cents, with a column that is noise in thousands: the same new rows."""
    generator = np.random.default_rng(3)
    X = generator.normal(size=(200, 2)).astype(np.float32)
    is_positive = np.arange(200) < 15
    how = Sampling("smote", 0.5, 3, 7)
    scaled = X * np.float32([1024, 1])
    once, _ = resampled(X, is_positive, Schema.of(X), how)
    again, _ = resampled(scaled, is_positive, Schema.of(X), how)
    np.testing.assert_allclose(again / np.float32([1024, 1]), once, rtol=1e-4, atol=1e-5)


def nearest(X, row):
    distance = ((X - X[row]) ** 2).sum(axis=1)
    distance[row] = np.inf
    return int(distance.argmin())


@given(st.integers(0, 2**31))
@examples(15)
def test_tomek_leaves_out_negatives_that_are_mutual_neighbours_of_a_positive(seed):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(40, 2)).astype(np.float32)
    is_positive = np.arange(40) < 8
    even = (X - np.median(X, axis=0)) / X.std(axis=0)
    linked = {
        nearest(even, p)
        for p in np.flatnonzero(is_positive)
        if nearest(even, nearest(even, p)) == p
    }
    gone = sorted(row for row in linked if not is_positive[row])
    rows, labels = resampled(X, is_positive, Schema.of(X), Sampling("tomek", 1.0, 5, 0))
    np.testing.assert_array_equal(rows, np.delete(X, gone, axis=0))
    assert labels.sum() == 8


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(5, random_state=0), LinearSVC(), None, META_AP], ids=str
)
def test_any_classifier_or_ranker_may_learn(model, payments):
    frame, is_positive = payments
    frame = frame[["amount", "online"]]
    ranker = SampledRanker(model, ratio=0.5).fit(frame, is_positive)
    assert toprank.metrics.roc_auc(is_positive, ranker.suspicion(frame)) > 0.6


def test_a_sampler_of_imbalanced_learn_may_be_given(payments, tmp_path):
    frame, is_positive = payments
    numbers = frame[["amount"]]
    ranker = SampledRanker(SMALL, ClusterCentroids(random_state=0)).fit(numbers, is_positive)
    assert ranker.n_sampled_[0][0] == 2 * is_positive.sum()
    nothing_left = RandomUnderSampler(sampling_strategy={0: 10, 1: 0})
    with pytest.raises(ValueError, match="sampler must leave both classes; it left no positives"):
        SampledRanker(SMALL, nothing_left).fit(numbers, is_positive)
    with pytest.raises(TypeError, match=r"sampler must be a name .* ClusterCentroids"):
        toprank.save(ranker, tmp_path / "model.toprank")


def test_our_rankers_work_in_imbalanced_learns_pipeline(payments):
    from imblearn.pipeline import make_pipeline

    frame, is_positive = payments
    pipeline = make_pipeline(RandomUnderSampler(random_state=0), SMALL).fit(frame, is_positive)
    assert pipeline.predict_proba(frame).shape == (900, 2)


def test_a_model_of_scikit_learn_inside_is_not_saved(payments, tmp_path):
    frame, is_positive = payments
    ranker = SampledRanker(LogisticRegression()).fit(frame[["amount"]], is_positive)
    with pytest.raises(
        TypeError, match="inner ranker must be one of toprank's to be saved; got Logistic"
    ):
        toprank.save(ranker, tmp_path / "model.toprank")
    assert not list(tmp_path.iterdir())


def test_the_same_seed_gives_the_same_scores_and_another_others(payments):
    frame, is_positive = payments
    scores = [
        SampledRanker(SMALL, random_state=seed).fit(frame, is_positive).suspicion(frame)
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert (scores[0] != scores[2]).any()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"ratio": 1.5}, "ratio must be greater than 0 and at most 1; got 1.5"),
        ({"ratio": 0.0}, "ratio must be greater than 0 and at most 1; got 0"),
        ({"ratio": 0.001}, "ratio must be at least 0.0393.*and at most 1; got 0.001"),
        ({"sampler": "smoth"}, "sampler must be one of 'under', 'over'"),
        ({"sampler": "smote", "k_neighbors": 50}, "k_neighbors must be below.*got 50. Lower it"),
        ({"k_neighbors": 0}, "k_neighbors must be at least 1; got 0"),
        ({"n_subsets": 0}, "n_subsets must be at least 1; got 0"),
        ({"positive_label": False}, "positives must be the rarer class"),
        ({"ranker": BoostedRanker(positive_label=1)}, "ranker must have positive_label=None"),
    ],
)
def test_invalid_options_are_rejected(options, sentence, payments):
    with pytest.raises(ValueError, match=sentence):
        SampledRanker(**{"ranker": SMALL, **options}).fit(payments[0], payments[1])


@pytest.mark.parametrize(
    "bad",
    [
        {"sampler": 3},
        {"sampler": RandomUnderSampler},
        {"ranker": "log"},
        {"ranker": BoostedRanker},
    ],
)
def test_other_samplers_and_rankers_are_a_type_error(bad, payments):
    with pytest.raises(TypeError, match="must be"):
        SampledRanker(**bad).fit(*payments)


def test_rows_without_positives_are_rejected(payments):
    with pytest.raises(ValueError, match=r"y must .* two classes"):
        SampledRanker(SMALL).fit(payments[0], np.zeros(900, dtype=bool))


@pytest.mark.parametrize("probability", [[-0.1], [1.1]])
def test_values_beyond_0_and_1_are_not_probabilities(probability):
    with pytest.raises(ValueError, match="probability must be between 0 and 1"):
        undersampling_corrected(probability, 0.5)


def test_without_imbalanced_learn_the_extra_is_named(payments, monkeypatch):
    monkeypatch.setitem(sys.modules, "imblearn", None)
    with pytest.raises(ImportError, match="toprank\\[imbalance\\]"):
        SampledRanker(SMALL).fit(*payments)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_sampled": [[10, 50]]}, r"n_sampled must .*\[\[10, 50\]\]"),
        ({"n_sampled": [[50, 10]] * 3}, r"n_sampled must .*\[\[50, 10\]"),
        ({"rankers": 3}, "rankers must be a list"),
        ({"rankers": []}, "rankers must .* at least one"),
    ],
)
def test_an_invalid_state_is_rejected(change, sentence, payments):
    saved = SampledRanker(SMALL).fit(*payments)._to_saved()
    broken = saved._replace(state={**saved.state, **change})
    with pytest.raises(ValueError, match=sentence):
        SampledRanker._from_saved(saved.parameters, broken)


@pytest.mark.filterwarnings("ignore")
def test_a_model_without_support_for_gaps_says_so():
    check_estimator(SampledRanker(LogisticRegression()), on_fail="raise")
