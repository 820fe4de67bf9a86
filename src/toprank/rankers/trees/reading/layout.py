"""Where the boxes of a graph go: layers from the root down, all groups side by side at the bottom.

    layers   every way leads down, and all ways together are as short as possible
    order    in each layer, sweeps by the mean place of a box's neighbours, until no fewer
             lines cross; groups stay in their order
    across   boxes keep their distance, and lines are as vertical as possible

A way across several layers goes through bends, one per layer; ways to the same box share them, so
that a box reached by many is reached by one line.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from toprank.rankers.trees.reading.compact import Graph

_SWEEPS = 24
_BEND_WIDTH = 10.0
_PORT = 0.25  # of a box's width: how far from its middle the two ways leave
# the cost of a slanted line: the longer it is, the straighter it should be
_PRICE_BETWEEN_BENDS, _PRICE_AT_BEND, _PRICE = 8.0, 3.0, 1.0


@dataclass(frozen=True)
class Line:
    """From a box or a bend to one in the next layer; `port` is where it leaves, from -1 to 1.

    `n_rows` go along it; `answers` are those that lead here, "yes", "no" or both.
    """

    begin: int
    end: int
    port: float
    n_rows: float
    answers: frozenset[str]


@dataclass(frozen=True)
class TreeLayout:
    """Items by number: cuts, then groups by rank, then bends, with their layer and middle."""

    layer: list[int]
    across: NDArray[np.float64]
    lines: list[Line]
    n_boxes: int


def layout(graph: Graph, widths: Sequence[float], gap: float) -> TreeLayout:
    """Return where boxes of these widths go: those of the cuts, then those of the groups."""
    layers = _layers(graph)
    n_boxes = len(widths)
    layers, lines = _with_bends(graph, layers)
    all_widths = np.array([*widths, *[_BEND_WIDTH] * (len(layers) - n_boxes)])
    rows = _ordered(_rows(layers), lines, layers)
    across = _across(rows, lines, all_widths, gap, n_boxes)
    return TreeLayout(layers, across, lines, n_boxes)


def _item(graph: Graph, place: int) -> int:
    """Return the number of the item at a place."""
    return place if place >= 0 else len(graph.cuts) - 1 - place


def _layers(graph: Graph) -> list[int]:
    """Return the layer of every cut and every group, the root's being 0."""
    n_cuts = len(graph.cuts)
    if not n_cuts:
        return [0] * len(graph.groups)
    # all groups share the variable after those of the cuts
    ways = [
        (number, place if place >= 0 else n_cuts)
        for number, cut in enumerate(graph.cuts)
        for place in (cut.yes, cut.no)
    ]
    price = np.zeros(n_cuts + 1)
    for upper, lower in ways:
        price[upper] -= 1
        price[lower] += 1
    steps = _differences([(lower, upper) for upper, lower in ways], n_cuts + 1)
    bounds = [(0, 0)] + [(0, None)] * n_cuts
    solved = linprog(price, A_ub=-steps, b_ub=-np.ones(len(ways)), bounds=bounds)
    layers = [round(each) for each in solved.x]
    return layers[:n_cuts] + [layers[n_cuts]] * len(graph.groups)


def _with_bends(graph: Graph, layers: list[int]) -> tuple[list[int], list[Line]]:
    """Return the layers followed by those of the bends, and the lines between neighbours."""
    layers = list(layers)
    bends: dict[tuple[int, int], int] = {}
    lines: dict[tuple[int, int, float], Line] = {}

    def add(begin: int, end: int, port: float, n_rows: float, answer: str) -> None:
        before = lines.get((begin, end, port))
        if before is not None:
            n_rows, answers = before.n_rows + n_rows, before.answers | {answer}
        else:
            answers = frozenset([answer])
        lines[begin, end, port] = Line(begin, end, port, n_rows, answers)

    for number, cut in enumerate(graph.cuts):
        for answer, place, tally, port in (
            ("yes", cut.yes, cut.yes_tally, -1.0),
            ("no", cut.no, cut.no_tally, 1.0),
        ):
            at, end = number, _item(graph, place)
            for layer in range(layers[number] + 1, layers[end]):
                if (end, layer) not in bends:
                    bends[end, layer] = len(layers)
                    layers.append(layer)
                add(at, bends[end, layer], port, tally.n_rows, answer)
                at, port = bends[end, layer], 0.0
            add(at, end, port, tally.n_rows, answer)
    return layers, list(lines.values())


def _rows(layers: list[int]) -> list[list[int]]:
    """Return the items of each layer, in the order of their numbers: yes comes before no."""
    rows: list[list[int]] = [[] for _ in range(max(layers) + 1)]
    for item, layer in enumerate(layers):
        rows[layer].append(item)
    return rows


