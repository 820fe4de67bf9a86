"""AnomalyTreeRank: its promises, exact curves, rows outside, gaps and odd tables."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pytest import approx
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import check_estimator

import contracts
from rankers.trees.made_payments import payments
from rankers.trees.peak_memory import peak_over_rows, rows_of_forty_columns
from toprank import AnomalyForest, AnomalyTreeRank
from toprank.metrics import area_under_mass_volume, mass_volume_interval
from toprank.rankers import reasons
from toprank.rankers.anomaly import density_scoring
from toprank.rankers.anomaly.box import Box
from toprank.rankers.anomaly.density_tree import DensityGrowth, grow
from toprank.rankers.anomaly.volume_points import uniform_points
from toprank.rankers.trees.scoring import leaves

TREE = AnomalyTreeRank()
FOREST = AnomalyForest(n_estimators=3)
DENSITY_FOREST = AnomalyForest(AnomalyTreeRank(), n_estimators=3)
EVERY_DETECTOR = pytest.mark.parametrize(
    "detector", [TREE, FOREST, DENSITY_FOREST], ids=["tree", "forest", "density forest"]
)
WITH_BOUNDS = pytest.mark.parametrize(
    "detector", [TREE, DENSITY_FOREST], ids=["tree", "density forest"]
)
TREES = [
    TREE,
    AnomalyTreeRank(global_depth=4, local_depth=1, min_samples_leaf=2),
    AnomalyTreeRank(bounds="robust", shrinkage=5),
    AnomalyTreeRank(pruning="cv", max_bins=20),
]
EVERY_TREE = pytest.mark.parametrize("tree", TREES, ids=str)


def clouds(n=400, n_columns=2, seed=0):
    """Most rows in one cloud, some in a smaller one next to it."""
    generator = np.random.default_rng(seed)
    centre = np.where(generator.random(n) < 0.8, 0.0, 3.0)
    return centre[:, None] + generator.normal(size=(n, n_columns)) * 0.7


@EVERY_DETECTOR
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_contract(detector):
    outcomes = check_estimator(clone(detector), on_fail="raise")
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    assert len(passed) >= len(outcomes) - 1  # array API input, where it is not enabled


@EVERY_DETECTOR
def test_it_keeps_the_promises_of_every_ranker(detector):
    frame, _ = payments(200)
    contracts.check_arguments_are_stored(detector)
    before = str(detector.get_params())
    fitted = clone(detector).fit(frame)
    assert str(fitted.get_params()) == before
    contracts.check_scores_are_row_wise(fitted, frame)
    contracts.check_shares_add_up(fitted, frame)
    contracts.check_columns_are_found_by_name(fitted, frame)
    contracts.check_unknown_categories_count_as_missing(fitted, frame)
    contracts.check_input_is_left_alone(detector, frame, np.zeros(200))


@EVERY_DETECTOR
def test_any_librarys_table_teaches_the_same(detector):
    frame, _ = payments(200)
    expected = clone(detector).fit(frame).suspicion(frame)
    for table in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert np.array_equal(clone(detector).fit(table).suspicion(table), expected)


@EVERY_DETECTOR
def test_labels_do_not_matter(detector):
    frame, is_fraud = payments(200)
    one, other = (clone(detector).fit(frame, y).suspicion(frame) for y in (None, is_fraud))
    assert np.array_equal(one, other)


@EVERY_DETECTOR
def test_what_is_not_fitted_has_no_suspicion(detector):
    for ask in (detector.suspicion, detector.predict, detector.contributions):
        with pytest.raises(NotFittedError):
            ask([[1.0]])


@EVERY_DETECTOR
@pytest.mark.parametrize("share", [0.01, 0.5])
def test_about_a_share_of_the_training_rows_are_called_anomalies(detector, share):
    X = clouds(1000)
    fitted = clone(detector).set_params(contamination=share).fit(X)
    suspicion = fitted.suspicion(X)
    assert np.array_equal(fitted.decision_scores_, suspicion)
    assert np.array_equal(fitted.labels_ == 1, fitted.predict(X) == -1)
    assert np.array_equal(fitted.predict(X) == -1, suspicion > fitted.threshold_)
    assert np.array_equal(fitted.score_samples(X), -suspicion)
    assert fitted.decision_function(X) == approx(fitted.threshold_ - suspicion)
    assert fitted.labels_.mean() <= share
    # equal rows are all called anomalies, or none is
    assert (suspicion >= fitted.threshold_).mean() >= share


@EVERY_TREE
def test_suspicion_falls_with_rank_and_groups_are_the_training_rows(tree):
    frame, _ = payments()
    fitted = clone(tree).fit(frame)
    suspicion, rank = fitted.suspicion(frame), fitted.apply(frame)
    groups = fitted.groups_
    assert [group.rank for group in groups] == list(range(len(groups)))
    assert len(groups) > 2
    levels = [suspicion[rank == group.rank] for group in groups if group.n_rows]
    assert all(np.ptp(level) == 0 for level in levels)
    assert (np.diff([level[0] for level in levels]) < 0).all()
    assert (np.diff(fitted._level) < 0).all()
    inside = rank[rank >= 0]
    assert [group.n_rows for group in groups] == np.bincount(inside).tolist()
    assert sum(group.volume for group in groups) == approx(1)
    for group in groups:
        assert group.density == approx(group.n_rows / inside.size / group.volume)
    if (rank < 0).any():
        assert suspicion[rank < 0].min() >= fitted._level[0] + density_scoring.OUTSIDE


def test_a_groups_suspicion_is_minus_its_log_density_drawn_to_what_is_above_it():
    fitted = AnomalyTreeRank(global_depth=2, shrinkage=3).fit(clouds())
    unions = fitted.tree_.unions
    expected = {0: 0.0}
    for union in range(1, unions.tree.size):
        above = unions.parent[union]
        due = unions.n_rows[above] * unions.hits[union] / unions.hits[above]
        gap = np.log((due + 3) / (unions.n_rows[union] + 3))
        expected[union] = expected[above] + gap
    assert density_scoring.sparseness(unions, 3) == approx(np.array(list(expected.values())))
    groups = np.flatnonzero(unions.rank >= 0)
    values = {int(unions.rank[union]): expected[union] for union in groups}
    in_order = [values[rank] for rank in range(4)]
    assert in_order == sorted(in_order, reverse=True)
    assert fitted._level == approx(np.array(in_order), abs=1e-8)


def test_without_doubt_suspicion_is_minus_the_log_density():
    fitted = AnomalyTreeRank(shrinkage=1e-9, global_depth=1).fit(clouds(2000))
    density = np.array([group.density for group in fitted.groups_])
    assert fitted._level == approx(-np.log(density), abs=1e-6)


@EVERY_DETECTOR
def test_a_density_without_doubt_is_refused(detector):
    tree = AnomalyTreeRank(shrinkage=0)
    fitted = clone(detector).set_params(
        **({"shrinkage": 0} if detector is TREE else {"tree": tree})
    )
    with pytest.raises(ValueError, match="shrinkage must be"):
        fitted.fit(clouds())


def test_the_emptiest_places_come_first_and_the_densest_last():
    fitted = AnomalyTreeRank().fit(clouds(2000))
    middle, second, between, corner = fitted.suspicion([[0, 0], [3, 3], [1.5, 1.5], [0, 4.0]])
    assert middle < second < between < corner


@pytest.mark.parametrize("n_columns", [1, 2, 4])
@pytest.mark.parametrize("bounds", ["range", "robust"])
def test_the_exact_area_is_that_measured_with_points(n_columns, bounds):
    fitted = AnomalyTreeRank(bounds=bounds).fit(clouds(500, n_columns))
    rows = np.vstack([clouds(700, n_columns, seed=1), np.full((20, n_columns), 9.0)])
    assert (fitted.apply(rows) < 0).sum() >= 20
    points = uniform_points(fitted.box_, 20_000, np.random.default_rng(2))
    suspicion, volume_suspicion = fitted.suspicion(rows), fitted.suspicion(points)
    found = mass_volume_interval(suspicion, volume_suspicion, level=0.99)
    exact = fitted.mass_volume(rows).area
    assert found.low <= exact <= found.high
    assert found.high - found.low < 0.03
    assert area_under_mass_volume(suspicion, volume_suspicion) == approx(exact, abs=0.015)


def test_the_area_is_one_minus_the_auc_against_even_points():
    fitted, rows = AnomalyTreeRank().fit(clouds(500)), clouds(300, seed=1)
    points = uniform_points(fitted.box_, 50_000, np.random.default_rng(3))
    is_point = np.repeat([False, True], [300, 50_000])
    suspicion = np.append(fitted.suspicion(rows), fitted.suspicion(points))
    assert fitted.mass_volume(rows).area == approx(
        1 - roc_auc_score(is_point, suspicion), abs=0.01
    )


def test_the_curve_of_training_rows_is_that_of_the_groups():
    X = clouds()
    fitted = AnomalyTreeRank().fit(X)
    curve, groups = fitted.mass_volume(X), fitted.groups_[::-1]
    n_rows = np.cumsum([group.n_rows for group in groups]) / len(X)
    assert curve.mass[1:-1] == approx(n_rows)
    assert curve.volume[1:-1] == approx(np.cumsum([group.volume for group in groups]))
    assert curve.area < 0.3


def test_rows_outside_need_the_whole_volume():
    fitted = AnomalyTreeRank().fit(clouds())
    assert fitted.mass_volume([[99.0, 99.0], [99.0, -99.0]]).area == 1
    inside = clouds(50)
    both = fitted.mass_volume(np.vstack([inside, np.full((50, 2), 99.0)])).area
    assert both == approx(fitted.mass_volume(inside).area / 2 + 0.5)


@WITH_BOUNDS
@pytest.mark.parametrize("bounds", ["range", "robust", [[-3, 6], [-3, 6]]], ids=str)
def test_rows_outside_are_the_most_suspicious_the_farther_the_more(detector, bounds):
    name = "bounds" if detector is TREE else "tree__bounds"
    X = clouds(1000)
    fitted = clone(detector).set_params(**{name: bounds}).fit(X)
    away = fitted.suspicion([[9, 0], [40, 0], [1e6, 0], [3e38, 0], [9, 9], [-40, 40]])
    assert (np.diff(away[:4]) > 0).all()
    assert away[4] > away[0]
    assert away[5] > away[1]
    assert away.min() > np.quantile(fitted.suspicion(X), 0.99)
    if detector is TREE:
        points = uniform_points(fitted.box_, 500, np.random.default_rng(0))
        assert away.min() > fitted.suspicion(points).max() + 2
        assert fitted.apply([[9, 0], [0, 0]])[0] == -1


def test_rows_on_a_given_bound_are_inside_and_rows_beyond_teach_nothing():
    X = np.vstack([clouds(300), np.full((40, 2), 50.0)])
    fitted = AnomalyTreeRank(bounds=[[-3, 6], [-3, 6]]).fit(X)
    assert fitted.apply([[-3, -3], [6, 6], [6.01, 0], [50, 50]]).tolist()[2:] == [-1, -1]
    assert fitted.apply([[-3, -3], [6, 6]]).min() >= 0
    inside = X[fitted.box_.holds(X.astype(np.float32))]
    alone = AnomalyTreeRank(bounds=[[-3, 6], [-3, 6]]).fit(inside)
    assert np.array_equal(alone.suspicion(X), fitted.suspicion(X))


def test_a_robust_box_sees_more_where_a_few_values_are_wild():
    X = clouds(1000)
    wild = np.vstack([X, [[1e7, 0], [-1e7, 0]]])
    areas = {}
    for bounds in ("range", "robust"):
        fitted = AnomalyTreeRank(bounds=bounds).fit(wild)
        areas[bounds] = len(np.unique(fitted.apply(X)))
    assert areas["robust"] > areas["range"]


@EVERY_TREE
def test_shares_of_any_row_add_up_and_those_of_an_unused_column_are_0(tree):
    frame = payments(300)[0].assign(same=1.0)
    fitted = clone(tree).fit(frame)
    gaps = np.random.default_rng(0).random(frame.shape) < 0.2
    gaps[:, -1] = False
    odd = frame.astype({"online": object}).mask(gaps)
    odd.loc[:20, "amount"] = 1e9
    odd.loc[10:40, "country"] = "never seen before"
    for rows in (frame, odd):
        shares = fitted.contributions(rows)
        assert shares.sum(axis=1) == approx(fitted.suspicion(rows), abs=1e-9)
        assert (shares[:, frame.columns.get_loc("same")] == 0).all()


def test_the_column_that_is_outside_has_the_largest_share():
    fitted = AnomalyTreeRank().fit(clouds(300, 3))
    shares = fitted.contributions([[0, 99, 0], [-99, 0, 0], [0, 0, np.nan]])
    assert shares[:, :-1].argmax(axis=1).tolist() == [1, 0, 2]
    (reason,) = reasons.explain(fitted, [[0, 99, 0]], n_reasons=1)[0]
    assert (reason.feature, reason.value) == ("x1", "99")


def test_importances_add_up_to_1_and_name_the_column_that_is_not_even():
    generator = np.random.default_rng(0)
    X = generator.random((600, 3))
    X[:, 1] = generator.normal(size=600)
    importances = AnomalyTreeRank().fit(X).feature_importances_
    assert importances.sum() == approx(1)
    assert (importances >= 0).all()
    assert importances[1] > 0.8


def test_pruning_puts_whole_groups_together():
    X = clouds(300, 3)
    grown, pruned = (
        AnomalyTreeRank(global_depth=6, min_samples_leaf=2, pruning=pruning).fit(X)
        for pruning in (None, "cv")
    )
    assert 1 < len(pruned.groups_) < len(grown.groups_)
    points = uniform_points(grown.box_, 2000, np.random.default_rng(0))
    rows = np.vstack([X, points])
    pairs = {*zip(grown.apply(rows).tolist(), pruned.apply(rows).tolist(), strict=True)}
    assert len(pairs) == len({of for of, _ in pairs})
    new = clouds(3000, 3, seed=1)
    assert pruned.mass_volume(new).area < grown.mass_volume(new).area + 0.01


def even_rows(seed):
    """A tree of rows spread evenly, pruned and not, and the area of each for other such rows."""
    generator = np.random.default_rng(seed)
    X, new = generator.random((500, 3)), generator.random((4000, 3))
    trees = [
        AnomalyTreeRank(pruning=pruning, bounds=[[0, 1]] * 3).fit(X) for pruning in (None, "cv")
    ]
    return trees, [tree.mass_volume(new).area for tree in trees]


def test_of_even_rows_pruning_leaves_fewer_groups_and_no_worse_an_area():
    found = [even_rows(seed) for seed in range(4)]
    n_groups = np.array([[len(tree.groups_) for tree in trees] for trees, _ in found])
    areas = np.array([each for _, each in found])
    assert n_groups[:, 0].min() >= 7
    assert n_groups[:, 1].mean() < n_groups[:, 0].mean() - 2
    assert (areas[:, 1] < areas[:, 0] + 0.01).all()
    assert areas.mean(axis=0) == approx(0.5, abs=0.01)


def test_pruning_draws_its_folds_by_the_seed_and_the_tree_draws_nothing():
    X = clouds(200)
    for detector in (AnomalyTreeRank(), AnomalyTreeRank(pruning="cv")):
        one, again = (clone(detector).fit(X).suspicion(X) for _ in range(2))
        assert np.array_equal(one, again)
    seeds = [AnomalyTreeRank(random_state=seed).fit(X).suspicion(X) for seed in (0, 1)]
    assert np.array_equal(*seeds)


def test_fewer_rows_than_folds_are_not_pruned():
    X = np.array([[0.0], [1.0], [9.0]])
    one, other = (
        AnomalyTreeRank(min_samples_leaf=1, pruning=pruning).fit(X).groups_
        for pruning in (None, "cv")
    )
    assert one == other


def shops(counts, **others):
    names = np.repeat(list(counts), list(counts.values()))
    return pd.DataFrame({"shop": names, **others})


def test_a_rarer_category_is_more_suspicious():
    frame = shops({"a": 300, "b": 60, "c": 30, "d": 8})
    fitted = AnomalyTreeRank().fit(frame)
    suspicion = fitted.suspicion(shops({"a": 1, "b": 1, "c": 1, "d": 1}))
    assert (np.diff(suspicion) > 0).all()
    assert [group.n_rows for group in fitted.groups_] == [8, 30, 60, 300]
    assert [group.volume for group in fitted.groups_] == approx([0.25] * 4)


def test_a_category_never_seen_is_as_suspicious_as_the_rarest_at_least():
    frame = shops({"a": 300, "b": 60, "c": 8}, amount=clouds(368, 1)[:, 0])
    fitted = AnomalyTreeRank().fit(frame)
    rare, unseen = (fitted.suspicion(frame.assign(shop=name)) for name in ("c", "z"))
    assert (unseen >= rare).all()


def test_codes_that_no_row_has_are_the_rarest():
    codes = np.repeat([1, 3, 4], [5, 40, 155]).astype(np.float32)[:, None]
    box = Box.around(codes, np.array([True]))
    tree = grow(codes, np.array([6]), box, DensityGrowth(2, 1, 1, 255))
    rows = np.arange(6, dtype=np.float32)[:, None]
    rank = tree.unions.rank[tree.nodes.union[leaves(tree, rows)]]
    assert rank[[0, 2, 5]].max() <= rank[1] < rank[3] <= rank[4]


def test_a_few_missing_values_are_unusual_and_many_are_not():
    for share, is_unusual in ((0.01, True), (0.5, False)):
        X = np.random.default_rng(0).random((600, 1))
        X[: int(600 * share)] = np.nan
        fitted = AnomalyTreeRank().fit(X)
        missing, present = fitted.suspicion([[np.nan], [0.5]])
        assert (missing > present) == is_unusual
        assert fitted.apply([[np.nan]])[0] >= 0


def test_a_missing_value_is_outside_where_training_had_none():
    fitted = AnomalyTreeRank().fit(clouds())
    assert fitted.apply([[np.nan, 0.0]]).tolist() == [-1]
    missing, far = fitted.suspicion([[np.nan, 0.0], [99.0, 0.0]])
    assert missing == approx(fitted._level[0] + density_scoring.OUTSIDE)
    assert missing < far


@EVERY_DETECTOR
def test_constant_columns_leave_all_rows_equal_and_others_outside(detector):
    X = np.ones((60, 2))
    fitted = clone(detector).fit(X)
    same, other = fitted.suspicion([[1, 1], [1, 2]])
    assert same == 0
    assert other > 2
    assert (fitted.feature_importances_ == 0).all()
    assert (fitted.predict(X) == 1).all()


@WITH_BOUNDS
def test_a_constant_column_changes_nothing(detector):
    X = clouds()
    one = clone(detector).set_params(**({} if detector is TREE else {"max_features": None}))
    plain = clone(one).fit(X)
    more = clone(one).fit(np.column_stack([X, np.ones(len(X))]))
    rows = clouds(50, seed=1)
    assert np.array_equal(
        more.suspicion(np.column_stack([rows, np.ones(50)])), plain.suspicion(rows)
    )


@EVERY_DETECTOR
def test_copies_of_a_row_are_equally_suspicious_and_the_densest(detector):
    X = np.vstack([np.full((300, 2), 0.5), np.random.default_rng(0).random((60, 2))])
    suspicion = clone(detector).fit(X).suspicion(X)
    assert np.ptp(suspicion[:300]) == 0
    assert suspicion[0] == suspicion.min()


@EVERY_DETECTOR
@pytest.mark.parametrize("n_columns", [1, 100])
def test_one_column_and_a_hundred_find_what_is_far_off(detector, n_columns):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, n_columns))
    X[:5] = 4 * np.sign(X[:5])
    suspicion = clone(detector).fit(X).suspicion(X)
    assert np.isfinite(suspicion).all()
    assert roc_auc_score(np.arange(300) < 5, suspicion) > 0.85
    fitted = clone(detector).fit(X)
    assert fitted.contributions(X).sum(axis=1) == approx(suspicion, abs=1e-9)


@EVERY_DETECTOR
def test_one_row_is_enough(detector):
    fitted = clone(detector).fit([[1.0, 2.0]])
    same, other, missing = fitted.suspicion([[1, 2], [1, 3], [np.nan, 2]])
    assert same == 0
    assert other > missing >= density_scoring.OUTSIDE
    assert fitted.labels_.tolist() == [0]
    if detector is TREE:
        assert [(group.n_rows, group.volume) for group in fitted.groups_] == [(1, 1.0)]
        assert fitted.mass_volume([[1.0, 2.0]]).area == 0.5


@EVERY_DETECTOR
@pytest.mark.parametrize("largest", [1e6, 1e12, 1e30, 3e38])
def test_numbers_of_any_size_can_be_learned(detector, largest):
    X = clouds()
    X[:3, 0] = largest
    suspicion = clone(detector).fit(X).suspicion(X)
    assert np.isfinite(suspicion).all()
    assert suspicion[:3].min() > np.median(suspicion)


@EVERY_DETECTOR
@pytest.mark.parametrize("lowest", [-1e17, -1e30, -3e38])
def test_numbers_of_any_size_below_0_can_be_learned(detector, lowest):
    X = clouds()
    X[:40, 0] = lowest  # so that every tree of a forest draws some
    suspicion = clone(detector).fit(X).suspicion(X)
    assert np.isfinite(suspicion).all()


@EVERY_DETECTOR
def test_infinite_numbers_are_refused(detector):
    with pytest.raises(ValueError, match="contains infinity"):
        clone(detector).fit([[1.0], [np.inf], [2.0]])
    with pytest.raises(ValueError, match=r"column 'x0' must .*3\.4e38"):
        clone(detector).fit([[1.0], [1e39], [2.0]])
    with pytest.raises(ValueError, match=r"column 'a' must .*finite"):
        clone(detector).fit(pd.DataFrame({"a": [1.0, np.inf]}))
    with pytest.raises(ValueError, match="contains infinity"):
        clone(detector).fit([[1.0], [2.0]]).suspicion([[-np.inf]])


@EVERY_DETECTOR
@pytest.mark.parametrize("kind", [np.array, lambda values: pd.DataFrame(values, columns=["x0"])])
def test_a_column_without_any_value_is_named(detector, kind):
    with pytest.raises(ValueError, match=r"column 'x0' must .*all 20"):
        clone(detector).fit(kind(np.full((20, 1), np.nan)))


@WITH_BOUNDS
def test_a_box_without_any_row_is_refused(detector):
    name = "bounds" if detector is TREE else "tree__bounds"
    with pytest.raises(ValueError, match=r"bounds must .*got none of \d+"):
        clone(detector).set_params(**{name: [[50, 51], [50, 51]]}).fit(clouds())


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"global_depth": 0}, r"global_depth must be between 1 and 30; got 0"),
        ({"local_depth": 31}, r"local_depth must be between 1 and 30; got 31"),
        ({"min_samples_leaf": 0}, r"min_samples_leaf must be at least 1; got 0"),
        ({"pruning": "auc"}, r"pruning must .*got 'auc'"),
        ({"pruning": True}, r"pruning must .*got True"),
        ({"bounds": "narrow"}, r"bounds must .*got 'narrow'"),
        ({"bounds": [[0, 1]]}, r"bounds must be .* for each of the 2 columns, lowest and highest"),
        ({"bounds": [[1, 0], [0, 1]]}, r"bounds of column 0 must be finite, .*; got 1 and 0"),
        ({"shrinkage": -1}, r"shrinkage must be greater than 0 .*; got -1"),
        ({"max_bins": 1}, r"max_bins must be between 2 and 65534; got 1"),
        ({"contamination": 0}, r"contamination must be greater than 0 and at most 0.5; got 0"),
        ({"contamination": 0.6}, r"contamination must be .* at most 0.5; got 0.6"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named_when_fitting(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        AnomalyTreeRank(**wrong).fit(clouds(30))


@pytest.mark.parametrize(
    "wrong",
    [
        {"global_depth": 2.5},
        {"local_depth": True},
        {"shrinkage": "much"},
        {"contamination": "auto"},
    ],
    ids=str,
)
def test_parameters_of_another_kind_are_named(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(TypeError, match=rf"{name} must be a .*number; got {value!r}"):
        AnomalyTreeRank(**wrong).fit(clouds(30))


def test_depths_and_rows_of_a_leaf_are_kept():
    X = clouds(500)
    for global_depth in (1, 2, 3):
        fitted = AnomalyTreeRank(global_depth=global_depth).fit(X)
        assert fitted.tree_.unions.depth.max() == global_depth
        assert 2 <= len(fitted.groups_) <= 2**global_depth
    for least in (20, 100):
        tree = AnomalyTreeRank(min_samples_leaf=least).fit(X).tree_
        is_leaf = tree.nodes.column < 0
        assert (tree.nodes.n_rows + 500 * tree.nodes.hits)[is_leaf].min() >= least - 1e-9


def test_the_usual_depths_are_3_and_3_and_20_rows_make_a_leaf():
    X = clouds(500)
    named = AnomalyTreeRank(global_depth=3, local_depth=3, min_samples_leaf=20, shrinkage=20).fit(
        X
    )
    assert np.array_equal(named.suspicion(X), AnomalyTreeRank().fit(X).suspicion(X))


PEAKS = {
    "tree": AnomalyTreeRank(),
    "rows outside": AnomalyTreeRank(bounds="robust", global_depth=1, pruning="cv"),
    "forest": AnomalyForest(n_estimators=5),
    "density forest": AnomalyForest(AnomalyTreeRank(bounds=[[-3, 3]] * 40), n_estimators=5),
}


@pytest.mark.parametrize(
    ("kind", "n_rows", "share_missing", "most"),
    [
        ("tree", 20_000, 0.1, 2.2),  # where rows are few, all else counts for more
        ("forest", 20_000, 0.1, 2.2),
        *(
            pytest.param(kind, 150_000, share, 2, marks=pytest.mark.slow)
            for kind in PEAKS
            for share in (0.0, 0.1)
        ),
    ],
)
def test_a_fit_takes_at_most_twice_the_memory_of_its_rows(kind, n_rows, share_missing, most):
    X = rows_of_forty_columns(n_rows)
    X[np.random.default_rng(1).random(len(X)) < share_missing, ::2] = np.nan
    assert peak_over_rows(X, lambda n: clone(PEAKS[kind]).fit(X[:n])) < most


def test_rows_in_many_blocks_score_as_each_by_itself():
    X = clouds(10_000).astype(np.float32)
    detector = AnomalyTreeRank(bounds="robust").fit(X)
    some = np.append(np.arange(4090, 4100), [0, 8191, 8192, 9999])
    one_by_one = np.concatenate([detector.suspicion(X[[i]]) for i in some])
    assert np.array_equal(detector.suspicion(X)[some], one_by_one)
    assert np.array_equal(detector.decision_scores_, detector.suspicion(X))
