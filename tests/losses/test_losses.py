"""Every loss against slow twins, central differences and values worked out by hand."""

import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import reference
from examples import examples
from losses.machines import machines
from toprank.losses import (
    LOSSES,
    ApExp,
    ApLambda,
    ApSigmoid,
    AucExp,
    AucHinge,
    Log,
    make_loss,
)

EVERY_LOSS = [
    Log(),
    ApExp(form="log"),
    ApExp(form="paper"),
    AucExp(),
    AucHinge(),
    AucHinge(tau=0.3, p=3),
    ApSigmoid(),
    ApLambda(),
]
# ap-lambda fixes its pairs' weights: no value has its gradient (test_ap_sigmoid.py has both)
OF_ONE_VALUE = [loss for loss in EVERY_LOSS if loss.descends_value]
# the twins of the others write out every pair: too slow for long lists
WITH_FAST_TWINS = [loss for loss in EVERY_LOSS if isinstance(loss, Log | ApExp)]
TWINS = {
    Log(): reference.log_loss,
    ApExp(form="log"): reference.ap_exp_log,
    ApExp(form="paper"): reference.ap_exp_paper,
    ApSigmoid(): reference.ap_sigmoid,
    ApLambda(): reference.ap_lambda,
    AucExp(): reference.auc_exp,
    AucHinge(): reference.auc_hinge,
    AucHinge(tau=0.3, p=3): partial(reference.auc_hinge, tau=0.3, p=3),
}


@st.composite
def lists(draw):
    """Labels with both classes, raw scores of any scale rich in ties, weights or none."""
    n = draw(st.integers(2, 12))
    labels = draw(st.lists(st.booleans(), min_size=n - 2, max_size=n - 2))
    is_positive = np.array(draw(st.permutations([True, False, *labels])))
    scale = draw(st.sampled_from([0.0, 1.0, 50.0, 1e4]))
    steps = draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    weight = None
    if draw(st.booleans()):
        weight = np.array(draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    return is_positive, np.array(steps) / 4 * scale, weight


def central_differences(loss, is_positive, raw, weight, step):
    """The slope of the loss's total, moving one score at a time."""
    slopes = []
    for i in range(raw.size):
        up, down = raw.copy(), raw.copy()
        up[i] += step
        down[i] -= step
        rise = loss.value(is_positive, up, weight) - loss.value(is_positive, down, weight)
        slopes.append(rise / (up[i] - down[i]))
    return np.array(slopes)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=str)
@examples(80)
@given(case=lists())
def test_value_equals_the_formula_written_out(loss, case):
    is_positive, raw, weight = case
    expected = TWINS[loss](is_positive, raw, weight)
    assert loss.value(is_positive, raw, weight) == approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("loss", OF_ONE_VALUE, ids=str)
@examples(80)
@given(case=lists())
def test_gradient_equals_moving_one_score_at_a_time(loss, case):
    is_positive, raw, weight = case
    gradient, _ = loss.gradient_curvature(is_positive, raw, weight)
    step = 1e-5 * max(1.0, np.abs(raw).max() * 1e-2)
    slopes = central_differences(loss, is_positive, raw, weight, step)
    assert gradient == approx(slopes, abs=2e-6 * max(1.0, np.abs(slopes).max()))


def test_only_ap_lambda_descends_no_value_of_its_own():
    assert [loss for loss in EVERY_LOSS if not loss.descends_value] == [ApLambda()]
    is_positive, raw = np.array([True, False, False, True]), np.array([0.3, 0.1, 1.5, -0.5])
    gradient, _ = ApLambda().gradient_curvature(is_positive, raw)
    slopes = central_differences(ApLambda(), is_positive, raw, None, 1e-5)

    assert np.abs(gradient - slopes).max() > 0.01


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=str)
@examples(80)
@given(case=lists())
def test_curvature_is_positive_and_finite_at_any_scale(loss, case):
    is_positive, raw, weight = case
    gradient, curvature = loss.gradient_curvature(is_positive, raw, weight)
    assert np.isfinite(gradient).all()
    assert np.isfinite(curvature).all()
    assert (curvature > 0).all()


