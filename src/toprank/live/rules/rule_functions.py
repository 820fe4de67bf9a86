"""The functions of rules: of numbers, texts and times."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import polars as pl

from toprank.live.rules import row_values
from toprank.live.rules import rule_values as values
from toprank.live.rules.rule_fields import DTYPES, FieldType, RuleError
from toprank.live.rules.rule_values import TypedValue

MOST_DIGITS = 6

Function = Callable[[list[TypedValue], str], TypedValue]


def _of_one(
    kind: FieldType,
    result: FieldType,
    make: Callable[[pl.Expr], pl.Expr],
    of_one: Callable[[Any], Any] | None = None,
) -> Function:
    """Return a function with one argument; `of_one` gives the same for the value of a row."""

    def function(arguments: list[TypedValue], text: str) -> TypedValue:
        _check_count(arguments, text, 1, 1)
        value = values.expect(arguments[0], kind, text)
        bound = values.largest_bound([value])
        of_row = None if of_one is None else row_values.of_known(of_one, value.of_row)
        return TypedValue(make(value.known), result, text, bound=bound, of_row=of_row)

    return function


def _part(make: Callable[[pl.Expr], pl.Expr], of_one: Callable[[datetime], float]) -> Function:
    """Return a part of a time, in UTC."""
    return _of_one("time", "number", lambda time: make(time).cast(DTYPES["number"]), of_one)


def _rounded(arguments: list[TypedValue], text: str) -> TypedValue:
    """Return a number rounded to some digits, halves away from zero."""
    _check_count(arguments, text, 1, 2)
    value = values.expect(arguments[0], "number", text)
    digits = arguments[1].literal if len(arguments) == 2 else 0.0
    if not isinstance(digits, float) or digits not in range(MOST_DIGITS + 1):
        raise RuleError(f"{text}: the digits must be a whole number from 0 to {MOST_DIGITS}.")
    made = value.known.round(int(digits), mode="half_away_from_zero")
    return TypedValue(made, "number", text, bound=values.largest_bound([value]))


def _of_many(make: Callable[[list[TypedValue], str], TypedValue]) -> Function:
    """Return a function with two arguments or more."""

    def function(arguments: list[TypedValue], text: str) -> TypedValue:
        _check_count(arguments, text, 2, 20)
        return make(arguments, text)

    return function


def _check_count(arguments: list[TypedValue], text: str, least: int, most: int) -> None:
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise RuleError(f"{text}: it takes {wanted} arguments; got {len(arguments)}.")


FUNCTIONS: dict[str, Function] = {
    "abs": _of_one("number", "number", pl.Expr.abs, abs),
    "ceil": _of_one("number", "number", pl.Expr.ceil),
    "floor": _of_one("number", "number", pl.Expr.floor),
    "round": _rounded,
    "least": _of_many(lambda arguments, text: values.extreme(False, arguments, text)),
    "greatest": _of_many(lambda arguments, text: values.extreme(True, arguments, text)),
    "coalesce": _of_many(values.first_known),
    "lower": _of_one("text", "text", lambda text: text.str.to_lowercase()),
    "upper": _of_one("text", "text", lambda text: text.str.to_uppercase()),
    "length": _of_one("text", "number", lambda text: text.str.len_chars().cast(DTYPES["number"])),
    "minute": _part(lambda time: time.dt.minute(), lambda time: float(time.minute)),
    "hour": _part(lambda time: time.dt.hour(), lambda time: float(time.hour)),
    "weekday": _part(lambda time: time.dt.weekday(), lambda time: float(time.isoweekday())),
    "day": _part(lambda time: time.dt.day(), lambda time: float(time.day)),
    "month": _part(lambda time: time.dt.month(), lambda time: float(time.month)),
}
"""Functions by name; weekday is 1 for Monday to 7 for Sunday."""
