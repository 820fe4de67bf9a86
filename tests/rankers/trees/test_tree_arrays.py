"""Arrays of trees from a file: back as they were, or refused; what is taken can be walked."""

import numpy as np
import pytest

from contracts import check_file_keeps
from rankers.trees.kernel.test_meta_tree import assert_same
from rankers.trees.made_payments import payments
from toprank import GeometricTree, MetaAP, RankForest, TreeRank, load, save
from toprank.files import ModelFileError
from toprank.rankers.trees import scoring, tree_arrays
from toprank.rankers.trees.reading.compact import compact

pytestmark = pytest.mark.kernel

ODD = {
    "i": [-(2**31), -7, -2, -1, 0, 1, 2, 5, 2**31 - 1],
    "f": [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300],
    "b": [True, False],
}


@pytest.fixture(scope="module")
def frame():
    return payments(300)[0]


@pytest.fixture(scope="module")
def forest(frame):
    """Two trees with numbers, categories and gaps, and their schema."""
    tree = TreeRank(local_depth=2, min_samples_leaf=3)
    return RankForest(tree, n_estimators=2, max_features=None).fit(frame, payments(300)[1])


@pytest.fixture(scope="module")
def arrays(forest):
    nodes = forest.trees_.nodes
    assert (nodes.set_start >= 0).any()
    assert ((nodes.column >= 0) & (nodes.set_start < 0)).any()
    assert (forest.trees_.unions.depth == 2).any()
    return tree_arrays.arrays_of(forest.trees_)


@pytest.fixture
def changed(arrays, forest):
    """Read the trees with one entry of one array changed."""

    def read(name, place, value):
        broken = arrays[name].copy()
        broken[place] = value
        return tree_arrays.trees_in({**arrays, name: broken}, forest.schema_)

    return read


def test_sound_arrays_come_back_as_they_were(arrays, forest):
    assert_same(tree_arrays.trees_in(arrays, forest.schema_), forest.trees_)


def test_an_array_that_is_missing_or_of_another_form_is_named(arrays, forest):
    for name, values in arrays.items():
        others = {key: array for key, array in arrays.items() if key != name}
        with pytest.raises(ValueError, match=f"array '{name}' is missing"):
            tree_arrays.trees_in(others, forest.schema_)
        for wrong in (
            values.astype(np.float32),
            np.zeros(values.size, np.int16),
            values.astype(">f8"),
            values.astype(object),
            values.astype(str),
            values[:, None],
            values[0],
        ):
            with pytest.raises(ValueError, match=f"array '{name}' must be one row of"):
                tree_arrays.trees_in({**others, name: wrong}, forest.schema_)


def test_an_array_of_another_length_is_refused(arrays, forest):
    for name, values in arrays.items():
        for wrong in (values[:-1], values[:0], np.append(values, values[-1:])):
            if name == "goes_left" and wrong.size > values.size:
                continue  # one more flag does no harm
            with pytest.raises(ValueError, match="must"):
                tree_arrays.trees_in({**arrays, name: wrong}, forest.schema_)


def node_where(trees, is_leaf, is_set=None):
    """The first node that is a leaf or not, with a set of categories or not."""
    nodes = trees.nodes
    chosen = (nodes.column < 0) == is_leaf
    if is_set is not None:
        chosen &= (nodes.set_start >= 0) == is_set
    return int(np.flatnonzero(chosen)[0])


@pytest.mark.parametrize("link", ["node_left", "node_right"])
def test_a_way_of_a_cut_must_lead_forward_to_a_node(changed, forest, link):
    cut = node_where(forest.trees_, is_leaf=False)
    n_nodes = forest.trees_.nodes.column.size
    for wrong in (-5, -1, 0, cut, n_nodes, 2**31 - 1):
        with pytest.raises(ValueError, match="a cut must lead to nodes after it"):
            changed(link, cut, wrong)
    leaf = node_where(forest.trees_, is_leaf=True)
    for wrong in (0, leaf, n_nodes):
        with pytest.raises(ValueError, match="a leaf must lead to the root of its union"):
            changed(link, leaf, wrong)


def test_a_leaf_that_leads_back_is_refused(arrays, forest):
    """A union's root, and its leaves' ways with it, that come before the leaves: a cycle."""
    nodes, unions = forest.trees_.nodes, forest.trees_.unions
    inner = np.flatnonzero((unions.root >= 0) & (unions.parent >= 0))[0]
    leads = (nodes.column < 0) & (nodes.union == inner)
    cycle = {
        "union_root": np.where(np.arange(unions.tree.size) == inner, np.int32(0), unions.root),
        "node_left": np.where(leads, np.int32(0), nodes.left),
        "node_right": np.where(leads, np.int32(0), nodes.right),
    }
    with pytest.raises(ValueError, match="a leaf must lead to a node after it"):
        tree_arrays.trees_in({**arrays, **cycle}, forest.schema_)


