"""What MetaAP, TreeRank, RankForest and GeometricTree share: contracts, bad input, files."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pytest import approx
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from contracts import check_file_keeps, check_ranker
from rankers.trees.made_payments import numbers, payments
from toprank import GeometricTree, MetaAP, RankForest, TreeRank
from toprank.metrics import average_precision
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.scoring import SCORINGS

LEARNERS = [MetaAP(), TreeRank(), RankForest(n_estimators=3), GeometricTree()]
EVERY_LEARNER = pytest.mark.parametrize("learner", LEARNERS, ids=lambda each: type(each).__name__)
# every way of scoring and every criterion is among the quick ones
TREES = [
    MetaAP(),
    MetaAP(scoring="soft"),
    MetaAP.published(),
    TreeRank(),
    TreeRank.published(),
    GeometricTree(),
    *(
        pytest.param(tree, marks=pytest.mark.slow)
        for tree in (
            MetaAP(scoring="rank + distance"),
            MetaAP(scoring="rank"),
            MetaAP(criterion="ap"),
            TreeRank(scoring="rank + distance"),
            TreeRank(criterion="error"),
            GeometricTree(criterion="entropy", max_depth=3),
        )
    ),
]
# one of folds is not: copies of a row may fall into different folds
EVERY_TREE_OF_ALL_ROWS = pytest.mark.parametrize("tree", TREES, ids=str)
EVERY_WAY = pytest.mark.parametrize("way", SCORINGS)
FORESTS = [
    RankForest(n_estimators=4),
    RankForest(MetaAP(global_depth=3, scoring="soft"), n_estimators=2, max_features=None),
    RankForest(TreeRank(criterion="gini"), n_estimators=2, bootstrap=False),
]
EVERYTHING = pytest.mark.parametrize("ranker", [*TREES, TreeRank(pruning="cv"), *FORESTS], ids=str)

SOFTENED = {
    "check_sample_weight_equivalence_on_dense_data": (
        "probabilities are drawn to the middle by the number of rows, not by their weight; our "
        "own test finds a tree's suspicion equal for weights and copies. A forest draws from "
        "the rows there are: of copies it draws others"
    )
}


@pytest.mark.parametrize(
    "learner",
    [
        MetaAP(global_depth=2, local_depth=2),
        TreeRank(global_depth=2, local_depth=2),
        RankForest(TreeRank(global_depth=1, local_depth=2), n_estimators=2),
        GeometricTree(max_depth=3),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_contract(learner):
    outcomes = check_estimator(learner, expected_failed_checks=SOFTENED, on_fail="raise")
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    assert len(passed) >= len(outcomes) - 2  # that one, and array API input where not enabled


@pytest.mark.parametrize(
    "ranker",
    [*LEARNERS, MetaAP.published()],
    ids=str,
)
def test_it_keeps_the_promises_of_every_ranker(ranker):
    check_ranker(ranker, *payments(150))


@EVERYTHING
def test_shares_of_any_row_are_exact_and_those_of_an_unused_column_0(ranker):
    frame, is_fraud = payments(200)
    frame = frame.assign(same=1.0)
    fitted = clone(ranker).fit(frame, is_fraud)
    gaps = np.random.default_rng(0).random(frame.shape) < 0.3
    frame = frame.astype({"online": object}).mask(gaps)
    frame.loc[:49, "country"] = "never seen before"
    shares = fitted.contributions(frame)
    assert np.isfinite(shares).all()
    assert shares.sum(axis=1) == approx(fitted.suspicion(frame), abs=1e-12)
    assert (shares[:, frame.columns.get_loc("same")] == 0).all()


@EVERYTHING
def test_the_frauds_come_first(ranker):
    frame, is_fraud = payments(800)
    fitted = clone(ranker).fit(frame[:400], is_fraud[:400])
    found = average_precision(is_fraud[400:], fitted.suspicion(frame[400:]))
    lift = found / is_fraud[400:].mean()
    # the baseline depends on units, and categories have no distance
    assert lift > (1.3 if isinstance(ranker, GeometricTree) else 1.7)


@pytest.mark.parametrize(
    "ranker", [*LEARNERS, MetaAP.published(), TreeRank(pruning="cv"), *FORESTS[1:]], ids=str
)
def test_a_file_keeps_it(ranker, tmp_path):
    frame, is_fraud = payments(120)
    fitted = clone(ranker).fit(frame, np.where(is_fraud, "fraud", "genuine"))
    again = check_file_keeps(fitted, payments(60, seed=1)[0], tmp_path / "model.toprank")
    assert str(again.calibrate(frame, np.where(is_fraud, "fraud", "genuine"))) == str(ranker)
    if isinstance(ranker, RankForest):
        return
    assert np.array_equal(again.apply(frame), fitted.apply(frame))
    assert again.rules() == fitted.rules()
    assert again.to_text("frauds") == fitted.to_text("frauds")
    assert again.to_dot() == fitted.to_dot()
    if str(ranker) == "MetaAP()":  # drawn from what the text is written from, but slowly
        assert again.to_svg() == fitted.to_svg()
    assert again.paths(frame[:5]) == fitted.paths(frame[:5])


@pytest.mark.parametrize(
    "ranker", [MetaAP(depth="cv"), pytest.param(TreeRank(depth="cv"), marks=pytest.mark.slow)]
)
def test_a_file_keeps_the_settings_that_were_chosen(ranker, tmp_path, monkeypatch):
    growth = Growth(ranker.criterion, 2, 3, is_balanced=ranker._is_balanced)
    monkeypatch.setattr(type(ranker), "_growths", lambda self: [growth])
    X, y = numbers(50)
    fitted = clone(ranker).fit(X, y)
    assert check_file_keeps(fitted, X, tmp_path / "model.toprank").settings_ == fitted.settings_


@EVERY_LEARNER
def test_any_librarys_table_teaches_the_same(learner):
    frame, is_fraud = payments(200)
    expected = clone(learner).fit(frame, is_fraud).suspicion(frame)
    for table in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert np.array_equal(clone(learner).fit(table, is_fraud).suspicion(table), expected)


@EVERY_TREE_OF_ALL_ROWS
def test_a_whole_weight_counts_like_so_many_copies(tree):
    frame, is_fraud = payments(300)
    weight = np.random.default_rng(0).integers(0, 4, len(frame))
    copies = np.repeat(np.arange(len(frame)), weight)
    weighted = clone(tree).fit(frame, is_fraud, sample_weight=weight)
    copied = clone(tree).fit(frame.iloc[copies], is_fraud[copies])
    assert np.array_equal(weighted.apply(frame), copied.apply(frame))
    one, other = weighted.suspicion(frame), copied.suspicion(frame)
    if getattr(tree, "scoring", "").endswith("soft"):
        # the spread of a column is summed row by row
        assert one == approx(other, rel=1e-12)
    else:
        assert np.array_equal(one, other)


@EVERY_LEARNER
def test_a_row_of_zero_weight_is_ignored(learner):
    frame, is_fraud = payments(200)
    weight = np.arange(200) % 3 > 0
    frame = frame.assign(amount=frame["amount"].where(weight, 1e6))
    one = clone(learner).fit(frame, is_fraud, sample_weight=weight.astype(float))
    other = clone(learner).fit(
        frame[weight], is_fraud[weight], sample_weight=np.ones(weight.sum())
    )
    assert np.array_equal(one.suspicion(frame), other.suspicion(frame))


@EVERY_LEARNER
def test_the_same_rows_teach_the_same_again(learner):
    frame, is_fraud = payments(200)
    one, again = (clone(learner).fit(frame, is_fraud).suspicion(frame) for _ in range(2))
    assert np.array_equal(one, again)


@EVERY_LEARNER
def test_a_label_that_names_itself_is_positive_wherever_it_sorts(learner):
    frame, is_fraud = payments(200)
    plain = clone(learner).fit(frame, is_fraud)
    named = clone(learner).fit(frame, np.where(is_fraud, "fraud", "genuine"))
    assert named.positive_label_ == "fraud"
    assert np.array_equal(named.suspicion(frame), plain.suspicion(frame))
    assert named.predict_proba(frame)[:, 0] == approx(plain.predict_proba(frame)[:, 1])
    turned = clone(learner).set_params(positive_label="genuine")
    turned.fit(frame, np.where(is_fraud, "fraud", "genuine"))
    assert average_precision(~is_fraud, turned.suspicion(frame)) > (~is_fraud).mean()


@EVERY_WAY
@pytest.mark.parametrize("kind", [MetaAP, TreeRank])
def test_suspicion_is_finite_and_keeps_groups_apart(kind, way):
    frame, is_fraud = payments()
    ranker = kind(scoring=way, global_depth=3).fit(frame, is_fraud)
    suspicion, group = ranker.suspicion(frame), ranker.apply(frame)
    assert np.isfinite(suspicion).all()
    if way != "soft":
        for rank in range(1, len(ranker.groups_)):
            assert suspicion[group == rank].max() < suspicion[group == rank - 1].min()


@EVERY_LEARNER
def test_one_class_is_refused(learner):
    with pytest.raises(ValueError, match=r"y must .*got one class"):
        clone(learner).fit(np.arange(6.0)[:, None], np.ones(6))
    with pytest.raises(ValueError, match=r"y must .*got one class"):
        clone(learner).fit(np.arange(6.0)[:, None], np.arange(6) < 2, np.arange(6) > 1)


@EVERY_LEARNER
def test_one_row_is_refused(learner):
    with pytest.raises(ValueError, match=r"y must .*got one class"):
        clone(learner).fit([[1.0]], [True])


@EVERY_LEARNER
def test_two_rows_are_enough(learner):
    fitted = clone(learner).fit([[1.0], [2.0]], [False, True])
    assert np.isfinite(fitted.suspicion([[0.0], [1.5], [3.0], [np.nan]])).all()


@EVERY_LEARNER
def test_three_classes_are_refused(learner):
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        clone(learner).fit(np.arange(30.0)[:, None], np.arange(30) % 3)


@EVERY_LEARNER
def test_constant_columns_leave_all_rows_in_one_group(learner):
    y = np.arange(40) % 4 == 0
    fitted = clone(learner).fit(np.ones((40, 2)), y)
    rows = [[1.0, 1.0], [5.0, np.nan]]
    assert np.ptp(fitted.suspicion(rows)) == 0
    assert np.ptp(fitted.probability(rows)) == 0
    assert (fitted.contributions(rows)[:, :2] == 0).all()
    if not isinstance(learner, RankForest):
        assert fitted.apply(rows).tolist() == [0, 0]
        assert [rule.tests for rule in fitted.rules()[0].rules] == [()]


@EVERY_LEARNER
@pytest.mark.parametrize("kind", [np.array, lambda values: pd.DataFrame(values, columns=["x0"])])
def test_a_column_without_any_value_is_named(learner, kind):
    with pytest.raises(ValueError, match=r"column 'x0' must .*all 20"):
        clone(learner).fit(kind(np.full((20, 1), np.nan)), np.arange(20) < 4)


@EVERY_LEARNER
def test_a_column_whose_values_all_have_no_weight_is_left_aside(learner):
    X, y = numbers()
    weight = (np.arange(len(X)) % 4 > 0).astype(float)
    X[weight > 0, 2] = np.nan
    fitted = clone(learner).fit(X, y, sample_weight=weight)
    assert (fitted.contributions(X)[:, 2] == 0).all()


@EVERY_LEARNER
def test_infinite_numbers_are_refused(learner):
    with pytest.raises(ValueError, match="contains infinity"):
        clone(learner).fit([[1.0], [np.inf], [2.0]], [False, True, False])
    with pytest.raises(ValueError, match=r"column 'x0' must .*3\.4e38"):
        clone(learner).fit([[1.0], [1e39], [2.0]], [False, True, False])


@pytest.mark.parametrize(
    "ranker", [MetaAP(max_bins=2), TreeRank(max_bins=2), RankForest(MetaAP(max_bins=2))], ids=str
)
def test_there_may_be_more_categories_than_bins(ranker):
    place = np.arange(600) % 40
    frame = pd.DataFrame({"shop": np.char.add("shop ", place.astype(str))})
    is_risky = place % 13 == 0
    suspicion = clone(ranker).fit(frame, is_risky).suspicion(frame)
    assert suspicion[is_risky].min() > suspicion[~is_risky].max()


def test_a_plain_tree_may_have_more_categories_than_bins():
    place = np.arange(600) % 40
    frame = pd.DataFrame({"shop": np.char.add("shop ", place.astype(str))})
    tree = GeometricTree(max_bins=2).fit(frame, place % 13 == 0)
    assert np.array_equal(tree.apply(frame), np.where(place % 13 == 0, 0, 1))
    assert (tree.suspicion(frame) == 0).all()  # there is no distance between categories


@pytest.mark.parametrize("kind", [MetaAP, TreeRank])
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"global_depth": 0}, r"global_depth must be between 1 and 30; got 0"),
        ({"local_depth": 0}, r"local_depth must be between 1 and 30; got 0"),
        ({"local_depth": 31}, r"local_depth must be between 1 and 30; got 31"),
        ({"criterion": "auc"}, r"criterion must be one of 'entropy', 'gini', .*; got 'auc'"),
        ({"scoring": "hard"}, r"scoring must be one of 'rank \+ soft', .*; got 'hard'"),
        ({"depth": "CV"}, r"depth must be .*'cv'; got 'CV'"),
        ({"depth": 4}, r"depth must be .*'cv'; got 4"),
        ({"softness": 0}, r"softness must be greater than 0 and at most 1e\+06; got 0"),
        ({"shrinkage": -1}, r"shrinkage must be .*; got -1"),
        ({"min_samples_leaf": 0}, r"min_samples_leaf must be at least 1; got 0"),
        ({"max_bins": 1}, r"max_bins must be between 2 and 65534; got 1"),
        ({"positive_label": "x"}, r"positive_label must .*got 'x'"),
    ],
    ids=str,
)
def test_wrong_parameters_of_a_tree_are_named_when_fitting(kind, wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        kind(**wrong).fit(*numbers(20))


@pytest.mark.parametrize("kind", [MetaAP, TreeRank])
@pytest.mark.parametrize(
    "wrong", [{"global_depth": 2.5}, {"local_depth": True}, {"softness": "much"}], ids=str
)
def test_parameters_of_another_kind_are_named(kind, wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(TypeError, match=rf"{name} must be a .*number; got {value!r}"):
        kind(**wrong).fit(*numbers(20))


@pytest.mark.parametrize("ranker", [MetaAP(criterion="error"), TreeRank(criterion="ap")], ids=str)
def test_the_criterion_of_the_other_one_is_refused(ranker):
    with pytest.raises(ValueError, match="criterion must be one of"):
        ranker.fit(*numbers(20))


@pytest.mark.parametrize("ranker", [MetaAP(depth="cv"), TreeRank(pruning="cv")], ids=str)
def test_folds_need_two_of_either_class(ranker, monkeypatch):
    monkeypatch.setattr(MetaAP, "_growths", lambda self: [Growth("gini", 2)])
    X = np.arange(20.0)[:, None]
    sentence = r"at least two rows of each class; got 1 of one\. Set the depths"
    with pytest.raises(ValueError, match=sentence):
        ranker.fit(X, np.arange(20) == 3)
    assert np.isfinite(ranker.fit(X, np.arange(20) < 2).suspicion(X)).all()


@pytest.mark.parametrize("kind", [MetaAP, TreeRank])
def test_groups_are_the_training_rows_by_group(kind):
    frame, is_fraud = payments()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(frame))
    weight /= weight.mean()  # what weights that are not whole are scaled to
    ranker = kind(global_depth=3).fit(frame, is_fraud, sample_weight=weight)
    group = ranker.apply(frame)
    assert [each.rank for each in ranker.groups_] == list(range(group.max() + 1))
    assert [each.n_rows for each in ranker.groups_] == np.bincount(group).tolist()
    assert [each.mass for each in ranker.groups_] == approx(np.bincount(group, weight))
    hits = np.bincount(group, weight * is_fraud)
    assert [each.positives for each in ranker.groups_] == approx(hits)
    shares = [each.precision for each in ranker.groups_]
    assert shares == approx(hits / np.bincount(group, weight))
    assert shares[0] == max(shares)
    assert len(ranker.groups_) <= 2**3


@pytest.mark.parametrize("kind", [MetaAP, TreeRank])
def test_a_group_has_as_many_rows_as_a_leaf_must(kind):
    frame, is_fraud = payments()
    for least in (1, 20, 90):
        ranker = kind(min_samples_leaf=least, global_depth=3).fit(frame, is_fraud)
        assert min(each.n_rows for each in ranker.groups_) >= least


@pytest.mark.parametrize("kind", [MetaAP, TreeRank])
def test_few_rows_are_cut_wherever_they_can_be_and_many_in_bins(kind):
    X = np.random.default_rng(0).normal(size=(20_001, 1))
    y = X[:, 0] > np.sort(X[:, 0])[-8]  # within the last of 255 bins
    pure = [kind(max_bins=bins).fit(X, y).groups_[0].precision == 1 for bins in (None, 65_534)]
    assert pure == [False, True]
    assert kind().fit(X[1:], y[1:]).groups_[0].precision == 1
