"""auc-exp: a product of two sums that equals the sum over all pairs."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import reference
from examples import examples
from losses.machines import machines
from toprank.losses import AucExp

pytestmark = pytest.mark.kernel


@st.composite
def lists(draw):
    """Labels with both classes, scores tied or far apart, weights of which some are 0."""
    n = draw(st.integers(2, 12))
    labels = draw(st.lists(st.booleans(), min_size=n - 2, max_size=n - 2))
    is_positive = np.array([True, False, *labels])
    scale = draw(st.sampled_from([0.0, 1.0, 50.0, 1e6]))
    steps = draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    spare = draw(st.lists(st.sampled_from([0.0, 0.5, 3.0]), min_size=n - 2, max_size=n - 2))
    order = draw(st.permutations(range(n)))
    weight = np.array([1.0, 2.0, *spare])
    return is_positive[order], np.array(steps) / 4 * scale, weight[order]


def test_values_worked_out_by_hand():
    is_positive = np.array([True, False, False])
    raw = np.array([math.log(2), math.log(3), 0.0])
    # pairs: 3/2 and 1/2; the negatives share 3 : 1
    assert AucExp().value(is_positive, raw) == approx(math.log(2))
    gradient, curvature = AucExp().gradient_curvature(is_positive, raw)
    assert gradient == approx([-1, 3 / 4, 1 / 4])
    assert curvature == approx([1, 3 / 4, 1 / 4])
    # twice the first negative: pairs 3/2, 3/2 and 1/2
    weight = np.array([1.0, 2.0, 1.0])
    assert AucExp().value(is_positive, raw, weight) == approx(math.log(7 / 2))
    assert AucExp().gradient_curvature(is_positive, raw, weight)[0] == approx([-1, 6 / 7, 1 / 7])


@examples(80)
@given(case=lists())
def test_each_class_shares_out_one_unit_of_gradient(case):
    is_positive, raw, weight = case
    gradient, curvature = AucExp().gradient_curvature(is_positive, raw, weight)
    assert gradient[is_positive].sum() == approx(-1)
    assert gradient[~is_positive].sum() == approx(1)
    assert curvature == approx(np.abs(gradient))
    assert (curvature[weight > 0] > 0).all()
    assert not curvature[weight == 0].any()


@examples(40)
@given(case=lists())
def test_the_curvature_is_at_least_the_hessian(case):
    is_positive, raw, weight = case
    kept = weight > 0
    is_positive, raw, weight = is_positive[kept], raw[kept] / 50, weight[kept]
    _, curvature = AucExp().gradient_curvature(is_positive, raw, weight)
    step, hessian = 1e-5, []
    for i in range(raw.size):
        up, down = raw.copy(), raw.copy()
        up[i] += step
        down[i] -= step
        above, below = (
            AucExp().gradient_curvature(is_positive, moved, weight)[0] for moved in (up, down)
        )
        hessian.append((above - below) / (2 * step))
    assert np.linalg.eigvalsh(np.diag(curvature) - np.array(hessian)).min() >= -1e-5


@examples(40)
@given(case=lists(), shift=st.sampled_from([-(2.0**30), 3.0, 2.0**20]))
def test_shifting_every_score_changes_nothing(case, shift):
    is_positive, raw, weight = case
    value = AucExp().value(is_positive, raw, weight)
    assert AucExp().value(is_positive, raw + shift, weight) == approx(value, rel=1e-9, abs=1e-6)
    gradient, _ = AucExp().gradient_curvature(is_positive, raw, weight)
    shifted, _ = AucExp().gradient_curvature(is_positive, raw + shift, weight)
    assert shifted == approx(gradient, rel=1e-6, abs=1e-9)


def test_a_row_far_out_that_has_no_weight_does_not_overflow():
    is_positive = np.array([True, False, True, False])
    raw = np.array([0.0, 0.0, -1e5, 1e5], dtype=np.float32)
    out = np.empty(4, np.float32), np.empty(4, np.float32)
    weight = np.array([1.0, 1.0, 0.0, 0.0])
    gradient, _ = AucExp().gradient_curvature(is_positive, raw, weight, out=out)
    assert gradient.tolist() == [-1, 1, 0, 0]


@pytest.mark.parametrize("has_weight", [False, True])
def test_machines_without_rows_or_without_a_class_find_their_share_of_the_whole(has_weight):
    generator = np.random.default_rng(4)
    is_positive, raw = generator.random(50) < 0.3, 20 * generator.normal(size=50)
    is_positive[:15], is_positive[15:20] = False, True
    weight = generator.integers(0, 3, 50).astype(float) if has_weight else None
    stretches = [slice(0, 15), slice(15, 15), slice(15, 20), slice(20, 50)]
    whole = AucExp().gradient_curvature(is_positive, raw, weight)
    total = AucExp().value(is_positive, raw, weight)

    def on_machine(stretch, gather):
        part = None if weight is None else weight[stretch]
        rows = is_positive[stretch], raw[stretch], part, gather
        return AucExp().value(*rows), AucExp().gradient_curvature(*rows)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(on_machine, stretches, machines(4)))
    assert total == approx(reference.auc_exp(*_of_weight(is_positive, raw, weight)))
    for stretch, (value, part) in zip(stretches, found, strict=True):
        assert value == approx(total)
        for mine, expected in zip(part, whole, strict=True):
            assert mine == approx(expected[stretch], rel=1e-12, abs=1e-300)


def _of_weight(is_positive, raw, weight):
    """Only the rows that count: the twin takes the logarithm of weights."""
    if weight is None:
        return is_positive, raw, None
    kept = weight > 0
    return is_positive[kept], raw[kept], weight[kept]
