"""The compiled loop against its slow twin, central differences and values worked out by hand."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx
from scipy.special import expit

import reference
from examples import examples
from toprank.rankers.online import online_kernel
from toprank.rankers.online import weights as all_weights
from toprank.rankers.online.classes import Classes
from toprank.rankers.online.model import Model
from toprank.rankers.online.stream_columns import EncodedEvent

pytestmark = [
    pytest.mark.kernel,
    # uncompiled, the coin's integers warn when they overflow, as they are meant to
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning"),
]

RULES = {
    "non-linear": online_kernel.NON_LINEAR,
    "linear": online_kernel.LINEAR,
    "majority": online_kernel.MAJORITY,
    "adaptive": online_kernel.ADAPTIVE,
    "importance": online_kernel.IMPORTANCE,
    "gradient": online_kernel.GRADIENT,
    "stream": online_kernel.STREAM,
}
UPDATES = {
    "residual": online_kernel.RESIDUAL,
    "prefix": online_kernel.PREFIX,
    "full": online_kernel.FULL,
}
STAGED = [(rule, update) for rule in ("non-linear", "linear") for update in UPDATES]
EVERY_WAY = pytest.mark.parametrize(
    ("rule", "update"), [*STAGED, *((rule, "full") for rule in list(RULES)[2:])]
)
N_BUCKETS = 6
N_COLUMNS = 3


def model_of(rule="non-linear", update="full", **changes):
    """A model of three columns that has learned nothing."""
    shape = online_kernel.Shape(
        rule=RULES[rule],
        update=UPDATES[update],
        loss=online_kernel.LOG,
        n_learners=3,
        width=2,
        n_latents=2 if rule == "non-linear" else 0,
        n_outputs=1,
        n_buckets=N_BUCKETS,
        rate=0.1,
        step=0.8 if rule in ("gradient", "stream") else 1.0,
        edge=0.2 if rule == "majority" else 0.0,
        seed=0,
        is_averaged=False,
        is_balanced=False,
        is_calibrated=False,
        is_wide=False,
    )
    model = Model(shape._replace(**changes), Classes())
    model.add_columns(["a", "b", "c"])
    return model


def parts_of(model):
    return all_weights.views(model.weights.head, model.shape)


def twin_of(model, rule="non-linear", update="full"):
    """The slow twin of a model that has learned nothing."""
    shape = model.shape
    return reference.OnlineTwin(
        rule,
        model.weights.units,
        parts_of(model),
        N_BUCKETS,
        coin=lambda n_rows, learner: reference.coin(shape.seed, n_rows, learner),
        update=update,
        rate=shape.rate,
        step=shape.step,
        edge=shape.edge,
        averaged=shape.is_averaged,
        wide=shape.is_wide,
        balanced=shape.is_balanced,
        loss="ap" if shape.loss == online_kernel.AVERAGE_PRECISION else "log",
    )


def one_row(values, buckets=None):
    values = np.array([values], dtype=float)
    none = np.full(values.shape, -1) if buckets is None else np.array([buckets])
    return EncodedEvent(values, none.astype(np.int32))


@st.composite
def streams(draw, n_classes=2, most_rows=8):
    """Rows of numbers, flags, text and gaps, with classes and weights."""
    n_rows = draw(st.integers(1, most_rows))
    numbers = st.integers(-6, 6).map(lambda number: number / 2)
    of_column = [numbers, st.sampled_from([0.0, 1.0]), numbers]
    values, buckets = np.full((n_rows, N_COLUMNS), np.nan), np.full((n_rows, N_COLUMNS), -1)
    for i in range(n_rows):
        for j in range(N_COLUMNS):
            if draw(st.integers(0, 4)) == 0:
                buckets[i, j] = draw(st.integers(0, N_BUCKETS - 1))
            else:
                values[i, j] = draw(of_column[j])
    many = {"min_size": n_rows, "max_size": n_rows}
    classes = draw(st.lists(st.integers(0, n_classes - 1), **many))
    row_weights = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), **many))
    return EncodedEvent(values, buckets.astype(np.int32)), np.array(classes), np.array(row_weights)


def made_stream(n_rows, seed=0):
    """Return numbers that are weakly related to the rare class."""
    random = np.random.default_rng(seed)
    classes = (random.random(n_rows) < 0.4).astype(np.int64)
    values = random.normal(size=(n_rows, N_COLUMNS)) + classes[:, None]
    return (
        EncodedEvent(values, np.full(values.shape, -1, dtype=np.int32)),
        classes,
        np.ones(n_rows),
    )


def check_twins_agree(model, twin, stream):
    """Both score every row alike before they learn from it, and end with the same weights."""
    rows, classes, row_weights = stream
    n_known = np.arange(len(classes))
    scores = model.score_and_learn(rows, classes, row_weights, n_known).raw
    for i, label in enumerate(classes):
        row = rows.values[i], rows.buckets[i]
        assert_allclose(scores[i], twin.score(*row), rtol=1e-7, atol=1e-9)
        twin.learn(*row, label, row_weights[i])
    assert_allclose(model.weights.units, twin.weights["units"], rtol=1e-7, atol=1e-9)
    for name, part in parts_of(model).items():
        assert_allclose(part, twin.weights[name], rtol=1e-7, atol=1e-9, err_msg=name)
    last = rows.take(slice(-1, None))
    assert_allclose(model.raw(last)[0], twin.score(last.values[0], last.buckets[0]), rtol=1e-7)


@EVERY_WAY
@examples(25)
@given(
    streams(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**31 - 1),
)
def test_every_rule_learns_as_its_slow_twin(rule, update, stream, averaged, balanced, seed):
    model = model_of(rule, update, is_averaged=averaged, is_balanced=balanced, seed=seed)
    check_twins_agree(model, twin_of(model, rule, update), stream)


@pytest.mark.parametrize(("rule", "update"), STAGED)
@examples(8)
@given(streams(n_classes=4), st.booleans(), st.booleans(), st.integers(0, 99))
def test_several_outputs_learn_as_their_slow_twin(rule, update, stream, averaged, balanced, seed):
    settings_drawn = {"is_averaged": averaged, "is_balanced": balanced, "seed": seed}
    model = model_of(rule, update, n_outputs=3, **settings_drawn)
    check_twins_agree(model, twin_of(model, rule, update), stream)


@pytest.mark.parametrize("update", ["full", "prefix", "residual"])
@examples(8)
@given(streams(n_classes=3), st.booleans(), st.integers(0, 99))
def test_a_wide_part_learns_as_its_slow_twin(update, stream, averaged, seed):
    model = model_of(
        "non-linear", update, n_outputs=2, is_wide=True, is_averaged=averaged, seed=seed
    )
    twin = twin_of(model, "non-linear", update)
    check_twins_agree(model, twin, stream)
    assert_allclose(model.weights.wide, twin.weights["wide"], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("rule", "update"), STAGED)
@pytest.mark.parametrize("averaged", [False, True])
def test_an_output_added_late_learns_as_its_slow_twin(rule, update, averaged):
    rows, classes, row_weights = made_stream(9)
    classes[[6, 8]] = 2
    model = model_of(rule, update, is_averaged=averaged)
    twin = twin_of(model, rule, update)
    before, after = slice(6), slice(6, None)
    model.learn(rows, classes, row_weights)
    for i in range(9):
        if i == 6:
            larger = model_of(rule, update, n_outputs=2)
            twin.grow(parts_of(larger))
        twin.learn(rows.values[i], rows.buckets[i], classes[i])
    assert model.shape.n_outputs == 2
    for name, part in parts_of(model).items():
        assert_allclose(part, twin.weights[name], rtol=1e-7, atol=1e-9, err_msg=name)
    assert_allclose(model.raw(rows)[0], twin.score(rows.values[0], rows.buckets[0]), rtol=1e-7)
    again = model_of(rule, update, is_averaged=averaged)
    for part in (before, after):
        again.learn(rows.take(part), classes[part], row_weights[part])
    assert_array_equal(again.weights.head, model.weights.head)


# Gradients


def gradients_of(model, row, label):
    """The gradients that a model which has taken no step yet takes for a row.

    The first sum of squares gives the length of each, the change its direction.
    """
    kept = [model.weights.units.copy(), model.weights.head.copy()]
    model.learn(row, np.array([label]), np.ones(1))
    found = []
    for now, squares, before in (
        (model.weights.units, model.weights.units_squares, kept[0]),
        (model.weights.head, model.weights.head_squares, kept[1]),
    ):
        found.append(np.sign(before - now) * np.sqrt(squares))
        now[:] = before
        squares[:] = 0
    return {"units": found[0], **all_weights.views(found[1], model.shape)}


def central_difference(loss, weights, name, place, step=1e-5):
    moved = weights[name][place]
    losses = []
    for away in (step, -step):
        weights[name][place] = moved + away
        losses.append(loss())
    weights[name][place] = moved
    return (losses[0] - losses[1]) / (2 * step)


@st.composite
def begun_models(draw, ways):
    """A model and its twin, all their weights drawn anew, away from the bends of units."""
    rule, update = draw(st.sampled_from(ways))
    n_outputs = draw(st.integers(1, 3))
    model = model_of(rule, update, n_outputs=n_outputs)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    model.weights.units[:] = random.normal(size=model.weights.units.shape)
    model.weights.head[:] = random.normal(size=model.weights.head.shape)
    earlier = random.normal(size=(3, N_COLUMNS))
    earlier[:, 1] = [0, 1, 1]
    for values in earlier:
        online_kernel._note_columns(values, model.seen)
    twin = twin_of(model, rule, update)
    twin.rows.extend(earlier)
    values = np.array([random.normal(), 1.0, np.nan])
    row = one_row(values, [-1, -1, 2])
    inputs = twin.active(row.values[0], row.buckets[0])
    assume(_is_smooth(twin, inputs))
    return model, twin, row, inputs, draw(st.integers(0, n_outputs))


def _is_smooth(twin, inputs):
    """Whether no hidden unit and no latent, of any number of learners, is near its bend."""
    weights = twin.weights
    hidden = weights["unit bias"][:, 0].copy()
    for place, amount in inputs:
        hidden += amount * weights["units"][place]
    if np.abs(hidden).min() < 0.01:
        return False
    if twin.rule != "non-linear":
        return True
    outputs = twin._forward(inputs, weights)[1]
    latents = [twin._latents(outputs[:k], weights) for k in range(1, twin.n_learners + 1)]
    return np.abs(latents).min() > 0.01


def places_of(array):
    return list(np.ndindex(array.shape))


@examples(12)
@given(begun_models([("non-linear", "full"), ("linear", "full")]))
def test_full_follows_the_gradient_of_the_loss_of_the_whole_model(begun):
    model, twin, row, inputs, label = begun
    gradients = gradients_of(model, row, label)
    walked = [place for place, _ in inputs]
    for name, gradient in gradients.items():
        for place in places_of(gradient):
            if name == "units" and place[0] not in walked:
                assert gradient[place] == 0
                continue
            expected = central_difference(
                lambda: twin.loss_of_first(3, inputs, label, twin.weights),
                twin.weights,
                name,
                place,
            )
            assert gradient[place] == approx(expected, rel=1e-4, abs=1e-7), (name, place)


@examples(12)
@given(begun_models([("non-linear", "prefix"), ("linear", "prefix")]))
def test_prefix_follows_the_gradients_of_the_losses_of_the_first_learners(begun):
    model, twin, row, inputs, label = begun
    gradients = gradients_of(model, row, label)
    width = {"units": 2, "unit bias": 2, "output": 2}
    for name, gradient in gradients.items():
        for place in places_of(gradient):
            if name == "units" and place[0] not in [walked for walked, _ in inputs]:
                continue
            learner = place[1 if name == "units" else 0] // width.get(name, 1)
            is_shared = name in ("constant", "latent", "latent bias")
            stages = range(1, 4) if is_shared else [learner + 1]
            expected = np.mean(
                [
                    central_difference(
                        lambda n_first=n_first: twin.loss_of_first(
                            n_first, inputs, label, twin.weights
                        ),
                        twin.weights,
                        name,
                        place,
                    )
                    for n_first in stages
                ]
            )
            assert gradient[place] == approx(expected, rel=1e-4, abs=1e-7), (name, place)


@examples(15)
@given(begun_models([("non-linear", "residual"), ("linear", "residual")]))
def test_residual_moves_each_output_to_what_the_learners_before_it_leave(begun):
    model, twin, row, inputs, label = begun
    assume(model.shape.n_outputs == 1)
    outputs = twin._forward(inputs, twin.weights)[1]
    y = 2 * label - 1
    for t, gradient in enumerate(gradients_of(model, row, label)["output bias"][:, 0]):
        before = twin.combined(outputs, twin.weights, t)[0]
        residual = y / (1 + np.exp(y * before))
        assert gradient == approx(2 * (outputs[t, 0] - residual))


# Boost by majority, AdaBoost, gradient boosting


@examples(60)
@given(
    st.lists(st.sampled_from([1, -1]), min_size=1, max_size=7),
    st.floats(0.01, 0.9),
)
def test_weights_of_the_majority_are_the_chances_that_a_vote_decides(rights, edge):
    found = [
        online_kernel._majority_weight(len(rights) - t - 1, float(sum(rights[:t])), edge)
        for t in range(len(rights))
    ]
    assert_allclose(found, reference.majority_weights(rights, edge), rtol=1e-9, atol=1e-12)


def test_a_vote_that_cannot_change_the_outcome_weighs_nothing():
    assert online_kernel._majority_weight(2, 4.0, 0.1) == 0
    assert online_kernel._majority_weight(2, -4.0, 0.1) == 0
    assert online_kernel._majority_weight(0, 0.0, 0.1) == 1
    assert (
        online_kernel._majority_weight(9_999, 0.0, 0.1) < 1e-6
    )  # ahead by chance alone, with an edge


def test_the_coin_is_that_of_whole_numbers_and_is_fair():
    tosses = np.array(
        [[online_kernel._uniform(seed, 7.0, t) for t in range(40)] for seed in (0, 1, 2**31 - 1)]
    )
    expected = [[reference.coin(seed, 7, t) for t in range(40)] for seed in (0, 1, 2**31 - 1)]
    assert_array_equal(tosses, expected)
    assert tosses.mean() == approx(0.5, abs=0.1)
    assert np.unique(tosses).size == tosses.size


def test_alphas_stay_within_two_and_trust_follows_mistakes():
    model = model_of("adaptive", n_learners=2)
    # both learners say yes, whatever the row
    model.weights.units[:] = 0
    parts = parts_of(model)
    parts["output bias"][:] = 50.0
    row = one_row([0.0, 0.0, 0.0])
    model.learn(row, np.array([1]), np.ones(1))
    # eta 4 / sqrt(1), right by 1 / (1 + e^0) = 1/2; sums of 0 are mistakes, of both
    assert_allclose(parts["alpha"][:, 0], [2, 2])
    assert_allclose(parts["trust"][:, 0], [0, 0])
    model.learn(row, np.array([0]), np.ones(1))
    # now -2 and -4 are far from right: alphas fall by 4 / sqrt(2) times expit(2) and expit(4)
    expected = 2 - 4 / np.sqrt(2) * expit([2.0, 4.0])
    assert_allclose(parts["alpha"][:, 0], expected)
    assert (expected > -2).all()
    for _ in range(30):
        model.learn(row, np.array([0]), np.ones(1))
    assert (parts["alpha"][:, 0] >= -2).all()
    parts["output bias"][1] = -50.0
    parts["alpha"][:, 0] = [1.0, 0.5]
    model.learn(row, np.array([0]), np.ones(1))
    # sums -1 and -1/2 of the true class: mistakes of both again, best stays 0
    assert_allclose(parts["trust"].max(), 0)


def test_an_expert_is_trusted_by_its_mistakes():
    model = model_of("adaptive", n_learners=2)
    parts = parts_of(model)
    model.weights.units[:] = 0
    parts["output bias"][:, 0] = [-50.0, 50.0]
    parts["alpha"][:, 0] = [0.5, 1.5]
    # the first says -0.5, both together 1.0
    row = one_row([0.0, 0.0, 0.0])
    assert model.raw(row)[0, 0] == approx((-0.5 + 1.0) / 2)
    model.learn(row, np.array([1]), np.ones(1))
    assert_allclose(parts["trust"][:, 0], [-1, 0])
    first, both = -parts["alpha"][0, 0], parts["alpha"][1, 0] - parts["alpha"][0, 0]
    assert model.raw(row)[0, 0] == approx((first / np.e + both) / (1 / np.e + 1))


def test_importance_weights_are_how_wrong_the_votes_before_are():
    model = model_of("importance")
    parts = parts_of(model)
    parts["alpha"][:, 0] = [0.5, -0.3, 0.2]
    outputs = model.weak_outputs(one_row([0.0, 1.0, 0.0]))[0, :, 0]
    votes = np.sign(outputs)
    sums = np.append(0, np.cumsum([0.5, -0.3, 0.2] * votes)[:-1])
    gradient = gradients_of(model, one_row([0.0, 1.0, 0.0]), 1)["output bias"][:, 0]
    assert_allclose(gradient, expit(-sums) * (expit(outputs) - 1))


def test_shrinkages_of_gradient_boosting_stay_between_0_and_1():
    rows, classes, row_weights = made_stream(60)
    model = model_of("gradient", rate=3.0)
    seen = []
    for i in range(60):
        model.learn(rows.take([i]), classes[[i]], row_weights[[i]])
        seen.append(parts_of(model)["shrinkage"].copy())
    assert np.min(seen) == 0
    assert 0 < np.max(seen) <= 1


def test_stream_boost_is_gradient_boosting_that_never_shrinks():
    rows = made_stream(5)[0]
    gradient, stream = model_of("gradient"), model_of("stream")
    assert_array_equal(gradient.raw(rows), stream.raw(rows))
    outputs = stream.weak_outputs(rows)[:, :, 0]
    assert_allclose(stream.raw(rows)[:, 0], 0.8 * outputs.sum(axis=1))
    parts_of(gradient)["shrinkage"][:] = 1.0
    expected = 0.0
    for t in range(3):
        expected = 0.2 * expected + 0.8 * outputs[:, t]
    assert_allclose(gradient.raw(rows)[:, 0], expected)


# What rows count for


@pytest.mark.parametrize("rule", ["non-linear", "linear"])
def test_a_row_counts_as_the_precision_of_the_list_that_ends_at_its_score(rule):
    stream = made_stream(70)
    model = model_of(rule, loss=online_kernel.AVERAGE_PRECISION, is_calibrated=True)
    twin = twin_of(model, rule)
    check_twins_agree(model, twin, stream)
    assert stream[1].sum() > 25
    plain = model_of(rule)
    plain.learn(*stream)
    assert not np.allclose(plain.raw(stream[0]), model.raw(stream[0]))


def test_the_list_has_a_first_and_a_last_bin():
    model = model_of()
    seen = model.seen._replace(rows=np.array([30.0, 30.0]))
    seen.ranked[0, 0], seen.ranked[1, -1] = 3.0, 1.0
    last = seen.ranked.shape[1] - 1
    assert online_kernel._weight_in_list(1e9, 1, seen) == approx(1.0)
    assert online_kernel._weight_in_list(-1e9, 0, seen) == approx(0.1 + 0.9 * 2 / 5, rel=1e-3)
    assert_allclose(seen.ranked[1, last], 2, rtol=1e-3)
    assert_allclose(seen.ranked[0, 0], 4, rtol=1e-3)
    assert seen.ranked.sum() == approx(6, rel=1e-3)


@examples(15)
@given(streams(most_rows=12), st.booleans())
def test_calibration_follows_the_scores_from_before_each_row(stream, averaged):
    model = model_of("majority", is_calibrated=True, is_averaged=averaged)
    twin = twin_of(model, "majority")
    check_twins_agree(model, twin, stream)
    expected = [*twin.slope_start, *twin.calibration_squares]
    assert_allclose(model.seen.calibration, expected, rtol=1e-9, atol=1e-12)


def test_calibration_never_falls():
    model = model_of()
    for raw, label in [(5.0, 0), (-5.0, 1)] * 30:
        online_kernel._calibrate(raw, label, 1.0, model.seen)
        assert model.seen.calibration[0] >= 1e-3
    assert model.seen.calibration[0] == 1e-3


def test_balanced_classes_count_alike():
    model = model_of(is_balanced=True)
    counted = [online_kernel._note_class(label, model.shape, model.seen) for label in (0, 0, 0, 1)]
    # as if 100 rows of either class had come before: (n + 200) / (2 (n_class + 100))
    assert_allclose(counted, [201 / 202, 202 / 204, 203 / 206, 204 / 202])
    plain = model_of()
    assert [online_kernel._note_class(label, plain.shape, plain.seen) for label in (0, 1)] == [
        1,
        1,
    ]


# Columns and averages


def test_means_and_spreads_are_those_of_all_numbers_seen():
    model = model_of()
    values = np.array([[1.5, 0, np.nan], [2.5, 1, 3], [-4, np.nan, 3], [8, 1, 3]])
    for row in values:
        online_kernel._note_columns(row, model.seen)
    assert_array_equal(model.seen.n_values, [4, 3, 3])
    assert_allclose(model.seen.mean, np.nanmean(values, axis=0))
    assert_allclose(model.seen.spread, np.nanvar(values, axis=0) * [4, 3, 3])
    assert_array_equal(model.seen.is_flag, [False, True, False])
    away, is_wide = (1.5 - 2) / np.std(values[:, 0]), model.shape._replace(is_wide=True)

    def scaled(values, column, shape=model.shape):
        return [online_kernel._scaled(value, column, shape, model.seen) for value in values]

    assert scaled([1.5, 1e9, -1e9, np.nan], 0) == [approx(away), 5, -5, 0]
    assert scaled([1.5, np.nan], 0, is_wide) == [approx(np.arcsinh(away)), 0]
    high = scaled([1e9], 0, is_wide)[0]
    assert high == approx(np.arcsinh((1e9 - 2) / np.std(values[:, 0])))  # not cut off
    assert scaled([0.0, 1.0], 1) == scaled([0.0, 1.0], 1, is_wide) == [0, 1]
    assert scaled([9.0], 2) == [0]  # it has no spread


def test_averaged_weights_are_the_mean_of_all_where_row_i_counts_its_8th_power():
    rows, classes, row_weights = made_stream(12)
    model = model_of("linear", "residual", is_averaged=True)
    heads, units = [], []
    for i in range(12):
        model.learn(rows.take([i]), classes[[i]], row_weights[[i]])
        heads.append(model.weights.head.copy())
        units.append(model.weights.units.copy())
    counts = np.arange(1.0, 13.0) ** 8
    assert_allclose(model.scoring_head(), np.average(heads, axis=0, weights=counts), atol=1e-12)
    average = model.weights.units - model.weights.units_past / model.seen.averaging[0]
    assert_allclose(average, np.average(units, axis=0, weights=counts), atol=1e-12)
    assert not np.allclose(model.scoring_head(), model.weights.head)


def test_a_column_and_its_bucket_take_no_step_where_a_row_has_nothing_there():
    model = model_of()
    rows = EncodedEvent(
        np.array([[0.0, 1.0, np.nan], [4.0, 0.0, np.nan]]),
        np.array([[-1, -1, 2], [-1, -1, 2]], dtype=np.int32),
    )
    before = model.weights.units.copy()
    model.learn(rows, np.array([1, 0]), np.ones(2))
    moved = np.flatnonzero((model.weights.units != before).any(axis=1))
    # the bucket, the first column from its second number on, the flag where it is 1
    assert set(moved) <= {2, N_BUCKETS, N_BUCKETS + 1}
    assert 2 in moved


# Scores


@pytest.mark.parametrize("rule", ["linear", "non-linear", "stream"])
def test_a_learner_left_out_adds_nothing(rule):
    model = model_of(rule)
    stream = made_stream(20)
    model.learn(*stream)
    whole = model.raw(stream[0])
    without = model.raw(stream[0], left_out=1)
    assert not np.allclose(whole, without)
    outputs = model.weak_outputs(stream[0])
    outputs[:, 1] = 0
    twin = twin_of(model, rule)
    expected = [twin.combined(said, twin.weights) for said in outputs]
    assert_allclose(without, expected)


@pytest.mark.parametrize("rule", ["majority", "importance"])
def test_a_learner_left_out_has_no_vote(rule):
    model = model_of(rule)
    stream = made_stream(20)
    model.learn(*stream)
    votes = np.where(model.weak_outputs(stream[0])[:, :, 0] > 0, 1, -1)
    alphas = parts_of(model)["alpha"][:, 0] if rule == "importance" else np.ones(3)
    expected = votes[:, [0, 2]] @ alphas[[0, 2]]
    without = model.raw(stream[0], left_out=1)[:, 0]
    # rows of the same balance of votes are ordered by the mean output, within half a vote
    assert_allclose(without, expected, rtol=0, atol=0.5 if rule == "majority" else 1e-9)


@EVERY_WAY
def test_rows_learned_in_batches_give_the_same_model(rule, update):
    stream = made_stream(14)
    whole, parts = model_of(rule, update), model_of(rule, update)
    whole.learn(*stream)
    for part in (slice(0, 1), slice(1, 5), slice(5, 14)):
        parts.learn(
            *(
                column.take(part) if isinstance(column, EncodedEvent) else column[part]
                for column in stream
            )
        )
    for name, array in whole.arrays().items():
        assert_array_equal(array, parts.arrays()[name], err_msg=name)
