"""Cards that rules leave alone for some time."""

from collections.abc import Iterable

import sqlalchemy as sa

from toprank.live.desk_clock import wall_time
from toprank.live.rules import rule_life
from toprank.live.rules.rule_fields import RuleError
from toprank.live.rules.rule_set import RuleMatch
from toprank.live.store import audit_chain, rule_set_table, snooze_table
from toprank.live.store.snooze_table import Snooze

LONGEST_DAYS = 180

_DAY = 86_400 * 1_000_000
_MOST_REASON = 1_000


class SnoozedCards:
    """The snoozes that hold, for looking up matches.

    >>> cards = SnoozedCards([Snooze(1, "C1", "large", "travels", 0, 100, "person:anna")])
    >>> large = RuleMatch("large", 1, "alert", "live")
    >>> cards.kept("C1", [large], at=50), len(cards.kept("C1", [large], at=100))
    ([], 1)
    """

    def __init__(self, snoozes: Iterable[Snooze]) -> None:
        self._until: dict[tuple[str, str | None], int] = {}
        for each in snoozes:
            key = (each.card, each.rule)
            self._until[key] = max(each.until, self._until.get(key, each.until))

    def kept(self, card: str, matches: list[RuleMatch], at: int) -> list[RuleMatch]:
        """Return the matches of a card's payment without those of snoozed rules."""
        if not self._until or not matches:
            return matches
        if self._until.get((card, None), at) > at:
            return []
        return [each for each in matches if self._until.get((card, each.name), at) <= at]


def snooze(
    connection: sa.Connection,
    at: int,
    actor: str,
    card: str,
    rule: str | None,
    reason: str,
    until: int,
) -> Snooze:
    """Keep one rule, or with None every rule, from a card until a moment; audited."""
    if not card:
        raise RuleError("card of a snooze must not be empty.")
    if not reason.strip() or len(reason) > _MOST_REASON:
        raise RuleError(
            f"reason of a snooze must be given in at most {_MOST_REASON:,} characters; it has "
            f"{len(reason.strip()):,}."
        )
    if not at < until <= at + LONGEST_DAYS * _DAY:
        days = (until - at) / _DAY
        raise RuleError(
            f"end of a snooze must be at most {LONGEST_DAYS} days ahead; got {days:.4g} days."
        )
    if rule is not None:
        rule_life.versions(connection, rule)
    number = snooze_table.add(connection, card, rule, reason, at, until, actor)
    facts = {"rule": rule, "reason": reason, "until": until}
    # by its number: the audit is kept for longer than cards may be
    audit_chain.add(connection, wall_time(), actor, "rule.snooze", f"snooze:{number}", facts)
    rule_set_table.renew(connection, at)
    return Snooze(number, card, rule, reason, at, until, actor)


def load_snoozed_cards(
    connection: sa.Connection, at: int, rule_set: int | None = None
) -> SnoozedCards:
    """Return the snoozes that have not ended at a moment; those of a rule set, if it is given."""
    last = None if rule_set is None else rule_set_table.last_snooze(connection, rule_set)
    return SnoozedCards(snooze_table.active(connection, at, last))
