"""Forests of trees without labels: means over trees, draws of rows; detectors in files."""

import io
from functools import cache

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from sklearn.base import clone
from sklearn.metrics import average_precision_score, roc_auc_score

from examples import examples
from files.mutations import change_parameters, change_state
from files.packing import members_of, npy_of, refused, rewrite
from rankers.trees.kernel.test_meta_tree import assert_same
from rankers.trees.made_payments import payments
from toprank import AnomalyTreeRank, RankForest, TreeRank, load, save
from toprank.files import ModelFileError
from toprank.rankers import reasons
from toprank.rankers.anomaly import anomaly_forest as forest_module
from toprank.rankers.anomaly import density_scoring
from toprank.rankers.anomaly.anomaly_forest import AnomalyForest
from toprank.rankers.trees.kernel.meta_tree import one_of
from toprank.rankers.trees.scoring import leaves

SMALL = AnomalyTreeRank(global_depth=3)
DETECTORS = {
    "tree": AnomalyTreeRank(bounds="robust"),
    "forest": AnomalyForest(n_estimators=3, max_samples=0.5),
    "density forest": AnomalyForest(AnomalyTreeRank(shrinkage=5), n_estimators=3, max_samples=0.5),
}
EVERY_DETECTOR = pytest.mark.parametrize("kind", DETECTORS)
ODD = {
    "i": [-(2**31), -7, -2, -1, 0, 1, 2, 5, 2**31 - 1],
    "u": [0, 1, 2**63],
    "f": [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300],
    "b": [True, False],
}


def clouds(n=500, n_columns=3, seed=0):
    """One cloud, and a few rows in a small one next to it, which come first."""
    X = np.random.default_rng(seed).normal(size=(n, n_columns))
    X[: n // 50] = 3.5 + X[: n // 50] / 4
    return X


@cache
def fitted(kind):
    return clone(DETECTORS[kind]).fit(payments(200)[0])


@cache
def new_rows():
    """Rows of another draw, with gaps, far values and a category that was never seen."""
    frame = payments(80, seed=9)[0]
    frame.loc[:9, "country"] = "never seen before"
    frame.loc[5:14, "amount"] = np.nan
    frame.loc[20:23, "amount"] = [-1e9, 0.0, 1e9, 1e38]
    return frame


def by_tree(forest, features):
    """Each tree's own suspicion, one row per tree."""
    found = []
    for number in range(forest.n_estimators):
        tree = one_of(forest.trees_, number)
        box = forest.boxes_[0 if forest.tree is None else number]
        terms = density_scoring.outside_terms(box.beyond(features)).sum(axis=1)
        found.append(union_values(forest, tree.unions)[tree.nodes.union[leaves(tree, features)]])
        found[-1] += terms
    return np.array(found)


def union_values(forest, unions):
    """What a leaf adds: the cuts that are saved there and its emptiness, or its log-density."""
    if forest.tree is not None:
        return density_scoring.sparseness(unions, forest.tree.shrinkage or 10)
    left = [mean_cuts(int(n)) for n in unions.n_rows]
    saved = mean_cuts(int(unions.n_rows[0])) - unions.depth - left
    return saved + forest.density_weight_ * density_scoring.sparseness(unions, 10)


@cache
def mean_cuts(n_rows):
    """The mean number of random cuts that isolate one of n rows: any of n - 1 is the first."""
    below = [k * mean_cuts(k) + (n_rows - k) * mean_cuts(n_rows - k) for k in range(1, n_rows)]
    return 1 + sum(below) / n_rows / (n_rows - 1) if n_rows > 1 else 0.0


def test_a_rank_forest_of_anomaly_trees_is_refused_by_fit_and_names_this_forest():
    X = clouds()
    forest = RankForest(AnomalyTreeRank(), n_estimators=4)  # a constructor only stores
    assert type(forest) is RankForest
    for each in (forest, RankForest().set_params(tree=AnomalyTreeRank())):
        with pytest.raises(
            TypeError, match=r"tree must be a TreeRank.*got AnomalyTreeRank\(\).*AnomalyForest"
        ):
            each.fit(X, X[:, 0] > 0)


def test_fitting_a_forest_leaves_its_tree_alone():
    tree = AnomalyTreeRank(min_samples_leaf=7)
    forest = AnomalyForest(tree, n_estimators=4, max_samples=50).fit(clouds())
    assert forest.tree is tree
    assert not hasattr(tree, "tree_")


def test_it_is_cloned_with_its_tree_whose_parameters_can_be_set():
    forest = AnomalyForest(AnomalyTreeRank(min_samples_leaf=7), n_estimators=4)
    again = clone(forest)
    assert type(again) is AnomalyForest
    assert again.tree is not forest.tree
    assert str(again) == str(forest)
    assert again.get_params()["tree__min_samples_leaf"] == 7
    assert again.set_params(tree__min_samples_leaf=9).tree.min_samples_leaf == 9
    assert forest.tree.min_samples_leaf == 7


def test_parameters_that_a_tree_leaves_open_are_those_for_a_forest():
    X = clouds()
    named = AnomalyTreeRank(global_depth=8, local_depth=1, min_samples_leaf=5, shrinkage=10)
    one, other = (
        AnomalyForest(tree, n_estimators=5).fit(X).suspicion(X)
        for tree in (named, AnomalyTreeRank())
    )
    assert np.array_equal(one, other)


def test_emptiness_varies_a_quarter_as_much_as_isolation_does():
    X = clouds()
    forest = AnomalyForest(n_estimators=30).fit(X)
    both = forest.suspicion(X)
    forest.density_weight_ = 0.0
    isolation = forest.suspicion(X)
    assert np.std(both - isolation) == approx(np.std(isolation) / 4)


def test_a_constant_column_is_never_cut():
    X = np.column_stack([np.ones(500), clouds()])
    forest = AnomalyForest(n_estimators=20).fit(X)
    assert set(np.unique(forest.trees_.nodes.column)) == {-1, 1, 2, 3}


def test_where_all_rows_are_equal_none_is_suspicious():
    forest = AnomalyForest(n_estimators=3).fit(np.ones((50, 2)))
    assert forest.density_weight_ == 0
    assert (forest.decision_scores_ == 0).all()
    assert forest.suspicion([[1.0, 2.0]])[0] > 2


def test_rows_beyond_all_training_rows_are_ranked_by_how_far_they_are():
    X = clouds()
    forest = AnomalyForest(n_estimators=30).fit(X)
    far = np.zeros((4, 3))
    far[:, 0] = [0.0, 6.0, 60.0, 6e9]
    assert (np.diff(forest.suspicion(far)) > 0).all()
    assert (density_scoring.outside_terms(forest.boxes_[0].beyond(X)) == 0).all()


def test_a_value_that_most_rows_share_hides_nothing_that_is_unusual_in_another_column():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(2000, 6))
    X[:, 2:] *= generator.random((2000, 4)) < 0.1  # nine in ten are 0
    is_odd = np.arange(2000) < 20
    X[is_odd, :2], X[is_odd, 2:] = generator.normal(3, 0.5, (20, 2)), 0.0
    found, density = (
        average_precision_score(is_odd, AnomalyForest(tree).fit(X).decision_scores_)
        for tree in (None, AnomalyTreeRank())
    )
    assert found > density + 0.05


