"""The smooth model: its terms, their columns, and the arrays it rejects."""

import numpy as np
import pytest
from pytest import approx

from rankers.auto.encoded import (
    AMOUNT,
    COLUMNS,
    COUNTRY,
    ONLINE,
    number_columns,
    numbers,
    payments,
)
from toprank.data.inputs import TrainingRows
from toprank.data.tables import Column
from toprank.files import Saved
from toprank.metrics import average_precision
from toprank.rankers.auto import smooth_member
from toprank.rankers.auto.smooth_member import SmoothDesign, SmoothMember, SmoothModel

# amount, country, online: centre 4 and spread 2; missing once; 2 and 0 are known countries
SMALL = np.array([[2, 2, 1], [6, 0, 1], [np.nan, 2, 1], [2, np.nan, 1], [6, 2, 1]], np.float32)
SMALL_COLUMNS = (AMOUNT, COUNTRY, ONLINE)
SMALL_ROWS = TrainingRows(SMALL, np.array([True, False, True, False, False]), None)


def fitted(degree, rows, columns=COLUMNS):
    return SmoothModel(degree).fit(rows, columns, seed=0, n_threads=1)


def test_terms_are_the_columns_standardised_what_is_missing_and_each_category():
    design = SmoothDesign.of(SMALL_ROWS, SMALL_COLUMNS, degree=1)

    #  amount, online, amount missing, country 0, country 2
    expected = [
        [-1, 0, 0, 0, 1],
        [1, 0, 0, 1, 0],
        [0, 0, 1, 0, 1],
        [-1, 0, 0, 0, 0],
        [1, 0, 0, 0, 1],
    ]
    assert design.terms(SMALL).tolist() == expected
    assert design.owners().tolist() == [[0, 0], [2, 2], [0, 0], [1, 1], [1, 1]]


def test_degree_two_adds_the_products_of_numbers():
    design = SmoothDesign.of(SMALL_ROWS, SMALL_COLUMNS, degree=2)
    row = np.array([[8, 2, 2]], np.float32)  # amount 2, online 1 standard deviations up

    assert design.terms(row).tolist() == [[2, 1, 0, 0, 1, 4, 2, 1]]
    assert design.owners()[5:].tolist() == [[0, 0], [0, 2], [2, 2]]


@pytest.mark.parametrize("degree", [1, 2])
def test_every_term_has_owners_and_moves_with_them_alone(degree):
    rows = payments()
    design = SmoothDesign.of(rows, COLUMNS, degree)
    owners, before = design.owners(), design.terms(rows.features)
    assert before.shape == (240, len(owners))

    for column in range(len(COLUMNS)):
        shuffled = rows.features.copy()
        shuffled[:, column] = shuffled[::-1, column]
        moved = (design.terms(shuffled) != before).any(axis=0)
        assert not moved[~(owners == column).any(axis=1)].any()
        assert moved[(owners == column).all(axis=1)].all()


def test_a_value_beyond_five_standard_deviations_counts_no_more():
    rows = numbers(500)
    design = SmoothDesign.of(rows, number_columns(3), degree=1)
    far = np.array([[1e30, -1e30, 4.0]], np.float32)
    assert design.terms(far)[0] == approx([5, -5, (4 - design.centre[2]) / design.spread[2]])


def test_only_the_most_frequent_categories_have_a_term():
    n_codes = smooth_member._MOST_CATEGORIES + 10
    column = Column("shop", "category", tuple(map(str, range(n_codes))))
    once, more = np.arange(n_codes), np.arange(10, n_codes)
    codes = np.concatenate([once, more, more]).astype(np.float32)[:, None]
    design = SmoothDesign.of(
        TrainingRows(codes, np.arange(codes.size) < 3, None), (column,), degree=1
    )
    assert design.category_code.tolist() == more.tolist()


def test_missing_at_scoring_alone_counts_as_the_mean():
    rows = numbers(200)
    member = fitted(1, rows, number_columns(3))
    missing = np.full((1, 3), np.nan, np.float32)
    assert member.raw(missing)[0] == approx(member.intercept)


