"""The kernel model: its places, its sum, what a value adds, and the arrays it rejects."""

import numpy as np
import pytest
from pytest import approx
from sklearn.preprocessing import QuantileTransformer
from sklearn.svm import SVC

from rankers.auto.encoded import COLUMNS, number_columns, numbers, payments
from toprank.data.inputs import TrainingRows
from toprank.metrics import average_precision
from toprank.rankers.auto.kernel_member import KernelMember, KernelModel, NormalScales
from toprank.rankers.auto.smooth_member import SmoothModel


def ring(n=400, seed=0):
    """Return rows whose positives lie between two circles, as no line or parabola does."""
    features = np.random.default_rng(seed).normal(size=(n, 2)).astype(np.float32)
    radius = np.hypot(*features.T)
    return TrainingRows(features, (radius > 1.0) & (radius < 1.4), None)


def fitted(rows, columns=COLUMNS):
    return KernelModel().fit(rows, columns, seed=0, n_threads=1)


@pytest.fixture(scope="module")
def member():
    return fitted(payments())


def test_a_boundary_that_is_too_bent_for_a_quadratic_model_is_found():
    later, columns = ring(seed=1), number_columns(2)
    kernel, quadratic = (
        average_precision(
            later.is_positive,
            model.tried(ring(), columns, later.features, seed=0, n_threads=1),
        )
        for model in (KernelModel(), SmoothModel(2))
    )
    assert kernel > quadratic + 0.2


def test_places_are_normal_scores_of_ranks():
    rows = numbers(1000, n_columns=2)
    places = NormalScales.of(rows, number_columns(2)).places(rows.features)
    theirs = QuantileTransformer(n_quantiles=101, output_distribution="normal")
    expected = theirs.fit_transform(rows.features)
    inside = np.abs(expected) < 2
    assert places[inside] == approx(expected[inside], abs=0.01)
    assert np.abs(places).max() < 3


def test_missing_values_and_values_like_the_median_are_in_the_middle(member):
    rows = payments(missing=0.0)
    scales = NormalScales.of(rows, COLUMNS)
    row = rows.features[:1].copy()
    row[0, 0] = np.nan
    row[0, 1] = np.median(rows.features[:, 1])
    assert scales.places(row)[0, :2] == approx([0, 0], abs=0.1)


def test_scores_are_those_of_the_support_vector_machine():
    rows = payments(weighted=True)
    member = fitted(rows)
    places = member.scales.places(rows.features)
    machine = SVC(gamma=1 / 4).fit(places, rows.is_positive, rows.weight)
    assert member.raw(rows.features) == approx(machine.decision_function(places), abs=1e-9)


def test_a_row_has_the_same_score_alone_and_in_a_batch(member):
    features = payments(n=700, seed=3).features
    together = member.raw(features)
    alone = np.concatenate([member.raw(features[number : number + 1]) for number in range(700)])
    assert np.array_equal(together, alone)


def test_an_effect_is_what_the_score_loses_when_the_value_is_the_median(member):
    places = member.scales.places(payments(seed=4).features[:20])
    effects = member.support.effects(places)
    for number in range(len(COLUMNS)):
        changed = places.copy()
        changed[:, number] = 0.0
        lost = member.support.score(places) - member.support.score(changed)
        assert effects[:, number] == approx(lost)


def test_contributions_add_up_from_the_score_of_a_row_of_medians(member):
    features = payments(seed=4).features[:20]
    shares = member.contributions(features)
    assert shares.sum(axis=1) == approx(member.raw(features))
    assert shares[:, -1] == approx(member.support.score(np.zeros((1, 4)))[0])


def test_a_single_value_that_is_unusual_has_all_of_the_contribution(member):
    row = np.full((1, 4), np.nan, np.float32)  # missing is in the middle
    row[0, 0] = 3.0
    shares = member.contributions(row)[0]
    assert shares[1:4] == approx([0, 0, 0], abs=1e-9)
    assert shares[0] == approx(member.raw(row)[0] - shares[-1])


def test_the_columns_that_decide_are_the_important_ones(member):
    importances = member.importances()
    assert importances.sum() == approx(1)
    assert set(np.argsort(-importances)[:2]) == {0, 2}  # amount and country


def test_a_column_without_values_and_one_of_a_single_value_are_harmless():
    rows = numbers(200)
    rows.features[:, 0] = np.nan
    rows.features[:, 1] = 7
    member = fitted(rows, number_columns(3))
    assert np.isfinite(member.raw(rows.features)).all()
    assert member.importances()[:2] == approx([0, 0], abs=1e-6)


def test_only_few_rows_and_columns_are_compared_with_each_other():
    assert KernelModel().can_fit(5_000, 30)
    assert not KernelModel().can_fit(5_001, 30)
    assert not KernelModel().can_fit(100, 501)


def test_what_was_saved_scores_the_same(member):
    features = payments(seed=5).features
    again = KernelMember.from_parts(member.parts(), COLUMNS)
    assert np.array_equal(again.raw(features), member.raw(features))
    assert np.array_equal(again.importances(), member.importances())


def _with_array(parts, name, values):
    return parts._replace(arrays={**parts.arrays, name: values})


@pytest.mark.parametrize("name", ["quantiles", "at", "weights", "importance"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e60])
def test_absurd_numbers_are_refused(member, name, value):
    damaged = member.parts().arrays[name].copy()
    damaged.flat[0] = value
    with pytest.raises(ValueError, match=name):
        KernelMember.from_parts(_with_array(member.parts(), name, damaged), COLUMNS)


@pytest.mark.parametrize("name", ["orders", "quantiles", "at", "importance"])
def test_arrays_that_do_not_fit_the_columns_are_refused(member, name):
    shorter = member.parts().arrays[name][:-1]
    with pytest.raises(ValueError, match=name):
        KernelMember.from_parts(_with_array(member.parts(), name, shorter), COLUMNS)


def test_quantiles_out_of_order_and_an_endless_intercept_are_refused(member):
    parts = member.parts()
    backwards = parts.arrays["quantiles"][:, ::-1].copy()
    with pytest.raises(ValueError, match="quantiles"):
        KernelMember.from_parts(_with_array(parts, "quantiles", backwards), COLUMNS)
    with pytest.raises(ValueError, match="intercept"):
        KernelMember.from_parts(parts._replace(state={"intercept": float("nan")}), COLUMNS)
