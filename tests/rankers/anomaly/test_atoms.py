"""Values that many rows share, found and described."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from toprank.data.tables import Schema
from toprank.rankers.anomaly.atoms import Atom, atoms_of, atoms_sentence


def atoms(table):
    schema = Schema.of(table)
    return atoms_of(schema.encode(table), schema)


def with_value(share, n_rows=500, value=0.0, seed=0):
    """Numbers between 1 and 2 but for one value that a share of the rows has."""
    numbers = 1 + np.random.default_rng(seed).random(n_rows)
    numbers[: round(share * n_rows)] = value
    return numbers


@pytest.mark.parametrize(
    ("share", "is_atom"), [(0.1, False), (0.19, False), (0.2, True), (0.89, True)]
)
def test_a_value_of_a_fifth_of_the_rows_is_an_atom(share, is_atom):
    found = atoms(pd.DataFrame({"rate": with_value(share, value=-1.5)}))
    assert found == ([Atom("rate", "-1.50", approx(share))] if is_atom else [])


def test_counts_of_few_values_are_no_atoms_and_counts_of_many_are():
    generator = np.random.default_rng(0)
    few = pd.DataFrame({"visits": generator.integers(0, 4, 500)})
    assert atoms(few) == []
    many = few.assign(visits=np.where(generator.random(500) < 0.7, 0, np.arange(500)))
    assert [atom.value for atom in atoms(many)] == ["0"]


def test_rates_with_two_decimals_that_are_mostly_0_have_an_atom():
    rate = np.round(np.random.default_rng(0).random(1000), 2)
    rate[:890] = 0.0
    assert [atom.column for atom in atoms(pd.DataFrame({"rate": rate}))] == ["rate"]


def test_constants_categories_flags_and_gaps_are_no_atoms():
    frame = pd.DataFrame(
        {
            "constant": np.full(500, 3.0),
            "country": ["FR"] * 400 + ["DE"] * 100,
            "online": [True] * 400 + [False] * 100,
            "hours": np.where(np.arange(500) < 400, np.nan, with_value(0.0)),
        }
    )
    assert atoms(frame) == []


def test_rows_that_repeat_are_an_atom_even_where_no_column_alone_has_one():
    generator = np.random.default_rng(0)
    rows = generator.integers(0, 10, size=(1000, 4)).astype(float)
    rows[::4] = [1, 2, 3, 4]
    frame = pd.DataFrame(rows).rename(columns=str)
    assert atoms(frame) == [Atom(None, "1, 2, 3, 4", approx(0.25, abs=0.001))]


def test_different_rows_with_atoms_in_different_columns_do_not_repeat():
    frame = pd.DataFrame({"one": with_value(0.4), "other": with_value(0.4, seed=1)[::-1]})
    assert [atom.column for atom in atoms(frame)] == ["one", "other"]


@given(st.integers(0, 2**32), st.floats(0.2, 1))
@examples(25)
def test_the_share_of_a_row_is_that_of_its_copies(seed, share):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(200, 3))
    is_copy = generator.random(200) < share
    rows[is_copy] = [5.0, np.nan, 7.0]
    if is_copy.mean() < 0.2 or is_copy.sum() > 190:
        return
    (found,) = [atom for atom in atoms(rows) if atom.column is None]
    assert found == Atom(None, "5, missing, 7", approx(is_copy.mean()))


def test_the_sentence_names_some_counts_the_others_and_has_a_way_out():
    found = [Atom(f"rate{i}", "0", 0.9) for i in range(5)] + [Atom(None, "0", 0.8)]
    sentence = atoms_sentence(found)
    assert sentence.startswith("'rate0' is 0 in 90 % of the rows, 'rate1' is")
    assert (
        "80 % of the rows are equal in every column, 2 more columns have such values" in sentence
    )
    assert sentence.endswith("leave such columns out, or compare by labels.")
    assert "leave the column out" in atoms_sentence(found[:1])
    assert atoms_sentence([]) == ""
