"""Values of a rule as Polars expressions with a type, and what can be done with them.

For one payment, Polars takes microseconds for every part of every rule, which adds up to most of
the time that an answer may take. So the parts that most rules consist of can also be evaluated on
a single row, by functions made beside their expressions; the two give the same.

A missing value is null in Polars, and no value is NaN or comes from a division by zero: both are
missing, too. How large a number can become is known beforehand from how it is computed, since the
fields are at most `LARGEST`; so only what could overflow has to be checked when it is evaluated.
"""

import math
import operator
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce
from operator import itemgetter
from typing import Any

import polars as pl

from toprank.live.rules import row_values
from toprank.live.rules.row_values import OfRow
from toprank.live.rules.rule_fields import DTYPES, LARGEST, FieldType, RuleError

_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
_META = frozenset(r"\.+*?()|[]{}^$#&-~")  # what a regular expression does not take literally


@dataclass(frozen=True)
class TypedValue:
    """A part of a rule: its expression, its type (None for NULL) and its text for messages.

    `literal` is the value if it is written in the rule; `bound` is the largest a number can be,
    infinite if it may overflow, and NaN if it may also be undefined. `of_row` gives the value of
    a single row, None where it is missing or undefined; it is None where only Polars can.
    """

    expression: pl.Expr
    type: FieldType | None
    text: str
    literal: Any = None
    bound: float = LARGEST
    of_row: OfRow | None = None

    @property
    def known(self) -> pl.Expr:
        """The expression, null where the number is undefined."""
        return self.expression.fill_nan(None) if math.isnan(self.bound) else self.expression


def field(name: str, kind: FieldType, text: str) -> TypedValue:
    """Return a field of the payment."""
    return TypedValue(pl.col(name), kind, text, of_row=itemgetter(name))


def literal(value: float | str | bool | datetime | None, text: str) -> TypedValue:
    """Return a value that is written in the rule."""
    kind = _type_of(value)
    if kind is None:
        return TypedValue(pl.lit(None), None, text, of_row=row_values.constant(None))
    bound = abs(float(value)) if kind == "number" else LARGEST  # type: ignore[arg-type]
    if bound > LARGEST:
        raise RuleError(f"a number of a rule must be at most {LARGEST:.0e}; got {text}.")
    of_row = row_values.constant(value)
    return TypedValue(pl.lit(value, dtype=DTYPES[kind]), kind, text, value, bound, of_row)


def folded(value: TypedValue) -> TypedValue:
    """Return a value that depends on no field as a literal."""
    return literal(pl.select(value.known).item(), value.text)


def expect(value: TypedValue, kind: FieldType, what: str) -> TypedValue:
    """Return the value if it is of the type, or NULL; `what` needs it."""
    if value.type not in (kind, None):
        raise RuleError(f"{what} needs a {kind}; {value.text} is a {value.type}.")
    return value if value.type else replace(value, expression=pl.lit(None, DTYPES[kind]))


def arithmetic(sign: str, a: TypedValue, b: TypedValue, text: str) -> TypedValue:
    """Return a sum, difference, product, quotient or remainder of numbers."""
    for each in (a, b):
        expect(each, "number", sign)
    if a.type is None or b.type is None:
        return literal(None, text)
    left, right = a.expression, b.expression
    of_row = row_values.arithmetic(sign, a.of_row, b.of_row)
    if sign == "*":
        return TypedValue(left * right, "number", text, bound=_product(a, b), of_row=of_row)
    if sign in "+-":
        made = left + right if sign == "+" else left - right
        return TypedValue(made, "number", text, bound=_sum(a, b), of_row=of_row)
    if b.literal == 0:
        raise RuleError(f"{text} divides by zero.")
    if sign == "%":  # undefined for zero, which makes it missing
        return TypedValue(left % right, "number", text, bound=math.nan)
    if b.literal is not None:
        bound = a.bound / abs(b.literal)
        return TypedValue(left / right, "number", text, bound=bound, of_row=of_row)
    # no other single operation turns x / 0 into a missing value
    quotient = left / right.replace(0.0, None)
    is_finite = math.isfinite(a.bound) and math.isfinite(b.bound)
    bound = math.inf if is_finite else math.nan
    return TypedValue(quotient, "number", text, bound=bound, of_row=of_row)


def negated(value: TypedValue, text: str) -> TypedValue:
    """Return a number with the other sign."""
    expect(value, "number", "-")
    if value.type is None or value.literal is not None:
        return literal(None if value.type is None else -value.literal, text)
    of_row = row_values.of_known(operator.neg, value.of_row)
    return replace(value, expression=-value.expression, text=text, of_row=of_row)


