"""The language of rules: SQL conditions over the fields and features of a payment.

Only the kinds of nodes and the functions listed here pass; each is turned into a Polars expression
by hand, so nothing of a rule's text is ever run as code. A missing value makes a comparison
unknown, as in SQL, and a payment matches only where the condition is true.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl
from sqlglot import exp

from toprank.data import checks
from toprank.live.rules import rule_values as values
from toprank.live.rules.row_values import OfRow
from toprank.live.rules.rule_fields import KINDS, RuleError, RuleFields, RuleKind
from toprank.live.rules.rule_functions import FUNCTIONS
from toprank.live.rules.rule_text import MOST_LEVELS, sql_of, syntax_tree, too_deep
from toprank.live.rules.rule_values import TypedValue


@dataclass(frozen=True)
class Condition:
    """A rule's condition: its text, the fields it uses, and what Polars evaluates.

    `expression` is boolean; a payment matches where it is true, not where it is null. `of_row`
    gives the same for a single row, much faster; it is None where only Polars can evaluate it.
    """

    text: str
    kind: RuleKind
    names: tuple[str, ...]
    expression: pl.Expr
    of_row: OfRow | None = None


def parse(text: str, fields: RuleFields, kind: RuleKind) -> Condition:
    """Return the condition of a rule; RuleError, with a sentence, if it is none.

    >>> fields = RuleFields({"amount": "number", "country": "text"})
    >>> condition = parse("amount > 500 AND country <> 'FR'", fields, "block")
    >>> condition.names
    ('amount', 'country')
    >>> rows = pl.DataFrame({"amount": [900.0, 900.0, None], "country": ["DE", None, "DE"]})
    >>> rows.select(condition.expression).to_series().to_list()
    [True, None, None]
    """
    checks.one_of(kind, "kind", KINDS)
    reader = _RuleReader(fields, kind)
    tree = syntax_tree(text)
    try:
        value = reader.read(tree)
        if value.type not in ("boolean", None):
            raise RuleError(f"a rule must be true or false; {value.text} is a {value.type}.")
        expression = values.expect(value, "boolean", "a rule").expression
        constant = _tried(expression, fields, kind)
    except pl.exceptions.PolarsError as error:
        raise RuleError(f"the rule cannot be evaluated: {str(error).splitlines()[0]}") from None
    names = tuple(dict.fromkeys(reader.names))
    if not names:  # Polars would give one row for it, however many there are
        expression = pl.repeat(constant, pl.len(), dtype=pl.Boolean)
    return Condition(text, kind, names, expression, value.of_row)


def _tried(expression: pl.Expr, fields: RuleFields, kind: RuleKind) -> bool | None:
    """Evaluate on a made-up row, so that what fails does so now; return the result."""
    made_up = {"number": 1.0, "text": "a", "boolean": True, "time": None}
    row = {name: [made_up[each]] for name, each in fields.of_kind(kind).items()}
    frame = pl.DataFrame({"": [0], **row}, schema={"": pl.Int8(), **fields.dtypes(kind)})
    return frame.select(expression).item()


class _RuleReader:
    """Turns nodes of the tree into values; `names` are the fields met."""

    def __init__(self, fields: RuleFields, kind: RuleKind) -> None:
        self.fields, self.kind = fields, kind
        self.types = fields.of_kind(kind)
        self.names: list[str] = []
        self._level = 0

    def read(self, node: Any) -> TypedValue:
        """Return the value of a node; RuleError if it is not one of the language."""
        known = _NODES.get(type(node))
        if known is None:
            raise RuleError(_not_allowed(node))
        read, parts = known
        for name, part in node.args.items():
            if part and name not in parts and not name.startswith("_"):
                raise RuleError(f"{sql_of(node)}: {name.upper()} is not part of rules.")
        self._level += 1
        if self._level > 2 * MOST_LEVELS:
            raise too_deep()
        n_names = len(self.names)
        value = read(self, node)
        if node.args.get("negate"):
            value = values.inverted(value, sql_of(node))
        self._level -= 1
        is_constant = len(self.names) == n_names and value.type is not None
        return values.folded(value) if is_constant and value.literal is None else value

    def column(self, node: exp.Column) -> TypedValue:
        identifier = node.this
        if not isinstance(identifier, exp.Identifier):
            raise RuleError(_not_allowed(identifier))
        name = self.fields.find(identifier.name, bool(identifier.args.get("quoted")), self.kind)
        self.names.append(name)
        return values.field(name, self.types[name], sql_of(node))

    def literal(self, node: exp.Literal) -> TypedValue:
        if node.is_string:
            return values.literal(node.name, sql_of(node))
        try:
            number = float(node.name)
        except ValueError:
            raise RuleError(f"{sql_of(node)} is not a number.") from None
        return values.literal(number, sql_of(node))

    def joined(self, node: exp.Connector) -> TypedValue:
        sign = "AND" if isinstance(node, exp.And) else "OR"
        parts = [self.read(each) for each in node.flatten(unnest=False)]
        return values.joined(sign, parts, sql_of(node))

    def compared(self, node: exp.Binary) -> TypedValue:
        a, b = self.read(node.this), self.read(node.expression)
        return values.compared(_COMPARISONS[type(node)], a, b, sql_of(node))

    def arithmetic(self, node: exp.Binary) -> TypedValue:
        a, b = self.read(node.this), self.read(node.expression)
        return values.arithmetic(_ARITHMETIC[type(node)], a, b, sql_of(node))

    def between(self, node: exp.Between) -> TypedValue:
        value, low, high = (self.read(node.args[name]) for name in ("this", "low", "high"))
        return values.between(value, low, high, sql_of(node))

    def one_of(self, node: exp.In) -> TypedValue:
        listed = [self.read(each) for each in node.expressions]
        if not listed:
            raise RuleError(f"{sql_of(node)}: a list must contain at least one value.")
        return values.one_of(self.read(node.this), listed, sql_of(node))

    def like(self, node: exp.Like) -> TypedValue:
        return values.like(self.read(node.this), self.read(node.expression), sql_of(node))

    def is_(self, node: exp.Is) -> TypedValue:
        value, other = self.read(node.this), node.expression
        if isinstance(other, exp.Null):
            return values.is_missing(value, sql_of(node))
        if not isinstance(other, exp.Boolean):
            raise RuleError(f"{sql_of(node)}: IS must be followed by NULL, TRUE or FALSE.")
        return values.is_exactly(value, bool(other.this), sql_of(node))

    def cases(self, node: exp.Case) -> TypedValue:
        branches = [
            (self.read(each.this), self.read(each.args["true"])) for each in node.args["ifs"]
        ]
        default = node.args.get("default")
        return values.cases(branches, default and self.read(default), sql_of(node))

    def call(self, node: exp.Anonymous) -> TypedValue:
        name = str(node.this).lower()
        function = FUNCTIONS.get(name)
        if function is None:
            hint = checks.nearest_name(name, list(FUNCTIONS)) or "."
            raise RuleError(f"{name!r} is not a function of rules{hint}")
        return function([self.read(each) for each in node.expressions], sql_of(node))


def _not_allowed(node: Any) -> str:
    what = next((words for kind, words in _REFUSED if isinstance(node, kind)), None)
    if what is None and isinstance(node, exp.Expression):
        what = f"{type(node).__name__} in {sql_of(node)}"
    return f"a rule must be a plain condition; it contains {what or 'an empty place'}."


_COMPARISONS: dict[type, str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_ARITHMETIC: dict[type, str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%",
}  # fmt: skip

# The white list: each kind of node, how it is read, and the parts it may have.
_TWO = ("this", "expression", "negate")
_NODES: dict[type, tuple[Callable[[_RuleReader, Any], TypedValue], tuple[str, ...]]] = {
    **dict.fromkeys(_COMPARISONS, (_RuleReader.compared, _TWO)),
    **dict.fromkeys(_ARITHMETIC, (_RuleReader.arithmetic, _TWO)),
    exp.And: (_RuleReader.joined, _TWO),
    exp.Or: (_RuleReader.joined, _TWO),
    exp.Not: (lambda reader, node: values.inverted(reader.read(node.this), sql_of(node)), _TWO),
    exp.Neg: (lambda reader, node: values.negated(reader.read(node.this), sql_of(node)), _TWO),
    exp.Paren: (lambda reader, node: reader.read(node.this), ("this",)),
    exp.Between: (_RuleReader.between, ("this", "low", "high", "negate")),
    exp.In: (_RuleReader.one_of, ("this", "expressions", "negate")),
    exp.Like: (_RuleReader.like, _TWO),
    exp.Is: (_RuleReader.is_, _TWO),
    exp.Case: (_RuleReader.cases, ("ifs", "default")),
    exp.Anonymous: (_RuleReader.call, ("this", "expressions")),
    exp.Column: (_RuleReader.column, ("this",)),
    exp.Literal: (_RuleReader.literal, ("this", "is_string")),
    exp.Boolean: (lambda _, node: values.literal(bool(node.this), sql_of(node)), ("this",)),
    exp.Null: (lambda _, node: values.literal(None, "NULL"), ()),
}

# What people try, in their words; anything else is named as sqlglot does.
_REFUSED: tuple[tuple[Any, str], ...] = (
    ((exp.Query, exp.Subquery, exp.Exists), "a query; rules see one payment with its features"),
    (exp.Cast, "a cast; fields have fixed types"),
    (exp.Window, "a window; use a feature that counts or sums the past"),
    ((exp.Parameter, exp.Placeholder, exp.SessionParameter), "a parameter"),
    (exp.ILike, "ILIKE; write lower(field) LIKE 'text%'"),
    (exp.DPipe, "||, which joins texts"),
    (exp.Star, "*, which is no value"),
    (exp.Lambda, "an arrow or lambda"),
    (exp.Interval, "an interval"),
    ((exp.Command, exp.DDL, exp.DML), "a command"),
)
