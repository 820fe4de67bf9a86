"""Conditions and counts in words, for rules, paths and drawings.

A threshold is written with as few digits as still separate the training values it separates.
Missing values are mentioned only where training had some: elsewhere the words would be longer and
say nothing about the rows.
"""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import floor, inf, isfinite, isinf, isnan, nan

import numpy as np

from toprank.data.tables import Column
from toprank.rankers.reasons import number_text
from toprank.rankers.trees.reading.compact import Graph, Tally
from toprank.rankers.trees.reading.conditions import Condition, OneOf, ValueRange
from toprank.rankers.trees.reading.seen import Seen, threshold_of
from toprank.wording import percent


class Words:
    """The conditions of one graph in words; without `seen`, thresholds keep all their digits.

    `most_names` is how many categories a condition lists before it counts the others; `at_most` is
    the sign between a column and the upper end of its interval.
    """

    def __init__(
        self,
        graph: Graph,
        seen: Seen | None = None,
        most_names: int = 12,
        at_most: str = "<=",
    ) -> None:
        self._columns = graph.schema.columns
        self._seen = seen
        self._most_names = most_names
        self._at_most = at_most
        self._bounds = _bounds(graph, seen)
        self._thresholds: dict[tuple[int, float], str] = {}

    def condition(
        self, column: int, condition: Condition, value: float | None = None
    ) -> str | None:
        """Return e.g. "3 < hour <= 5"; None if any value is allowed.

        With a row's `value`, the words are true for it, even if training had no such value.
        """
        described = self._columns[column]
        value_is_missing = value is not None and isnan(value)
        speaks = self._seen is None or bool(self._seen.has_missing[column]) or value_is_missing
        if isinstance(condition, OneOf):
            names = described.categories
            allowed = [code in condition.codes for code in range(len(names))]
            return self._listed(described, names, allowed, condition.with_missing, speaks)
        if described.kind == "boolean":
            allowed = [condition.holds(0.0), condition.holds(1.0)]
            return self._listed(described, ("no", "yes"), allowed, condition.with_missing, speaks)
        return self._interval(column, condition, speaks, nan if value is None else value)

    def threshold(self, column: int, threshold: float, value: float = nan) -> str:
        """Return a threshold; a row's `value` is on the same side of what is written."""
        below, above = self._bounds.get((column, threshold), (-inf, inf))
        is_whole = self._is_whole(column)
        at = (column, threshold)
        if at not in self._thresholds:
            self._thresholds[at] = threshold_text(threshold, below, above, is_whole)
        usual = self._thresholds[at]
        if isnan(value) or (value <= _number(usual)) == (value <= threshold):
            return usual
        if value <= threshold:
            return threshold_text(threshold, value, above)
        return threshold_text(threshold, below, value)

    def nearness(self, column: int, threshold: float, value: float) -> str:
        """Return e.g. "amount is just under 220" for a value close to a threshold."""
        name = self._columns[column].name
        text = self.threshold(column, threshold, value)
        if value > threshold:
            return f"{name} is just over {text}"
        if value == _number(text) and self._is_whole(column):
            text = number_text(value + 1)
        return f"{name} is just under {text}"

    def _is_whole(self, column: int) -> bool:
        return self._seen is not None and bool(self._seen.is_whole[column])

    def _interval(
        self, column: int, condition: ValueRange, speaks: bool, value: float
    ) -> str | None:
        name = self._columns[column].name
        if condition.is_blank:
            return f"{name} is missing"
        has_low, has_high = condition.low > -inf, condition.high < inf
        if not (has_low or has_high):
            return f"{name} is not missing" if speaks and not condition.with_missing else None
        also = " (or missing)" if speaks and condition.with_missing else ""
        low, high = (
            self.threshold(column, end, value) if isfinite(end) else ""
            for end in (condition.low, condition.high)
        )
        if has_low and has_high:
            return f"{low} < {name} {self._at_most} {high}{also}"
        return f"{name} > {low}{also}" if has_low else f"{name} {self._at_most} {high}{also}"

    def _listed(
        self,
        column: Column,
        names: Sequence[str],
        allowed: list[bool],
        with_missing: bool,
        speaks: bool,
    ) -> str | None:
        """Return e.g. "country is not FR or missing", using the shorter of the two lists."""
        yes = [name for name, is_allowed in zip(names, allowed, strict=True) if is_allowed]
        no = [name for name, is_allowed in zip(names, allowed, strict=True) if not is_allowed]
        if speaks or not yes:
            (yes if with_missing else no).append("missing")
        if not no:
            return None
        is_shorter = len(yes) <= len(no) or (column.kind == "boolean" and no != ["missing"])
        word, listed = ("is", yes) if is_shorter else ("is not", no)
        return f"{column.name} {word} {self._one_of(listed)}"

    def _one_of(self, names: list[str]) -> str:
        if len(names) > self._most_names:
            shown = names[: self._most_names - 1]
            names = [*shown, f"{len(names) - len(shown)} others"]
        *first, last = names
        return f"{', '.join(first)} or {last}" if first else last


