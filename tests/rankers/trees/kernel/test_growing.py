"""Local trees: every node cut as well as can be, and the same however they are grown."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from sklearn.tree import DecisionTreeClassifier

import reference
from examples import examples
from rankers.trees.kernel.test_cuts import EVERY_CRITERION, Table, made_table, tables
from toprank.rankers.trees.kernel.binning import MOST_BINS
from toprank.rankers.trees.kernel.cuts import CRITERIA
from toprank.rankers.trees.kernel.growing import Growth, Sample, grow

pytestmark = pytest.mark.kernel

# the fields of a tree, except where its rows are stored
TREE_FIELDS = (
    "root", "parent", "column", "threshold", "is_missing_left", "set_start", "left", "right",
    "totals", "gain", "goes_left",
)  # fmt: skip


@st.composite
def growths(draw):
    return Growth(
        draw(st.sampled_from(list(CRITERIA))),
        draw(st.integers(1, 4)),
        draw(st.sampled_from([1, 2, 5])),
        draw(st.booleans()),
    )


def grown(table, growth, blocks=None, seeds=None, max_bins=255):
    """One tree for each block of rows (one of all rows unless given), and the rows it moved."""
    blocks = [np.arange(table.is_positive.size)] if blocks is None else blocks
    sample = Sample.of(np.concatenate(blocks), table.is_positive, table.weight)
    ends = np.cumsum([block.size for block in blocks])
    seeds = np.arange(len(blocks)) + 1 if seeds is None else seeds
    begins = np.append(0, ends[:-1])
    return grow(
        table.binned(max_bins), sample, begins, ends, np.array(seeds, np.uint64), growth
    ), sample


def assert_same(one, other, but=()):
    for name in TREE_FIELDS:
        if name not in but:
            assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True), name


def sets_of(tree):
    """The part of `goes_left` that each node has, by node."""
    firsts = np.sort(tree.set_start[tree.set_start >= 0])
    ends = dict(zip(firsts, [*firsts[1:], tree.goes_left.size], strict=False))
    return {
        node: tree.goes_left[start : ends[start]].tolist()
        for node, start in enumerate(tree.set_start)
        if start >= 0
    }


@given(tables(), growths())
@examples(120)
def test_every_node_has_its_best_cut_and_every_leaf_a_reason(table, growth):
    tree, sample = grown(table, growth)
    target, weight = table.is_positive, table.masses
    factor = 1.0
    if growth.is_balanced and table.is_positive.any():
        factor = weight[~table.is_positive].sum() / weight[table.is_positive].sum()
    carried = {0: 1 - weight @ target / weight.sum()}
    depth = {0: 0}
    for node, column in enumerate(tree.column):
        rows = sample.rows[tree.begin[node] : tree.end[node]]
        x, y, w = table.features[rows], target[rows], weight[rows]
        assert tree.totals[node] == approx([rows.size, w.sum(), w @ y])
        best = reference.best_cut(
            x, table.is_category, y, w, growth.criterion, growth.min_leaf, factor
        )
        if column < 0:
            is_refused = best is not None and growth.criterion == "ap"
            is_refused = is_refused and reference.is_refused(best[1], y, w, carried[node])
            assert best is None or depth[node] == growth.depth or is_refused
            continue
        left, right = tree.left[node], tree.right[node]
        is_left = np.isin(rows, sample.rows[tree.begin[left] : tree.end[left]])
        everything = np.ones(rows.size, dtype=bool)
        score = reference.cut_score(growth.criterion, is_left, y, w, factor)
        assert score == approx(best[0], abs=1e-9)
        uncut = reference.cut_score(growth.criterion, everything, y, w, factor)
        assert tree.gain[node] == approx(score - uncut, abs=1e-9)
        depth[left] = depth[right] = depth[node] + 1
        if growth.criterion == "ap":
            assert not reference.is_refused(is_left, y, w, carried[node])
            carried[left] = 1 - reference.ap_of_first(is_left, y, w)
            carried[right] = 1 - reference.ap_of_first(~is_left, y, w)


@given(tables(), growths(), st.sampled_from([3, 255]))
@examples(80)
def test_the_cut_as_written_sends_every_row_where_it_was_moved(table, growth, max_bins):
    tree, sample = grown(table, growth, max_bins=max_bins)
    for node, column in enumerate(tree.column):
        rows = sample.rows[tree.begin[node] : tree.end[node]]
        if column < 0:
            assert tree.left[node] == tree.right[node] == -1
            continue
        left, right = tree.left[node], tree.right[node]
        assert tree.begin[node] == tree.begin[left]
        assert tree.end[left] == tree.begin[right]
        assert tree.end[right] == tree.end[node]
        assert tree.parent[left] == tree.parent[right] == node
        values = table.features[rows, column]
        is_known = ~np.isnan(values)
        is_left = np.full(rows.size, tree.is_missing_left[node])
        if table.is_category[column]:
            codes = values[is_known].astype(int)
            is_left[is_known] = tree.goes_left[tree.set_start[node] + codes]
        else:
            assert tree.set_start[node] == -1
            is_left[is_known] = values[is_known] <= tree.threshold[node]
        n_left = tree.end[left] - tree.begin[left]
        assert is_left.tolist() == [True] * n_left + [False] * (rows.size - n_left)


@given(tables(), growths())
@examples(60)
def test_leaves_are_those_of_a_tree_grown_by_recursion(table, growth):
    tree, sample = grown(table, growth)
    leaves = np.flatnonzero(tree.column < 0)
    leaves = leaves[np.argsort(tree.begin[leaves], kind="stable")]
    expected = reference.local_tree(
        np.arange(table.is_positive.size), table.features, table.is_category,
        table.is_positive, table.masses, growth,
    )  # fmt: skip
    # mirrored cuts tie where one sends known values left, the other missing ones: sets, not order
    found = {frozenset(sample.rows[tree.begin[leaf] : tree.end[leaf]]) for leaf in leaves}
    assert found == {frozenset(rows) for rows in expected}


@given(tables(), growths(), st.integers(0, 1000))
@examples(40)
def test_trees_grown_together_equal_trees_grown_alone(table, growth, seed):
    of_tree = np.random.default_rng(seed).integers(0, 3, table.is_positive.size)
    blocks = [np.flatnonzero(of_tree == number) for number in np.unique(of_tree)]
    assert_grown_together_as_alone(table, growth, blocks)


@pytest.mark.parametrize("n_tried", [1, 2, 3])
def test_trees_of_drawn_columns_grown_together_equal_trees_grown_alone(n_tried):
    table = made_table(90, ["many", "few", "6", "many"], seed=2)
    growth = Growth("entropy", 4, n_tried=n_tried)
    assert_grown_together_as_alone(table, growth, np.array_split(np.arange(90), 4))


def assert_grown_together_as_alone(table, growth, blocks):
    seeds = 5 + 7 * np.arange(len(blocks))
    together, _ = grown(table, growth, blocks, seeds)
    sets = sets_of(together)
    for number, block in enumerate(blocks):
        alone, _ = grown(table, growth, [block], seeds[number : number + 1])
        nodes = np.flatnonzero(together.root == number)
        for name in ("column", "threshold", "is_missing_left", "totals", "gain"):
            part = getattr(together, name)[nodes]
            assert np.array_equal(part, getattr(alone, name), equal_nan=True), name
        for name in ("parent", "left", "right"):
            ours = getattr(alone, name)
            ours = np.where(ours < 0, -1, nodes[ours])
            assert getattr(together, name)[nodes].tolist() == ours.tolist()
        sets_alone = sets_of(alone)
        assert [sets[node] for node in nodes if node in sets] == list(sets_alone.values())


@pytest.mark.parametrize("n_tried", [1, 2])
def test_the_same_seeds_give_the_same_tree_and_others_another(n_tried):
    table = made_table(80, ["many"] * 5, seed=1)
    growth = Growth("gini", 4, n_tried=n_tried)
    first, again, other = (grown(table, growth, seeds=[seed])[0] for seed in (3, 3, 4))
    assert_same(first, again)
    assert not np.array_equal(first.column, other.column)


def test_both_sides_of_a_cut_try_columns_of_their_own():
    # 1, 2, 4 and 5 positives of 6 rows per value, alike in all columns: 2 | 2 values, then 1 | 1
    features = np.tile(np.repeat(np.arange(4, dtype=np.float32), 6)[:, None], (1, 5))
    is_positive = np.tile(np.arange(6), 4) < np.repeat([1, 2, 4, 5], 6)
    table = Table(features, np.zeros(5, dtype=int), is_positive, None)
    growth = Growth("gini", 2, n_tried=1)
    tried = np.array([grown(table, growth, seeds=[seed])[0].column[:3] for seed in range(100)])
    for one, other in [(0, 1), (0, 2), (1, 2)]:
        assert 0.05 < np.mean(tried[:, one] == tried[:, other]) < 0.4  # 1 in 5 by chance


def test_drawing_as_many_columns_as_there_are_is_trying_all():
    table = made_table(80, ["many", "few", "6"], seed=1)
    for n_tried in (3, None):
        tree, _ = grown(table, Growth("gini", 4, n_tried=n_tried), seeds=[1])
        assert_same(tree, grown(table, Growth("gini", 4), seeds=[2])[0])


@given(tables(), growths(), st.integers(0, 1000))
@examples(60)
def test_a_row_of_weight_w_is_w_rows(table, growth, seed):
    times = np.random.default_rng(seed).integers(1, 4, table.is_positive.size)
    weighted = table._replace(weight=times.astype(float))
    rows = np.repeat(np.arange(times.size), times)
    target = table.is_positive
    sample = Sample.of(rows, target, None)
    seeds = np.ones(1, np.uint64)
    repeated = grow(table.binned(), sample, np.array([0]), np.array([rows.size]), seeds, growth)
    tree, _ = grown(weighted, growth)
    assert_same(tree, repeated, but=("totals", "gain"))
    assert tree.totals[:, 1:] == approx(repeated.totals[:, 1:])
    assert tree.gain == approx(repeated.gain, abs=1e-9)


@given(tables(), growths(), st.integers(0, 1000))
@examples(60)
def test_the_order_of_rows_changes_nothing(table, growth, seed):
    order = np.random.default_rng(seed).permutation(table.is_positive.size)
    sample = Sample.of(order, table.is_positive, table.weight)
    seeds = np.ones(1, np.uint64)
    moved = grow(table.binned(), sample, np.array([0]), np.array([order.size]), seeds, growth)
    assert_same(grown(table, growth)[0], moved)


@given(tables(), growths(), st.integers(-8, 8), st.sampled_from([4, 255]))
@examples(60)
def test_a_column_times_a_power_of_two_changes_thresholds_only(table, growth, power, max_bins):
    scale = np.where(table.is_category, 1.0, 2.0**power).astype(np.float32)
    scaled, _ = grown(table._replace(features=table.features * scale), growth, max_bins=max_bins)
    tree, _ = grown(table, growth, max_bins=max_bins)
    assert_same(tree, scaled, but=("threshold",))
    assert np.array_equal(tree.threshold * scale[tree.column], scaled.threshold, equal_nan=True)


@given(tables(), growths())
@examples(40)
def test_as_many_bins_as_values_give_the_exact_tree(table, growth):
    exact, _ = grown(table, growth, max_bins=MOST_BINS)
    for max_bins in (255, table.is_positive.size):
        assert_same(grown(table, growth, max_bins=max_bins)[0], exact)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_leaves_are_as_pure_as_those_of_scikit_learn(criterion, depth, seed):
    generator = np.random.default_rng(seed)
    table = made_table(60, ["many"] * 4, seed, missing=0.0)
    # no two sides have quite the same mass, so there is one best cut
    table = table._replace(weight=1 + generator.random(60))
    theirs = DecisionTreeClassifier(criterion=criterion, max_depth=depth, random_state=0)
    theirs.fit(table.features, table.is_positive, sample_weight=table.weight)
    tree, sample = grown(table, Growth(criterion, depth), max_bins=MOST_BINS)
    groups = np.empty(60, dtype=int)
    for leaf in np.flatnonzero(tree.column < 0):
        groups[sample.rows[tree.begin[leaf] : tree.end[leaf]]] = leaf
    their_groups = theirs.apply(table.features)
    assert reference.impurity(criterion, groups, table.is_positive, table.weight) == approx(
        reference.impurity(criterion, their_groups, table.is_positive, table.weight), abs=1e-9
    )


@pytest.mark.parametrize("criterion", ["gini", "entropy", "ap", "error"])
def test_rows_of_one_class_are_not_cut_whatever_they_weigh(criterion):
    for seed in range(40):
        table = made_table(40, ["many", "many"], seed, missing=0.0)
        # tenths have no exact sums: what is left of a node is known but for a rounding
        weight = np.random.default_rng(seed).choice([1.1, 1.2, 2.3, 3.7], 40)
        tree, sample = grown(table._replace(weight=weight), Growth(criterion, 4))
        for node in np.flatnonzero(tree.column >= 0):
            rows = sample.rows[tree.begin[node] : tree.end[node]]
            assert np.unique(table.is_positive[rows]).size == 2


@EVERY_CRITERION
def test_balance_gives_both_classes_the_same_mass_at_the_root(criterion):
    table = made_table(60, ["many", "few"], seed=4, positives=0.2)
    factor = np.sum(~table.is_positive) / table.is_positive.sum()
    weighted = table._replace(weight=np.where(table.is_positive, factor, 1.0))
    balanced, _ = grown(table, Growth(criterion, 3, is_balanced=True))
    plain = grown(table if criterion == "ap" else weighted, Growth(criterion, 3))[0]
    assert np.array_equal(balanced.column, plain.column)
    assert np.array_equal(balanced.threshold, plain.threshold, equal_nan=True)
    assert balanced.gain == approx(plain.gain)


@EVERY_CRITERION
@pytest.mark.parametrize("kinds", [["constant"], ["missing"], ["constant", "missing"]])
def test_columns_that_never_differ_leave_one_leaf(criterion, kinds):
    tree, _ = grown(made_table(20, kinds, seed=0, missing=0.0), Growth(criterion, 3))
    assert tree.column.tolist() == [-1]
    assert tree.goes_left.size == 0


@EVERY_CRITERION
@pytest.mark.parametrize("n_rows, depth", [(1, 3), (20, 0)], ids=["one row", "no depth"])
def test_one_row_or_no_depth_leaves_one_leaf(criterion, n_rows, depth):
    tree, _ = grown(made_table(n_rows, ["many", "6"], seed=0), Growth(criterion, depth))
    assert tree.column.tolist() == [-1]
    assert tree.totals[0, 0] == n_rows


@EVERY_CRITERION
def test_no_blocks_of_rows_grow_no_trees(criterion):
    table = made_table(5, ["many", "6"], seed=0)
    sample = Sample.of(np.arange(5), table.is_positive, None)
    none = np.zeros(0, np.int64)
    tree = grow(table.binned(), sample, none, none, np.zeros(0, np.uint64), Growth(criterion, 3))
    assert [values.size for values in tree] == [0] * len(tree)


def test_a_threshold_is_midway_between_the_values_of_its_own_node():
    features = [[0, 1], [0, 4], [1, 0.5], [1, 2], [1, 3], [1, 4.5]]
    is_positive = np.array([False, True, True, True, True, True])
    table = Table(np.array(features, dtype=np.float32), np.zeros(2, int), is_positive, None)
    tree, _ = grown(table, Growth("gini", 2))
    # 2 and 3 are values of the column, but not where 1 and 4 are split
    assert tree.column.tolist() == [0, 1, -1, -1, -1]
    assert tree.threshold[:2].tolist() == [0.5, 2.5]


def test_a_cut_between_known_and_missing_values_has_an_infinite_threshold():
    features = np.array([[7], [5], [np.nan], [np.nan]], dtype=np.float32)
    table = Table(features, np.array([0]), np.array([False, False, True, True]), None)
    tree, _ = grown(table, Growth("gini", 1))
    assert tree.threshold[0] == np.inf
    assert not tree.is_missing_left[0]
