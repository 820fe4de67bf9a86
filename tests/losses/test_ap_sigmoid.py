"""ap-sigmoid and ap-lambda, whose sums are the same, against their quadratic twins."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import reference
from examples import examples
from losses.machines import machines
from toprank.losses import ApLambda, ApSigmoid, make_loss, score_grid

BOUND = 1e-3  # of a row's absolute terms, at the widest step
VALUE = {ApSigmoid: reference.ap_sigmoid, ApLambda: reference.ap_lambda}
BOTH = pytest.mark.parametrize("kind", [ApSigmoid, ApLambda])


@contextmanager
def even_cells():
    """Put lists of few rows on even cells too, and on the widest, where errors are largest."""
    with (
        patch.object(score_grid, "_is_even", lambda n_rows, n_cells: n_cells < 1500),
        patch.object(score_grid, "_FINEST_STEP", score_grid._WIDEST_STEP),
    ):
        yield


@st.composite
def lists(draw, max_rows=14):
    """Labels with both classes; scores tied, in clusters near or far; weights or none."""
    n = draw(st.integers(2, max_rows))
    labels = draw(st.lists(st.booleans(), min_size=n - 2, max_size=n - 2))
    is_positive = np.array(draw(st.permutations([True, False, *labels])))
    scale = draw(st.sampled_from([0.0, 0.02, 1.0, 4.0]))
    within = draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n))
    clusters = draw(st.sampled_from([[0.0], [0.0, 33.0], [-300.0, 0.0, 20.0], [0.0, 5e6], [1e12]]))
    centres = draw(st.lists(st.sampled_from(clusters), min_size=n, max_size=n))
    raw = np.array(centres) + scale * np.array(within) / 7
    weight = None
    if draw(st.booleans()):
        weight = np.array(
            draw(st.lists(st.sampled_from([0.25, 1.0, 3.0]), min_size=n, max_size=n))
        )
    return is_positive, raw, weight


def twin(loss, is_positive, raw, weight):
    """Gradient, curvature and the sum of the gradient's absolute terms, written out."""
    if isinstance(loss, ApLambda):
        gradient, curvature = reference.ap_lambda_gradient(is_positive, raw, weight, loss.alpha)
        return gradient, curvature, np.abs(gradient)
    gradient, terms = reference.ap_sigmoid_gradient(is_positive, raw, weight, loss.alpha)
    return gradient, loss.alpha * terms, terms


@BOTH
@examples(80)
@given(case=lists(), alpha=st.sampled_from([0.3, 1.0, 20.0]))
def test_few_rows_give_the_formula_to_ten_digits(kind, case, alpha):
    loss = kind(alpha)
    gradient, curvature, terms = twin(loss, *case)
    found = loss.gradient_curvature(*case)
    assert (np.abs(found[0] - gradient) <= 1e-10 * terms + 1e-280).all()
    assert found[1] == approx(curvature, rel=1e-10, abs=1e-280)
    assert loss.value(*case) == approx(VALUE[kind](*case, alpha), rel=1e-10, abs=1e-280)


@BOTH
@examples(60)
@given(case=lists(), alpha=st.sampled_from([0.3, 1.0, 20.0]))
def test_even_cells_err_by_a_thousandth_of_a_rows_terms_at_most(kind, case, alpha):
    loss = kind(alpha)
    gradient, curvature, terms = twin(loss, *case)
    with even_cells():
        found = loss.gradient_curvature(*case)
        value = loss.value(*case)
    assert (np.abs(found[0] - gradient) <= BOUND * terms + 1e-280).all()
    assert found[1] == approx(curvature, rel=BOUND, abs=1e-280)
    assert value == approx(VALUE[kind](*case, alpha), rel=BOUND, abs=1e-280)