SPACE = "space"
"""The noun of trees without labels: their positives are volume, which contains rows."""


def tally_text(tally: Tally, noun: str = "positives") -> str:
    """Return e.g. "31 frauds in 44"; weighted rows are counted by their weights.

    >>> tally_text(Tally(44, 44.0, 31.0), "frauds"), tally_text(Tally(2, 3.0, 1.0), "frauds")
    ('31 frauds in 44', '1 fraud in 3 by weight')
    """
    if noun == SPACE:
        rows = "1 row" if tally.n_rows == 1 else f"{number_text(tally.n_rows)} rows"
        return f"{rows} in {percent(tally.hits)} of the space"
    hits = number_text(tally.hits)
    by_weight = "" if tally.mass == tally.n_rows else " by weight"
    counted = noun.removesuffix("s") if hits == "1" else noun
    return f"{hits} {counted} in {number_text(tally.mass)}{by_weight}"


def headline(tally: Tally, noun: str = "positives") -> str:
    """Return the main figure of some rows: their share of positives, or their density.

    >>> headline(Tally(44, 44.0, 31.0)), headline(Tally(5, 0.55, 0.5), SPACE)
    ('70 %', '0.1 x as dense')
    """
    if noun != SPACE:
        return percent(tally.precision)
    density = (tally.mass - tally.hits) / tally.hits if tally.hits > 0 else 0.0
    return f"{density:.1f} x as dense" if density >= 0.05 or density <= 0 else "<0.1 x as dense"


def threshold_text(threshold: float, below: float, above: float, is_whole: bool = False) -> str:
    """Return the shortest number near the threshold that separates its neighbours as it does.

    Near is within a quarter of their distance. If no whole number is that near, it is the largest
    one not above the threshold.

    >>> threshold_text(121.37, 119.0, 123.74), threshold_text(5.5, 5.0, 6.0, is_whole=True)
    ('121', '5')
    """
    aim = Decimal(threshold)
    half_step = Decimal(float(np.spacing(np.float32(abs(threshold))))) / 2
    low = aim - half_step if isinf(below) else max(Decimal(below), _as_written(below))
    high = aim + half_step if isinf(above) else min(Decimal(above), _as_written(above))
    near = (high - low) / 4
    for digits in range(1, 25):
        fitting = [
            each
            for each in _rounded(aim, digits)
            if low <= each < high and abs(each - aim) <= near
            if not is_whole or each == each.to_integral_value()
        ]
        if fitting:
            return _decimal_text(min(fitting, key=lambda each: abs(each - aim)))
    return _decimal_text(Decimal(floor(threshold)) if is_whole else aim)


def _as_written(value: float) -> Decimal:
    """Return the short number that was read as this float32."""
    return Decimal(str(np.float32(value)))


def _rounded(number: Decimal, digits: int) -> list[Decimal]:
    """Return the number rounded down and up to so many significant digits."""
    if number == 0:
        return [Decimal(0)]
    unit = Decimal(1).scaleb(number.adjusted() - digits + 1)
    return [
        (number / unit).to_integral_value(rounding) * unit
        for rounding in (ROUND_FLOOR, ROUND_CEILING)
    ]


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _decimal_text(number: Decimal) -> str:
    if number == 0:
        return "0"
    number = number.normalize()
    if not -4 <= number.adjusted() < 15:
        return f"{number:e}".replace("e+", "e")
    return f"{number:,f}"


def _bounds(graph: Graph, seen: Seen | None) -> dict[tuple[int, float], tuple[float, float]]:
    """Return the range within which each threshold may be rounded in words.

    It ends at the training values around it, or halfway to the next threshold of the column,
    so that two thresholds are never written the same.
    """
    if seen is None:
        return {}
    found: dict[int, dict[float, tuple[float, float]]] = {}
    for number, cut in enumerate(graph.cuts):
        if not isinstance(cut.yes_if, OneOf):
            around = (float(seen.below[number]), float(seen.above[number]))
            found.setdefault(cut.column, {})[threshold_of(cut)] = around
    bounds = {}
    for column, around_each in found.items():
        ordered = [-inf, *sorted(filter(isfinite, around_each)), inf]
        for before, threshold, after in zip(ordered, ordered[1:], ordered[2:], strict=False):
            below, above = around_each[threshold]
            bounds[column, threshold] = (
                max(below, (before + threshold) / 2),
                min(above, (threshold + after) / 2),
            )
    return bounds