def _ordered(rows: list[list[int]], lines: list[Line], layers: list[int]) -> list[list[int]]:
    """Return the rows in the order in which the fewest lines cross; the last is unchanged."""
    crossings = _Crossings(lines, layers)
    above: list[list[Line]] = [[] for _ in layers]
    below: list[list[Line]] = [[] for _ in layers]
    for line in lines:
        above[line.end].append(line)
        below[line.begin].append(line)
    best, fewest = [list(row) for row in rows], crossings.all(rows)
    for sweep in range(_SWEEPS):
        is_upward = sweep % 2 == 0
        numbers = range(len(rows) - 2, -1, -1) if is_upward else range(1, len(rows) - 1)
        for number in numbers:
            aims = _aims(rows[number], rows, below if is_upward else above, is_upward)
            rows[number] = sorted(rows[number], key=aims.__getitem__)
        n_crossings = crossings.all(rows)
        if n_crossings < fewest:
            best, fewest = [list(row) for row in rows], n_crossings
    return _swapped(best, crossings)


def _aims(
    row: list[int], rows: list[list[int]], tied: list[list[Line]], is_upward: bool
) -> dict[int, float]:
    """Return the ideal place of each item of a row: the mean place of its neighbours.

    A place is how far along its row an item is, in per cent.
    """
    place = np.zeros(len(tied))
    for each in rows:
        place[each] = (np.arange(len(each)) + 0.5) / len(each) * 100
    aims = {}
    for item in row:
        ends = [
            place[line.end] - line.port * _PORT
            if is_upward
            else place[line.begin] + line.port * _PORT
            for line in tied[item]
        ]
        aims[item] = float(sum(ends) / len(ends) if ends else place[item])
    return aims


class _Crossings:
    """Counts the crossings of lines between neighbouring rows."""

    def __init__(self, lines: list[Line], layers: list[int]) -> None:
        self._order = np.zeros(len(layers))
        self._gaps = []
        for layer in range(max(layers)):
            here = [line for line in lines if layers[line.begin] == layer]
            begin = np.array([line.begin for line in here])
            port = np.array([line.port * _PORT for line in here])
            self._gaps.append((begin, port, np.array([line.end for line in here])))

    def all(self, rows: list[list[int]]) -> int:
        return self.between(rows, 0, len(rows) - 1)

    def between(self, rows: list[list[int]], first: int, last: int) -> int:
        """Return the crossings from one row to a later one."""
        n_crossings = 0
        for row in rows[max(first, 0) : last + 1]:
            self._order[row] = np.arange(len(row))
        for begin, port, end in self._gaps[max(first, 0) : last]:
            upper, lower = self._order[begin] + port, self._order[end]
            is_crossed = (upper[:, None] < upper) & (lower[:, None] > lower)
            n_crossings += int(np.count_nonzero(is_crossed))
        return n_crossings


def _swapped(rows: list[list[int]], crossings: _Crossings) -> list[list[int]]:
    """Swap neighbours while that leaves fewer crossings."""
    has_changed = True
    while has_changed:
        has_changed = False
        for number, row in enumerate(rows[:-1]):
            fewest = crossings.between(rows, number - 1, number + 1)
            for i in range(len(row) - 1):
                row[i], row[i + 1] = row[i + 1], row[i]
                n_crossings = crossings.between(rows, number - 1, number + 1)
                if n_crossings < fewest:
                    fewest, has_changed = n_crossings, True
                else:
                    row[i], row[i + 1] = row[i + 1], row[i]
    return rows


def _across(
    rows: list[list[int]],
    lines: list[Line],
    widths: NDArray[np.float64],
    gap: float,
    n_boxes: int,
) -> NDArray[np.float64]:
    """Return the middle of every item, the leftmost box beginning at 0."""
    n_items = widths.size
    pairs = [pair for row in rows for pair in zip(row[1:], row[:-1], strict=True)]
    apart = np.array([(widths[a] + widths[b]) / 2 + gap for a, b in pairs])
    # after the items' places come the lines' slants: slant >= begin - end, and >= end - begin
    n_lines = len(lines)
    ends = _differences([(line.begin, line.end) for line in lines], n_items)
    shifts = np.array([line.port * _PORT * widths[line.begin] for line in lines])
    leaning = np.eye(n_lines)
    keep_apart = np.hstack([-_differences(pairs, n_items), np.zeros((len(pairs), n_lines))])
    bounded = np.vstack([keep_apart, np.hstack([ends, -leaning]), np.hstack([-ends, -leaning])])
    prices = [_price(line, n_boxes) for line in lines]
    solved = linprog(
        np.concatenate([np.zeros(n_items), prices]),
        A_ub=coo_array(bounded),
        b_ub=np.concatenate([-apart, -shifts, shifts]),
        bounds=[(0, None)] * (n_items + n_lines),
    )
    across = solved.x[:n_items]
    return across - np.min(across - widths / 2)


def _price(line: Line, n_boxes: int) -> float:
    n_bends = (line.begin >= n_boxes) + (line.end >= n_boxes)
    return (_PRICE, _PRICE_AT_BEND, _PRICE_BETWEEN_BENDS)[n_bends]


def _differences(pairs: list[tuple[int, int]], n_items: int) -> NDArray[np.float64]:
    """Return a matrix that subtracts the second of each pair from the first."""
    matrix = np.zeros((len(pairs), n_items))
    for row, (plus, minus) in enumerate(pairs):
        matrix[row, plus] += 1
        matrix[row, minus] -= 1
    return matrix