@pytest.mark.parametrize("link", ["union_left", "union_right", "union_parent", "union_root"])
def test_unions_must_be_parts_of_one_another_once(changed, forest, link):
    unions = forest.trees_.unions
    split = int(np.flatnonzero((unions.root >= 0) & (unions.parent >= 0))[0])
    for wrong in (split, unions.tree.size, forest.trees_.nodes.column.size, 2**31 - 1):
        with pytest.raises(ValueError, match=r"union|children|leaf"):
            changed(link, split, wrong)
    with pytest.raises(ValueError, match="children of a union must come after it"):
        changed("union_left", split, 0)
    with pytest.raises(ValueError, match=r"each union must be a child once|children must name"):
        changed("union_right", split, unions.left[split])


def test_ranks_must_number_the_groups_from_left_to_right(changed, forest):
    unions = forest.trees_.unions
    for union in range(unions.tree.size):
        for wrong in (-2, unions.rank[union] + 1, unions.tree.size, 2**31 - 1):
            with pytest.raises(ValueError, match="groups must be ranked from left to right"):
                changed("union_rank", union, wrong)


def test_trees_must_keep_to_themselves(changed, forest, arrays):
    for union, tree in enumerate(forest.trees_.unions.tree):
        for wrong in (-1, 1 - tree, 2):
            with pytest.raises(ValueError, match=r"tree|part"):
                changed("union_tree", union, wrong)
    n_nodes = forest.trees_.nodes.column.size
    for number in range(2):
        for wrong in (-1, forest.trees_.roots[1 - number], n_nodes):
            with pytest.raises(ValueError, match=r"a tree must begin with"):
                changed("roots", number, wrong)


def test_a_cut_must_be_of_a_column_with_a_threshold_or_a_whole_set(changed, forest, arrays):
    nodes, n_columns = forest.trees_.nodes, len(forest.schema_.columns)
    number = node_where(forest.trees_, is_leaf=False, is_set=False)
    category = node_where(forest.trees_, is_leaf=False, is_set=True)
    with pytest.raises(ValueError, match="a cut must be of an existing column"):
        changed("node_column", number, n_columns)
    with pytest.raises(ValueError, match="a threshold must be a number"):
        changed("node_threshold", number, np.nan)
    for place, wrong in ((number, 0), (category, -1), (number, nodes.column[category])):
        name = "node_column" if place == number and wrong else "node_set_start"
        with pytest.raises(ValueError, match="a set of categories must belong to a category"):
            changed(name, place, wrong)
    for wrong in (arrays["goes_left"].size - 1, 2**31 - 1):
        with pytest.raises(ValueError, match="a set of categories must be complete"):
            changed("node_set_start", category, wrong)
    with pytest.raises(ValueError, match="a set of categories must be complete"):
        tree_arrays.trees_in({**arrays, "goes_left": np.zeros(0, bool)}, forest.schema_)
    for wrong in (-1, forest.trees_.unions.tree.size):
        with pytest.raises(ValueError, match="a node's union must exist"):
            changed("node_union", number, wrong)
    for wrong in (number, nodes.column.size):
        with pytest.raises(ValueError, match="a node must come after the one above it"):
            changed("node_parent", number, wrong)


@pytest.mark.parametrize("part", ["node", "union"])
@pytest.mark.parametrize(
    ("count", "wrong"),
    [
        *(
            (count, wrong)
            for count in ("n_rows", "mass", "hits")
            for wrong in (np.nan, np.inf, -1)
        ),
        ("n_rows", 0),
        ("mass", 0),
        ("hits", 1e9),
    ],
)
def test_counts_must_be_those_of_rows(changed, part, count, wrong):
    with pytest.raises(ValueError, match=rf"(counts|hits) of {part}s"):
        changed(f"{part}_{count}", 1, wrong)


def test_gains_must_be_finite(changed):
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match="gains of nodes must be finite"):
            changed("node_gain", 0, wrong)


