import numpy as np
import pytest
from numpy.testing import assert_array_equal

from toprank.rankers.online import online_kernel
from toprank.rankers.online import weights as all_weights

RULES = range(7)
EVERY_RULE = pytest.mark.parametrize("rule", RULES)


def shape_of(rule=online_kernel.NON_LINEAR, **changes):
    shape = online_kernel.Shape(
        rule=rule,
        update=online_kernel.FULL,
        loss=online_kernel.LOG,
        n_learners=4,
        width=3,
        n_latents=5,
        n_outputs=1,
        n_buckets=8,
        rate=0.1,
        step=1.0,
        edge=0.1,
        seed=7,
        is_averaged=False,
        is_balanced=False,
        is_calibrated=False,
        is_wide=False,
    )
    return shape._replace(**changes)


def names_of_parts(rule):
    return [part.name for part in all_weights.parts_of(shape_of(rule))]


def filled(weights):
    """The same arrays, all numbers of the past drawn anew, to see which of them are kept."""
    random = np.random.default_rng(0)
    return online_kernel.Weights(*(random.normal(size=array.shape) for array in weights))


@EVERY_RULE
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_parts_are_contiguous_and_fill_the_head(rule, n_outputs):
    shape = shape_of(rule, n_outputs=n_outputs)
    weights = all_weights.fresh(shape, ["a"], 1.0)
    assert weights.head.size == all_weights.head_size(shape)
    numbers = np.arange(float(weights.head.size))
    views = all_weights.views(numbers, shape)
    assert_array_equal(np.concatenate([part.ravel() for part in views.values()]), numbers)
    views["output"][:] = -1
    assert np.count_nonzero(numbers == -1) == 4 * 3 * n_outputs  # written through


def test_every_rule_has_its_parts():
    network = ["unit bias", "output", "output bias"]
    latent = ["constant", "latent", "latent bias", "projection"]
    assert names_of_parts(online_kernel.NON_LINEAR) == [*network, *latent]
    assert names_of_parts(online_kernel.LINEAR) == [*network, "constant", "share"]
    assert names_of_parts(online_kernel.ADAPTIVE) == [*network, "alpha", "trust"]
    assert names_of_parts(online_kernel.IMPORTANCE) == [*network, "alpha", "trust"]
    assert names_of_parts(online_kernel.GRADIENT) == [*network, "shrinkage"]
    assert (
        names_of_parts(online_kernel.STREAM) == names_of_parts(online_kernel.MAJORITY) == network
    )


def test_weights_begin_small_and_biases_at_0():
    shape = shape_of(n_learners=40)
    weights = all_weights.fresh(shape, ["a", "b"], 0.5)
    parts = all_weights.views(weights.head, shape)
    assert weights.units.shape == (8 + 2, 40 * 3)
    for drawn, scale in (
        (weights.units, 0.5),
        (parts["output"], 1.0),
        (parts["latent"], 0.316),
        (parts["projection"], 1.0),
    ):
        assert np.abs(drawn).max() <= scale
        assert np.unique(drawn).size == drawn.size
    for scale, drawn in ((0.5, weights.units), (1.0, parts["projection"])):
        assert drawn.std() == pytest.approx(scale / np.sqrt(3), rel=0.1)
        assert drawn.min() < 0 < drawn.max()
    for name in ("unit bias", "output bias", "constant", "latent bias"):
        assert not parts[name].any()
    for array in (*weights[1:3], *weights[4:]):
        assert not array.any()


def test_shares_begin_at_1_and_votes_at_0():
    linear = shape_of(online_kernel.LINEAR)
    parts = all_weights.views(all_weights.fresh(linear, [], 1.0).head, linear)
    assert (parts["share"] == 1).all()
    votes = shape_of(online_kernel.ADAPTIVE)
    parts = all_weights.views(all_weights.fresh(votes, [], 1.0).head, votes)
    assert not parts["alpha"].any()
    assert not parts["trust"].any()


def test_units_begin_with_a_variance_of_about_1():
    assert [all_weights.unit_scale(n) for n in (0, 1, 3, 12)] == [3**0.5, 3**0.5, 1, 0.5]


@EVERY_RULE
def test_the_same_seed_gives_the_same_weights_and_another_others(rule):
    one, again, other = (
        all_weights.fresh(shape_of(rule, seed=seed), ["a"], 1.0) for seed in (7, 7, 8)
    )
    for first, second in zip(one, again, strict=True):
        assert_array_equal(first, second)
    assert not np.array_equal(one.units[:8], other.units[:8])
    assert not np.array_equal(one.units[8:], other.units[8:])
    assert not np.array_equal(one.head, other.head)


