"""What training rows say about a graph: the rows of every path, the values around a threshold."""

import numpy as np
import pytest
from hypothesis import given
from pytest import approx

from examples import examples
from rankers.trees.reading import hand_made
from rankers.trees.reading.test_compact import graphs
from toprank.rankers.trees.reading.compact import Tally, compact
from toprank.rankers.trees.reading.conditions import OneOf
from toprank.rankers.trees.reading.seen import next_code, seen_in, threshold_of

pytestmark = pytest.mark.kernel


def code_of(graph, row):
    place, code = graph.root, 0
    while place >= 0:
        cut = graph.cuts[place]
        is_no = not cut.yes_if.holds(float(row[cut.column]))
        code = next_code(code, place, is_no)
        place = cut.no if is_no else cut.yes
    return code


@given(graphs())
@examples(60)
def test_every_path_has_the_rows_that_take_it(made):
    _, graph, table = made
    seen = seen_in(graph, table.features, table.is_positive, table.weight)
    walked = {}
    for row, mass, positive in zip(table.features, table.masses, table.is_positive, strict=True):
        code = code_of(graph, row)
        walked[code] = walked.get(code, Tally()).plus(Tally(1, mass, mass * positive))
    assert seen.tallies().keys() == walked.keys()
    for code, tally in walked.items():
        assert seen.tallies()[code] == approx(tally)
        assert seen.tally(code) == approx(tally)


@given(graphs())
@examples(60)
def test_the_values_around_a_threshold_are_the_nearest_in_training(made):
    _, graph, table = made
    seen = seen_in(graph, table.features, table.is_positive)
    for number, cut in enumerate(graph.cuts):
        values = table.features[:, cut.column].astype(np.float64)
        assert seen.has_missing[cut.column] == np.isnan(values).any()
        present = values[~np.isnan(values)]
        assert seen.is_whole[cut.column] == (present == np.floor(present)).all()
        if isinstance(cut.yes_if, OneOf):
            assert np.isnan([seen.below[number], seen.above[number]]).all()
        else:
            threshold = threshold_of(cut)
            assert seen.below[number] == present[present <= threshold].max(initial=-np.inf)
            assert seen.above[number] == present[present > threshold].min(initial=np.inf)


def test_a_path_without_rows_has_none():
    graph = compact(hand_made.tree(), hand_made.SCHEMA)
    features, is_positive = hand_made.rows()
    few = features[:, 0] > 120
    seen = seen_in(graph, features[few], is_positive[few])
    assert seen.tally(code_of(graph, (10.0, 0.0, 0.0))) == Tally()
    assert seen.totals[:, 0].sum() == few.sum()
