"""What RankRLS and RankSVM both keep: contracts, what each kernel can learn, bad input, files."""

import numpy as np
import pytest
from pytest import approx
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from contracts import check_file_keeps, check_ranker
from rankers.trees.made_payments import numbers, payments
from toprank import RankRLS, RankSVM, load, save
from toprank.metrics import average_precision, roc_auc
from toprank.rankers import reasons

LINEAR = [RankRLS(), RankSVM()]
GAUSSIAN = [RankRLS(kernel="gaussian", n_centres=80), RankSVM(kernel="gaussian", n_centres=80)]
EVERY_RANKER = pytest.mark.parametrize("ranker", [*LINEAR, *GAUSSIAN], ids=str)
EVERY_LINE = pytest.mark.parametrize("ranker", LINEAR, ids=str)
EVERY_GAUSSIAN = pytest.mark.parametrize("ranker", GAUSSIAN, ids=str)
EVERY_KIND = pytest.mark.parametrize("kind", [RankRLS, RankSVM])
OF_ALL_ROWS = [
    RankRLS(regularization=0.01),
    RankSVM(),
    RankRLS(kernel="gaussian", regularization=0.01, n_centres=1000),
    RankSVM(kernel="gaussian", n_centres=1000),
]

SOFTENED = {
    "check_sample_weight_equivalence_on_dense_data": (
        "probabilities are drawn to the middle by the number of rows, not by their weight; our "
        "own test finds suspicions equal for weights and copies"
    )
}


@EVERY_RANKER
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_contract(ranker):
    outcomes = check_estimator(ranker, expected_failed_checks=SOFTENED, on_fail="raise")
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    assert len(passed) >= len(outcomes) - 2  # that one, and array API input where not enabled


@EVERY_RANKER
def test_it_keeps_the_promises_of_every_ranker(ranker):
    check_ranker(ranker, *payments(150))


@EVERY_RANKER
def test_the_frauds_come_first(ranker):
    frame, is_fraud = payments(800)
    fitted = clone(ranker).fit(frame[:400], is_fraud[:400])
    found = average_precision(is_fraud[400:], fitted.suspicion(frame[400:]))
    assert found / is_fraud[400:].mean() > 1.7


def rings(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    radius = np.hypot(*X.T)
    return X, (radius > 0.8) & (radius < 1.2)


@EVERY_KIND
def test_a_gaussian_finds_a_ring_and_a_line_does_not(kind):
    test_rows, is_ring = rings(1000, seed=1)

    def area(kernel):
        return roc_auc(is_ring, kind(kernel=kernel).fit(*rings(600, 0)).suspicion(test_rows))

    assert area("gaussian") > 0.9
    assert area("linear") < 0.6


@EVERY_KIND
def test_a_line_finds_a_linear_risk_that_no_single_column_shows(kind):
    generator = np.random.default_rng(0)
    along, across = generator.normal(size=(2, 500))
    X = np.column_stack([along + 0.1 * across, along - 0.1 * across])
    y = across > 1
    suspicion = kind(**({"C": 1e4} if kind is RankSVM else {})).fit(X, y).suspicion(X)
    assert roc_auc(y, suspicion) > 0.99


@EVERY_LINE
def test_one_positive_in_many_rows_is_enough(ranker):
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    y = np.arange(20_000) == np.argmax(X[:, 1])
    assert roc_auc(y, clone(ranker).fit(X, y).suspicion(X)) > 0.99


@EVERY_GAUSSIAN
def test_rare_positives_far_from_all_others_have_centres(ranker):
    X = np.random.default_rng(0).normal(size=(5_000, 2))
    y = np.arange(5_000) % 1000 == 7
    X[y] = [4.0, -4.0] + 0.3 * X[y]
    assert roc_auc(y, clone(ranker).fit(X, y).suspicion(X)) > 0.99


@EVERY_RANKER
def test_units_and_zeros_of_columns_change_nothing(ranker):
    X, y = numbers(150)
    moved = X * [1e-6, 1.0, 1e6] + [0.0, 5.0, -1e5]
    plain, other = clone(ranker).fit(X, y), clone(ranker).fit(moved, y)
    if isinstance(ranker, RankRLS):
        assert other.regularization_ == plain.regularization_
    assert other.suspicion(moved) == approx(plain.suspicion(X), abs=2e-3)


@pytest.mark.parametrize("ranker", OF_ALL_ROWS, ids=str)
def test_a_whole_weight_counts_like_so_many_copies(ranker):
    frame, is_fraud = payments(200)
    weight = np.random.default_rng(0).integers(0, 4, len(frame))
    copies = np.repeat(np.arange(len(frame)), weight)
    weighted = clone(ranker).fit(frame, is_fraud, sample_weight=weight)
    copied = clone(ranker).fit(frame.iloc[copies], is_fraud[copies])
    assert weighted.suspicion(frame) == approx(copied.suspicion(frame), abs=1e-3)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
@EVERY_RANKER
def test_the_unit_of_the_weights_changes_nothing(ranker, unit):
    frame, is_fraud = payments(150)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(frame))
    plain = clone(ranker).fit(frame, is_fraud, sample_weight=weight).suspicion(frame)
    other = clone(ranker).fit(frame, is_fraud, sample_weight=weight * unit).suspicion(frame)
    assert other == approx(plain, abs=1e-3)