def compared(sign: str, a: TypedValue, b: TypedValue, text: str) -> TypedValue:
    """Return whether two values compare so; missing if one of them is."""
    a, b = _alike(a, b)
    if a.type == "boolean" and sign not in ("=", "<>"):
        raise RuleError(f"{text}: true and false have no order; use = or <>.")
    if a.literal is not None:
        # beside a column that is all null, Polars gives one row if the literal comes first
        a, b, sign = b, a, _MIRRORED.get(sign, sign)
    if b.literal is not None:
        of_row = row_values.compared_with(sign, a.of_row, b.literal)
    else:
        of_row = row_values.compared(sign, a.of_row, b.of_row)
    return TypedValue(_COMPARE[sign](a.known, b.known), "boolean", text, of_row=of_row)


def between(value: TypedValue, low: TypedValue, high: TypedValue, text: str) -> TypedValue:
    """Return whether a value is in a range, ends included."""
    value, low = _alike(value, low)
    value, high = _alike(value, high)
    if value.type == "boolean":
        raise RuleError(f"{text}: true and false have no order.")
    made = value.known.is_between(low.known, high.known)
    ends = [row_values.compared(">=", value.of_row, low.of_row),
            row_values.compared("<=", value.of_row, high.of_row)]  # fmt: skip
    return TypedValue(made, "boolean", text, of_row=row_values.all_of(ends))


def one_of(value: TypedValue, others: list[TypedValue], text: str) -> TypedValue:
    """Return whether a value is among literals."""
    if any(each.literal is None for each in others):
        raise RuleError(f"{text}: a list must consist of numbers or texts, not NULL or fields.")
    pairs = [_alike(value, each) for each in others]
    value = pairs[0][0]
    of_row = row_values.one_of(value.of_row, [other.literal for _, other in pairs])
    if len(pairs) == 1:
        return TypedValue(value.known == pairs[0][1].expression, "boolean", text, of_row=of_row)
    listed = pl.Series([other.literal for _, other in pairs], dtype=DTYPES[value.type or "text"])
    return TypedValue(value.known.is_in(listed.implode()), "boolean", text, of_row=of_row)


def like(value: TypedValue, pattern: TypedValue, text: str) -> TypedValue:
    """Return whether a text matches a pattern of % (any text) and _ (one character)."""
    value = expect(value, "text", "LIKE")
    if not isinstance(pattern.literal, str):
        raise RuleError(f"{text}: the pattern of LIKE must be a text in single quotes.")
    made = _matching(value.expression.str, pattern.literal)
    of_row = row_values.like(value.of_row, pattern.literal)
    return TypedValue(made, "boolean", text, of_row=of_row)


def joined(sign: str, values: list[TypedValue], text: str) -> TypedValue:
    """Return AND or OR of conditions."""
    parts = [expect(each, "boolean", sign).expression for each in values]
    made = reduce(pl.Expr.__and__ if sign == "AND" else pl.Expr.__or__, parts)
    of_rows = [each.of_row for each in values]
    of_row = row_values.all_of(of_rows) if sign == "AND" else row_values.any_of(of_rows)
    return TypedValue(made, "boolean", text, of_row=of_row)


def inverted(value: TypedValue, text: str) -> TypedValue:
    """Return NOT of a condition."""
    made = ~expect(value, "boolean", "NOT").expression
    of_row = row_values.of_known(operator.not_, value.of_row)
    return TypedValue(made, "boolean", text, of_row=of_row)


def is_missing(value: TypedValue, text: str) -> TypedValue:
    """Return whether a value is missing."""
    of_row = row_values.is_same(value.of_row, None)
    return TypedValue(value.known.is_null(), "boolean", text, of_row=of_row)


def is_exactly(value: TypedValue, wanted: bool, text: str) -> TypedValue:
    """Return whether a condition is true, or whether it is false: never missing."""
    expect(value, "boolean", "IS")
    made = value.expression.eq_missing(pl.lit(wanted))
    return TypedValue(made, "boolean", text, of_row=row_values.is_same(value.of_row, wanted))


