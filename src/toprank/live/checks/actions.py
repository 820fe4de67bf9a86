"""What can be done with a card beside a verdict: block, snooze and escalate it, add a note."""

import json
import secrets

import sqlalchemy as sa

from toprank.live.checks import claims
from toprank.live.checks.check_errors import CheckError, NoAlertError
from toprank.live.checks.check_verdicts import LONGEST_NOTE
from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.rules import snoozed_cards
from toprank.live.store import alert_table, audit_chain, note_table, outbox_table
from toprank.live.store.alert_table import CardAlert
from toprank.live.store.outbox_table import Message


def block_card(
    connection: sa.Connection, alert: int, who: str, reason: str, now: Moment,
    settings: DeskSettings,
) -> Message:  # fmt: skip
    """Ask the bank to block the card of an alert; what comes of it is in the message's outcome.

    While a request for this card is pending or was delivered, it is not sent again.
    """
    if not settings.block_url:
        raise CheckError(
            "cards cannot be blocked from here yet: set block_url in desk.toml to where requests "
            "are to be sent."
        )
    found = _alert(connection, alert)
    for message in outbox_table.of_alert(connection, alert):
        if message.state != "failed":
            return message
    body = {"card": found.card, "alert": alert, "reason": _text(reason, "reason"), "at": now.desk}
    message = outbox_table.add(
        connection,
        Message(
            0, alert, who, now.desk, secrets.token_hex(16), json.dumps(body, ensure_ascii=False),
            "pending", 0, now.wall, "not sent yet",
        ),
    )  # fmt: skip
    details = {"message": message.number}
    audit_chain.add(connection, now.wall, who, "block asked for", f"alert:{alert}", details)
    return message


def snooze(
    connection: sa.Connection, alert: int, who: str, reason: str, until: int, now: Moment
) -> None:
    """Keep every rule from the card, and the card out of the queue, until a moment of the desk."""
    held = claims.holding(connection, alert, who)
    snoozed_cards.snooze(connection, now.desk, who, held.card, None, reason, until)
    values = {"held_by": None, "lease_until": None, "hidden_until": until, "updated_at": now.desk}
    alert_table.change_state(connection, alert, "taken", "snoozed", **values)
    details = {"until": until}
    audit_chain.add(connection, now.wall, who, "card snoozed", f"alert:{alert}", details)


def escalate(connection: sa.Connection, alert: int, who: str, note: str, now: Moment) -> None:
    """Hand an alert that the person holds to the seniors, with a note."""
    claims.holding(connection, alert, who)
    add_note(connection, alert, who, note, now)
    values = {"held_by": None, "lease_until": None, "escalated_by": who, "updated_at": now.desk}
    alert_table.change_state(connection, alert, "taken", "escalated", **values)
    audit_chain.add(connection, now.wall, who, "check escalated", f"alert:{alert}")


def add_note(connection: sa.Connection, alert: int, who: str, text: str, now: Moment) -> int:
    """Add a note to an alert and return its number; the audit has that there is one."""
    _alert(connection, alert)
    number = note_table.add(connection, alert, who, now.desk, _text(text, "note"))
    details = {"note": number}
    audit_chain.add(connection, now.wall, who, "note added", f"alert:{alert}", details)
    return number


def _alert(connection: sa.Connection, number: int) -> CardAlert:
    found = alert_table.by_number(connection, number)
    if found is None:
        raise NoAlertError(f"there is no alert {number}.")
    return found


def _text(text: str, name: str) -> str:
    stripped = text.strip()
    if not stripped or len(stripped) > LONGEST_NOTE:
        raise CheckError(
            f"{name} must be given in at most {LONGEST_NOTE:,} characters; it has "
            f"{len(stripped):,}."
        )
    return stripped