@EVERY_RANKER
def test_a_row_with_zero_weight_is_ignored(ranker):
    frame, is_fraud = payments(200)
    weight = np.arange(200) % 3 > 0
    frame = frame.assign(amount=frame["amount"].where(weight, 1e6))
    one = clone(ranker).fit(frame, is_fraud, sample_weight=weight.astype(float))
    other = clone(ranker).fit(frame[weight], is_fraud[weight], sample_weight=np.ones(weight.sum()))
    assert np.array_equal(one.suspicion(frame), other.suspicion(frame))


@EVERY_RANKER
def test_the_same_seed_teaches_the_same_again(ranker):
    frame, is_fraud = payments(300)
    one, again = (clone(ranker).fit(frame, is_fraud).suspicion(frame) for _ in range(2))
    assert np.array_equal(one, again)


@EVERY_GAUSSIAN
def test_another_seed_draws_other_centres(ranker):
    frame, is_fraud = payments(300)
    one, other = (
        clone(ranker).set_params(random_state=seed).fit(frame, is_fraud).score_.centres
        for seed in (0, 1)
    )
    assert len(one) == len(other) == 80
    assert not np.array_equal(one, other)


@EVERY_RANKER
def test_a_label_with_a_positive_name_is_positive_wherever_it_sorts(ranker):
    frame, is_fraud = payments(200)
    plain = clone(ranker).fit(frame, is_fraud)
    named = clone(ranker).fit(frame, np.where(is_fraud, "fraud", "genuine"))
    assert named.positive_label_ == "fraud"
    assert np.array_equal(named.suspicion(frame), plain.suspicion(frame))
    turned = clone(ranker).set_params(positive_label="genuine")
    turned.fit(frame, np.where(is_fraud, "fraud", "genuine"))
    assert roc_auc(~is_fraud, turned.suspicion(frame)) > 0.6


@EVERY_RANKER
def test_shares_of_any_row_add_up_and_those_of_a_column_of_no_use_are_0(ranker):
    frame, is_fraud = payments(200)
    frame = frame.assign(same=1.0)
    fitted = clone(ranker).fit(frame, is_fraud)
    gaps = np.random.default_rng(0).random(frame.shape) < 0.3
    frame = frame.astype({"online": object}).mask(gaps)
    frame.loc[:49, "country"] = "never seen before"
    frame.loc[50:60, "amount"] = 1e30
    shares = fitted.contributions(frame)
    suspicion = fitted.suspicion(frame)
    assert np.isfinite(shares).all()
    assert shares.sum(axis=1) == approx(suspicion, abs=1e-9 + 1e-12 * np.abs(suspicion).max())
    assert np.ptp(shares[:, -1]) == 0
    assert (shares[:, frame.columns.get_loc("same")] == 0).all()


@EVERY_RANKER
def test_the_reason_of_a_large_amount_is_its_amount(ranker):
    frame, is_fraud = payments(400)
    fitted = clone(ranker).fit(frame, is_fraud)
    row = frame[:1].assign(amount=220.0, country="FR", online=False, hours=10.0, noise=0.0)
    (reason,) = reasons.explain(fitted, row, n_reasons=1)[0]
    assert reason.feature == "amount"
    assert reason.contribution > 0


@EVERY_RANKER
def test_importances_add_up_to_1_and_noise_has_little(ranker):
    fitted = clone(ranker).fit(*payments(800))
    assert fitted.feature_importances_.sum() == approx(1)
    assert fitted.feature_importances_[-1] < fitted.feature_importances_[0] / 2


