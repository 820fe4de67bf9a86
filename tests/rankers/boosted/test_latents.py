"""The latents of non-linear boosting: a linear start, true slopes, steps that stay small."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import reference
from examples import examples
from toprank.data.inputs import TrainingRows
from toprank.losses import Log
from toprank.rankers.boosted import latents
from toprank.rankers.boosted.latents import TrainingLatents, add_tree, combined, linear_start


def rows_of(seed, n=60, weighted=True):
    generator = np.random.default_rng(seed)
    is_positive = np.arange(n) < n // 5
    weight = generator.uniform(0.5, 3.0, n) if weighted else None
    return TrainingRows(np.empty((n, 0), dtype=np.float32), is_positive, weight)


def trees_for(rows, seed, n_trees):
    """Values a tree might have: a few distinct ones, higher among positives."""
    generator = np.random.default_rng(seed)
    steps = generator.integers(-4, 4, (n_trees, rows.is_positive.size)) / 5 + 0.03
    return steps + 0.4 * rows.is_positive


@given(
    n_latents=st.integers(1, 13),
    log_odds=st.floats(-12, 3),
    trees=st.lists(st.floats(-3, 3), min_size=1, max_size=3),
)
@examples(200)
def test_the_start_is_linear_boosting_whatever_the_thresholds(n_latents, log_odds, trees):
    start = linear_start(n_latents, log_odds)
    inputs = start.biases[:, None].copy()
    for tree in trees:
        add_tree(inputs, np.array([tree]), start.signs)
    raw = combined(inputs, start.weights, start.intercept)
    assert raw[0] == approx(log_odds + sum(trees), abs=1e-12)


def test_pairs_look_at_distinct_thresholds_from_both_sides():
    start = linear_start(10, log_odds=-4.0)
    upper, lower = start.biases[::2], start.biases[1::2]
    assert upper.tolist() == [1.0, 0.0, -1.0, -2.0, -3.0]
    assert (upper == -lower).all()
    assert start.weights.tolist() == [0.2, -0.2] * 5


def test_a_latent_without_partner_is_open_far_below_the_base_rate():
    start = linear_start(1, log_odds=-2.0)
    inputs = start.biases[:, None] + np.array([-30.0, -10.0, -9.0, 5.0])
    assert combined(inputs, start.weights, start.intercept) == approx([-12, -12, -11, 3])


def learned(seed, n_latents, weighted):
    """Return latents after three trees, with a fourth added but not yet weighted."""
    rows = rows_of(seed, weighted=weighted)
    training = TrainingLatents(rows, n_latents, learning_rate=0.5)
    *before, tree = trees_for(rows, seed, 4)
    for earlier in before:
        training.learn(earlier)
    add_tree(training.inputs, tree, training.start.signs)
    return rows, training, tree


def loss_at(rows, training, inputs, weights):
    raw = combined(inputs, weights, training.start.intercept)
    return Log().value(rows.is_positive, raw, rows.weight)


@pytest.mark.parametrize("n_latents", [1, 2, 7, 10])
@pytest.mark.parametrize("weighted", [True, False])
def test_slopes_by_mixing_are_central_differences_of_the_loss(n_latents, weighted):
    rows, training, tree = learned(1, n_latents, weighted)
    gradient, curvature = training.mixing_slopes(tree)
    step = 1e-4
    for latent in range(n_latents):
        losses = []
        for move in (-step, 0.0, step):
            inputs = training.inputs.copy()
            inputs[latent] += move * tree
            losses.append(loss_at(rows, training, inputs, training.weights))
        assert gradient[latent] == approx((losses[2] - losses[0]) / (2 * step), rel=1e-4, abs=1e-7)
        bend = (losses[2] - 2 * losses[1] + losses[0]) / step**2
        assert curvature[latent] == approx(bend, rel=1e-2, abs=1e-5)


@pytest.mark.parametrize("n_latents", [1, 2, 7, 10])
@pytest.mark.parametrize("weighted", [True, False])
def test_slopes_by_weight_are_central_differences_of_the_loss(n_latents, weighted):
    rows, training, _ = learned(2, n_latents, weighted)
    gradient, curvature = training.weight_slopes()
    step = 1e-4
    for latent in range(n_latents):
        losses = []
        for move in (-step, 0.0, step):
            weights = training.weights.copy()
            weights[latent] += move
            losses.append(loss_at(rows, training, training.inputs, weights))
        assert gradient[latent] == approx((losses[2] - losses[0]) / (2 * step), rel=1e-4, abs=1e-7)
        bend = (losses[2] - 2 * losses[1] + losses[0]) / step**2
        assert curvature[latent] == approx(bend, rel=1e-2, abs=1e-5)


@given(
    seed=st.integers(0, 1000),
    n_latents=st.integers(1, 8),
    rate=st.sampled_from([0.1, 1.0, 20.0]),
)
@examples(15)
def test_learning_follows_the_slow_twin(seed, n_latents, rate):
    rows = rows_of(seed, n=25)
    heights = trees_for(rows, seed, 4)
    training = TrainingLatents(rows, n_latents, rate)
    staged = []
    for tree in heights:
        training.learn(tree)
        staged.append(training.raw)
    expected = reference.non_linear_boost(heights, rows.is_positive, rows.weight, n_latents, rate)
    assert np.array(staged) == approx(expected, rel=1e-9, abs=1e-9)


def test_rows_in_many_blocks_learn_as_in_one():
    one, many = (rows_of(3, n) for n in (70, 70_000))
    tree = trees_for(one, 3, 1)[0]
    copies = TrainingRows(many.features, np.tile(one.is_positive, 1000), np.tile(one.weight, 1000))
    small, large = TrainingLatents(one, 6, 0.5), TrainingLatents(copies, 6, 0.5)
    small.start = large.start  # half a row is added to each class, which is less of the larger
    small.learn(tree)
    large.learn(np.tile(tree, 1000))
    assert large.weights == approx(small.weights, rel=1e-9)
    assert large.raw[-70:] == approx(small.raw, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_steps_of_all_latents_together_lower_the_loss(seed):
    rows = rows_of(seed)
    tree = 0.1 * trees_for(rows, seed, 1)[0]
    training = TrainingLatents(rows, 10, learning_rate=1.0)
    plain = Log().value(rows.is_positive, training.raw + tree, rows.weight)
    training.learn(tree)
    assert Log().value(rows.is_positive, training.raw, rows.weight) < plain


@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_no_step_reverses_a_tree_or_moves_a_weight_far(direction):
    rows = rows_of(0)
    training = TrainingLatents(rows, 10, learning_rate=1e6)
    before = training.weights
    tree = direction * np.where(rows.is_positive, 0.01, -0.01)
    mixing = training.learn(tree) * training.start.signs
    assert ((mixing >= 0) & (mixing <= latents.LARGEST_MIXING)).all()
    assert set(mixing) & {0.0, 2.0}  # the caps were reached
    assert (np.abs(training.weights - before) <= 0.2 + 1e-12).all()


def test_a_latent_closed_at_every_row_does_not_change():
    rows = rows_of(0)
    training = TrainingLatents(rows, 10, learning_rate=1.0)
    tree = trees_for(rows, 0, 1)[0] - 5
    start = training.start
    closed = (start.biases[:, None] + start.signs[:, None] * tree <= 0).all(axis=1)
    mixing = training.learn(tree)
    assert closed.any()
    assert (mixing[closed] == start.signs[closed]).all()
    assert (training.weights[closed] == start.weights[closed]).all()
