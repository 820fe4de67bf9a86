"""Verdicts: what an investigator says of a card's payments, and how it becomes labels.

A verdict is stored at once, and its card leaves the queue. Its labels are written when the time
for undoing it is over, by the engine, whose features take them in: `due` returns the checks that
have come to that, also after a restart, and `finish` ends one of them in the transaction of its
labels.

Whoever decided may correct themselves: the correction is one more check with labels of its own.
To correct the verdict of someone else takes two people: one proposes it, another approves.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from toprank.data.checks import one_of
from toprank.live.checks import blind_checks, claims
from toprank.live.checks.check_errors import CheckError, NoAlertError, TakenError
from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.store import (
    alert_table,
    audit_chain,
    check_day_table,
    check_table,
    random_check_table,
)
from toprank.live.store.check_table import Check, Verdict

VERDICTS: tuple[Verdict, ...] = ("fraud", "genuine", "unsure")
REASON_CODES: dict[Verdict, tuple[str, ...]] = {
    "fraud": ("stolen card", "copied card", "account taken over", "deceived cardholder", "other"),
    "genuine": ("confirmed by the cardholder", "usual for this card", "travel", "other"),
    "unsure": ("cardholder not reached", "facts missing", "other"),
}
"""What may be given as the reason of each verdict; none need be given."""

LONGEST_NOTE = 2_000

_AT_ONCE = 20  # checks finished in one turn: payments wait for it


def decide(
    connection: sa.Connection,
    alert: int,
    who: str,
    verdict: str,
    positions: Sequence[int],
    reason_code: str,
    note: str,
    now: Moment,
    settings: DeskSettings,
) -> Check:
    """Store the verdict of whoever holds an alert, on some of its payments; audited.

    `positions` are those of the ticked payments. A note is required for "unsure". TakenError if
    the person does not hold the alert; CheckError, in a sentence, for what is missing or wrong.
    """
    held = claims.holding(connection, alert, who)
    known = alert_table.positions_of(connection, alert)
    said = _checked(verdict, positions, known, reason_code, note)
    check = check_table.add(
        connection,
        Check(
            0, alert, who, said, sorted(positions), reason_code, note.strip(), "pending",
            now.desk, now.day, now.wall, now.wall + settings.undone, held.expected,
            random_check_table.is_random(connection, alert), max(known, default=0),
        ),
    )  # fmt: skip
    values = {"held_by": None, "lease_until": None, "updated_at": now.desk}
    if not alert_table.change_state(connection, alert, "taken", "decided", **values):
        raise TakenError(f"alert {alert} is not yours, or no longer; open it again to go on.")
    blind_checks.record(connection, held, check.number, settings.blind_share)
    _audit(connection, check, who, "verdict given", now)
    return check


def undo(
    connection: sa.Connection, check: int, who: str, now: Moment, settings: DeskSettings
) -> Check:
    """Take back a verdict whose labels are not written yet: the card is the person's again."""
    found = by_number(connection, check)
    if found.who != who:
        raise CheckError(f"check {check} is someone else's; only they can undo it.")
    if found.state != "pending" or found.due_at <= now.wall:
        raise CheckError(
            f"check {check} can no longer be undone; correct it instead: that is kept, too."
        )
    if not check_table.change_state(connection, found, "undone"):
        raise CheckError(f"check {check} can no longer be undone.")
    if found.corrects is None:
        values = {"held_by": who, "lease_until": now.wall + settings.leased}
        alert_table.change_state(connection, found.alert, "decided", "taken", **values)
    _audit(connection, found, who, "verdict undone", now)
    return found._replace(state="undone")


def correct(
    connection: sa.Connection,
    check: int,
    who: str,
    verdict: str,
    reason_code: str,
    note: str,
    now: Moment,
    settings: DeskSettings,
) -> Check:
    """Correct a finished verdict on the same payments: fraud or genuine, with a note.

    One's own counts when the time for undoing it is over; one of someone else's is proposed, and
    waits for `approve`.
    """
    found = by_number(connection, check)
    if found.state != "finished":
        raise CheckError(f"check {check} must be finished to be corrected; it is {found.state}.")
    if verdict == "unsure" or not note.strip():
        raise CheckError("a correction must be fraud or genuine, with a note that says why.")
    said = _checked(verdict, found.positions, found.positions, reason_code, note)
    root = found.number if found.corrects is None else found.corrects
    correction = check_table.add(
        connection,
        found._replace(
            who=who, verdict=said, reason_code=reason_code, note=note.strip(),
            state="pending" if found.who == who else "proposed", at=now.desk,
            decided_at=now.wall, due_at=now.wall + settings.undone, corrects=root, approver=None,
        ),
    )  # fmt: skip
    action = "correction given" if found.who == who else "correction proposed"
    _audit(connection, correction, who, action, now)
    return correction


