"""The rules that are evaluated, all at once."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from toprank.live.rules.row_values import Row
from toprank.live.rules.rule_fields import RuleKind
from toprank.live.rules.rule_language import Condition

ActiveState = Literal["shadow", "live"]


class ActiveRule(NamedTuple):
    """A version of a rule that is evaluated: in shadow it is only recorded."""

    name: str
    version: int
    state: ActiveState
    condition: Condition

    @property
    def kind(self) -> RuleKind:
        """What a match does: block the payment, or raise an alert for its card."""
        return self.condition.kind


class RuleMatch(NamedTuple):
    """A rule that a payment matches."""

    name: str
    version: int
    kind: RuleKind
    state: ActiveState


class RuleSet:
    """Rules that are evaluated together; `names` are the fields and features that they use.

    >>> from toprank.live.rules.rule_language import parse
    >>> from toprank.live.rules.rule_fields import RuleFields
    >>> fields = RuleFields({"amount": "number"})
    >>> large = ActiveRule("large", 1, "live", parse("amount > 500", fields, "block"))
    >>> rules = RuleSet([large])
    >>> rules.matches(pl.DataFrame({"amount": [900.0, 5.0]}))
    [[RuleMatch(name='large', version=1, kind='block', state='live')], []]
    """

    def __init__(self, rules: Iterable[ActiveRule], number: int = 0) -> None:
        self.rules, self.number = tuple(rules), number
        self._matches = [RuleMatch(each.name, each.version, each.kind, each.state)
                         for each in self.rules]  # fmt: skip
        self._expressions = [
            rule.condition.expression.alias(str(place)) for place, rule in enumerate(self.rules)
        ]

        of_row = [each.condition.of_row for each in self.rules]
        self._of_row = list(zip(self._matches, of_row, strict=True))
        self._quick = [(match, each) for match, each in self._of_row if each is not None]
        self._slow = [place for place, each in enumerate(of_row) if each is None]
        self.names = frozenset(name for each in self.rules for name in each.condition.names)

    def __len__(self) -> int:
        return len(self.rules)

    def of_kind(self, kind: RuleKind) -> "RuleSet":
        """Return the rules of one kind."""
        return RuleSet((each for each in self.rules if each.kind == kind), self.number)

    def matches_of_rows(
        self, rows: Sequence[Row], frame: Callable[[], pl.DataFrame]
    ) -> list[list[RuleMatch]]:
        """Return what `matches` does of a few rows, much faster.

        `frame` returns the rows as a frame, for the rules that only Polars can evaluate.
        """
        if not self._slow:
            return [[match for match, of_row in self._quick if of_row(row)] for row in rows]
        found = frame().select([self._expressions[place] for place in self._slow]).rows()
        slow = [dict(zip(self._slow, row, strict=True)) for row in found]
        return [
            [
                match
                for place, (match, of_row) in enumerate(self._of_row)
                if (by_polars[place] if of_row is None else of_row(row))
            ]
            for row, by_polars in zip(rows, slow, strict=True)
        ]

    def matches(self, frame: pl.DataFrame) -> list[list[RuleMatch]]:
        """Return for each row the rules that it matches, in their order."""
        if not self.rules or not frame.height:
            return [[] for _ in range(frame.height)]
        found: list[list[RuleMatch]] = [[] for _ in range(frame.height)]
        is_met = frame.select(self._expressions).fill_null(False).to_numpy()
        # few payments match a rule, so that nothing else is done row by row
        for row, place in np.argwhere(is_met).tolist():
            found[row].append(self._matches[place])
        return found
