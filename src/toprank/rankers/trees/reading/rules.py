"""A ranking tree as rules: each group is the rows that meet any of a few; and one row's path.

A rule combines all tests on a path, one condition per column. Rules of a group that differ in one
column only, where together they are again an interval or a set, are joined into one. No row meets
two rules, so the rows of a group's rules add up to the group's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.rankers.trees.reading.compact import Graph, Tally, rank_of
from toprank.rankers.trees.reading.conditions import OneOf
from toprank.rankers.trees.reading.seen import Seen, next_code, threshold_of
from toprank.rankers.trees.reading.words import Words, headline, tally_text

MOST_PATHS = 5_000


@dataclass(frozen=True)
class Rule:
    """Conditions that rows must meet, one per column; `tally` is None without training rows.

    `tests` are the conditions in words.
    """

    conditions: dict[int, Any]
    tests: tuple[str, ...]
    tally: Tally | None = None

    def __str__(self) -> str:
        return " and ".join(self.tests) or "every row"

    def text(self, noun: str = "positives") -> str:
        """Return e.g. "amount > 120 and country is not home: 31 frauds in 44"."""
        return str(self) if self.tally is None else f"{self}: {tally_text(self.tally, noun)}"

    def holds(self, row: Sequence[float] | NDArray[np.floating]) -> bool:
        """Return whether an encoded row meets the rule."""
        return all(each.holds(float(row[column])) for column, each in self.conditions.items())


@dataclass(frozen=True)
class GroupRules:
    """A group of `n_groups`, rank 0 the most suspicious: the rows that meet any of the rules."""

    rank: int
    n_groups: int
    tally: Tally
    rules: tuple[Rule, ...]

    def text(self, noun: str = "positives") -> str:
        """Return the group and its rules, one per line; rules that no training row meets are
        only counted."""
        share = headline(self.tally, noun)
        met = [rule for rule in self.rules if rule.tally is None or rule.tally.n_rows > 0]
        lines = [f"{_group_name(self)}: {tally_text(self.tally, noun)} ({share})"]
        lines += [f"  {rule.text(noun)}" for rule in met]
        if n_unmet := len(self.rules) - len(met):
            rules = "rule" if n_unmet == 1 else "rules"
            lines.append(f"  ({n_unmet} more {rules} that no training row meets)")
        return "\n".join(lines)


@dataclass(frozen=True)
class Neighbour:
    """The nearest other group: threshold, column, and distance in standard deviations."""

    rank: int
    column: int
    threshold: float
    distance: float
    words: str


@dataclass(frozen=True)
class Path:
    """Where one row ends and why; `near` is the group it nearly ended in, if there is one."""

    rank: int
    n_groups: int
    rule: Rule
    tally: Tally
    near: Neighbour | None = None

    def text(self, noun: str = "positives") -> str:
        """Return one sentence, e.g. "in group 2 of 6 (31 frauds in 44): amount > 120"."""
        words = f"in {_group_name(self)} ({tally_text(self.tally, noun)}): {self.rule.text(noun)}"
        if self.near is None:
            return words
        return f"{words}; close to group {self.near.rank + 1} because {self.near.words}"


def rules_of(graph: Graph, seen: Seen | None = None) -> list[GroupRules]:
    """Return the rules of every group, the most suspicious group first.

    With `seen`, each rule has its own count and those with most positives come first. A tree of
    more than 5,000 paths is refused: nobody reads it.

    >>> from toprank.rankers.trees.reading.compact import compact
    >>> from toprank.rankers.trees.meta_ap import MetaAP
    >>> from toprank.rankers.trees.reading.seen import seen_in
    >>> hours = np.arange(24, dtype=np.float32)[:, None]
    >>> is_fraud = hours[:, 0] < 6
    >>> ranker = MetaAP().fit(hours, is_fraud)
    >>> graph = compact(ranker.tree_, ranker.schema_)
    >>> print(rules_text(rules_of(graph, seen_in(graph, hours, is_fraud)), "frauds"))
    group 1 of 2: 6 frauds in 6 (100 %)
      x0 <= 5: 6 frauds in 6
    <BLANKLINE>
    group 2 of 2: 0 frauds in 18 (0 %)
      x0 > 5: 0 frauds in 18
    """
    tallies = None if seen is None else seen.tallies()
    found: list[dict[frozenset, Tally | None]] = [{} for _ in graph.groups]
    for conditions, rank, code in _paths(graph):
        tally = None if tallies is None else tallies.get(code, Tally())
        found[rank][frozenset(conditions.items())] = tally
    words = Words(graph, seen)
    return [
        GroupRules(
            group.rank, len(graph.groups), group.tally, _in_order(_joined(rules), graph, words)
        )
        for group, rules in zip(graph.groups, found, strict=True)
    ]


def rules_text(groups: Sequence[GroupRules], noun: str = "positives") -> str:
    """Return all groups with their rules, as `toprank explain --tree` prints them."""
    return "\n\n".join(group.text(noun) for group in groups)


def path_of(
    graph: Graph,
    row: Sequence[float] | NDArray[np.floating],
    seen: Seen | None = None,
    groups: Sequence[GroupRules] | None = None,
    std: NDArray[np.float64] | None = None,
    nearness: float = 0.25,
) -> Path:
    """Return the group of an encoded row, and the rule that puts it there.

    The rule is the one of `groups` that the row meets, or else that of its own path. With the
    columns' `std`, a group is near if a small change of one value, in units of it, leads there.

    >>> from toprank.rankers.trees.reading.compact import compact
    >>> from toprank.rankers.trees.meta_ap import MetaAP
    >>> hours = np.arange(24.0)[:, None]
    >>> ranker = MetaAP().fit(hours, hours[:, 0] < 6)
    >>> graph = compact(ranker.tree_, ranker.schema_)
    >>> print(path_of(graph, [5.2], std=ranker.std_).text("frauds"))
    in group 1 of 2 (6 frauds in 6): x0 <= 5.5; close to group 2 because x0 is just under 5.5
    """
    rank, conditions, code = _walk(graph, row)
    tally = None if seen is None else seen.tally(code)
    if groups is not None:
        rule = next(rule for rule in groups[rank].rules if rule.holds(row))
        conditions, tally = rule.conditions, rule.tally
    words = Words(graph, seen)
    near = None if std is None else _neighbour(graph, row, rank, words, std, nearness)
    tests = _tests(conditions, graph, words, row)
    rule = Rule(conditions, tests, tally)
    return Path(rank, len(graph.groups), rule, graph.groups[rank].tally, near)


def _group_name(group: GroupRules | Path) -> str:
    return f"group {group.rank + 1} of {group.n_groups}"


def _paths(graph: Graph) -> Iterator[tuple[dict[int, Any], int, int]]:
    """Yield the conditions of every possible path, the rank it ends in, and its code."""
    n_paths = 0
    to_see: list[tuple[int, dict[int, Any], int]] = [(graph.root, {}, 0)]
    while to_see:
        place, conditions, code = to_see.pop()
        if place < 0:
            n_paths += 1
            if n_paths > MOST_PATHS:
                raise ValueError(
                    f"the tree must have at most {MOST_PATHS:,} paths to be written as rules; it "
                    "has more; use a smaller depth, or explain single rows."
                )
            yield conditions, rank_of(place), code
            continue
        cut = graph.cuts[place]
        for is_no in (True, False):
            met = _with(conditions, cut.column, cut.no_if if is_no else cut.yes_if)
            if met is not None:
                way = cut.no if is_no else cut.yes
                to_see.append((way, met, next_code(code, place, is_no)))


def _with(conditions: dict[int, Any], column: int, added: Any) -> dict[int, Any] | None:
    """Return the conditions with one more; None if nothing can meet them."""
    both = added.meet(conditions[column]) if column in conditions else added
    return None if both.is_nothing else {**conditions, column: both}


def _walk(
    graph: Graph, row: Sequence[float] | NDArray[np.floating]
) -> tuple[int, dict[int, Any], int]:
    """Return rank, conditions and code of one row's path."""
    place, code = graph.root, 0
    conditions: dict[int, Any] = {}
    while place >= 0:
        cut = graph.cuts[place]
        is_no = not cut.yes_if.holds(float(row[cut.column]))
        conditions = _with(conditions, cut.column, cut.no_if if is_no else cut.yes_if) or {}
        code = next_code(code, place, is_no)
        place = cut.no if is_no else cut.yes
    return rank_of(place), conditions, code


