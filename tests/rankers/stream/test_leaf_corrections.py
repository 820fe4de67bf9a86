"""Leaf corrections: the kernel against its slow twin, what one leaf learns, and no harm done."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit

import reference
from toprank import BoostedRanker
from toprank.rankers.stream.leaf_corrections import CorrectedTrees
from toprank.rankers.stream.refits import grown
from toprank.rankers.stream.reservoir import ReservoirSample, StoredRows

SMALL = BoostedRanker(n_estimators=12, max_depth=3, n_jobs=1)


def stored(features):
    features = np.asarray(features, dtype=np.float32)
    buckets = np.full(features.shape, -1, dtype=np.int16)
    n_rows = len(features)
    ones = np.ones(n_rows)
    return StoredRows(features, buckets, ones, ones, np.arange(1, n_rows + 1))


def drawn(n_rows, seed, shift=0.0, log_odds=-3.0):
    random = np.random.default_rng(seed)
    features = random.normal(size=(n_rows, 4))
    truth = (
        2 * features[:, 0] + features[:, 1] * features[:, 2] + shift * features[:, 3] + log_odds
    )
    return features, random.random(n_rows) < expit(truth)


def fitted(n_rows=4000, ranker=SMALL, seed=0):
    features, is_positive = drawn(n_rows, seed)
    sample = ReservoirSample(stored(features), is_positive, np.ones(n_rows))
    return grown(sample, ranker, n_buckets=4)


def log_loss(is_positive, raw):
    return np.logaddexp(0, np.where(is_positive, -raw, raw)).mean()


def test_the_kernel_corrects_as_its_slow_twin():
    trees = fitted()
    features, is_positive = drawn(300, seed=1)
    weight = np.random.default_rng(2).choice([0.5, 1.0, 3.0], 300)
    leaves = trees.leaves(stored(features))
    values, curvature = reference.corrected_leaves(
        leaves, is_positive, weight, trees.trees.start, trees.trees.nodes.cut, trees.curvature
    )
    trees.learn(stored(features), is_positive, weight)

    assert_allclose(trees.trees.nodes.cut, values, rtol=1e-3, atol=1e-4)
    assert_allclose(trees.curvature, curvature, rtol=1e-3)


def test_rows_are_scored_by_the_labels_that_come_before_them():
    one_by_one, at_once = fitted(), fitted()
    features, is_positive = drawn(200, seed=1)
    rows, n_known = stored(features), np.maximum(np.arange(200) - 20, 0)
    expected, values, before, learned = [], [], [], 0
    for row in range(200):
        for place in range(learned, n_known[row]):
            own = slice(place, place + 1)
            before.append(one_by_one.raw(rows.take(own))[0])
            one_by_one.learn(rows.take(own), is_positive[own], np.ones(1))
        learned = n_known[row]
        expected.append(one_by_one.raw(rows.take(slice(row, row + 1)))[0])
        values.append(one_by_one.trees.nodes.cut.copy())
    leaves = at_once.leaves(rows)
    # rows above the middle are more than are kept at once
    highest = float(np.median(expected))
    scores, known, kept = at_once.score_and_learn(
        leaves, n_known, leaves[:180], is_positive, np.ones(200), highest
    )
    assert_array_equal(scores, expected)
    assert_array_equal(known[: len(before)], before)
    assert sorted(kept) == np.flatnonzero(np.array(expected) >= highest).tolist()
    for row, cut in kept.items():
        assert_array_equal(cut, values[row])


def one_leaf(chance, n_rows):
    """Trees of which each is one leaf, fitted on rows of one kind."""
    trees = fitted(ranker=SMALL)
    first = trees.trees.first
    nodes = trees.trees.nodes
    nodes.child[:] = -1
    nodes.cut[:] = 0
    nodes.cut[first[0]] = logit(chance) - trees.trees.start
    curvature = np.full(nodes.cut.size, n_rows * chance * (1 - chance))
    return CorrectedTrees(trees.trees, trees.features, curvature)


@pytest.mark.parametrize("label", [True, False])
def test_a_label_makes_of_a_leaf_what_it_would_be_with_one_more_row(label):
    trees, row = one_leaf(0.02, n_rows=500), stored(np.zeros((1, 4)))
    trees.learn(row, np.array([label]), np.ones(1))
    assert expit(trees.raw(row)[0]) == pytest.approx((10 + label) / 501, rel=1e-3)


def test_a_leaf_comes_near_the_share_of_positives_in_many_rows():
    trees, row = one_leaf(0.02, n_rows=100), stored(np.zeros((1, 4)))
    is_positive = np.random.default_rng(0).random(20_000) < 0.2
    trees.learn(stored(np.zeros((20_000, 4))), is_positive, np.ones(20_000))
    assert expit(trees.raw(row)[0]) == pytest.approx(is_positive.mean(), rel=0.1)


def test_corrections_do_no_harm_where_nothing_changes():
    """Beyond noise: the mean over streams of the change in loss, against its spread."""
    changes = []
    for seed in range(1, 9):
        trees = fitted(seed=seed)
        features, is_positive = drawn(4000, seed=100 + seed)
        before = trees.raw(stored(features))
        leaves = trees.leaves(stored(features))
        after, *_ = trees.score_and_learn(
            leaves, np.arange(4000), leaves, is_positive, np.ones(4000)
        )
        changes.append(log_loss(is_positive, after) - log_loss(is_positive, before))
    assert np.mean(changes) < 2 * np.std(changes) / len(changes) ** 0.5


def test_corrections_follow_a_change_until_the_next_refit():
    trees = fitted()
    features, is_positive = drawn(4000, seed=1, shift=1.5, log_odds=-1.0)
    before = trees.raw(stored(features))
    leaves = trees.leaves(stored(features))
    after, *_ = trees.score_and_learn(leaves, np.arange(4000), leaves, is_positive, np.ones(4000))
    late = slice(2000, None)
    assert log_loss(is_positive[late], after[late]) < 0.8 * log_loss(
        is_positive[late], before[late]
    )


def test_one_label_moves_little_where_many_rows_were_fitted_and_never_without_bound():
    trees = fitted(n_rows=20_000)
    features, _ = drawn(50, seed=3)
    row = stored(features)
    before = trees.raw(row)
    least = int(np.argmin(before))
    trees.learn(row.take(slice(least, least + 1)), np.array([True]), np.ones(1))
    assert 0 < (trees.raw(row) - before)[least] < 3


def test_softened_trees_move_more():
    steps = []
    for times in (1.0, 4.0):
        trees, row = fitted(), stored(np.zeros((1, 4)))
        before = trees.raw(row)[0]
        trees.soften(times)
        trees.learn(row, np.array([True]), np.ones(1))
        steps.append(trees.raw(row)[0] - before)
    assert steps[1] > 2 * steps[0]


@pytest.mark.parametrize("loss", ["ap-exp", "auc-hinge"])
def test_trees_of_any_loss_score_in_log_odds(loss):
    trees = fitted(ranker=BoostedRanker(loss, n_estimators=30, max_depth=3, n_jobs=1))
    features, is_positive = drawn(4000, seed=0)
    assert expit(trees.raw(stored(features))).sum() == pytest.approx(is_positive.sum(), rel=0.1)


def test_shares_add_up_to_the_distance_from_the_mean():
    trees = fitted()
    features, is_positive = drawn(500, seed=4)
    trees.learn(stored(features), is_positive, np.ones(500))
    rows = [stored(features[i : i + 1]) for i in range(20)]
    rest = [trees.raw(row)[0] - trees.shares(row).sum() for row in rows]
    assert np.ptp(rest) < 1e-3


def test_no_rows_with_anything_in_them_grow_no_trees():
    rows = stored(np.full((20, 2), np.nan))
    assert grown(ReservoirSample(rows, np.arange(20) < 9, np.ones(20)), SMALL, n_buckets=4) is None


def test_trees_are_restored_from_their_arrays():
    trees, (features, _) = fitted(), drawn(100, seed=5)
    again = CorrectedTrees.restored(trees.to_arrays(), n_columns=4, n_buckets=4)
    assert_array_equal(again.raw(stored(features)), trees.raw(stored(features)))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("node_child", lambda a: np.where(a > 0, 0, a), "node_child must name two later nodes"),
        ("node_child", lambda a: np.where(a > 0, a.size - 1, a), "node_child must name two later"),
        ("node_child", lambda a: np.where(a > 0, 2**31 - 1, a), "node_child must name two later"),
        ("node_child", lambda a: a - 1, "node_child must name two later"),
        ("node_column", lambda a: a + 4, "node_column must be between 0 and 3"),
        ("node_cut", lambda a: a * np.float32(np.nan), "node_cut must be finite"),
        ("node_cut", lambda a: a + np.float32(1e30), "node_cut must be finite"),
        ("node_set_start", lambda a: a + 1, "node_set_start and node_set_size"),
        ("node_set_start", lambda a: a - 1, "node_set_start and node_set_size"),
        ("first", lambda a: a + 1, "first must rise"),
        ("cover", lambda a: -a, "cover must"),
        ("curvature", lambda a: a * 0, "curvature must"),
        ("curvature", lambda a: a * 1e-300, "curvature must"),
        ("start", lambda a: a * np.float32(np.nan), "start must be"),
    ],
)
def test_arrays_that_are_no_trees_are_refused(name, change, message):
    arrays = fitted().to_arrays()
    if name == "node_set_start" and change(arrays[name]).min() >= 0:
        arrays["node_set_size"] = np.full_like(arrays["node_set_size"], 8)
    with pytest.raises(ValueError, match=message):
        CorrectedTrees.restored({**arrays, name: change(arrays[name])}, 4, 4)