@examples(40)
@given(case=lists())
def test_curvature_of_log_is_the_second_derivative(case):
    is_positive, raw, weight = case
    _, curvature = Log().gradient_curvature(is_positive, raw, weight)
    step = 1e-4
    for i in range(raw.size):
        up, down = raw.copy(), raw.copy()
        up[i] += step
        down[i] -= step
        slope_up = Log().gradient_curvature(is_positive, up, weight)[0][i]
        slope_down = Log().gradient_curvature(is_positive, down, weight)[0][i]
        assert curvature[i] == approx((slope_up - slope_down) / (up[i] - down[i]), abs=1e-6)


@examples(60)
@given(case=lists())
def test_newton_leaves_of_ap_exp_stay_within_one(case):
    is_positive, raw, weight = case
    gradient, curvature = ApExp().gradient_curvature(is_positive, raw, weight)
    for members in (is_positive, ~is_positive, np.ones_like(is_positive)):
        assert abs(gradient[members].sum()) <= curvature[members].sum() * (1 + 1e-12)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=str)
@examples(40)
@given(case=lists(), repeats=st.integers(1, 3))
def test_a_weight_counts_like_so_many_copies(loss, case, repeats):
    is_positive, raw, _ = case
    weight = np.where(np.arange(raw.size) % 2, repeats, 1).astype(float)
    copies = np.repeat(np.arange(raw.size), weight.astype(int))
    whole = loss.value(is_positive[copies], raw[copies])
    assert loss.value(is_positive, raw, weight) == approx(whole, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=str)
def test_a_weight_of_zero_takes_the_row_out_of_the_list(loss):
    is_positive = np.array([True, False, False, True])
    raw = np.array([0.3, 0.1, 900.0, -0.5])
    weight = np.array([1.0, 1.0, 0.0, 1.0])
    kept = weight > 0
    gradient, curvature = loss.gradient_curvature(is_positive, raw, weight)
    alone, _ = loss.gradient_curvature(is_positive[kept], raw[kept])
    assert gradient[kept] == approx(alone)
    assert gradient[2] == 0
    assert curvature[2] == 0
    assert loss.value(is_positive, raw, weight) == approx(loss.value(is_positive[kept], raw[kept]))


@pytest.mark.parametrize("loss", [loss for loss in EVERY_LOSS if loss.is_listwise], ids=str)
@pytest.mark.parametrize("label", [True, False])
def test_a_listwise_loss_of_one_class_is_zero_everywhere(loss, label):
    is_positive = np.full(3, label)
    gradient, curvature = loss.gradient_curvature(is_positive, np.array([1.0, 2.0, 3.0]))
    assert loss.value(is_positive, np.array([1.0, 2.0, 3.0])) == 0
    assert not gradient.any()
    assert (curvature > 0).all()


def test_values_worked_out_by_hand():
    is_positive, raw = np.array([True, False]), np.array([math.log(3), 0.0])
    assert ApExp("paper").value(is_positive, raw) == approx(1 / 4)
    assert ApExp("log").value(is_positive, raw) == approx(-math.log(3 / 4))
    # p = (3/4, 1/4), q = (1, 0)
    assert ApExp("log").gradient_curvature(is_positive, raw)[0] == approx([-0.25, 0.25])
    assert ApExp("paper").gradient_curvature(is_positive, raw)[0] == approx([-3 / 16, 3 / 16])
    assert Log().value(is_positive, raw) == approx(math.log(4 / 3) + math.log(2))
    assert Log().gradient_curvature(is_positive, raw)[0] == approx([-1 / 4, 1 / 2])


def test_the_log_form_still_pulls_where_the_papers_form_has_vanished():
    is_positive, raw = np.array([True, False, False]), np.array([-2000.0, 0.0, 1.0])
    assert ApExp("paper").gradient_curvature(is_positive, raw)[0][0] == 0
    assert ApExp("log").gradient_curvature(is_positive, raw)[0][0] == approx(-1)


def test_both_forms_point_the_same_way():
    generator = np.random.default_rng(3)
    is_positive, raw = generator.random(50) < 0.2, generator.normal(size=50)
    log_form, _ = ApExp("log").gradient_curvature(is_positive, raw)
    paper_form, _ = ApExp("paper").gradient_curvature(is_positive, raw)
    a = 1 - ApExp("paper").value(is_positive, raw)
    assert paper_form == approx(a * log_form)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=str)