@pytest.mark.parametrize(
    ("n_places", "least"), [(2, 50), pytest.param(8, 200, marks=pytest.mark.slow)]
)
def test_whatever_single_entry_is_changed_it_is_refused_or_can_be_walked(
    changed, arrays, forest, frame, n_places, least
):
    features = forest.schema_.encode(frame)[:20]
    generator = np.random.default_rng(0)
    n_refused = n_taken = 0
    for name, values in arrays.items():
        places = generator.permutation(values.size)[:n_places]
        for place, wrong in ((place, odd) for place in places for odd in ODD[values.dtype.kind]):
            try:
                trees = changed(name, place, wrong)
            except ValueError:
                n_refused += 1
                continue
            n_taken += 1
            assert_can_be_walked(trees, features)
    assert n_refused > least < n_taken


def assert_can_be_walked(trees, features):
    """Follow paths step by step, where a bad index would raise, then by the kernels."""
    nodes = trees.nodes
    to_see, seen = list(trees.roots.tolist()), set()
    while to_see:
        node = to_see.pop()
        assert 0 <= node < nodes.column.size
        if node in seen:
            continue
        seen.add(node)
        ways = {int(nodes.left[node]), int(nodes.right[node])}
        if nodes.column[node] >= 0 or min(ways) >= 0:
            assert min(ways) > node
            to_see.extend(ways)
        else:
            assert trees.unions.rank[nodes.union[node]] >= 0
    for number in range(trees.n_trees):
        assert np.isfinite(nodes.mass[scoring.leaves(trees, features, number)]).all()
    std = np.ones(features.shape[1])
    assert np.isfinite(scoring.scores(trees, features, std, scoring.Scoring())).all()
    assert np.isfinite(scoring.contributions(trees, features, std, scoring.Scoring())).all()


@pytest.mark.parametrize(
    "ranker",
    [
        MetaAP(),
        GeometricTree(max_depth=3),
        RankForest(n_estimators=2),
        pytest.param(TreeRank(), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_file_of_a_broken_tree_is_refused(ranker, frame, tmp_path, monkeypatch):
    fitted = ranker.fit(frame, payments(300)[1])
    check_file_keeps(fitted, frame, tmp_path / "sound.toprank")
    whole = tree_arrays.arrays_of
    broken = {"union_rank": -1, "node_left": 0, "roots": -1, "node_column": 99}
    for name, wrong in broken.items():
        monkeypatch.setattr(
            tree_arrays,
            "arrays_of",
            lambda trees, name=name, wrong=wrong: {
                **whole(trees),
                name: np.full_like(whole(trees)[name], wrong),
            },
        )
        save(fitted, tmp_path / "broken.toprank")
        with pytest.raises(ModelFileError, match=r"broken\.toprank cannot be loaded"):
            load(tmp_path / "broken.toprank")


@pytest.mark.parametrize("name", ["below", "above", "has_missing", "is_whole", "path", "totals"])
def test_what_a_tree_saw_must_fit_it(name, frame):
    ranker = MetaAP().fit(frame, payments(300)[1])
    saved = ranker._to_saved()
    values = saved.arrays[f"seen_{name}"]
    wrong = [values[:-1], values.astype(np.float32), values[:, None]]
    for each in wrong:
        arrays = {**saved.arrays, f"seen_{name}": each}
        with pytest.raises(ValueError, match=r"array 'seen_\w+' must be"):
            MetaAP._from_saved(ranker.get_params(), saved._replace(arrays=arrays))


def test_a_ranking_tree_is_one_tree(forest, frame):
    ranker = TreeRank().fit(frame, payments(300)[1])
    saved = ranker._to_saved()
    two = saved._replace(arrays={**saved.arrays, **tree_arrays.arrays_of(forest.trees_)})
    with pytest.raises(ValueError, match=r"there must .*got 2"):
        TreeRank._from_saved(ranker.get_params(), two)
    with pytest.raises(ValueError, match="there must be 3 trees; got 2"):
        RankForest._from_saved({"tree": None, "n_estimators": 3}, forest._to_saved())


def test_the_graph_of_every_tree_taken_can_be_read(frame):
    ranker = TreeRank(local_depth=2).fit(frame, payments(300)[1])
    arrays = tree_arrays.arrays_of(ranker.tree_)
    rows = ranker.schema_.encode(frame)[:5]
    for name in ("node_left", "node_right", "node_union", "union_place", "node_set_start"):
        for place in range(arrays[name].size):
            for wrong in (place + 1, arrays[name].size - 1, 0):
                broken = arrays[name].copy()
                broken[place] = wrong
                try:
                    tree = tree_arrays.trees_in({**arrays, name: broken}, ranker.schema_)
                except ValueError:
                    continue
                graph = compact(tree, ranker.schema_)
                found = tree.unions.rank[tree.nodes.union[scoring.leaves(tree, rows)]]
                assert [graph.rank(row) for row in rows] == found.tolist()