@pytest.mark.kernel
@pytest.mark.parametrize("bounds", ["range", "robust"])
def test_suspicion_is_the_mean_over_the_trees(bounds):
    frame = payments(120)[0]
    forest = AnomalyForest(AnomalyTreeRank(bounds=bounds), n_estimators=4, max_samples=60)
    forest.fit(frame)
    for rows in (frame, new_rows()):
        expected = by_tree(forest, forest.schema_.encode(rows)).mean(axis=0)
        assert forest.suspicion(rows) == approx(expected, abs=1e-8)


@pytest.mark.kernel
def test_suspicion_of_numbers_alone_is_the_mean_over_the_trees():
    X = clouds(150)
    forest = AnomalyForest(n_estimators=4, max_samples=60).fit(X)
    rows = np.vstack([X, np.full((3, 3), 50.0), np.full((3, 3), np.nan)])
    assert forest.suspicion(rows) == approx(by_tree(forest, rows.astype(np.float32)).mean(axis=0))


@pytest.mark.parametrize("n_rows", [1, 255, 256, 257, 700])
def test_any_number_of_rows_is_scored_row_by_row(n_rows):
    forest = AnomalyForest(n_estimators=5).fit(clouds())
    rows = clouds(700, seed=1)
    assert np.array_equal(forest.suspicion(rows[:n_rows]), forest.suspicion(rows)[:n_rows])