def test_the_start_is_the_best_constant(loss):
    is_positive = np.arange(40) < 7
    start = loss.start(is_positive)
    at_start = loss.value(is_positive, np.full(40, start))
    for other in (start - 0.5, start + 0.5):
        assert at_start <= loss.value(is_positive, np.full(40, other)) + 1e-12


@pytest.mark.parametrize("loss", WITH_FAST_TWINS, ids=str)
def test_lists_of_many_blocks_add_up(loss):
    generator = np.random.default_rng(0)
    n_rows = 150_000  # more than two blocks
    is_positive, raw = generator.random(n_rows) < 5e-4, generator.normal(size=n_rows)
    assert loss.value(is_positive, raw) == approx(TWINS[loss](is_positive, raw), rel=1e-10)
    gradient, curvature = loss.gradient_curvature(is_positive, raw)
    last = np.arange(n_rows) >= n_rows - 5
    for i in np.flatnonzero(last):
        up, down = raw.copy(), raw.copy()
        up[i] += 1e-3
        down[i] -= 1e-3
        slope = (loss.value(is_positive, up) - loss.value(is_positive, down)) / 2e-3
        assert gradient[i] == approx(slope, rel=1e-3, abs=1e-8)
    assert (curvature > 0).all()


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=str)
def test_float32_scores_and_results_agree_with_float64(loss):
    generator = np.random.default_rng(0)
    is_positive = generator.random(2000) < 0.05
    raw = (5 * generator.normal(size=2000)).astype(np.float32)
    out = np.empty(2000, np.float32), np.empty(2000, np.float32)
    single = loss.gradient_curvature(is_positive, raw, out=out)
    double = loss.gradient_curvature(is_positive, raw.astype(np.float64))
    assert single[0] is out[0]
    for mine, exact in zip(single, double, strict=True):
        assert mine == approx(exact, rel=2e-5, abs=1e-9)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=str)
def test_two_machines_with_half_the_rows_each_find_the_gradient_of_the_whole(loss):
    generator = np.random.default_rng(1)
    is_positive, raw = generator.random(60) < 0.1, generator.normal(size=60) * 5
    is_positive[:2] = True
    is_positive[30:] = False  # the second machine has no positive
    whole = loss.gradient_curvature(is_positive, raw)
    halves = [slice(0, 30), slice(30, 60)]
    gathers = machines(2)

    def on_machine(i):
        half = halves[i]
        return loss.gradient_curvature(is_positive[half], raw[half], gather=gathers[i])

    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(on_machine, range(2)))
    for half, part in zip(halves, parts, strict=True):
        for mine, expected in zip(part, whole, strict=True):
            assert mine == approx(expected[half], rel=1e-12)


def test_losses_are_made_by_name_with_their_options():
    assert make_loss("log") == Log()
    assert make_loss("ap-exp", {"form": "paper"}) == ApExp("paper")
    assert make_loss("auc-hinge", {"tau": 0.5}) == AucHinge(0.5)
    assert set(LOSSES) == {"log", "ap-exp", "ap-sigmoid", "ap-lambda", "auc-exp", "auc-hinge"}


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("ap", None, r"loss must be one of 'log', 'ap-exp', .*; got 'ap'"),
        ("ap-exp", {"alpha": 1}, r"loss_options of 'ap-exp' may be: form; got alpha"),
        ("log", {"form": "log"}, r"loss_options of 'log' may be: none; got form"),
        ("ap-exp", {"form": "x"}, r"form of ap-exp must be one of 'log', 'paper'; got 'x'"),
    ],
)
def test_wrong_names_and_options_are_named(name, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_loss(name, options)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=str)
def test_labels_must_be_bool_and_as_many_as_scores(loss):
    with pytest.raises(TypeError, match=r"is_positive must .*got int64"):
        loss.value(np.array([1, 0]), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match=r"is_positive and raw .* got shapes"):
        loss.value(np.array([True, False]), np.array([0.0]))
