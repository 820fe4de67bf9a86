"""A tree in rules: every row meets one, its group's, and the counts and words are true."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from rankers.trees.reading import hand_made
from rankers.trees.reading.test_compact import graphs, new_rows
from toprank.rankers.trees.reading import rules as rules_module
from toprank.rankers.trees.reading.compact import Tally, compact
from toprank.rankers.trees.reading.rules import path_of, rules_of, rules_text
from toprank.rankers.trees.reading.seen import seen_in
from toprank.rankers.trees.scoring import column_std

pytestmark = pytest.mark.kernel


@pytest.fixture
def graph():
    return compact(hand_made.tree(), hand_made.SCHEMA)


@pytest.fixture
def seen(graph):
    return seen_in(graph, *hand_made.rows())


@given(graphs(), st.integers(0, 100))
@examples(80)
def test_every_row_meets_one_rule_and_it_is_its_groups(made, seed):
    _, graph, table = made
    groups = rules_of(graph)
    for row in (*table.features, *new_rows(table, seed)):
        met = [group.rank for group in groups for rule in group.rules if rule.holds(row)]
        assert met == [graph.rank(row)]


@given(graphs())
@examples(60)
def test_a_rule_counts_the_training_rows_that_meet_it(made):
    _, graph, table = made
    seen = seen_in(graph, table.features, table.is_positive, table.weight)
    for group in rules_of(graph, seen):
        total = Tally()
        for rule in group.rules:
            met = np.array([rule.holds(row) for row in table.features])
            mass = table.masses[met]
            expected = (met.sum(), mass.sum(), mass[table.is_positive[met]].sum())
            assert rule.tally == approx(expected)
            total = total.plus(rule.tally)
        assert total == approx(group.tally)


@given(graphs())
@examples(60)
def test_no_two_rules_of_a_group_could_be_one(made):
    _, graph, _ = made
    for group in rules_of(graph):
        for one, other in combinations(group.rules, 2):
            if one.conditions.keys() != other.conditions.keys():
                continue
            unlike = [c for c in one.conditions if one.conditions[c] != other.conditions[c]]
            if len(unlike) == 1:
                (column,) = unlike
                assert one.conditions[column].join(other.conditions[column]) is None
        assert not any(each.is_everything for r in group.rules for each in r.conditions.values())


def test_the_rules_of_a_tree_in_words(graph, seen):
    assert rules_text(rules_of(graph, seen), "frauds") == (
        "group 1 of 3: 31 frauds in 44 (70 %)\n"
        "  amount > 120 and country is not home: 31 frauds in 44\n"
        "\n"
        "group 2 of 3: 7 frauds in 86 (8.1 %)\n"
        "  60 < amount <= 120 (or missing): 4 frauds in 50\n"
        "  amount > 120 and country is home: 3 frauds in 36\n"
        "\n"
        "group 3 of 3: 1 fraud in 110 (0.91 %)\n"
        "  amount <= 60: 1 fraud in 110"
    )


def test_without_training_rows_rules_have_words_but_no_counts_of_their_own(graph):
    top = rules_of(graph)[0]
    assert top.tally.n_rows == 44
    assert [rule.text() for rule in top.rules] == ["amount > 120 and country is not home"]


def test_rules_that_no_training_row_meets_are_only_counted(graph):
    features, is_positive = hand_made.rows()
    features[features[:, 0] > 120, 1] = 0
    seen = seen_in(graph, features, is_positive)
    assert (
        rules_of(graph, seen)[1]
        .text()
        .endswith(
            "60 < amount <= 120 (or missing): 4 positives in 50\n"
            "  (1 more rule that no training row meets)"
        )
    )


def test_a_tree_with_too_many_paths_is_refused(graph, monkeypatch):
    monkeypatch.setattr(rules_module, "MOST_PATHS", 3)
    with pytest.raises(ValueError, match="at most 3 paths"):
        rules_of(graph)


def test_a_rows_path_in_words(graph, seen):
    std = np.array([100.0, 1.0, 1.0])
    path = path_of(graph, (119.0, 0.0, 1.0), seen, std=std)
    assert path.text("frauds") == (
        "in group 2 of 3 (7 frauds in 86): 60 < amount <= 120 (or missing): 4 frauds in 50; "
        "close to group 1 because amount is just under 120"
    )
    far = path_of(graph, (400.0, 0.0, 1.0), seen, std=std)
    assert far.near is None
    assert far.text("frauds") == (
        "in group 1 of 3 (31 frauds in 44): amount > 120 and country is not home: 31 frauds in 44"
    )


@given(graphs(), st.integers(0, 100))
@examples(60)
def test_a_path_is_the_rule_that_holds_the_row(made, seed):
    _, graph, table = made
    seen = seen_in(graph, table.features, table.is_positive, table.weight)
    groups = rules_of(graph, seen)
    for row in new_rows(table, seed)[:15]:
        own, by_rules = path_of(graph, row, seen), path_of(graph, row, seen, groups)
        assert own.rank == by_rules.rank == graph.rank(row)
        assert own.rule.holds(row)
        assert by_rules.rule.holds(row)
        assert by_rules.rule.tally in [rule.tally for rule in groups[by_rules.rank].rules]
        assert own.rule.tally.n_rows <= by_rules.rule.tally.n_rows


@given(graphs(), st.integers(0, 100))
@examples(60)
def test_the_near_group_is_where_the_smallest_change_of_one_number_leads(made, seed):
    _, graph, table = made
    std = column_std(table.features, None)
    for row in new_rows(table, seed)[:15].astype(np.float64):
        near = path_of(graph, row, std=std, nearness=1.0).near
        # in steps along every number, as far as the near group is away, or as far as is looked
        reach = 1.0 if near is None else near.distance * (1 - 1e-9)
        for column in np.flatnonzero(~table.is_category):
            for step in np.linspace(-reach, reach, 41) * std[column]:
                moved = row.copy()
                moved[column] += step
                assert graph.rank(moved) == graph.rank(row)
        if near is not None:
            moved = row.copy()
            side = 1 if row[near.column] <= near.threshold else 0
            moved[near.column] = np.nextafter(near.threshold, np.inf) if side else near.threshold
            assert graph.rank(moved) == near.rank != graph.rank(row)