def _joined(rules: dict[frozenset, Tally | None]) -> dict[frozenset, Tally | None]:
    """Join rules of one group until no two that differ in a single column can be joined."""
    n_before = -1
    while n_before != len(rules):
        n_before = len(rules)
        for column in sorted({column for rule in rules for column, _ in rule}):
            rules = _joined_in(rules, column)
    return rules


def _joined_in(rules: dict[frozenset, Tally | None], column: int) -> dict[frozenset, Tally | None]:
    """Join the rules that differ in one column only."""
    alike: dict[frozenset, list[tuple[Any, Tally | None]]] = {}
    joined: dict[frozenset, Tally | None] = {}
    for rule, tally in rules.items():
        here = next((each for at, each in rule if at == column), None)
        if here is None:
            joined[rule] = tally
        else:
            alike.setdefault(rule - {(column, here)}, []).append((here, tally))
    for others, values in alike.items():
        for condition, tally in _put_together(values):
            added = frozenset() if condition.is_everything else frozenset([(column, condition)])
            joined[others | added] = tally
    return joined


def _put_together(values: list[tuple[Any, Tally | None]]) -> list[tuple[Any, Tally | None]]:
    """Join conditions of one column where they touch."""
    if not isinstance(values[0][0], OneOf):
        values = sorted(values, key=lambda each: (each[0].low, each[0].high))
    kept: list[tuple[Any, Tally | None]] = []
    for condition, tally in values:
        both = kept[-1][0].join(condition) if kept else None
        if both is None:
            kept.append((condition, tally))
        else:
            before = kept[-1][1]
            sums = None if before is None or tally is None else before.plus(tally)
            kept[-1] = (both, sums)
    return kept


