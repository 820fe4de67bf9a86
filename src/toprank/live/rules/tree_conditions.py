"""Conditions of a ranking tree in the language of rules."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache
from math import floor, isfinite

from sqlglot import exp

from toprank.data.tables import Column
from toprank.live.rules.rule_fields import RuleError
from toprank.live.rules.rule_text import syntax_tree
from toprank.rankers.trees.readable import Readable
from toprank.rankers.trees.reading.conditions import OneOf, ValueRange


@dataclass(frozen=True)
class TreeTest:
    """What a tree requires of one column; `is_whole` if it contains whole numbers only."""

    column: Column
    allowed: ValueRange | OneOf
    is_whole: bool

    def text(self) -> str:
        """Return the test as a condition."""
        name, allowed = field_text(self.column.name), self.allowed
        if isinstance(allowed, OneOf):
            texts = [_category_text(name, self.column, allowed)] if allowed.codes else []
        elif self.column.kind == "boolean":
            texts = [] if allowed.is_blank else [name if allowed.holds(1.0) else f"NOT {name}"]
        else:
            texts = [] if allowed.is_blank else [" AND ".join(self._bounds(name))]
        if allowed.with_missing:
            texts.append(f"{name} IS NULL")
        return texts[0] if len(texts) == 1 else f"({' OR '.join(texts)})"

    def rounded(self, digits: int) -> "TreeTest":
        """Return the test with bounds of so many digits; it allows what it did before."""
        if not isinstance(self.allowed, ValueRange) or self.column.kind == "boolean":
            return self
        low = _rounded(self.allowed.low, digits, ROUND_FLOOR)
        high = _rounded(self.allowed.high, digits, ROUND_CEILING)
        return replace(self, allowed=replace(self.allowed, low=low, high=high))

    def _bounds(self, name: str) -> list[str]:
        assert isinstance(self.allowed, ValueRange)
        bounds, low, high = [], self.allowed.low, self.allowed.high
        if isfinite(low):
            is_between = self.is_whole and not low.is_integer()
            sign, bound = (">=", floor(low) + 1) if is_between else (">", low)
            bounds.append(f"{name} {sign} {_number_text(bound)}")
        if isfinite(high):
            bounds.append(f"{name} <= {_number_text(floor(high) if self.is_whole else high)}")
        return bounds


@dataclass(frozen=True)
class TreeCondition:
    """The tests on one path of a tree."""

    tests: tuple[TreeTest, ...]

    def text(self) -> str:
        """Return all tests as one condition."""
        return " AND ".join(each.text() for each in self.tests)

    def rounded(self, digits: int) -> "TreeCondition":
        """Return the tests with bounds of so many digits, none of them stricter."""
        return TreeCondition(tuple(each.rounded(digits) for each in self.tests))

    def without(self, test: TreeTest) -> "TreeCondition":
        """Return all tests but one."""
        return TreeCondition(tuple(each for each in self.tests if each is not test))


def tree_conditions(tree: Readable, least_hits: float) -> Iterator[TreeCondition]:
    """Yield the conditions that make a fitted tree's groups, if they match enough positives.

    Missing values are mentioned only where training rows had some.
    """
    columns, seen = tree.schema_.columns, tree.seen_
    if seen is None:
        return  # a tree that nobody reads
    for group in tree.rules()[:-1]:  # the last group is the rest
        for rule in group.rules:
            if rule.tally is None or rule.tally.hits < least_hits:
                continue
            tests = tuple(
                TreeTest(
                    columns[number],
                    allowed if seen.has_missing[number] else replace(allowed, with_missing=False),
                    bool(seen.is_whole[number]),
                )
                for number, allowed in rule.conditions.items()
            )
            tests = tuple(each for each in tests if not _is_everything(each))
            if tests:
                yield TreeCondition(tests)


@lru_cache(maxsize=1_000)
def field_text(name: str) -> str:
    """Return a field as a rule names it, in quotes if it needs them.

    >>> field_text("amount"), field_text("Order ID"), field_text("case")
    ('amount', '"Order ID"', '"case"')
    """
    if re.fullmatch("[a-z_][a-z0-9_]*", name):
        try:
            if isinstance(syntax_tree(name), exp.Column):
                return name
        except RuleError:
            pass
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _is_everything(test: TreeTest) -> bool:
    """Return whether a test allows all that is present, in a column without missing values."""
    return replace(test.allowed, with_missing=True).is_everything


def _category_text(name: str, column: Column, allowed: OneOf) -> str:
    inside = [each for code, each in enumerate(column.categories) if code in allowed.codes]
    outside = [each for code, each in enumerate(column.categories) if code not in allowed.codes]
    is_short = len(inside) <= len(outside) or not outside
    listed = ", ".join(_quoted(each) for each in (inside if is_short else outside))
    if is_short and len(inside) == 1:
        return f"{name} = {listed}"
    if not is_short and len(outside) == 1:
        return f"{name} <> {listed}"
    return f"{name} {'IN' if is_short else 'NOT IN'} ({listed})"


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _rounded(bound: float, digits: int, direction: str) -> float:
    if not isfinite(bound) or bound == 0:
        return bound
    number = Decimal(bound)
    last = Decimal(1).scaleb(number.adjusted() - digits + 1)
    return float((number / last).to_integral_value(direction) * last)


def _number_text(bound: float) -> str:
    return (
        f"{bound:.0f}" if float(bound).is_integer() and abs(bound) < 1e15 else repr(float(bound))
    )
