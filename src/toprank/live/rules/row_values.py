"""Parts of rules as functions of a single row: fast for one payment, equal to Polars on tables.

A row is a mapping of names to values, None where they are missing. Numbers are floats, as in
Polars, and undefined ones are None at once: whatever is computed from them is missing as well. A
function is None where a part has none, and what contains such a part has none either.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
OfRow = Callable[[Row], Any]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
_COMPUTE: dict[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip


def constant(value: Any) -> OfRow:
    """Return a function that gives a value that is written in the rule."""
    return lambda row: value


def compared(sign: str, a: OfRow | None, b: OfRow | None) -> OfRow | None:
    """Return whether two values compare so; missing if one of them is."""
    if a is None or b is None:
        return None
    compare = _COMPARE[sign]

    def of_row(row: Row) -> bool | None:
        left = a(row)
        if left is None:
            return None
        right = b(row)
        return None if right is None else compare(left, right)

    return of_row


def compared_with(sign: str, a: OfRow | None, value: Any) -> OfRow | None:
    """Return whether a value compares so with one that is written in the rule."""
    if a is None:
        return None
    compare = _COMPARE[sign]

    def of_row(row: Row) -> bool | None:
        left = a(row)
        return None if left is None else compare(left, value)

    return of_row


def arithmetic(sign: str, a: OfRow | None, b: OfRow | None) -> OfRow | None:
    """Return what is computed of two numbers; missing where it is undefined."""
    compute = _COMPUTE.get(sign)
    if a is None or b is None or compute is None:
        return None

    def of_row(row: Row) -> float | None:
        left, right = a(row), b(row)
        if left is None or right is None or (sign == "/" and right == 0):
            return None
        found = compute(left, right)
        return found if found == found else None

    return of_row


def of_known(compute: Callable[[Any], Any], value: OfRow | None) -> OfRow | None:
    """Return what is computed of a value; missing if the value is."""
    if value is None:
        return None

    def of_row(row: Row) -> Any:
        known = value(row)
        return None if known is None else compute(known)

    return of_row


def is_same(value: OfRow | None, wanted: bool | None) -> OfRow | None:
    """Return whether a value is missing, true or false, as wanted."""
    return None if value is None else lambda row: value(row) is wanted


def one_of(value: OfRow | None, literals: Sequence[Any]) -> OfRow | None:
    """Return whether a value is among others; missing if it is."""
    found = frozenset(literals)
    return of_known(lambda known: known in found, value)


def all_of(parts: Sequence[OfRow | None]) -> OfRow | None:
    """Return AND of conditions: false if one is, else missing if one is."""
    known = [each for each in parts if each is not None]
    return _ended_by(False, known) if len(known) == len(parts) else None


def any_of(parts: Sequence[OfRow | None]) -> OfRow | None:
    """Return OR of conditions: true if one is, else missing if one is."""
    known = [each for each in parts if each is not None]
    return _ended_by(True, known) if len(known) == len(parts) else None


def like(value: OfRow | None, pattern: str) -> OfRow | None:
    """Return whether a text matches a pattern of % (any text) and _ (one character)."""
    signs = {"%": ".*", "_": "."}
    parts = (signs.get(each) or re.escape(each) for each in pattern)
    matches = re.compile("".join(parts), re.DOTALL).fullmatch
    return of_known(lambda known: matches(known) is not None, value)


def cases(
    branches: Sequence[tuple[OfRow | None, OfRow | None]], default: OfRow | None
) -> OfRow | None:
    """Return the value of the first condition that holds, else the default."""
    known = [(when, then) for when, then in branches if when is not None and then is not None]
    if len(known) < len(branches) or default is None:
        return None

    def of_row(row: Row) -> Any:
        return next((then(row) for when, then in known if when(row)), default(row))

    return of_row


def first_known(parts: Sequence[OfRow | None]) -> OfRow | None:
    """Return the first value that is not missing."""
    known = [each for each in parts if each is not None]
    if len(known) < len(parts):
        return None

    def of_row(row: Row) -> Any:
        return next((found for each in known if (found := each(row)) is not None), None)

    return of_row


def extreme(choose: Callable[..., Any], parts: Sequence[OfRow | None]) -> OfRow | None:
    """Return the largest or smallest of the values that are not missing."""
    known = [each for each in parts if each is not None]
    if len(known) < len(parts):
        return None

    def of_row(row: Row) -> Any:
        found = [value for each in known if (value := each(row)) is not None]
        return choose(found) if found else None

    return of_row


def _ended_by(end: bool, parts: Sequence[OfRow]) -> OfRow:
    if len(parts) == 2:
        return _two_ended_by(end, *parts)

    def of_row(row: Row) -> bool | None:
        result: bool | None = not end
        for each in parts:
            found = each(row)
            if found is end:
                return end
            if found is None:
                result = None
        return result

    return of_row


def _two_ended_by(end: bool, a: OfRow, b: OfRow) -> OfRow:
    """Return what `_ended_by` does of two parts, as most rules have: without a loop."""

    def of_row(row: Row) -> bool | None:
        first = a(row)
        if first is end:
            return end
        second = b(row)
        return None if first is None and second is not end else second

    return of_row