def _in_order(
    rules: dict[frozenset, Tally | None], graph: Graph, words: Words
) -> tuple[Rule, ...]:
    """Return the rules with their words, those with most positives first."""

    def by_hits(rule: Rule) -> tuple[float, float]:
        return (0, 0) if rule.tally is None else (-rule.tally.hits, rule.tally.mass)

    made = [
        Rule(dict(conditions), _tests(dict(conditions), graph, words), tally)
        for conditions, tally in rules.items()
    ]
    return tuple(sorted(made, key=by_hits))


def _tests(
    conditions: dict[int, Any],
    graph: Graph,
    words: Words,
    row: Sequence[float] | NDArray[np.floating] | None = None,
) -> tuple[str, ...]:
    """Return the conditions in words, columns nearer the root first; true of `row` if given."""
    tests = (
        words.condition(column, conditions[column], None if row is None else float(row[column]))
        for column in graph.columns
        if column in conditions
    )
    return tuple(test for test in tests if test is not None)


def _neighbour(
    graph: Graph,
    row: Sequence[float] | NDArray[np.floating],
    rank: int,
    words: Words,
    std: NDArray[np.float64],
    nearness: float,
) -> Neighbour | None:
    """Return the group that the smallest change of a single number leads to, if small enough."""
    changed = np.array(row, dtype=np.float64)
    reach = sorted(_steps(graph, changed, std, nearness))
    for distance, column, threshold in reach:
        value = changed[column]
        # a number equal to the threshold goes with those below it
        beyond = nextafter(threshold, np.inf) if value <= threshold else threshold
        changed[column] = beyond
        other = graph.rank(changed)
        changed[column] = value
        if other != rank:
            why = words.nearness(column, threshold, float(value))
            return Neighbour(other, column, threshold, distance, why)
    return None


def _steps(
    graph: Graph, row: NDArray[np.float64], std: NDArray[np.float64], nearness: float
) -> set[tuple[float, int, float]]:
    """Return the thresholds near the row's numbers: distance, column, threshold."""
    found = set()
    for cut in graph.cuts:
        value, spread = row[cut.column], float(std[cut.column])
        kind = graph.schema.columns[cut.column].kind
        if kind != "number" or np.isnan(value) or spread <= 0:
            continue
        threshold = threshold_of(cut)
        distance = abs(value - threshold) / spread
        if isfinite(threshold) and distance <= nearness:
            found.add((distance, cut.column, threshold))
    return found