def test_a_product_is_shared_equally_by_its_two_columns():
    design = SmoothDesign.of(numbers(50, n_columns=2), number_columns(2), degree=2)
    row = np.array([[1.5, -0.5]], np.float32)
    first, second, squared, product, _ = design.terms(row)[0]
    member = SmoothMember(design, np.array([1.0, 2.0, 3.0, 10.0, 0.0]), 0.25, n_columns=2)

    assert member.contributions(row)[0] == approx(
        [first + 3 * squared + 5 * product, 2 * second + 5 * product, 0.25]
    )
    assert member.importances() == approx([9 / 16, 7 / 16])


def test_a_line_finds_a_linear_risk_and_only_a_curve_a_ring():
    features = numbers(1500, n_columns=2).features
    columns = number_columns(2)
    linear = features.sum(axis=1) > 2.2
    ring = (features**2).sum(axis=1) > 6
    line, curve = (
        {
            degree: average_precision(
                labels, fitted(degree, TrainingRows(features, labels, None), columns).raw(features)
            )
            for degree in (1, 2)
        }
        for labels in (linear, ring)
    )

    assert line[1] > 0.95
    assert curve[1] < 0.6
    assert curve[2] > 0.95


def test_products_need_a_number_and_not_too_many():
    assert SmoothModel(2).can_fit(number_columns(40))
    assert not SmoothModel(2).can_fit(number_columns(41))
    assert SmoothModel(2).can_fit((*number_columns(40), COUNTRY))
    assert not SmoothModel(2).can_fit((COUNTRY,))
    assert SmoothModel(1).can_fit(number_columns(41))
    assert SmoothModel(1).can_fit((COUNTRY,))


def test_rows_are_scored_in_blocks_with_the_same_answer(monkeypatch):
    member, features = fitted(2, payments()), payments(seed=1).features
    raw, shares = member.raw(features), member.contributions(features)
    monkeypatch.setattr(smooth_member, "_ROWS_AT_ONCE", 7)

    assert np.array_equal(member.raw(features), raw)
    assert np.array_equal(member.contributions(features), shares)
    assert np.array_equal(member.design.matrix(features), member.design.terms(features))


def test_many_rows_are_sampled(monkeypatch):
    drawn = []
    monkeypatch.setattr(smooth_member, "_MOST_ROWS", 100)
    monkeypatch.setattr(smooth_member, "_MOST_VALUES", 20_000)
    monkeypatch.setattr(
        smooth_member, "sampled", lambda *given: drawn.append(given[1]) or given[0]
    )
    member = fitted(1, payments())
    # at most 100, and fewer the more terms there are
    assert drawn == [100, max(20_000 // len(member.weights), 1_000)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("numeric", np.array([0, 1, 2])),
        ("numeric", np.array([0.0, 1.0, 3.0])),
        ("centre", np.zeros(2)),
        ("centre", np.array([0, np.nan, 0])),
        ("centre", np.array(["a", "b", "c"])),
        ("spread", np.array([1.0, 0, 1])),
        ("spread", np.array([1.0, np.inf, 1])),
        ("has_missing", np.ones(3)),
        ("category_column", np.array([2, 2, 2, 2, 1])),
        ("category_column", np.full(5, 2.0)),
        ("category_column", np.full((5, 1), 2)),
        ("category_code", np.zeros(4, dtype=int)),
        ("category_code", np.zeros(5)),
        ("weights", np.zeros(3)),
        ("weights", np.full(11, np.nan)),
        ("weights", np.full(11, 1e300)),
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_each_other_are_rejected(name, value):
    parts = fitted(1, payments()).parts()
    assert parts.arrays["weights"].shape == (11,)
    broken = Saved(parts.state, {**parts.arrays, name: value}, {})
    with pytest.raises(ValueError, match="smooth model"):
        SmoothMember.from_parts(broken, COLUMNS)


@pytest.mark.parametrize("state", [{"degree": 3}, {"degree": "2"}, {"intercept": np.inf}], ids=str)
def test_an_odd_degree_or_intercept_is_rejected(state):
    parts = fitted(1, payments()).parts()
    with pytest.raises(ValueError, match="smooth model"):
        SmoothMember.from_parts(Saved({**parts.state, **state}, parts.arrays, {}), COLUMNS)