def proposed(connection: sa.Connection) -> list[Check]:
    """Return the corrections that wait for a second person, the oldest first."""
    return check_table.in_state(connection, "proposed")


def approve(
    connection: sa.Connection, check: int, who: str, now: Moment, settings: DeskSettings
) -> Check:
    """Let a proposed correction count; CheckError for whoever proposed it."""
    found = _proposed(connection, check)
    if found.who == who:
        raise CheckError(f"check {check} is your own proposal; a second person must approve it.")
    due_at = now.wall + settings.undone
    if not check_table.change_state(connection, found, "pending", approver=who, due_at=due_at):
        raise CheckError(f"check {check} has been decided on by someone else.")
    _audit(connection, found, who, "correction approved", now)
    return found._replace(state="pending", approver=who, due_at=due_at)


def reject(connection: sa.Connection, check: int, who: str, now: Moment) -> Check:
    """Drop a proposed correction; whoever proposed it may, too."""
    found = _proposed(connection, check)
    if not check_table.change_state(connection, found, "rejected", approver=who):
        raise CheckError(f"check {check} has been decided on by someone else.")
    _audit(connection, found, who, "correction rejected", now)
    return found._replace(state="rejected", approver=who)


def due(connection: sa.Connection, now: Moment) -> list[Check]:
    """Return some of the checks whose time for undoing is over, those of longest ago first."""
    return check_table.due(connection, now.wall, _AT_ONCE)


def finish(connection: sa.Connection, check: Check, now: Moment) -> bool:
    """End a check whose labels are written in this transaction; False if it has ended already.

    If payments came that the investigator has not seen, the card is back in the queue.
    """
    if not check_table.change_state(connection, check, "finished"):
        return False
    check_day_table.renew(connection, check.day)
    if check.corrects is None:
        newest = max(alert_table.positions_of(connection, check.alert), default=0)
        state = "unsure" if check.verdict == "unsure" else "closed"
        state = "open" if newest > check.seen else state
        values = {"updated_at": now.desk}
        alert_table.change_state(connection, check.alert, "decided", state, **values)
    _audit(connection, check, check.who, "verdict final", now)
    return True


def by_number(connection: sa.Connection, check: int) -> Check:
    """Return a check; NoAlertError if there is none of this number."""
    found = check_table.by_number(connection, check)
    if found is None:
        raise NoAlertError(f"there is no check {check}.")
    return found


def _proposed(connection: sa.Connection, check: int) -> Check:
    found = by_number(connection, check)
    if found.state != "proposed":
        raise CheckError(f"check {check} must be a proposed correction; it is {found.state}.")
    return found


def _checked(
    verdict: str, positions: Sequence[int], known: Sequence[int], reason_code: str, note: str
) -> Verdict:
    """Return a verdict that is complete and about payments of its alert."""
    one_of(verdict, "verdict", VERDICTS)
    said: Verdict = verdict  # type: ignore[assignment]  # checked just now
    if reason_code:
        one_of(reason_code, f"reason of {verdict}", REASON_CODES[said])
    if len(note) > LONGEST_NOTE:
        raise CheckError(
            f"note must have at most {LONGEST_NOTE:,} characters; it has {len(note):,}."
        )
    if said == "unsure" and not note.strip():
        raise CheckError("a note is required for unsure: what would settle it?")
    if said != "unsure" and not positions:
        raise CheckError(f"at least one payment must be ticked for {verdict}; none is.")
    others = sorted(set(positions) - set(known))
    if others:
        raise CheckError(f"payment {others[0]} must be one of this alert; it is not.")
    return said


def _audit(connection: sa.Connection, check: Check, who: str, action: str, now: Moment) -> None:
    details: dict[str, Any] = {
        "check": check.number, "verdict": check.verdict, "payments": check.positions,
        "reason_code": check.reason_code,
    }  # fmt: skip
    if check.corrects is not None:
        details["corrects"] = check.corrects
    audit_chain.add(connection, now.wall, who, action, f"alert:{check.alert}", details)
