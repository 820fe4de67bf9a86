"""Columns as terms: centred by weight, numbers standardised, categories and gaps marked."""

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from rankers.trees.made_payments import payments
from toprank.data.inputs import TrainingRows
from toprank.data.tables import Schema
from toprank.rankers.pairwise.design import PairwiseDesign


def designed(frame, weight=None):
    schema = Schema.of(frame)
    rows = TrainingRows(schema.encode(frame), np.arange(len(frame)) == 0, weight)
    return PairwiseDesign.of(rows, schema), rows.features, schema


@pytest.mark.parametrize("weight", [None, np.random.default_rng(0).uniform(0, 2, 300)])
def test_every_term_is_0_on_average_and_a_number_without_gaps_varies_by_1(weight):
    design, features, _ = designed(payments(300)[0], weight)
    terms = design.terms(features)
    assert np.average(terms, axis=0, weights=weight) == approx(0, abs=1e-12)
    amount = terms[:, list(design.owners).index(0)]
    assert np.average(amount**2, weights=weight) == approx(1)


def test_a_term_belongs_to_its_column():
    frame = payments(300)[0]
    design, features, _ = designed(frame)
    changed = features.copy()
    changed[:, 1] = 0  # one country for all
    moved = (design.terms(changed) != design.terms(features)).any(axis=0)
    assert np.array_equal(moved, design.owners == frame.columns.get_loc("country"))


def test_a_missing_number_is_at_the_mean_and_marked_so():
    design, features, _ = designed(pd.DataFrame({"hours": [1.0, 2.0, 6.0, None]}))
    assert design.centre.tolist() == [3.0]
    assert design.terms(features)[3].tolist() == [0.0, 0.75]
    assert design.terms(features)[0, 1] == -0.25


def test_a_gap_that_training_did_not_have_is_at_the_mean():
    design, _, schema = designed(pd.DataFrame({"hours": [1.0, 2.0, 6.0]}))
    assert design.terms(schema.encode(pd.DataFrame({"hours": [np.nan]}))).tolist() == [[0.0]]


def test_no_country_and_a_new_one_are_the_same():
    frame = pd.DataFrame({"country": ["FR", "FR", "DE", None]})
    design, features, schema = designed(frame)
    new = schema.encode(pd.DataFrame({"country": ["JP"]}))
    assert np.array_equal(design.terms(new), design.terms(features[3:]))
    assert (design.terms(new) + design.code_share).tolist() == [[0.0, 0.0]]


def test_columns_of_one_value_have_no_term():
    frame = pd.DataFrame({"same": [1.1] * 7, "country": ["FR"] * 7, "flag": [True] * 7})
    design, features, _ = designed(frame)
    assert design.terms(features).shape == (7, 0)


def test_a_column_whose_values_have_no_weight_has_no_term():
    features = np.array([[np.nan, 1.0], [np.nan, 2.0]], dtype=np.float32)
    schema = Schema.of(np.array([[1.0, 1.0]]))
    design = PairwiseDesign.of(TrainingRows(features, np.array([True, False]), None), schema)
    assert design.owners.tolist() == [1]


def test_the_hundred_most_frequent_categories_have_a_term():
    place = np.repeat(np.arange(120), np.arange(1, 121))
    design, features, schema = designed(
        pd.DataFrame({"shop": np.char.add("s", place.astype(str))})
    )
    assert design.code.size == 100
    named = {schema.columns[0].categories[code] for code in design.code}
    assert named == {f"s{place}" for place in range(20, 120)}
    rare = design.terms(features)[place < 20]
    assert np.ptp(rare, axis=0) == approx(0)


@pytest.mark.parametrize("weight", [None, np.random.default_rng(1).uniform(0.1, 2, 200)])
def test_the_usual_gamma_is_1_over_the_variance_of_all_terms(weight):
    design, features, _ = designed(payments(200)[0].assign(same=1.0), weight)
    squares = (design.terms(features) ** 2).sum(axis=1)
    assert design.usual_gamma == approx(1 / np.average(squares, weights=weight))


def test_numbers_without_gaps_have_a_usual_gamma_of_1_over_their_number():
    assert designed(np.random.default_rng(0).normal(size=(50, 4)))[0].usual_gamma == approx(1 / 4)


def test_without_terms_the_usual_gamma_is_1():
    assert designed(np.ones((5, 2)))[0].usual_gamma == 1


def test_a_weight_counts_like_that_many_copies():
    frame = payments(200)[0]
    weight = np.random.default_rng(0).integers(1, 4, len(frame))
    weighted, features, schema = designed(frame, weight.astype(float))
    copies = np.repeat(features, weight, axis=0)
    copied = PairwiseDesign.of(TrainingRows(copies, np.arange(len(copies)) == 0, None), schema)
    assert copied.terms(features) == approx(weighted.terms(features), abs=1e-12)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_the_unit_of_a_column_changes_nothing(unit):
    values = np.random.default_rng(0).normal(size=(50, 1)) + 3
    plain, features, _ = designed(values)
    scaled, scaled_features, _ = designed(values * unit)
    assert scaled.terms(scaled_features) == approx(plain.terms(features), abs=1e-6)
