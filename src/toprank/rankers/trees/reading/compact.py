"""The graph that people read: a tree of trees without redundant cuts.

Where a leaf of a local tree leads to the next tree, the graph goes straight to the next cut. A cut
is left out when both its ways lead to the same place, a way skips a cut whose answer is known from
those above it, and cuts with the same question and the same targets are merged. Every row, known
or new, ends in the group it ended in before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.data.tables import Schema
from toprank.rankers.trees.kernel.meta_tree import MetaTrees
from toprank.rankers.trees.reading.conditions import Condition, OneOf, ValueRange

_MOST_STEPS = 50_000


class Tally(NamedTuple):
    """Training rows: how many, their mass (the sum of weights) and the mass of the positives."""

    n_rows: float = 0.0
    mass: float = 0.0
    hits: float = 0.0

    @property
    def precision(self) -> float:
        """The share of positives; 0 without rows."""
        return self.hits / self.mass if self.mass > 0 else 0.0

    def plus(self, other: "Tally") -> "Tally":
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: "Tally") -> "Tally":
        """Return the rows left; without any, the sums of weights are exactly 0."""
        left = Tally(*(a - b for a, b in zip(self, other, strict=True)))
        return left if left.n_rows > 0 else Tally()


@dataclass(frozen=True)
class Cut:
    """A question with two answers; `yes` is the one with the higher share of positives.

    A target is the number of a cut, or -1 - rank for a group.
    """

    column: int
    yes_if: Any
    no_if: Any
    yes: int
    no: int
    tally: Tally
    yes_tally: Tally
    no_tally: Tally

    def follow(self, value: float) -> int:
        """Return the place to which a value of the column leads."""
        return self.yes if self.yes_if.holds(value) else self.no


@dataclass(frozen=True)
class CompactGroup:
    """Where paths end; rank 0 is the most suspicious."""

    rank: int
    tally: Tally


@dataclass(frozen=True)
class Graph:
    """Cuts, each before those it leads to, and groups by rank; `root` is the first place.

    `columns` are those with a cut, the one nearest the root first.
    """

    schema: Schema
    cuts: tuple[Cut, ...]
    groups: tuple[CompactGroup, ...]

    @property
    def root(self) -> int:
        return 0 if self.cuts else -1

    @property
    def columns(self) -> list[int]:
        return list(dict.fromkeys(cut.column for cut in self.cuts))

    @property
    def tally(self) -> Tally:
        """All training rows."""
        return self.cuts[0].tally if self.cuts else self.groups[0].tally

    def rank(self, row: Sequence[float] | NDArray[np.floating]) -> int:
        """Return the rank of the group in which an encoded row ends."""
        place = self.root
        while place >= 0:
            cut = self.cuts[place]
            place = cut.follow(float(row[cut.column]))
        return rank_of(place)


def rank_of(place: int) -> int:
    """Return the rank of the group at a place."""
    return -1 - place


def compact(tree: MetaTrees, schema: Schema) -> Graph:
    """Return the graph of the first of the trees, without redundant cuts.

    >>> from toprank.rankers.trees.meta_ap import MetaAP
    >>> hours = np.arange(24.0)[:, None]
    >>> ranker = MetaAP().fit(hours, hours[:, 0] < 6)
    >>> (cut,) = compact(ranker.tree_, ranker.schema_).cuts
    >>> cut.yes_if, cut.tally.hits, cut.yes_tally.hits
    (ValueRange(low=-inf, high=5.5, with_missing=False), 6.0, 6.0)
    """
    cuts, root = _simplified(*_all_cuts(tree, schema), {})
    before = None
    while cuts != before:
        before = cuts
        cuts = _shortened(cuts, root)
        cuts, root = _simplified(cuts, root, _decided(cuts, root))
    return Graph(schema, tuple(_in_reading_order(cuts, root)), _groups(tree))


def _groups(tree: MetaTrees) -> tuple[CompactGroup, ...]:
    unions = tree.unions
    found = np.flatnonzero((unions.tree == 0) & (unions.rank >= 0))
    return tuple(
        CompactGroup(rank, _tally(unions, number))
        for rank, number in enumerate(found[np.argsort(unions.rank[found])])
    )


def _tally(totals: Any, number: int) -> Tally:
    """Return the totals of one node or union."""
    return Tally(*(float(each[number]) for each in (totals.n_rows, totals.mass, totals.hits)))


def _all_cuts(tree: MetaTrees, schema: Schema) -> tuple[dict[int, Cut], int]:
    """Return every cut on a path from the first root, and the place of that root."""
    nodes = tree.nodes
    cuts: dict[int, Cut] = {}
    to_see = [int(tree.roots[0])]
    while to_see:
        node = _past_leaves(tree, to_see.pop())
        if node < 0 or node in cuts:
            continue
        cuts[node] = _cut(tree, schema, node)
        to_see += [int(nodes.left[node]), int(nodes.right[node])]
    return {node: cuts[node] for node in sorted(cuts)}, _past_leaves(tree, int(tree.roots[0]))


def _past_leaves(tree: MetaTrees, node: int) -> int:
    """Return the place of a node: itself, or where the leaf leads."""
    nodes = tree.nodes
    while nodes.column[node] < 0:
        if nodes.left[node] < 0:
            return -1 - int(tree.unions.rank[nodes.union[node]])
        node = int(nodes.left[node])
    return node


def _cut(tree: MetaTrees, schema: Schema, node: int) -> Cut:
    nodes = tree.nodes
    column = int(nodes.column[node])
    ways = [
        (condition, _past_leaves(tree, int(child)), _tally(nodes, child))
        for condition, child in zip(
            _conditions(tree, schema, node), (nodes.left[node], nodes.right[node]), strict=True
        )
    ]
    if ways[1][2].precision > ways[0][2].precision:
        ways.reverse()
    (yes_if, yes, yes_tally), (no_if, no, no_tally) = ways
    return Cut(column, yes_if, no_if, yes, no, _tally(nodes, node), yes_tally, no_tally)


def _conditions(tree: MetaTrees, schema: Schema, node: int) -> tuple[Condition, Condition]:
    """Return what goes left at a node, and what goes right."""
    nodes = tree.nodes
    is_missing_left = bool(nodes.is_missing_left[node])
    start = int(nodes.set_start[node])
    if start < 0:
        threshold = float(nodes.threshold[node])
        return (
            ValueRange(-inf, threshold, is_missing_left),
            ValueRange(-inf, inf, not is_missing_left).meet(ValueRange(threshold, inf)),
        )
    n_codes = len(schema.columns[nodes.column[node]].categories)
    left = frozenset(map(int, np.flatnonzero(tree.goes_left[start : start + n_codes])))
    right = frozenset(range(n_codes)) - left
    return OneOf(left, n_codes, is_missing_left), OneOf(right, n_codes, not is_missing_left)


def _simplified(
    cuts: dict[int, Cut], root: int, decided: dict[int, int]
) -> tuple[dict[int, Cut], int]:
    """Return the cuts without decided, useless and repeated ones."""
    goes_to = dict(decided)
    kept: dict[int, Cut] = {}
    same: dict[tuple, int] = {}

    def end(place: int) -> int:
        while place in goes_to:
            place = goes_to[place]
        return place

    for number in reversed(cuts):
        if number in decided:
            continue
        cut = replace(cuts[number], yes=end(cuts[number].yes), no=end(cuts[number].no))
        key = (cut.column, cut.yes_if, cut.yes, cut.no)
        if cut.yes == cut.no:
            goes_to[number] = cut.yes
        elif key in same:
            goes_to[number] = same[key]
            kept[same[key]] = _both(kept[same[key]], cut)
        else:
            same[key] = number
            kept[number] = cut
    return dict(reversed(kept.items())), end(root)


def _both(cut: Cut, other: Cut) -> Cut:
    """Return one cut for two with the same question, with the rows of both."""
    return replace(
        cut,
        tally=cut.tally.plus(other.tally),
        yes_tally=cut.yes_tally.plus(other.yes_tally),
        no_tally=cut.no_tally.plus(other.no_tally),
    )


def _shortened(cuts: dict[int, Cut], root: int) -> dict[int, Cut]:
    """Return the cuts with ways that skip cuts whose answer is already known.

    What is known about a column at a cut is the hull of what is known on all paths to it. Rows
    that skip a cut are no longer counted there.
    """
    known: dict[int, dict[int, Any]] = {root: {}}
    reached: dict[int, Cut] = {}
    cuts = dict(cuts)
    for number in cuts:
        if number not in known:
            continue  # all ways skip it
        here, cut = known.pop(number), cuts[number]
        ways = []
        for condition, place, tally in (
            (cut.yes_if, cut.yes, cut.yes_tally),
            (cut.no_if, cut.no, cut.no_tally),
        ):
            facts = {**here, cut.column: _met(condition, cut.column, here)}
            while place >= 0 and (way := _only_way(cuts[place], facts)):
                cuts[place] = _without(cuts[place], tally, way)
                place = getattr(cuts[place], way)
            known[place] = _known_on_both(known[place], facts) if place in known else facts
            ways.append(place)
        reached[number] = replace(cut, yes=ways[0], no=ways[1])
    return reached


def _met(condition: Any, column: int, facts: dict[int, Any]) -> Any:
    return condition.meet(facts[column]) if column in facts else condition


def _only_way(cut: Cut, facts: dict[int, Any]) -> str | None:
    """Return "yes" or "no" if that is the only possible answer, else None."""
    if _met(cut.yes_if, cut.column, facts).is_nothing:
        return "no"
    return "yes" if _met(cut.no_if, cut.column, facts).is_nothing else None


def _without(cut: Cut, tally: Tally, way: str) -> Cut:
    """Return the cut without rows that all went one way."""
    cut = replace(cut, tally=cut.tally.minus(tally))
    if way == "yes":
        return replace(cut, yes_tally=cut.yes_tally.minus(tally))
    return replace(cut, no_tally=cut.no_tally.minus(tally))


def _decided(cuts: dict[int, Cut], root: int) -> dict[int, int]:
    """Return the targets of cuts to which rows can give only one answer.

    Paths are tried until each way was taken; after very many, all others are assumed possible.
    """
    untaken = {(number, way) for number in cuts for way in ("yes", "no")}
    to_see: list[tuple[int, dict[int, Any]]] = [(root, {})]
    for _ in range(_MOST_STEPS):
        if not to_see or not untaken:
            break
        number, facts = to_see.pop()
        if number < 0:
            continue
        cut = cuts[number]
        for way, condition in (("yes", cut.yes_if), ("no", cut.no_if)):
            met = _met(condition, cut.column, facts)
            if not met.is_nothing:
                untaken.discard((number, way))
                to_see.append((getattr(cut, way), {**facts, cut.column: met}))
    if to_see:
        return {}
    return {
        number: cuts[number].no if way == "yes" else cuts[number].yes for number, way in untaken
    }


def _known_on_both(facts: dict[int, Any], others: dict[int, Any]) -> dict[int, Any]:
    shared = {column: facts[column].hull(others[column]) for column in facts if column in others}
    return {column: each for column, each in shared.items() if not each.is_everything}


def _in_reading_order(cuts: dict[int, Cut], root: int) -> Iterator[Cut]:
    """Yield the cuts numbered from the root, each before those it leads to, yes before no."""
    finished: dict[int, None] = {}
    to_see = [(root, False)]
    while to_see:
        number, is_done = to_see.pop()
        if number < 0 or number in finished:
            continue
        if is_done:
            finished[number] = None
            continue
        # depth-first: what is finished first comes last
        to_see += [(number, True), (cuts[number].yes, False), (cuts[number].no, False)]
    order = list(reversed(finished))
    new = {number: i for i, number in enumerate(order)}
    for number in order:
        cut = cuts[number]
        yield replace(cut, yes=new.get(cut.yes, cut.yes), no=new.get(cut.no, cut.no))
