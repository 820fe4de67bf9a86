"""auc-hinge: whole powers to rounding, others to their bound, against the sum over all pairs."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import reference
from examples import examples
from losses.machines import machines
from toprank.losses import AucHinge, Gather, auc_hinge, make_loss

pytestmark = pytest.mark.kernel

WHOLE, OTHER = [2, 3, 6], [1.05, 1.5, 2.5, 4.3, 9.9]
BOUND = 1e-4  # of a row's gradient, for powers that are not whole


@st.composite
def lists(draw, max_rows=24):
    """Labels with both classes, either rarer; scores tied, in clusters near or far; weights."""
    n = draw(st.integers(2, max_rows))
    labels = draw(st.lists(st.booleans(), min_size=n - 2, max_size=n - 2))
    is_positive = np.array(draw(st.permutations([True, False, *labels])))
    clusters = draw(
        st.sampled_from([[0.0], [0.0, 40.0], [-3e5, 0.0, 10.0], [0.0, 5e8], [1e6], [0.0, 1e-5]])
    )
    centres = draw(st.lists(st.sampled_from(clusters), min_size=n, max_size=n))
    within = draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n))
    scale = draw(st.sampled_from([0.0, 1e-5, 1.75, 30.0]))
    weights = draw(st.lists(st.sampled_from([0.25, 1.0, 3.0]), min_size=n, max_size=n))
    # in steps of 2^-20 every margin is exact, those of pairs just tau apart too
    raw = np.round((np.array(centres) + scale * np.array(within) / 7) * 2**20) / 2**20
    return is_positive, raw, np.array(weights) if draw(st.booleans()) else None


def long_list(spread, share, seed=0, n_rows=300):
    """Many anchors, so that cells and bundles hold several."""
    generator = np.random.default_rng(seed)
    raw = {
        "even": generator.uniform(-3, 3, n_rows),
        "clustered": generator.normal(size=n_rows) * 10.0 ** generator.integers(-9, 2, n_rows),
        "far": generator.standard_cauchy(n_rows) ** 3,
        "wide": 1e9 * generator.normal(size=n_rows),
        "tied": np.round(2 * generator.normal(size=n_rows)),
    }[spread]
    return generator.random(n_rows) < share, raw, generator.random(n_rows)


def within_bound(found, expected, bound=BOUND):
    return (np.abs(found - expected) <= bound * np.abs(expected) + 1e-280).all()


# each spread with the positives rare and with the negatives rare
LONG_LISTS = pytest.mark.parametrize(
    ("spread", "share"),
    [
        ("even", 0.2),
        ("clustered", 0.8),
        ("tied", 0.2),
        *(
            pytest.param(spread, share, marks=pytest.mark.slow)
            for spread in ("even", "clustered", "far", "wide", "tied")
            for share in (0.2, 0.8)
        ),
    ],
)
RARE_CLASS = pytest.mark.parametrize("share", [0.2, 0.8])


def test_values_worked_out_by_hand():
    is_positive = np.array([True, True, False, False])
    raw = np.array([2.0, 0.0, 1.0, -1.0])
    # margins with tau 1/2: 2.0 against both inactive; 0.0 against 1.0 is 1.5
    assert AucHinge(tau=0.5).value(is_positive, raw) == approx(1.5**2 / 4)
    gradient, curvature = AucHinge(tau=0.5).gradient_curvature(is_positive, raw)
    assert gradient == approx([0, -0.75, 0.75, 0])
    assert curvature == approx([0, 0.5, 0.5, 0])
    assert AucHinge(tau=0.5, p=3).value(is_positive, raw) == approx(1.5**3 / 4)
    assert AucHinge(tau=0.5, p=1.5).value(is_positive, raw) == approx(1.5**1.5 / 4)
    gradient, curvature = AucHinge(tau=0.5, p=3).gradient_curvature(is_positive, raw)
    assert gradient == approx([0, -3 * 1.5**2 / 4, 3 * 1.5**2 / 4, 0])
    assert curvature == approx([0, 6 * 1.5 / 4, 6 * 1.5 / 4, 0])
    # the second positive three times: 3 of 8 pairs
    assert AucHinge(tau=0.5).value(is_positive, raw, [1, 3, 1, 1]) == approx(1.5**2 * 3 / 8)


@pytest.mark.parametrize("p", WHOLE)
@examples(80)
@given(case=lists())
def test_whole_powers_equal_the_sum_over_all_pairs(p, case):
    loss = AucHinge(tau=0.75, p=p)
    gradient, curvature = reference.auc_hinge_gradient(*case, 0.75, p)
    found = loss.gradient_curvature(*case)
    assert loss.value(*case) == approx(reference.auc_hinge(*case, 0.75, p), rel=1e-11, abs=1e-280)
    assert found[0] == approx(gradient, rel=1e-11, abs=1e-280)
    assert found[1] == approx(curvature, rel=1e-11, abs=1e-280)


@pytest.mark.parametrize("p", WHOLE)
@LONG_LISTS
def test_whole_powers_lose_no_digits_in_long_lists(p, spread, share):
    case = long_list(spread, share)
    gradient, curvature = reference.auc_hinge_gradient(*case, 0.7, p)
    found = AucHinge(p=p).gradient_curvature(*case)
    # a margin of 1e-9 keeps seven digits of scores around 1
    assert within_bound(found[0], gradient, 1e-6)
    assert within_bound(found[1], curvature, 1e-6)
    assert np.abs(found[0] - gradient).max() <= 1e-12 * np.abs(gradient).max()


@pytest.mark.parametrize("p", OTHER)
@examples(60)
@given(case=lists())
def test_other_powers_keep_their_bound_for_every_row(p, case):
    gradient, _ = reference.auc_hinge_gradient(*case, 0.75, p)
    loss = AucHinge(tau=0.75, p=p)
    assert within_bound(loss.gradient_curvature(*case)[0], gradient)
    assert within_bound(loss.value(*case), reference.auc_hinge(*case, 0.75, p))


@pytest.mark.parametrize("p", OTHER)
@LONG_LISTS
def test_other_powers_keep_their_bound_in_long_lists(p, spread, share):
    case = long_list(spread, share)
    gradient, curvature = reference.auc_hinge_gradient(*case, 0.7, p)
    found = AucHinge(p=p).gradient_curvature(*case)
    assert within_bound(found[0], gradient)
    if p > 2:
        assert within_bound(found[1], curvature, 20 * BOUND)
    assert within_bound(AucHinge(p=p).value(*case), reference.auc_hinge(*case, 0.7, p))


@pytest.mark.parametrize("p", [1.05, 1.5])
@RARE_CLASS
def test_below_two_the_curvature_is_that_of_the_mean_margin(p, share):
    is_positive, raw, weight = long_list("even", share)
    margin = 0.7 - raw[is_positive][:, None] + raw[~is_positive]
    pairs = np.outer(weight[is_positive], weight[~is_positive])
    pairs = pairs / pairs.sum() * (margin > 0)
    active = np.empty(raw.size)
    active[is_positive], active[~is_positive] = pairs.sum(1), pairs.sum(0)
    gradient, _ = reference.auc_hinge_gradient(is_positive, raw, weight, 0.7, p)
    moved = active > 0
    mean = (np.abs(gradient[moved]) / (p * active[moved])) ** (1 / (p - 1))
    _, curvature = AucHinge(p=p).gradient_curvature(is_positive, raw, weight)
    expected = p * active[moved] * (mean + 0.7) ** (p - 2)
    assert curvature[moved] == approx(expected, rel=20 * BOUND)
    assert (curvature[~moved] < 1e-300).all()


@pytest.mark.parametrize("p", [1.001, 1.2, 1.9])
def test_the_curvature_stays_bounded_as_margins_close(p):
    is_positive = np.array([True, False, False])
    raw = np.array([0.7, 1e-12, -5.0])
    _, curvature = AucHinge(p=p).gradient_curvature(is_positive, raw)
    assert 0 < curvature[0] <= p * 0.7 ** (p - 2) / 2 + 1e-12


@examples(40)
@given(case=lists(max_rows=8), p=st.sampled_from([1.5, 2.0, 3.5]))
def test_gradients_equal_moving_one_score_at_a_time(case, p):
    is_positive, raw, weight = case
    raw = np.clip(raw, -50, 50)
    gradient, _ = AucHinge(p=p).gradient_curvature(is_positive, raw, weight)
    step, slopes = 1e-6, []
    for i in range(raw.size):
        up, down = raw.copy(), raw.copy()
        up[i] += step
        down[i] -= step
        above, below = (
            reference.auc_hinge(is_positive, moved, weight, 0.7, p) for moved in (up, down)
        )
        slopes.append((above - below) / (2 * step))
    scale = max(1.0, np.abs(slopes).max())
    assert gradient == approx(np.array(slopes), rel=2e-4, abs=1e-5 * scale)


@pytest.mark.parametrize("p", [2, 3, 1.5])
@examples(40)
@given(case=lists(), shift=st.sampled_from([-(2.0**20), 3.0, 1e6]))
def test_shifting_every_score_changes_nothing(p, case, shift):
    is_positive, raw, weight = case
    loss = AucHinge(tau=0.75, p=p)
    value = loss.value(is_positive, raw, weight)
    assert loss.value(is_positive, raw + shift, weight) == approx(value, rel=1e-9)
    plain = loss.gradient_curvature(is_positive, raw, weight)
    shifted = loss.gradient_curvature(is_positive, raw + shift, weight)
    for mine, expected in zip(shifted, plain, strict=True):
        assert mine == approx(expected, rel=1e-9, abs=1e-280)


@pytest.mark.parametrize("p", [2, 1.5, 2.5])
@examples(40)
@given(case=lists())
def test_turning_scores_and_classes_round_turns_the_gradient_round(p, case):
    is_positive, raw, weight = case
    loss = AucHinge(tau=0.75, p=p)
    gradient, curvature = loss.gradient_curvature(is_positive, raw, weight)
    turned = loss.gradient_curvature(~is_positive, -raw, weight)
    assert turned[0] == approx(-gradient, rel=BOUND)
    assert turned[1] == approx(curvature, rel=20 * BOUND)


@pytest.mark.parametrize("p", [2, 3, 1.5, 2.5])
@examples(40)
@given(case=lists(max_rows=10), repeats=st.integers(0, 3))
def test_a_weight_counts_like_so_many_copies_and_none_like_no_row(p, case, repeats):
    is_positive, raw, _ = case
    first = np.array([is_positive.argmax(), is_positive.argmin()])
    weight = np.full(raw.size, repeats)
    weight[first] = 1
    copies = np.repeat(np.arange(raw.size), weight)
    whole = AucHinge(p=p).gradient_curvature(is_positive[copies], raw[copies])
    found = AucHinge(p=p).gradient_curvature(is_positive, raw, weight)
    for mine, of_copies in zip(found, whole, strict=True):
        expected = np.bincount(copies, of_copies, raw.size)
        assert mine == approx(expected, rel=20 * BOUND, abs=1e-280)
    value = AucHinge(p=p).value(is_positive[copies], raw[copies])
    assert AucHinge(p=p).value(is_positive, raw, weight) == approx(value, rel=BOUND, abs=1e-280)


@examples(80)
@given(
    thresholds=st.sets(st.floats(-1e9, 1e9), min_size=1, max_size=30),
    copies=st.sampled_from([1, 1e-3, 1e-12]),
    points=st.lists(st.floats(-2e9, 2e9), max_size=10),
)
def test_a_row_finds_its_place_among_the_thresholds(thresholds, copies, points):
    # most of them close together, so that one cell holds many
    near = np.array(sorted(thresholds)) * copies
    thresholds = np.unique([*near, *(np.array(points[:3]) * copies), 1e9])
    cells = auc_hinge._cells(thresholds)
    for x in np.array([*points, *thresholds, *np.nextafter(thresholds, np.inf)]):
        found = auc_hinge._count_below(x, thresholds, *cells)
        assert found == np.searchsorted(thresholds, x, side="left")


@pytest.mark.parametrize("p", [2, 3, 1.5, 2.5])
@pytest.mark.parametrize("has_weight", [False, True])
@RARE_CLASS
def test_machines_without_rows_or_without_a_class_find_their_share_of_the_whole(
    p, has_weight, share
):
    is_positive, raw, weight = long_list("tied", share, n_rows=60)
    weight = np.round(4 * weight) if has_weight else None
    is_positive[:15], is_positive[15:20] = False, True
    stretches = [slice(0, 15), slice(15, 15), slice(15, 20), slice(20, 60)]
    loss = AucHinge(p=p)
    whole = loss.gradient_curvature(is_positive, raw, weight)
    total = loss.value(is_positive, raw, weight)

    def on_machine(stretch, gather):
        part = None if weight is None else weight[stretch]
        rows = is_positive[stretch], raw[stretch], part, gather
        return loss.value(*rows), loss.gradient_curvature(*rows)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(on_machine, stretches, machines(4)))
    for stretch, (value, part) in zip(stretches, found, strict=True):
        assert value == approx(total)
        for mine, expected in zip(part, whole, strict=True):
            assert mine == approx(expected[stretch], rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("p", [2, 3])
@pytest.mark.parametrize("has_weight", [False, True])
@RARE_CLASS
def test_parts_of_the_rows_add_up_and_do_not_depend_on_the_threads(
    p, has_weight, share, monkeypatch
):
    is_positive, raw, weight = long_list("tied", share, n_rows=600)
    rows = is_positive, raw, weight if has_weight else None
    in_one_part = AucHinge(p=p).gradient_curvature(*rows)
    monkeypatch.setattr(auc_hinge, "_FEWEST_ROWS", 50)
    in_parts = AucHinge(p=p).gradient_curvature(*rows)
    on_threads = AucHinge(p=p).gradient_curvature(*rows, Gather(n_threads=3))

    assert len(auc_hinge._parts(600, 50)) == 12
    for one, parts, threads in zip(in_one_part, in_parts, on_threads, strict=True):
        assert parts == approx(one, rel=1e-11, abs=1e-300)
        np.testing.assert_array_equal(threads, parts)


def test_machines_that_all_lack_a_class_find_no_gradient():
    def on_machine(gather):
        rows = np.array([False, False]), np.array([0.0, 1.0]), None, gather
        return AucHinge().value(*rows), AucHinge().gradient_curvature(*rows)[0]

    with ThreadPoolExecutor(2) as pool:
        for value, gradient in pool.map(on_machine, machines(2)):
            assert value == 0
            assert not gradient.any()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"tau": 0}, r"tau of auc-hinge must be greater than 0 and at most 1e\+06; got 0"),
        ({"p": 1}, r"p of auc-hinge must be greater than 1 and at most 10; got 1"),
        ({"p": 11}, r"p of auc-hinge must be greater than 1 and at most 10; got 11"),
    ],
)
def test_wrong_options_are_named(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_loss("auc-hinge", options)
    with pytest.raises(TypeError, match="p of auc-hinge must be a number; got 'two'"):
        make_loss("auc-hinge", {"p": "two"})