def test_a_column_has_the_same_weights_whenever_it_is_added():
    shape = shape_of()
    at_once = all_weights.fresh(shape, ["a", "b", "c"], 0.5)
    later = all_weights.fresh(shape, ["b"], 0.5)
    later = all_weights.with_columns(later, shape, ["c", "a"], 0.5)
    assert_array_equal(later.units[:8], at_once.units[:8])
    assert_array_equal(later.units[[10, 8, 9]], at_once.units[8:])
    assert np.unique(at_once.units).size == at_once.units.size


def test_new_columns_do_not_change_the_others():
    shape = shape_of()
    weights = filled(all_weights.fresh(shape, ["a"], 0.5))
    more = all_weights.with_columns(weights, shape, ["b", "c"], 0.5)
    for name in ("units", "units_squares", "units_past"):
        assert_array_equal(getattr(more, name)[:9], getattr(weights, name))
        assert getattr(more, name).shape == (11, 12)
    assert more.head is weights.head
    assert not more.units_squares[9:].any()
    assert not more.units_past[9:].any()


@pytest.mark.parametrize("rule", [online_kernel.NON_LINEAR, online_kernel.LINEAR])
def test_an_output_has_the_same_weights_whenever_it_is_added(rule):
    small, large = shape_of(rule), shape_of(rule, n_outputs=3)
    grown = all_weights.with_outputs(all_weights.fresh(small, ["a"], 1.0), small, large)
    for one, other in zip(grown, all_weights.fresh(large, ["a"], 1.0), strict=True):
        assert_array_equal(one, other)


def test_new_outputs_do_not_change_the_others():
    small, large = shape_of(n_outputs=2), shape_of(n_outputs=3)
    weights = filled(all_weights.fresh(small, ["a"], 1.0))
    grown = all_weights.with_outputs(weights, small, large)
    assert grown.units is weights.units
    begin = all_weights.views(all_weights.fresh(large, ["a"], 1.0).head, large)
    for name in ("head", "head_squares", "head_past"):
        before = all_weights.views(getattr(weights, name), small)
        after = all_weights.views(getattr(grown, name), large)
        for part in before:
            if part == "unit bias":
                assert_array_equal(after[part], before[part])
                continue
            assert_array_equal(after[part][..., :2], before[part])
            new = after[part][..., 2]
            assert_array_equal(new, begin[part][..., 2] if name == "head" else 0 * new)


@EVERY_RULE
def test_resetting_a_learner_does_not_change_the_others(rule):
    shape = shape_of(rule)
    weights = filled(all_weights.fresh(shape, ["a"], 0.5))
    before = online_kernel.Weights(*(array.copy() for array in weights))
    all_weights.renew_learner(weights, shape, 2, 0.5, n_renewed=1)
    own = np.zeros(12, dtype=bool)
    own[6:9] = True
    for now, then in zip(weights[:3], before[:3], strict=True):
        assert_array_equal(now[:, ~own], then[:, ~own])
        assert not np.any(now[:, own] == then[:, own])
    assert np.abs(weights.units[:, own]).max() <= 0.5
    assert not weights.units_squares[:, own].any()
    assert not weights.units_past[:, own].any()
    for now, then in zip(weights[3:6], before[3:6], strict=True):
        now, then = all_weights.views(now, shape), all_weights.views(then, shape)
        for part in all_weights.parts_of(shape):
            mine = np.arange(part.sizes[0]) // max(part.per_learner, 1) == 2
            if not part.per_learner:
                mine[:] = False  # it is shared by all
            assert_array_equal(now[part.name][~mine], then[part.name][~mine])
            assert not np.any(now[part.name][mine] == then[part.name][mine])


def test_every_renewal_draws_other_weights_and_the_same_again():
    shape = shape_of()
    drawn = []
    for n_renewed in (1, 2, 1):
        weights = all_weights.fresh(shape, ["a"], 0.5)
        all_weights.renew_learner(weights, shape, 0, 0.5, n_renewed)
        drawn.append(np.append(weights.units[:, :3], weights.head))
    assert_array_equal(drawn[0], drawn[2])
    assert not np.array_equal(drawn[0], drawn[1])
