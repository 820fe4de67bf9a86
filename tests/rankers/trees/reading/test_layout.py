"""Where boxes go: down every way, side by side without touching, lines around them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from examples import examples
from rankers.trees.reading import hand_made
from rankers.trees.reading.test_compact import graphs
from toprank.rankers.trees.reading.compact import compact
from toprank.rankers.trees.reading.layout import layout

pytestmark = pytest.mark.kernel
GAP = 10.0


def placed_boxes(graph):
    """The layout of boxes of uneven widths, and the widths of all items, bends included."""
    widths = [60.0 + 17 * (i % 5) for i in range(len(graph.cuts) + len(graph.groups))]
    placed = layout(graph, widths, GAP)
    return placed, widths + [0.0] * (len(placed.layer) - len(widths))


@given(graphs())
@examples(50)
def test_items_of_a_layer_keep_their_distance(made):
    _, graph, _ = made
    placed, widths = placed_boxes(graph)
    for layer in set(placed.layer):
        items = [i for i, each in enumerate(placed.layer) if each == layer]
        items.sort(key=lambda item: placed.across[item])
        for left, right in pairwise(items):
            apart = placed.across[right] - placed.across[left]
            assert apart >= (widths[left] + widths[right]) / 2 + GAP - 1e-6
    assert min(placed.across - np.array(widths) / 2) >= 0


@given(graphs())
@examples(50)
def test_groups_are_in_order_in_the_last_layer_and_lines_lead_one_layer_down(made):
    _, graph, _ = made
    placed, _ = placed_boxes(graph)
    groups = range(len(graph.cuts), placed.n_boxes)
    assert {placed.layer[item] for item in groups} == {max(placed.layer)}
    assert (np.diff(placed.across[groups]) > 0).all()
    for line in placed.lines:
        assert placed.layer[line.end] == placed.layer[line.begin] + 1


@given(graphs())
@examples(50)
def test_lines_lead_where_the_cuts_do_and_carry_their_rows(made):
    _, graph, _ = made
    placed, _ = placed_boxes(graph)
    onward = {line.begin: line.end for line in placed.lines if line.begin >= placed.n_boxes}
    for number, cut in enumerate(graph.cuts):
        for place, port in ((cut.yes, -1.0), (cut.no, 1.0)):
            (item,) = [
                line.end for line in placed.lines if (line.begin, line.port) == (number, port)
            ]
            while item in onward:
                item = onward[item]
            assert item == (place if place >= 0 else len(graph.cuts) - 1 - place)
    for item, group in enumerate(graph.groups, start=len(graph.cuts)):
        if graph.cuts:
            assert sum(line.n_rows for line in placed.lines if line.end == item) == (
                group.tally.n_rows
            )


def test_a_tree_that_can_be_drawn_without_crossings_is():
    placed, _ = placed_boxes(compact(hand_made.tree(), hand_made.SCHEMA))
    lines = [
        (placed.layer[a.begin], placed.across[a.begin] + a.port, placed.across[a.end])
        for a in placed.lines
    ]
    for layer, begin, end in lines:
        for other_layer, other_begin, other_end in lines:
            if layer == other_layer and begin < other_begin:
                assert end <= other_end
