"""BoostedRanker: scikit-learn's contract, tables, labels, seeds and errors."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pytest import approx
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from contracts import check_ranker
from toprank import BoostedRanker
from toprank.metrics import average_precision

FLOAT32 = {
    "check_sample_weight_equivalence_on_dense_data": (
        "XGBoost keeps gradients and leaves in float32: a weight of 3 and three copies agree to "
        "about 1e-6, the check wants 1e-7; our own test holds them to 1e-4 in log-odds"
    ),
    "check_sample_weight_equivalence_on_sparse_data": "as with dense rows",
}


@pytest.mark.parametrize(
    "ranker",
    [
        BoostedRanker(n_estimators=2, learning_rate=1.0),
        pytest.param(BoostedRanker(engine="paper", n_estimators=2), marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_contract(ranker):
    outcomes = check_estimator(ranker, expected_failed_checks=FLOAT32, on_fail="raise")
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    assert len(passed) >= len(outcomes) - 3  # those, and array API input where not enabled


def test_the_published_algorithm_is_better_with_small_steps_than_with_whole_ones():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 4))
    y = X[:, 0] + X[:, 1] + generator.normal(size=600) > 2
    training, test = slice(0, 400), slice(400, 600)
    small, whole = (
        BoostedRanker.published(**steps).fit(X[training], y[training])
        for steps in ({}, {"learning_rate": 1.0})
    )
    assert (small.engine, small.loss, small.warm_start_trees) == ("paper", "ap-exp", 0)
    ap = [average_precision(y[test], ranker.suspicion(X[test])) for ranker in (small, whole)]
    assert ap[0] > ap[1] + 0.1


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


@pytest.fixture(scope="module")
def fitted(payments):
    return BoostedRanker("ap-exp", n_estimators=40, n_jobs=1).fit(*payments)


def test_it_keeps_the_promises_of_every_ranker(payments):
    check_ranker(BoostedRanker("ap-exp", n_estimators=15, n_jobs=1), *payments)


def test_the_very_top_is_positive(payments, fitted):
    frame, risk = payments
    assert average_precision(risk, fitted.suspicion(frame)) > 0.7


def test_pandas_polars_and_pyarrow_give_the_same_scores(payments, fitted):
    frame, _ = payments
    expected = fitted.suspicion(frame)
    assert np.array_equal(fitted.suspicion(pl.from_pandas(frame)), expected)
    assert np.array_equal(fitted.suspicion(pa.Table.from_pandas(frame)), expected)
    categorical = frame.assign(country=frame["country"].astype("category"))
    assert np.array_equal(fitted.suspicion(categorical), expected)


def test_columns_are_found_by_name_in_any_order_and_others_are_ignored(payments, fitted):
    frame, _ = payments
    shuffled = frame[["hours_since_last", "country", "amount", "online"]].assign(note="x")
    assert np.array_equal(fitted.suspicion(shuffled), fitted.suspicion(frame))


def test_a_missing_column_is_named(payments, fitted):
    frame, _ = payments
    with pytest.raises(ValueError, match="column 'amount' is not in"):
        fitted.suspicion(frame.drop(columns="amount"))


def test_an_unseen_category_counts_as_missing(payments, fitted):
    frame, _ = payments
    unseen, missing = frame.assign(country="XX"), frame.assign(country=None)
    missing["country"] = missing["country"].astype(object)
    assert np.array_equal(fitted.suspicion(unseen), fitted.suspicion(missing))


def test_a_label_with_a_positive_name_is_positive_wherever_it_sorts(payments):
    frame, risk = payments
    names = np.where(risk, "fraud", "genuine")  # "fraud" sorts first
    ranker = BoostedRanker("ap-exp", n_estimators=10, n_jobs=1).fit(frame, names)
    plain = BoostedRanker("ap-exp", n_estimators=10, n_jobs=1).fit(frame, risk)
    assert ranker.positive_label_ == "fraud"
    assert np.array_equal(ranker.suspicion(frame), plain.suspicion(frame))
    assert ranker.decision_function(frame) == approx(-plain.decision_function(frame))
    assert ranker.predict_proba(frame)[:, 0] == approx(plain.predict_proba(frame)[:, 1])
    assert set(ranker.predict(frame)) <= {"fraud", "genuine"}


def test_a_named_positive_label_reverses_the_list(payments):
    frame, risk = payments
    usual = BoostedRanker("ap-exp", n_estimators=10, n_jobs=1).fit(frame, risk)
    turned = BoostedRanker("ap-exp", n_estimators=10, positive_label=False, n_jobs=1).fit(
        frame, risk
    )
    assert turned.positive_label_ is np.False_ or not turned.positive_label_
    assert np.corrcoef(usual.suspicion(frame), turned.suspicion(frame))[0, 1] < 0


def test_equal_classes_make_the_later_label_positive():
    X = np.arange(20.0)[:, None]
    assert BoostedRanker("ap-exp", n_estimators=2).fit(X, np.arange(20) % 2).positive_label_ == 1


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"batch_fraction": 0.5},
        {"subsample": 0.5},
        {"loss": "log"},
        {"early_stopping_rounds": 5},
        {"engine": "paper", "batch_fraction": 0.7},
    ],
    ids=str,
)
def test_a_seed_gives_the_same_model_again(payments, settings):
    frame, risk = payments
    settings = {"loss": "ap-exp", "n_estimators": 12, "n_jobs": 1, **settings}
    ranker = BoostedRanker(**settings, random_state=3)
    first, again = clone(ranker).fit(frame, risk), clone(ranker).fit(frame, risk)
    assert np.array_equal(first.suspicion(frame), again.suspicion(frame))


@pytest.mark.parametrize("drawn", [{"batch_fraction": 0.5}, {"subsample": 0.5}], ids=str)
def test_another_seed_gives_another_model(payments, drawn):
    frame, risk = payments
    one, other = (
        BoostedRanker("ap-exp", n_estimators=12, random_state=seed, n_jobs=1, **drawn).fit(
            frame, risk
        )
        for seed in (0, 1)
    )
    assert not np.array_equal(one.suspicion(frame), other.suspicion(frame))


def test_both_forms_of_ap_exp_learn_the_same_trees(payments):
    frame, risk = payments
    log_form, paper_form = (
        BoostedRanker(
            "ap-exp", n_estimators=10, warm_start_trees=0, loss_options={"form": form}, n_jobs=1
        )
        .fit(frame, risk)
        .suspicion(frame)
        for form in ("log", "paper")
    )
    assert log_form == approx(paper_form, abs=1e-4)


def test_a_weight_counts_like_that_many_copies(payments):
    frame, risk = payments
    weight = np.random.default_rng(0).integers(0, 4, len(frame))
    copies = np.repeat(np.arange(len(frame)), weight)
    ranker = BoostedRanker("ap-exp", n_estimators=10, max_bins=2048, n_jobs=1)
    weighted = clone(ranker).fit(frame, risk, sample_weight=weight)
    copied = clone(ranker).fit(frame.iloc[copies], risk[copies])
    assert weighted.suspicion(frame) == approx(copied.suspicion(frame), abs=1e-4)


def test_warm_start_trees_split_the_trees_between_the_losses(payments):
    frame, risk = payments
    log_only = BoostedRanker("log", n_estimators=10, n_jobs=1).fit(frame, risk)
    all_warm = BoostedRanker("ap-exp", n_estimators=10, warm_start_trees=10, n_jobs=1).fit(
        frame, risk
    )
    default = BoostedRanker("ap-exp", n_estimators=10, n_jobs=1).fit(frame, risk)
    eight = BoostedRanker("ap-exp", n_estimators=10, warm_start_trees=8, n_jobs=1).fit(frame, risk)
    assert np.array_equal(log_only.suspicion(frame), all_warm.suspicion(frame))
    assert np.array_equal(default.suspicion(frame), eight.suspicion(frame))
    assert not np.array_equal(default.suspicion(frame), log_only.suspicion(frame))


def test_calibrating_changes_probabilities_but_no_rank(payments, fitted):
    frame, risk = payments
    ranker = BoostedRanker("ap-exp", n_estimators=40, n_jobs=1).fit(frame[:800], risk[:800])
    before = ranker.suspicion(frame)
    overconfident = ranker.probability(frame[800:]).sum()
    ranker.calibrate(frame[800:], risk[800:])
    assert np.array_equal(ranker.suspicion(frame), before)
    assert ranker.probability(frame[800:]).sum() == approx(risk[800:].sum(), rel=0.25)
    assert abs(ranker.probability(frame[800:]).sum() - risk[800:].sum()) <= abs(
        overconfident - risk[800:].sum()
    )


def test_validation_rows_stop_training_and_are_kept_as_history(payments):
    frame, risk = payments
    ranker = BoostedRanker("log", n_estimators=300, early_stopping_rounds=10, n_jobs=1)
    ranker.fit(frame[:800], risk[:800], eval_set=(frame[800:], risk[800:]))
    assert 0 < ranker.n_trees_ <= len(ranker.history_) < 300


def test_an_eval_set_may_have_weights_and_be_a_list_of_one(payments):
    frame, risk = payments
    held_out = frame[800:], risk[800:]
    weight = np.where(risk[800:], 3.0, 1.0)
    forms = [held_out, [held_out], (*held_out, np.ones(400)), [(*held_out, weight)]]
    histories = [
        BoostedRanker(n_estimators=20, early_stopping_rounds=5, n_jobs=1)
        .fit(frame[:800], risk[:800], eval_set=eval_set)
        .history_
        for eval_set in forms
    ]
    assert histories[0] == histories[1] == histories[2]
    assert histories[3] != histories[0]
    with pytest.raises(ValueError, match="eval_set must be one set of rows; got 2 sets"):
        BoostedRanker(n_estimators=2).fit(frame, risk, eval_set=[held_out, held_out])


def test_the_default_is_plain_log_loss(payments):
    frame, risk = payments
    default = BoostedRanker(n_estimators=5, n_jobs=1).fit(frame, risk)
    log_loss = BoostedRanker("log", n_estimators=5, n_jobs=1).fit(frame, risk)
    assert default.loss == "log"
    assert np.array_equal(default.suspicion(frame), log_loss.suspicion(frame))


def test_progress_is_reported_for_every_tree(payments):
    reported = []
    BoostedRanker("ap-exp", n_estimators=4, n_jobs=1).fit(
        *payments, progress=lambda *step: reported.append(step)
    )
    assert reported == [("growing trees", done, 4) for done in (1, 2, 3, 4)]


def test_one_positive_is_enough():
    X = np.linspace(0, 1, 50)[:, None]
    y = np.arange(50) == 49
    for engine in ("xgboost", "paper"):
        ranker = BoostedRanker("ap-exp", engine=engine, n_estimators=10, n_jobs=1).fit(X, y)
        assert np.argmax(ranker.suspicion(X)) == 49 or engine == "xgboost"
        assert np.isfinite(ranker.suspicion(X)).all()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"learning_rate": -0.1}, r"learning_rate must be greater than 0; got -0.1"),
        ({"engine": "lightgbm"}, r"engine must be one of 'xgboost', 'paper'; got 'lightgbm'"),
        ({"loss": "auc"}, r"loss must be one of .*; got 'auc'"),
        ({"binning": "exact"}, r"binning must be one of"),
        ({"n_estimators": 0}, r"n_estimators must be at least 1; got 0"),
        ({"warm_start_trees": 11}, r"warm_start_trees must be between 0 and 10; got 11"),
        ({"batch_fraction": 1.5}, r"batch_fraction must be greater than 0 and at most 1; got 1.5"),
        ({"engine_options": {"objective": "rank:map"}}, r"engine_options .*'objective'.*rank:map"),
        ({"positive_label": "x"}, r"positive_label must be one of \[False, True\]; got 'x'"),
    ],
)
def test_wrong_parameters_are_named_when_fitting(payments, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        BoostedRanker(**{"n_estimators": 10, **settings}).fit(*payments)


def test_three_labels_are_rejected(payments):
    frame, _ = payments
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        BoostedRanker("ap-exp", n_estimators=2).fit(frame, np.arange(len(frame)) % 3)


def test_a_single_class_is_rejected(payments):
    frame, _ = payments
    with pytest.raises(ValueError, match="got one class"):
        BoostedRanker("ap-exp", n_estimators=2).fit(frame, np.zeros(len(frame), dtype=bool))


def test_weights_that_balance_the_classes_do_not_reverse_the_list(payments):
    frame, risk = payments
    weight = np.where(risk, 500.0, 1.0)
    ranker = BoostedRanker("ap-exp", n_estimators=20, n_jobs=1).fit(
        frame, risk, sample_weight=weight
    )
    assert ranker.positive_label_
    assert average_precision(risk, ranker.suspicion(frame)) > 0.5


@pytest.mark.parametrize("seed", range(3))
def test_early_stopping_works_with_two_positives(seed):
    X = np.random.default_rng(seed).normal(size=(100, 2))
    y = np.arange(100) < 2
    ranker = BoostedRanker(
        "ap-exp", n_estimators=20, early_stopping_rounds=5, random_state=seed, n_jobs=1
    )
    assert np.isfinite(ranker.fit(X, y).suspicion(X)).all()
    with pytest.raises(
        ValueError, match=r"early_stopping_rounds needs at least 2 positives.*got 1"
    ):
        ranker.fit(X, np.arange(100) < 1)


def test_two_positives_are_enough_for_ap_exp_to_cut():
    X = np.linspace(0, 1, 100)[:, None]
    y = np.arange(100) >= 98
    ranker = BoostedRanker("ap-exp", n_estimators=50, warm_start_trees=0, n_jobs=1).fit(X, y)
    assert average_precision(y, ranker.suspicion(X)) == 1


def test_other_kinds_of_random_state_are_accepted(payments):
    frame, risk = payments
    drawn = BoostedRanker("ap-exp", n_estimators=3, subsample=0.5, random_state=None, n_jobs=1)
    assert drawn.fit(frame, risk).n_trees_ == 3
    one, same = (
        BoostedRanker(
            "ap-exp",
            n_estimators=3,
            subsample=0.5,
            random_state=np.random.RandomState(4),
            n_jobs=1,
        ).fit(frame, risk)
        for _ in range(2)
    )
    assert np.array_equal(one.suspicion(frame), same.suspicion(frame))


@pytest.mark.parametrize(
    ("rows", "labels", "sentence"),
    [
        (
            slice(0, 400),
            slice(0, 300),
            "eval_set must have one label per row; got 400 rows and 300",
        ),
        (slice(0, 400), 7, r"labels of eval_set must be \[False, True\]; got 7 in 400 of 400"),
        (
            slice(0, 400),
            False,
            "eval_set must contain both classes; got 0 rows labelled True among 400",
        ),
    ],
)
def test_validation_rows_that_do_not_fit_are_named(payments, rows, labels, sentence):
    frame, risk = payments
    y = risk[labels] if isinstance(labels, slice) else np.full(400, labels)
    with pytest.raises(ValueError, match=sentence):
        BoostedRanker("ap-exp", n_estimators=3).fit(frame, risk, eval_set=(frame[rows], y))


@pytest.mark.parametrize(
    "unused",
    [{"subsample": 0.5}, {"binning": "balanced"}, {"engine_options": {"eta": 1}}],
    ids=str,
)
def test_the_papers_engine_rejects_settings_it_would_ignore(payments, unused):
    with pytest.raises(ValueError, match=f"{next(iter(unused))} must be .* with engine='paper'"):
        BoostedRanker(engine="paper", n_estimators=2, **unused).fit(*payments)


def test_probabilities_of_very_many_rows_are_fitted_to_a_weighted_sample(monkeypatch):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(4000, 2))
    y = generator.logistic(size=4000) < 2 * X[:, 0] - 3
    whole = BoostedRanker(n_estimators=20).fit(X, y)
    monkeypatch.setattr("toprank.rankers.boosted.one_booster._MOST_JUDGED", 1000)
    sampled = BoostedRanker(n_estimators=20).fit(X, y)

    assert np.array_equal(sampled.suspicion(X), whole.suspicion(X))
    assert sampled.calibration_ != whole.calibration_
    assert sampled.probability(X).sum() == approx(y.sum(), rel=0.1)
