"""A tree drawn: the text is exact, the picture is valid, and no box covers another."""

import re
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given

from examples import examples
from rankers.trees.kernel.test_cuts import made_table
from rankers.trees.kernel.test_meta_tree import grown
from rankers.trees.reading import hand_made
from rankers.trees.reading.hand_made import schema_of
from rankers.trees.reading.test_compact import graphs
from toprank.data.tables import Column, Schema
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.reading.compact import compact
from toprank.rankers.trees.reading.drawing import as_dot, as_svg, as_text
from toprank.rankers.trees.reading.seen import seen_in

pytestmark = pytest.mark.kernel
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def graph():
    return compact(hand_made.tree(), hand_made.SCHEMA)


@pytest.fixture
def seen(graph):
    return seen_in(graph, *hand_made.rows())


def large_graph():
    """Some 40 cuts of every kind of column."""
    table = made_table(600, ["many", "few", "6", "many"], seed=3, missing=0.05, positives=0.2)
    return compact(grown(table, Growth("entropy", 4, 5), 3), schema_of(table))


def rectangles(svg):
    """Left, top, right and bottom of every box, the ground left out."""
    boxes = [
        [float(each.get(name)) for name in ("x", "y", "width", "height")]
        for each in ElementTree.fromstring(svg).iter(f"{SVG}rect")
        if each.get("x") is not None
    ]
    return [(x, y, x + width, y + height) for x, y, width, height in boxes]


def test_a_tree_as_text(graph, seen):
    assert as_text(graph, seen, "frauds") == (
        "1. amount > 120?  39 frauds in 240\n"
        "├─ yes: 2. country is not home?  34 frauds in 80\n"
        "│  ├─ yes: group 1\n"
        "│  └─ no:  group 2\n"
        "└─ no:  3. amount > 60 (or missing)?  5 frauds in 160\n"
        "   ├─ yes: group 2\n"
        "   └─ no:  group 3\n"
        "\n"
        "group 1    70 %  31 frauds in 44\n"
        "group 2   8.1 %  7 frauds in 86\n"
        "group 3  0.91 %  1 fraud in 110"
    )


@given(graphs())
@examples(50)
def test_text_shows_every_cut_once_and_refers_to_it_elsewhere(made):
    _, graph, _ = made
    tree, table = as_text(graph).split("\n\n")
    numbered = [int(number) for number in re.findall(r"(?:^|: +)(\d+)\. ", tree, re.MULTILINE)]
    assert numbered == list(range(1, len(graph.cuts) + 1))
    n_ways = len(re.findall(r"(?:yes|no): ", tree))
    assert n_ways == 2 * len(graph.cuts)
    referred = [int(number) for number in re.findall(r": +to (\d+)$", tree, re.MULTILINE)]
    assert set(referred) <= set(numbered)
    assert len(table.splitlines()) == len(graph.groups)


def test_a_tree_as_dot(graph, seen):
    dot = as_dot(graph, seen, "frauds")
    assert dot.startswith("digraph ranking_tree {")
    assert dot.endswith("}\n")
    assert dot.count("{") == dot.count("}")
    assert 'cut0 [label="amount > 120?\\n39 frauds in 240"];' in dot
    assert "cut1 -> group2" in dot
    assert "cut2 -> group2" in dot
    assert "group1 -> group2 -> group3 [style=invis];" in dot


@given(graphs())
@examples(40)
def test_no_box_covers_another_and_all_are_inside_the_picture(made):
    _, graph, _ = made
    svg = as_svg(graph)
    boxes = rectangles(svg)
    assert len(boxes) == len(graph.cuts) + len(graph.groups)
    assert_apart(svg, boxes)


def assert_apart(svg, boxes):
    root = ElementTree.fromstring(svg)
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= float(root.get("width"))
        assert 0 <= top < bottom <= float(root.get("height"))
    for one, other in combinations(boxes, 2):
        is_clear = one[2] < other[0] or other[2] < one[0]
        assert is_clear or one[3] < other[1] or other[3] < one[1]


def test_a_large_tree_is_drawn_without_touching_boxes():
    graph = large_graph()
    assert len(graph.cuts) > 30
    svg = as_svg(graph)
    boxes = rectangles(svg)
    assert_apart(svg, boxes)
    groups = boxes[len(graph.cuts) :]
    assert len({top for _, top, _, _ in groups}) == 1
    assert [left for left, *_ in groups] == sorted(left for left, *_ in groups)


def test_lines_pass_between_the_boxes_of_the_layers_they_cross():
    svg = as_svg(large_graph())
    boxes = rectangles(svg)
    downs = re.findall(r'd="M([\d.]+) ([\d.]+) V([\d.]+)', svg)
    assert len(downs) > 60
    for x, begin, end in (map(float, each) for each in downs):
        for left, top, right, bottom in boxes:
            is_past = min(end, bottom) - max(begin, top) > 0.2
            assert not (is_past and left < x < right)


def test_boxes_show_their_rows_and_groups_are_darker_the_more_suspicious(graph, seen):
    svg = as_svg(graph, seen, "frauds", "Frauds of May")
    root = ElementTree.fromstring(svg)
    assert root.find(f"{SVG}title").text == "Frauds of May"
    texts = [each.text for each in root.iter(f"{SVG}text")]
    for text in ("amount > 120?", "39 frauds in 240", "31 frauds in 44", "70 %", "group 1"):
        assert text in texts
    fills = [each.get("fill") for each in root.iter(f"{SVG}rect")]
    assert fills[0] == "#ffffff"  # its own ground
    brightness = [sum(bytes.fromhex(fill[1:])) for fill in fills[-3:]]
    assert brightness == sorted(set(brightness))


NASTY = 'a<b> & "c" \\ \x00\x1b\nd'


@pytest.fixture
def nasty():
    columns = (
        Column(NASTY, "number"),
        Column("x" * 200, "category", ("</svg>", "\ud800", "home")),
        Column("is_new", "boolean"),
    )
    return replace(compact(hand_made.tree(), hand_made.SCHEMA), schema=Schema(columns))


def test_any_name_makes_a_valid_picture(nasty):
    svg = as_svg(nasty, title=NASTY)
    svg.encode()
    root = ElementTree.fromstring(svg)
    assert root.find(f"{SVG}title").text.startswith('a<b> & "c"')
    assert len(rectangles(svg)) == 6
    assert_apart(svg, rectangles(svg))
    assert float(root.get("width")) < 1000


def test_any_name_is_one_string_of_dot(nasty):
    label = re.search(r"cut0 \[label=(.*)\];", as_dot(nasty)).group(1)
    assert re.fullmatch(r'"(?:[^"\\]|\\.)*"', label)


@pytest.mark.parametrize("drawn", [as_text, as_dot, as_svg])
def test_a_tree_without_cuts_and_a_repeated_drawing(drawn):
    table = made_table(8, ["constant"], seed=0, missing=0.0)
    lone = compact(grown(table, Growth("gini", 2), 2), schema_of(table))
    assert "group 1" in drawn(lone)
    assert drawn(large_graph()) == drawn(large_graph())