@EVERY_RANKER
def test_constant_columns_leave_all_rows_equal(ranker):
    fitted = clone(ranker).fit(np.ones((40, 2)), np.arange(40) % 4 == 0)
    rows = [[1.0, 1.0], [5.0, np.nan]]
    assert np.ptp(fitted.suspicion(rows)) == 0
    assert np.ptp(fitted.probability(rows)) == 0
    assert (fitted.contributions(rows)[:, :2] == 0).all()
    assert (fitted.feature_importances_ == 0).all()


@EVERY_RANKER
def test_two_rows_are_enough(ranker):
    fitted = clone(ranker).fit([[1.0], [2.0]], [False, True])
    low, high = fitted.suspicion([[1.0], [2.0]])
    assert low < high
    assert np.isfinite(fitted.suspicion([[0.0], [1.5], [3.4e38], [np.nan]])).all()


@EVERY_RANKER
def test_a_category_alone_can_rank(ranker):
    frame, is_fraud = payments(400)
    fitted = clone(ranker).fit(frame[["country"]], is_fraud)
    shares = is_fraud.astype(float)
    by_country = frame.assign(fraud=shares, raw=fitted.suspicion(frame)).groupby("country")
    order = by_country[["fraud", "raw"]].mean().sort_values("fraud")["raw"]
    assert order.is_monotonic_increasing


@EVERY_RANKER
def test_one_class_and_three_are_refused(ranker):
    with pytest.raises(ValueError, match=r"y must .* two classes; got one class"):
        clone(ranker).fit(np.arange(6.0)[:, None], np.ones(6))
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        clone(ranker).fit(np.arange(30.0)[:, None], np.arange(30) % 3)


@EVERY_KIND
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"kernel": "rbf"}, r"kernel must be one of 'linear', 'gaussian'; got 'rbf'"),
        ({"gamma": 0}, r"gamma must be greater than 0 and at most 1e\+06; got 0"),
        ({"gamma": -1.0}, r"gamma must be greater than 0 and at most 1e\+06; got -1.0"),
        ({"gamma": np.nan}, r"gamma must be greater than 0 and at most 1e\+06; got nan"),
        ({"n_centres": 0}, r"n_centres must be between 1 and 20000; got 0"),
        ({"random_state": -1}, r"random_state must be between 0"),
        ({"positive_label": "x"}, r"positive_label must be one of \[False, True\]; got 'x'"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named_when_fitting(kind, wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        kind(**wrong).fit(*numbers(20))


@pytest.mark.parametrize(
    ("ranker", "sentence"),
    [
        (RankRLS(regularization=0), r"regularization must be greater than 0.*; got 0"),
        (RankRLS(regularization=np.inf), r"regularization must be greater than 0.*; got inf"),
        (RankSVM(C=0), r"C must be greater than 0.*; got 0"),
        (RankSVM(C=np.inf), r"C must be greater than 0.*; got inf"),
        (RankSVM(max_iter=0), r"max_iter must be at least 1; got 0"),
    ],
    ids=str,
)
def test_wrong_parameters_of_one_of_them_are_named(ranker, sentence):
    with pytest.raises(ValueError, match=sentence):
        ranker.fit(*numbers(20))


@EVERY_KIND
@pytest.mark.parametrize("wrong", [{"gamma": "scale"}, {"n_centres": 2.5}], ids=str)
def test_parameters_of_another_kind_are_named(kind, wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(TypeError, match=rf"{name} must be a .*number; got {value!r}"):
        kind(**wrong).fit(*numbers(20))


@EVERY_RANKER
def test_a_file_keeps_it(ranker, tmp_path):
    frame, is_fraud = payments(200)
    fitted = clone(ranker).fit(frame, np.where(is_fraud, "fraud", "genuine"))
    again = check_file_keeps(fitted, payments(60, seed=1)[0], tmp_path / "model.toprank")
    assert np.array_equal(again.feature_importances_, fitted.feature_importances_)
    own = "regularization_" if isinstance(ranker, RankRLS) else "n_iter_"
    assert getattr(again, own) == getattr(fitted, own)


@EVERY_RANKER
def test_a_file_keeps_a_ranker_that_distinguishes_nothing(ranker, tmp_path):
    X = np.ones((20, 2))
    fitted = clone(ranker).fit(X, np.arange(20) < 3)
    save(fitted, tmp_path / "flat.toprank")
    assert np.array_equal(load(tmp_path / "flat.toprank").suspicion(X), fitted.suspicion(X))