def test_the_forest_and_its_scores_are_the_same_whatever_n_jobs_is(monkeypatch):
    monkeypatch.setattr(forest_module, "_ROWS_TOGETHER", 70)
    X = clouds()
    one, two, most = (
        AnomalyForest(SMALL, n_estimators=20, n_jobs=n_jobs).fit(X) for n_jobs in (None, 2, -1)
    )
    for other in (two, most):
        assert_same(one.trees_, other.trees_)
        assert np.array_equal(one.decision_scores_, other.decision_scores_)
    monkeypatch.undo()
    assert np.array_equal(one.suspicion(X), one.decision_scores_)


def test_seeds_draw_different_forests_and_more_trees_leave_the_first_as_they_are():
    X = clouds()
    few, again, other, many = (
        AnomalyForest(n_estimators=n, random_state=seed).fit(X)
        for n, seed in ((4, 1), (4, 1), (4, 2), (12, 1))
    )
    assert_same(few.trees_, again.trees_)
    assert not np.array_equal(few.suspicion(X), other.suspicion(X))
    for number in range(4):
        assert_same(one_of(many.trees_, number), one_of(few.trees_, number))


@pytest.mark.parametrize(
    ("max_samples", "n_drawn"),
    [(100, 100), (1, 1), (256, 256), (5000, 500), (0.1, 50), (1.0, 500), (0.001, 1)],
    ids=str,
)
def test_so_many_rows_are_drawn_for_each_tree(max_samples, n_drawn):
    forest = AnomalyForest(n_estimators=3, max_samples=max_samples).fit(clouds())
    first = forest.trees_.unions.parent < 0
    assert forest.trees_.unions.n_rows[first].tolist() == [n_drawn] * 3


@given(n_rows=st.integers(1, 200), share=st.floats(0, 1), seed=st.integers(0, 99))
@examples(60)
def test_rows_are_drawn_without_replacement_in_rising_order(n_rows, share, seed):
    n_drawn = max(1, round(share * n_rows))
    drawn = forest_module._drawn(n_rows, n_drawn, np.random.default_rng(seed))
    assert drawn.size == n_drawn
    assert (np.diff(drawn) > 0).all()
    assert 0 <= drawn[0] <= drawn[-1] < n_rows


@pytest.mark.parametrize("n_drawn", [3, 15])
def test_every_row_is_as_likely_to_be_drawn(n_drawn):
    generator = np.random.default_rng(0)
    drawn = [forest_module._drawn(20, n_drawn, generator) for _ in range(2000)]
    share = np.bincount(np.concatenate(drawn), minlength=20) / 2000
    expected = n_drawn / 20
    assert np.abs(share - expected).max() < 4 * np.sqrt(expected * (1 - expected) / 2000)


def test_with_all_rows_and_all_columns_every_tree_is_the_same():
    X = clouds()
    forest = AnomalyForest(SMALL, n_estimators=3, max_samples=1.0, max_features=None).fit(X)
    assert np.ptp(by_tree(forest, X.astype(np.float32)), axis=0).max() == 0
    drawn = clone(forest).set_params(max_features=1).fit(X)
    assert np.ptp(by_tree(drawn, X.astype(np.float32)), axis=0).max() > 0
    more = clone(forest).set_params(max_features=99).fit(X)
    assert_same(more.trees_, forest.trees_)


def test_columns_are_drawn_one_at_a_time():
    X = clouds(n_columns=4)
    forest = AnomalyForest(n_estimators=40).fit(X)
    columns = forest.trees_.nodes.column
    first = np.bincount(columns[forest.trees_.roots], minlength=4)
    assert first.min() >= 3  # 10 expected of each
    assert set(np.unique(columns)) == {-1, 0, 1, 2, 3}


def test_rows_far_from_all_others_come_first_even_where_they_are_a_few_together():
    X = clouds(600, 4)
    is_odd = np.arange(600) < 12
    assert roc_auc_score(is_odd, AnomalyForest(n_estimators=50).fit(X).suspicion(X)) > 0.98
    held_out = AnomalyForest(n_estimators=50).fit(X[12:])
    assert roc_auc_score(is_odd, held_out.suspicion(X)) > 0.99


def test_shares_add_up_and_those_of_an_unused_column_are_0():
    frame = payments(300)[0].assign(same=1.0)
    forest = AnomalyForest(n_estimators=10).fit(frame)
    for rows in (frame, new_rows().assign(same=1.0)):
        shares = forest.contributions(rows)
        assert shares.sum(axis=1) == approx(forest.suspicion(rows), abs=1e-8)
        assert (shares[:, -2] == 0).all()
    (reason,) = reasons.explain(forest, frame.iloc[:1].assign(amount=1e9), n_reasons=1)[0]
    assert reason.feature == "amount"