@BOTH
@pytest.mark.parametrize(
    ("n_rows", "n_positive", "spread"),
    [
        (4_000, 1, 1.0),
        (4_000, 20, 6.0),
        (4_000, 20, 40.0),
        pytest.param(12_000, 60, 6.0, marks=pytest.mark.slow),
        pytest.param(12_000, 60, 40.0, marks=pytest.mark.slow),
        pytest.param(2_000, 1_950, 2.0, marks=pytest.mark.slow),
    ],
)
def test_long_lists_meet_the_bound_in_every_row_and_do_better_in_the_norm(
    kind, n_rows, n_positive, spread
):
    generator = np.random.default_rng(4)
    is_positive = np.arange(n_rows) < n_positive
    raw = (spread * generator.standard_normal(n_rows)).astype(np.float32)
    loss = kind()
    gradient, curvature, terms = twin(loss, is_positive, raw.astype(float), None)
    with patch.object(score_grid, "_is_even", lambda n_rows, n_cells: True):
        found = loss.gradient_curvature(is_positive, raw)
    assert (np.abs(found[0] - gradient) <= BOUND * terms).all()
    assert found[1] == approx(curvature, rel=BOUND)
    assert np.linalg.norm(found[0] - gradient) <= 1e-4 * np.linalg.norm(gradient)


@examples(60)
@given(case=lists(max_rows=8), alpha=st.sampled_from([0.3, 1.0]))
def test_the_gradient_of_ap_sigmoid_equals_moving_one_score_at_a_time(case, alpha):
    is_positive, raw, weight = case
    raw = np.clip(raw, -50, 50)
    loss = ApSigmoid(alpha)
    gradient, _ = loss.gradient_curvature(is_positive, raw, weight)
    slopes = slopes_of(lambda moved: loss.value(is_positive, moved, weight), raw)
    assert gradient == approx(slopes, abs=1e-8)


@examples(60)
@given(case=lists(max_rows=8), alpha=st.sampled_from([0.3, 1.0]))
def test_the_gradient_of_ap_lambda_is_that_of_pairs_whose_weights_are_fixed(case, alpha):
    is_positive, raw, weight = case
    raw = np.clip(raw, -50, 50)
    loss = ApLambda(alpha)
    pair_weights = reference.ap_lambda_weights(is_positive, raw, weight, alpha)

    def value(moved):
        return reference.ap_lambda(is_positive, moved, weight, alpha, pair_weights)

    gradient, curvature = loss.gradient_curvature(is_positive, raw, weight)
    assert gradient == approx(slopes_of(value, raw), abs=1e-6)
    assert value(raw) == approx(loss.value(is_positive, raw, weight))
    for row, bend in enumerate(curvature):
        move = 1e-3 * (np.arange(raw.size) == row)
        second = value(raw + move) - 2 * value(raw) + value(raw - move)
        assert bend == approx(second / 1e-6, abs=1e-5)


def slopes_of(value, raw, step=1e-4):
    """Central differences, moving one score at a time."""
    moves = step * np.eye(raw.size)
    return np.array([(value(raw + move) - value(raw - move)) / (2 * step) for move in moves])


@examples(60)
@given(case=lists(), alpha=st.sampled_from([0.3, 1.0, 20.0]), even=st.booleans())
def test_newton_leaves_of_ap_sigmoid_stay_within_one_over_alpha(case, alpha, even):
    is_positive, raw, weight = case
    with even_cells() if even else nullcontext():
        gradient, curvature = ApSigmoid(alpha).gradient_curvature(is_positive, raw, weight)
    for members in (is_positive, ~is_positive, raw > np.median(raw)):
        assert alpha * abs(gradient[members].sum()) <= curvature[members].sum() * (1 + 1e-9)


@BOTH
@examples(40)
@given(case=lists(), alpha=st.sampled_from([0.25, 4.0]))
def test_alpha_only_sets_the_unit_of_the_scores(kind, case, alpha):
    is_positive, raw, weight = case
    steep = kind(alpha).gradient_curvature(is_positive, raw, weight)
    plain = kind().gradient_curvature(is_positive, alpha * raw, weight)
    order = {ApSigmoid: (1, 2), ApLambda: (0, 1)}[kind]
    for mine, theirs, power in zip(steep, plain, order, strict=True):
        assert mine == approx(alpha**power * theirs, rel=1e-9, abs=1e-280)