def cases(
    branches: list[tuple[TypedValue, TypedValue]], default: TypedValue | None, text: str
) -> TypedValue:
    """Return the value of the first condition that holds, else the default, else NULL."""
    results = [value for _, value in branches] + ([default] if default else [])
    kind = _one_type(results, text)
    made: Any = pl
    for condition, value in branches:
        made = made.when(expect(condition, "boolean", "WHEN").expression)
        made = made.then(expect(value, kind, "CASE").known)
    if default is not None:
        made = made.otherwise(expect(default, kind, "CASE").known)
    of_row = row_values.cases(
        [(condition.of_row, value.of_row) for condition, value in branches],
        row_values.constant(None) if default is None else default.of_row,
    )
    return TypedValue(made, kind, text, bound=largest_bound(results), of_row=of_row)


def first_known(values: list[TypedValue], text: str) -> TypedValue:
    """Return the first value that is not missing."""
    kind = _one_type(values, text)
    made = pl.coalesce([expect(each, kind, "coalesce").known for each in values])
    of_row = row_values.first_known([each.of_row for each in values])
    return TypedValue(made, kind, text, bound=largest_bound(values), of_row=of_row)


def extreme(is_largest: bool, values: list[TypedValue], text: str) -> TypedValue:
    """Return the largest or smallest number of those that are not missing."""
    name = "greatest" if is_largest else "least"
    parts = [expect(each, "number", name).known for each in values]
    made = pl.max_horizontal(parts) if is_largest else pl.min_horizontal(parts)
    of_row = row_values.extreme(max if is_largest else min, [each.of_row for each in values])
    return TypedValue(made, "number", text, bound=largest_bound(values), of_row=of_row)


def largest_bound(values: list[TypedValue]) -> float:
    """Return the bound of a choice among numbers whose undefined values are missing by now."""
    return max(math.inf if math.isnan(each.bound) else each.bound for each in values)


def _type_of(value: Any) -> FieldType | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "number"
    return "time" if isinstance(value, datetime) else "text"


def _alike(a: TypedValue, b: TypedValue) -> tuple[TypedValue, TypedValue]:
    """Return two values of one type: a text beside a time is read as a time."""
    if a.type is None or b.type is None:
        known = a if b.type is None else b
        raise RuleError(f"a comparison with NULL never holds; write {known.text} IS NULL.")
    if a.type == "time" and isinstance(b.literal, str):
        b = literal(_time(b), b.text)
    elif b.type == "time" and isinstance(a.literal, str):
        a = literal(_time(a), a.text)
    if a.type != b.type:
        raise RuleError(
            f"{a.text} is a {a.type} and {b.text} is a {b.type}: they cannot be compared."
        )
    return a, b


def _time(value: TypedValue) -> datetime:
    if _TIME.fullmatch(value.literal):
        try:
            return datetime.fromisoformat(value.literal).replace(tzinfo=UTC)
        except ValueError:
            pass  # such as the 30th of February
    raise RuleError(f"a time must be written as '2025-03-31' or '2025-03-31 14:05:00'; got "
                    f"{value.text}.")  # fmt: skip


def _one_type(values: list[TypedValue], text: str) -> FieldType:
    kinds = {each.type for each in values if each.type is not None}
    if len(kinds) != 1:
        found = " and ".join(sorted(kinds)) or "only NULL"
        raise RuleError(f"{text}: all results must be of one type; they are {found}.")
    return kinds.pop()


def _sum(a: TypedValue, b: TypedValue) -> float:
    bound = a.bound + b.bound
    return math.nan if math.isinf(a.bound) and math.isinf(b.bound) else bound


def _product(a: TypedValue, b: TypedValue) -> float:
    """Return the bound of a product: infinity times zero is undefined."""
    for one, other in ((a, b), (b, a)):
        if math.isinf(one.bound) and not other.literal:
            return math.nan
    return a.bound * b.bound


def _matching(texts: Any, pattern: str) -> pl.Expr:
    """Return whether texts match a pattern, by a plain search where that is enough."""
    core = pattern.strip("%")
    if "%" not in core and "_" not in core and pattern.count("%") <= 2:
        if pattern == f"{core}%":
            return texts.starts_with(core)
        if pattern == f"%{core}":
            return texts.ends_with(core)
        if pattern == f"%{core}%":
            return texts.contains(core, literal=True)
    signs = {"%": ".*", "_": "."}
    parts = (signs.get(each) or (f"\\{each}" if each in _META else each) for each in pattern)
    return texts.contains(f"(?s)^{''.join(parts)}$")


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARE = {
    "=": pl.Expr.eq, "<>": pl.Expr.ne, "<": pl.Expr.lt, "<=": pl.Expr.le, ">": pl.Expr.gt,
    ">=": pl.Expr.ge,
}  # fmt: skip