def test_importances_add_up_to_1_and_name_the_column_that_is_not_even():
    X = np.random.default_rng(0).random((500, 3))
    X[:, 1] = np.random.default_rng(1).normal(size=500) ** 3
    importances = AnomalyForest(n_estimators=10).fit(X).feature_importances_
    assert importances.sum() == approx(1)
    assert importances.argmax() == 1
    assert importances[1] > 0.5


def test_a_column_that_most_draws_see_no_value_of_is_learned():
    X = np.column_stack([clouds(300, 1), np.full(300, np.nan)])
    X[:2, 1] = [1.0, 2.0]
    forest = AnomalyForest(n_estimators=10, max_samples=20).fit(X)
    suspicion = forest.suspicion(X)
    assert np.isfinite(suspicion).all()
    assert suspicion[:2].min() > np.median(suspicion)


def test_a_category_that_most_draws_do_not_see_is_suspicious():
    frame = payments(400)[0]
    frame.loc[:1, "country"] = "XX"
    forest = AnomalyForest(n_estimators=30, max_samples=50).fit(frame)
    often, rare = (forest.suspicion(frame.assign(country=name)).mean() for name in ("FR", "XX"))
    assert rare > often


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        ({"n_estimators": 0}, ValueError, r"n_estimators must be at least 1; got 0"),
        ({"max_samples": 0}, ValueError, r"max_samples must be at least 1; got 0"),
        ({"max_samples": 0.0}, ValueError, r"max_samples must be greater than 0 .*; got 0"),
        ({"max_samples": 1.5}, ValueError, r"max_samples must be .* at most 1; got 1.5"),
        ({"max_samples": True}, TypeError, r"max_samples must .*got True"),
        ({"max_samples": "auto"}, TypeError, r"max_samples must .*got 'auto'"),
        ({"max_features": 0}, ValueError, r"max_features must be at least 1; got 0"),
        ({"max_features": "sqrt"}, TypeError, r"max_features must be a whole .*; got 'sqrt'"),
        ({"contamination": 0.7}, ValueError, r"contamination must be .* at most 0.5; got 0.7"),
        ({"tree": "range"}, TypeError, r"tree must .*got 'range'"),
        ({"tree": TreeRank()}, TypeError, r"tree must be an AnomalyTreeRank or None"),
        (
            {"tree": AnomalyTreeRank(pruning="cv")},
            ValueError,
            r"tree must have pruning=None.* got 'cv'",
        ),
        ({"tree": AnomalyTreeRank(max_bins=1)}, ValueError, r"max_bins must be between 2"),
        ({"random_state": -1}, ValueError, r"random_state must be between 0"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named_when_fitting(wrong, error, sentence):
    with pytest.raises(error, match=sentence):
        AnomalyForest(**{"n_estimators": 2, **wrong}).fit(clouds(60))


def kept(kind, folder):
    save(fitted(kind), folder / "payments.toprank")
    return folder / "payments.toprank"


def check_detects(detector):
    """What a file became must score and explain like any fitted detector."""
    rows = new_rows()
    if not hasattr(detector, "feature_names_in_"):
        rows = detector.schema_.encode(rows)
    assert np.isfinite(detector.suspicion(rows)).all()
    assert np.isfinite(detector.contributions(rows)).all()
    assert set(detector.predict(rows)) <= {-1, 1}
    assert len(reasons.explain(detector, rows)) == 80


@EVERY_DETECTOR
def test_a_loaded_detector_is_the_saved_one(kind, tmp_path):
    path, saved = kept(kind, tmp_path), fitted(kind)
    loaded = load(path)
    assert type(loaded) is type(saved)
    assert str(loaded.get_params()) == str(saved.get_params())
    rows = new_rows()
    for ask in ("suspicion", "predict", "decision_function", "contributions"):
        assert np.array_equal(getattr(loaded, ask)(rows), getattr(saved, ask)(rows)), ask
    assert np.array_equal(loaded.feature_importances_, saved.feature_importances_)
    assert reasons.explain(loaded, rows) == reasons.explain(saved, rows)
    again = tmp_path / "again.toprank"
    save(loaded, again)
    before, after = members_of(path), members_of(again)
    assert all(before[name] == after[name] for name in before if name != "manifest.json")
    if kind == "tree":
        assert loaded.rules() == saved.rules()
        assert loaded.groups_ == saved.groups_
        assert loaded.to_svg() == saved.to_svg()
        assert loaded.mass_volume(rows).area == saved.mass_volume(rows).area
        assert loaded.paths(rows[:5]) == saved.paths(rows[:5])


@pytest.mark.parametrize(
    "detector",
    [
        AnomalyTreeRank(bounds=np.array([[-3.0, 3.0]] * 3), pruning="cv"),
        AnomalyTreeRank(bounds=[[-3, 3]] * 3),
        AnomalyForest(n_estimators=2),
        AnomalyForest(AnomalyTreeRank(bounds=np.array([[-3, 3]] * 3)), n_estimators=2),
    ],
    ids=["array", "list", "no tree", "tree with bounds"],
)
def test_a_file_keeps_bounds_and_what_trees_are_like(detector, tmp_path):
    X = clouds()
    path = tmp_path / "anomalies.toprank"
    save(clone(detector).fit(X), path)
    loaded = load(path)
    assert np.array_equal(loaded.suspicion(X), clone(detector).fit(X).suspicion(X))
    refitted = clone(loaded).fit(X)
    assert np.array_equal(refitted.suspicion(X), loaded.suspicion(X))


@EVERY_DETECTOR
@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_a_missing_array_is_refused(kind, step, tmp_path):
    names = [name for name in saved_parts(kind).arrays if not name.startswith("seen_")]
    assert len(names) == 27
    for name in names[::step]:
        path = kept(kind, tmp_path)
        rewrite(path, lambda _, members, name=name: members.pop(f"{name}.npy"))
        with refused(f"its contents do not make a {type(fitted(kind)).__name__}"):
            load(path)


@EVERY_DETECTOR
@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("box", lambda array: array[..., :-1], "two bounds per column"),
        ("box", lambda array: array.astype(np.float32), "float64 .*bool"),
        ("box", lambda array: array * np.nan, "the lowest first"),
        ("box", lambda array: -array, "the lowest first"),
        ("may_miss", lambda array: array[..., :-1], "two bounds per column"),
        ("may_miss", lambda array: array.astype(int), "float64 .*bool"),
        ("roots", lambda array: array - 1, "begin"),
        ("node_left", lambda array: array * 0, "must lead"),
        ("node_column", lambda array: np.where(array < 0, array, 9), "existing column"),
        ("node_threshold", lambda array: array * np.nan, "a threshold must be a number"),
        ("node_set_start", lambda array: array + 10_000, "categor"),
        ("union_rank", lambda array: array[::-1], "ranked from left to right"),
        ("union_mass", lambda array: array * np.inf, "counts of unions must be finite"),
        ("union_hits", lambda array: -array, "counts of unions must not be negative"),
    ],
)
def test_damaged_arrays_are_refused(kind, name, change, reason, tmp_path):
    path = kept(kind, tmp_path)

    def change_member(manifest, members):
        array = np.load(io.BytesIO(members[f"{name}.npy"])).copy()
        members[f"{name}.npy"] = npy_of(np.ascontiguousarray(change(array)))

    rewrite(path, change_member)
    with refused(reason):
        load(path)


