"""Seeing the whole id of a card: for a reason, for a while, and written to the audit."""

import sqlalchemy as sa

from toprank.live.desk_clock import wall_time
from toprank.live.people.desk_roles import Person
from toprank.live.store import audit_chain, unmask_table

MINUTES = 15
_MINUTE = 60_000_000
_SHORTEST_REASON, _LONGEST_REASON = 5, 500


def unmask(
    connection: sa.Connection, person: Person, card: str, reason: str, subject: str
) -> None:
    """Let a person see a card for some minutes.

    `subject` is what the audit calls the card, such as "alert:12": it never names cards.
    """
    reason = reason.strip()
    if not _SHORTEST_REASON <= len(reason) <= _LONGEST_REASON:
        raise ValueError(
            f"the reason must have {_SHORTEST_REASON} to {_LONGEST_REASON} characters; it has "
            f"{len(reason)}."
        )
    now = wall_time()
    unmask_table.drop_ended(connection, now)
    unmask_table.put(connection, person.actor, card, now + MINUTES * _MINUTE)
    audit_chain.add(connection, now, person.actor, "card unmasked", subject, {"reason": reason})


def unmasked_cards(connection: sa.Connection, person: Person) -> set[str]:
    """Return the cards that a person sees whole now."""
    return unmask_table.cards_of(connection, person.actor, wall_time())