def test_values_worked_out_by_hand():
    # equal scores: N = 2 / 2, R = 1 / 2, so u = 2/9, v = 4/9; d = 1/4
    is_positive, raw = np.array([True, False, False]), np.zeros(3)
    assert ApSigmoid().value(is_positive, raw) == approx(2 / 3)
    gradient, curvature = ApSigmoid().gradient_curvature(is_positive, raw)
    assert gradient == approx([-1 / 9, 1 / 18, 1 / 18])
    assert curvature == approx([1 / 9, 1 / 18, 1 / 18])
    assert ApLambda().value(is_positive, raw) == approx(4 / 9 * np.log(2))
    gradient, curvature = ApLambda().gradient_curvature(is_positive, raw)
    assert gradient == approx([-2 / 9, 1 / 9, 1 / 9])
    assert curvature == approx([1 / 9, 1 / 18, 1 / 18])


def test_far_apart_ap_sigmoid_is_one_minus_the_papers_precision():
    # ranks of the positives: 1 and 3; a positive is half above itself
    raw = 1e4 * np.array([4.0, 3.0, 2.0, 1.0])
    is_positive = np.array([True, False, True, False])
    assert ApSigmoid().value(is_positive, raw) == approx((0 + 1 / 2.5) / 2)


@BOTH
def test_positives_of_one_score_do_not_move_each_other(kind):
    is_positive, raw = np.array([True, True, False]), np.array([0.0, 0.0, 300.0])
    gradient, _ = kind().gradient_curvature(is_positive, raw)
    # a shift of all scores changes nothing, so what pulls the negative lifts the positives
    assert gradient[2] > 0
    assert gradient[:2] == approx([-gradient[2] / 2] * 2, rel=1e-9, abs=0)


@BOTH
@pytest.mark.parametrize(("even", "dtype"), [(False, np.float64), (True, np.float32)])
def test_machines_find_the_gradient_of_the_whole_list(kind, even, dtype):
    generator = np.random.default_rng(1)
    raw = (4 * generator.normal(size=90)).round(1).astype(dtype)
    weight = generator.choice([0.0, 1.0, 2.5], 90)
    is_positive = np.arange(90) < 9
    # all positives on the first machine, no row on the third, all weights 0 on the last
    stretches = [slice(0, 40), slice(40, 80), slice(80, 80), slice(80, 90)]
    weight[80:] = 0
    gathers = machines(len(stretches))
    loss = kind(0.5)

    def on_machine(i):
        mine = stretches[i]
        gather = gathers[i]
        found = loss.gradient_curvature(is_positive[mine], raw[mine], weight[mine], gather)
        return found, loss.value(is_positive[mine], raw[mine], weight[mine], gather)

    with even_cells() if even else nullcontext(), ThreadPoolExecutor(len(stretches)) as pool:
        parts = list(pool.map(on_machine, range(len(stretches))))
        whole = loss.gradient_curvature(is_positive, raw, weight)
        value = loss.value(is_positive, raw, weight)
    for mine, (found, its_value) in zip(stretches, parts, strict=True):
        assert its_value == approx(value, rel=1e-10)
        for part, expected in zip(found, whole, strict=True):
            assert part == approx(expected[mine], rel=1e-10, abs=1e-280)


@BOTH
@pytest.mark.parametrize("alpha", [0, -1.0, np.inf, np.nan])
def test_alpha_must_be_a_number_above_zero(kind, alpha):
    name = {ApSigmoid: "ap-sigmoid", ApLambda: "ap-lambda"}[kind]
    with pytest.raises(ValueError, match=f"alpha of {name} must be greater than 0 and at most"):
        make_loss(name, {"alpha": alpha})
