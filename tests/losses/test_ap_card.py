"""ap-card against its slow twin, central differences and the AP losses of rows."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import reference
from examples import examples
from toprank.losses import Log
from toprank.losses.ap_card import ApCard

TWINS = {
    "ap-exp": reference.ap_exp_log,
    "ap-sigmoid": reference.ap_sigmoid,
    "ap-lambda": reference.ap_lambda,
}
EVERY_SURROGATE = pytest.mark.parametrize("surrogate", TWINS)


@st.composite
def cards(draw):
    """Labels, scores rich in ties, cards of few rows, some on no list, and weights or none."""
    n = draw(st.integers(1, 12))
    labels = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    steps = draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    groups = draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n))
    weight = None
    if draw(st.booleans()):
        drawn = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n)
        weight = np.array(draw(drawn))
    return np.array(labels), np.array(steps) / 2, np.array(groups), weight


@EVERY_SURROGATE
@examples(80)
@given(case=cards(), temperature=st.sampled_from([0.05, 0.5, 3.0]))
def test_value_equals_the_formula_written_out(surrogate, case, temperature):
    is_positive, raw, groups, weight = case
    loss = ApCard(temperature, surrogate).for_groups(groups)
    expected = reference.ap_card(is_positive, raw, groups, TWINS[surrogate], temperature, weight)
    assert loss.value(is_positive, raw, weight) == approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("surrogate", ["ap-exp", "ap-sigmoid"])
@examples(80)
@given(case=cards(), temperature=st.sampled_from([0.3, 1.0]))
def test_gradient_equals_moving_one_score_at_a_time(surrogate, case, temperature):
    is_positive, raw, groups, weight = case
    loss = ApCard(temperature, surrogate).for_groups(groups)
    gradient, curvature = loss.gradient_curvature(is_positive, raw, weight)
    counts = (groups >= 0) & (True if weight is None else weight > 0)
    for i in range(raw.size):
        move = np.where(np.arange(raw.size) == i, 1e-5, 0.0)
        rise = loss.value(is_positive, raw + move, weight)
        rise -= loss.value(is_positive, raw - move, weight)
        assert gradient[i] == approx(rise / 2e-5, abs=1e-5)
    assert (curvature[counts] > 0).all()
    assert not gradient[~counts].any()
    assert not curvature[~counts].any()


@EVERY_SURROGATE
@pytest.mark.parametrize("weighted", [False, True])
def test_cards_of_one_row_are_the_rows(surrogate, weighted):
    generator = np.random.default_rng(0)
    is_positive, raw = generator.random(200) < 0.1, generator.normal(size=200)
    weight = generator.integers(1, 4, 200).astype(float) if weighted else None
    loss = ApCard(0.7, surrogate)
    grouped = loss.for_groups(generator.permutation(200))
    for mine, of_rows in zip(
        grouped.gradient_curvature(is_positive, raw, weight),
        loss.of_cards.gradient_curvature(is_positive, raw, weight),
        strict=True,
    ):
        assert mine == approx(of_rows, rel=1e-9)
    assert loss.value(is_positive, raw, weight) == loss.of_cards.value(is_positive, raw, weight)


def test_only_the_most_suspicious_payment_moves_when_it_is_cold():
    loss = ApCard(temperature=0.01).for_groups([0, 0, 1])
    gradient, _ = loss.gradient_curvature([True, False, False], [0.0, 1.0, 0.5])
    # the card is positive, and its payment on top is lifted whatever its own label
    assert gradient[0] == approx(0, abs=1e-12)
    assert gradient[1] == approx(-gradient[2])
    assert gradient[1] < 0


@pytest.mark.parametrize("label", [True, False])
def test_a_list_of_one_class_of_cards_has_no_gradient(label):
    loss = ApCard().for_groups([0, 0, 1])
    labels = np.array([label, False, label])
    assert loss.value(labels, [1.0, 2.0, 3.0]) == 0
    assert not loss.gradient_curvature(labels, [1.0, 2.0, 3.0])[0].any()


def test_wrong_options_and_groups_are_named():
    with pytest.raises(ValueError, match=r"temperature of ap-card .*got 0"):
        ApCard(temperature=0)
    with pytest.raises(ValueError, match=r"surrogate of ap-card .*got 'log'"):
        ApCard(surrogate="log")
    with pytest.raises(ValueError, match=r"groups must be -1 or more; got -2"):
        ApCard().for_groups([0, -2])
    with pytest.raises(TypeError, match=r"groups must .*got float64"):
        ApCard().for_groups([0.5, 1.0])
    with pytest.raises(ValueError, match=r"groups must have 3 values.*got 2"):
        ApCard().for_groups([0, 1]).value([True, False, False], [0.0, 1.0, 2.0])


@pytest.mark.slow
@pytest.mark.parametrize("surrogate", TWINS)
def test_its_time_grows_as_that_of_log_loss(surrogate):
    few, many = (_ratio_to_log_loss(surrogate, n_rows) for n_rows in (100_000, 800_000))
    assert many < 2 * few
    assert many < 30


def _ratio_to_log_loss(surrogate, n_rows):
    """How many times as long as log-loss the gradient of so many rows takes, at best."""
    generator = np.random.default_rng(0)
    is_positive = generator.random(n_rows) < 0.01
    raw = generator.normal(size=n_rows).astype(np.float32)
    out = np.empty(n_rows, np.float32), np.empty(n_rows, np.float32)
    groups = generator.integers(0, n_rows // 3, n_rows)
    seconds = []
    for loss in (ApCard(surrogate=surrogate).for_groups(groups), Log()):
        taken = []
        for _ in range(6):  # the first one orders the rows, once for all rounds
            begin = time.process_time()
            loss.gradient_curvature(is_positive, raw, out=out)
            taken.append(time.process_time() - begin)
        seconds.append(min(taken))
    return seconds[0] / seconds[1]
