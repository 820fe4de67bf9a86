"""The graph a person reads: every row ends where it ended in the tree, with fewer questions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from rankers.trees.kernel.test_cuts import made_table, tables
from rankers.trees.kernel.test_meta_tree import grown, growths, ranks_of
from rankers.trees.reading import hand_made
from rankers.trees.reading.hand_made import schema_of
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.reading.compact import Tally, compact
from toprank.rankers.trees.reading.conditions import OneOf, ValueRange

pytestmark = pytest.mark.kernel


@st.composite
def graphs(draw):
    """A grown tree with its graph and its table."""
    table = draw(tables(max_rows=150))
    tree = grown(table, draw(growths()), draw(st.integers(1, 4)))
    return tree, compact(tree, schema_of(table)), table


def new_rows(table, seed):
    """Rows like those of the table, every column drawn from other rows, some values missing."""
    generator = np.random.default_rng(seed)
    features = np.column_stack([generator.choice(each, 60) for each in table.features.T])
    is_number = ~table.is_category
    features[:, is_number] += generator.choice([-0.6, 0.0, 0.6], (60, is_number.sum()))
    features[generator.random(features.shape) < 0.1] = np.nan
    for j in np.flatnonzero(table.is_category):  # also categories that training has not seen
        drawn = generator.random(60) < 0.2
        features[drawn, j] = generator.integers(0, table.n_categories[j], drawn.sum())
    return features.astype(np.float32)


@given(graphs(), st.integers(0, 100))
@examples(120)
def test_every_row_ends_in_the_group_it_ended_in_before(made, seed):
    tree, graph, table = made
    for rows in (table.features, new_rows(table, seed)):
        assert [graph.rank(row) for row in rows] == ranks_of(tree, rows).tolist()


@given(graphs())
@examples(80)
def test_cuts_come_before_what_they_lead_to_and_each_is_needed(made):
    tree, graph, _ = made
    assert len(graph.cuts) <= np.count_nonzero(tree.nodes.column >= 0)
    reached = {graph.root}
    for number, cut in enumerate(graph.cuts):
        assert number in reached
        assert cut.yes != cut.no
        assert all(place < 0 or place > number for place in (cut.yes, cut.no))
        reached |= {cut.yes, cut.no}
    assert {place for place in reached if place < 0} == {-1 - group.rank for group in graph.groups}
    asked = [(cut.column, cut.yes_if, cut.yes, cut.no) for cut in graph.cuts]
    assert len(set(asked)) == len(asked)


@given(graphs())
@examples(80)
def test_cuts_and_groups_know_the_rows_that_reach_them(made):
    _, graph, table = made
    asked = np.zeros((len(graph.cuts), 2, 3))
    ended = np.zeros((len(graph.groups), 3))
    for row, mass, positive in zip(table.features, table.masses, table.is_positive, strict=True):
        place = graph.root
        while place >= 0:
            cut = graph.cuts[place]
            is_no = int(not cut.yes_if.holds(float(row[cut.column])))
            asked[place, is_no] += [1, mass, mass * positive]
            place = (cut.yes, cut.no)[is_no]
        ended[-1 - place] += [1, mass, mass * positive]
    for cut, (yes, no) in zip(graph.cuts, asked, strict=True):
        assert cut.yes_tally == approx(yes)
        assert cut.no_tally == approx(no)
        assert cut.tally == approx(yes + no)
    assert np.array([group.tally for group in graph.groups]) == approx(ended)


@given(graphs())
@examples(60)
def test_a_row_can_take_either_way_at_every_cut(made):
    _, graph, _ = made
    taken = set()
    to_see = [(graph.root, {})]
    while to_see:
        place, facts = to_see.pop()
        if place < 0:
            continue
        cut = graph.cuts[place]
        for condition, way in ((cut.yes_if, cut.yes), (cut.no_if, cut.no)):
            met = condition.meet(facts[cut.column]) if cut.column in facts else condition
            if not met.is_nothing:
                taken.add((place, way))
                to_see.append((way, {**facts, cut.column: met}))
    assert len(taken) == 2 * len(graph.cuts)


def test_yes_is_the_more_suspicious_way_and_known_answers_are_not_asked_for():
    graph = compact(hand_made.tree(), hand_made.SCHEMA)
    amount, country, small = graph.cuts
    assert (amount.yes_if, amount.yes, amount.no) == (ValueRange(120.0, np.inf, False), 1, 2)
    assert country.yes_if == OneOf(frozenset({0, 1}), 3, True)
    # whoever comes from the country has an amount above 60.5: group 2, without being asked
    assert (country.yes, country.no) == (-1, -2)
    assert (small.yes, small.no) == (-2, -3)
    assert (small.tally, small.yes_tally) == (Tally(160, 160, 5), Tally(50, 50, 4))


def test_a_tree_without_a_cut_is_one_group():
    table = made_table(8, ["constant"], seed=0, missing=0.0)
    graph = compact(grown(table, Growth("gini", 2), 2), schema_of(table))
    assert graph.cuts == ()
    assert graph.rank(table.features[0]) == 0
    assert graph.tally.n_rows == 8


def test_a_cut_that_only_separates_missing_from_present_is_kept():
    table = made_table(40, ["constant"], seed=0, missing=0.5)
    table = table._replace(is_positive=np.isnan(table.features[:, 0]))
    (cut,) = compact(grown(table, Growth("gini", 2), 2), schema_of(table)).cuts
    assert cut.yes_if == ValueRange(np.inf, -np.inf, True)
    assert cut.no_if == ValueRange(-np.inf, np.inf, False)