@cache
def saved_parts(kind):
    return fitted(kind)._to_saved()


def changed(kind, name, place, value):
    """Restore a detector with one entry of one array changed, or None where that is refused."""
    saved = saved_parts(kind)
    broken = saved.arrays[name].copy()
    broken.flat[place] = value
    try:
        return type(fitted(kind))._from_saved(
            saved.parameters, saved._replace(arrays={**saved.arrays, name: broken})
        )
    except (ValueError, ArithmeticError):  # what `load` takes for a broken file
        return None


@EVERY_DETECTOR
@pytest.mark.parametrize(
    ("n_places", "n_odd", "least"), [(1, 3, 10), pytest.param(4, 9, 100, marks=pytest.mark.slow)]
)
def test_whatever_single_entry_is_changed_it_is_refused_or_can_score(kind, n_places, n_odd, least):
    generator = np.random.default_rng(0)
    n_refused = n_taken = 0
    for name, values in saved_parts(kind).arrays.items():
        places = generator.permutation(values.size)[:n_places]
        odds = generator.permutation(ODD[values.dtype.kind])[:n_odd]
        for place, odd in ((place, odd) for place in places for odd in odds):
            detector = changed(kind, name, place, odd)
            if detector is None:
                n_refused += 1
                continue
            check_scores(detector)
            n_taken += 1
    assert n_refused > least < n_taken


def check_scores(detector):
    rows = new_rows()
    assert np.isfinite(detector.suspicion(rows)).all()
    assert np.isfinite(detector.contributions(rows)).all()


@EVERY_DETECTOR
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_box_with_an_odd_bound_is_refused_or_can_score(kind, step):
    for place in range(0, saved_parts(kind).arrays["box"].size, step):
        for odd in (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300):
            detector = changed(kind, "box", place, odd)
            if detector is not None:
                check_scores(detector)


@EVERY_DETECTOR
def test_a_union_of_no_volume_is_refused_or_can_score(kind):
    for place in range(saved_parts(kind).arrays["union_hits"].size):
        detector = changed(kind, "union_hits", place, 0.0)
        if detector is not None:
            check_scores(detector)


@pytest.mark.kernel
@pytest.mark.skipif(
    not numba.config.DISABLE_JIT, reason="compiled, a bad index reads stray memory, or crashes"
)
@EVERY_DETECTOR
def test_a_leaf_with_a_set_of_categories_is_refused_or_can_score(kind):
    detector = fitted(kind)
    nodes = (detector.tree_ if kind == "tree" else detector.trees_).nodes
    for place in np.flatnonzero(nodes.left < 0)[:10]:
        broken = changed(kind, "node_set_start", place, 2**31 - 1)
        if broken is not None:
            check_scores(broken)


@EVERY_DETECTOR
@pytest.mark.parametrize("n_seeds", [9, pytest.param(60, marks=pytest.mark.slow)])
def test_no_broken_file_loads_into_nonsense(kind, n_seeds, tmp_path):
    path = kept(kind, tmp_path)
    good, n_loaded = path.read_bytes(), 0
    for seed in range(n_seeds):
        path.write_bytes(good)
        (change_state, change_parameters)[seed % 2](path, np.random.default_rng(seed))
        try:
            loaded = load(path)
        except ModelFileError:
            continue
        if kind != "tree":
            loaded.n_jobs = None  # which has its own test below
        if loaded.schema_.names == fitted(kind).schema_.names:
            check_detects(loaded)
        n_loaded += 1
    assert 0 < n_loaded < 2 / 3 * n_seeds


@pytest.mark.parametrize("n_jobs", ["two", {}, 0.5])
def test_a_file_with_an_odd_n_jobs_is_refused(n_jobs, tmp_path):
    path = kept("forest", tmp_path)

    def change(manifest, members):
        manifest["parameters"]["n_jobs"] = n_jobs

    rewrite(path, change)
    with refused("n_jobs must be"):
        load(path)


@pytest.mark.parametrize(
    ("kind", "part"), [("forest", "trees"), ("density forest", "boxes")], ids=str
)
def test_a_forest_must_have_as_many_trees_as_it_says(kind, part, tmp_path):
    path = kept(kind, tmp_path)

    def change(manifest, members):
        manifest["parameters"]["n_estimators"] = 4

    rewrite(path, change)
    with refused(f"there must be 4 {part}; got 3"):
        load(path)


@pytest.mark.parametrize("weight", [-1.0, None, "1", 1e300, True])
def test_an_odd_weight_of_density_is_refused(weight, tmp_path):
    path = kept("forest", tmp_path)

    def change(manifest, members):
        manifest["state"]["density_weight"] = weight

    rewrite(path, change)
    with refused("density_weight must be"):
        load(path)


def test_a_forest_without_the_weight_of_density_is_taken_for_one_of_density_trees(tmp_path):
    path = kept("forest", tmp_path)

    def change(manifest, members):
        del manifest["state"]["density_weight"]

    rewrite(path, change)
    with refused("there must be 3 boxes; got 1"):
        load(path)


def test_a_detector_is_one_tree_with_a_box_of_its_columns():
    tree, forest = fitted("tree")._to_saved(), fitted("forest")._to_saved()
    mixed = {**tree.arrays, **{name: forest.arrays[name] for name in forest.arrays if "_" in name}}
    mixed = {**mixed, "roots": forest.arrays["roots"], "goes_left": forest.arrays["goes_left"]}
    mixed["may_miss"] = tree.arrays["may_miss"]
    with pytest.raises(ValueError, match=r"there must .*got 3"):
        AnomalyTreeRank._from_saved(tree.parameters, tree._replace(arrays=mixed))
    fewer = {
        **tree.arrays,
        "box": tree.arrays["box"][:, :-1],
        "may_miss": tree.arrays["may_miss"][:-1],
    }
    with pytest.raises(ValueError, match=r"box and columns must .*got 4 and 5"):
        AnomalyTreeRank._from_saved(tree.parameters, tree._replace(arrays=fewer))
