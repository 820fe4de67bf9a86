"""Claims: a card is open in front of one person at a time, for as long as they do something.

A claim is one UPDATE that names the state it leaves, so of two who try at once, one gets it. The
lease is by the machine's clock, since it is people who wait.
"""

from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.checks.check_errors import NoAlertError, TakenError
from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.store import alert_table, audit_chain, filled_alert_table, label_table
from toprank.live.store.alert_table import CardAlert, alerts
from toprank.live.store.audit_chain import Action

JOB = "job:leases"

_TRIES = 20  # of alerts that others may take first


class Claim(NamedTuple):
    """An alert that a person holds, and until when by the machine's clock."""

    alert: int
    who: str
    lease_until: int


def claim(
    connection: sa.Connection, alert: int, who: str, now: Moment, settings: DeskSettings
) -> Claim:
    """Take an alert for a person, again if it is theirs; TakenError if it is not free."""
    expire(connection, now)
    found = _alert(connection, alert)
    if found.state == "taken" and found.held_by == who:
        return renew(connection, alert, who, now, settings)
    taken = _take(connection, found, who, now, settings)
    if taken is None:
        raise TakenError(_why_not_free(connection, _alert(connection, alert)))
    return taken


def claim_next(
    connection: sa.Connection,
    who: str,
    now: Moment,
    settings: DeskSettings,
    *,
    is_escalated: bool = False,
) -> Claim | None:
    """Take the first free alert of the queue, or of the seniors' list; None if there is none."""
    expire(connection, now)
    is_listed = alerts.c.state == "escalated" if is_escalated else alert_table.IS_LISTED
    query = sa.select(alerts.c.number).where(is_listed, alerts.c.held_by.is_(None))
    order = (alerts.c.rank_value.desc(), alerts.c.number)
    for number in connection.execute(query.order_by(*order).limit(_TRIES)).scalars().all():
        taken = _take(connection, _alert(connection, number), who, now, settings)
        if taken is not None:
            return taken
    return None


def renew(
    connection: sa.Connection, alert: int, who: str, now: Moment, settings: DeskSettings
) -> Claim:
    """Begin the lease anew, since the person has done something; TakenError if it is over."""
    until = now.wall + settings.leased
    changed = connection.execute(
        alerts.update()
        .where(alerts.c.number == alert, alerts.c.state == "taken", alerts.c.held_by == who)
        .values(lease_until=until)
    )
    if changed.rowcount != 1:
        raise TakenError(_why_not_yours(connection, _alert(connection, alert)))
    return Claim(alert, who, until)


def release(connection: sa.Connection, alert: int, who: str, now: Moment) -> None:
    """Give an alert back to the queue; TakenError if the person does not hold it."""
    held = holding(connection, alert, who)
    _give_back(connection, held)
    audit_chain.add(connection, now.wall, who, "check released", f"alert:{alert}")


def take_over(
    connection: sa.Connection, alert: int, who: str, now: Moment, settings: DeskSettings
) -> Claim:
    """Take an alert that someone else holds; who may do so is for the caller to check."""
    expire(connection, now)
    found = _alert(connection, alert)
    if found.state != "taken":
        return claim(connection, alert, who, now, settings)
    until = now.wall + settings.leased
    changed = connection.execute(
        alerts.update()
        .where(
            alerts.c.number == alert,
            alerts.c.state == "taken",
            alerts.c.held_by == found.held_by,
        )
        .values(held_by=who, lease_until=until)
    )
    if changed.rowcount != 1:
        raise TakenError(_why_not_free(connection, _alert(connection, alert)))
    details = {"from": found.held_by}
    audit_chain.add(connection, now.wall, who, "check taken over", f"alert:{alert}", details)
    return Claim(alert, who, until)


def expire(connection: sa.Connection, now: Moment) -> int:
    """Give back alerts whose lease is over, and snoozed ones whose time is; return how many."""
    found = connection.execute(
        sa.select(alerts.c.number, alerts.c.held_by).where(_is_over(now))
    ).all()
    if not found:
        return 0
    listed = sa.case((alerts.c.escalated_by.is_(None), "open"), else_="escalated")
    connection.execute(
        alerts.update()
        .where(_is_over(now))
        .values(state=listed, held_by=None, lease_until=None, hidden_until=None)
    )
    actions = [
        Action(JOB, "snooze ended", f"alert:{number}")
        if held_by is None
        else Action(JOB, "lease ended", f"alert:{number}", {"who": held_by})
        for number, held_by in found
    ]
    audit_chain.add_many(connection, now.wall, actions)
    return len(found)


def n_over(connection: sa.Connection, now: Moment) -> int:
    """Return how many leases and snoozes are over."""
    query = sa.select(sa.func.count()).where(_is_over(now))
    return connection.execute(query).scalar_one()


def holding(connection: sa.Connection, alert: int, who: str) -> CardAlert:
    """Return an alert that a person holds; TakenError if they do not."""
    found = _alert(connection, alert)
    if found.state != "taken" or found.held_by != who:
        raise TakenError(_why_not_yours(connection, found))
    return found


def _is_over(now: Moment) -> sa.ColumnElement[bool]:
    is_left = (alerts.c.lease_until <= now.wall) | (alerts.c.hidden_until <= now.desk)
    return alert_table.IS_AWAY & is_left


def _take(
    connection: sa.Connection, alert: CardAlert, who: str, now: Moment, settings: DeskSettings
) -> Claim | None:
    """Take an alert in the state that it was read in, if it can be taken in that."""
    if alert.state not in ("open", "escalated", "unsure", "snoozed"):
        return None
    until = now.wall + settings.leased
    if not alert_table.change_state(
        connection, alert.number, alert.state, "taken", held_by=who, lease_until=until,
        hidden_until=None,
    ):  # fmt: skip
        return None
    filled_alert_table.remove(connection, [alert.number])
    audit_chain.add(connection, now.wall, who, "check begun", f"alert:{alert.number}")
    return Claim(alert.number, who, until)


def _give_back(connection: sa.Connection, alert: CardAlert) -> None:
    state = "open" if alert.escalated_by is None else "escalated"
    values = {"held_by": None, "lease_until": None}
    alert_table.change_state(connection, alert.number, "taken", state, **values)


def _alert(connection: sa.Connection, number: int) -> CardAlert:
    found = alert_table.by_number(connection, number)
    if found is None:
        raise NoAlertError(f"there is no alert {number}.")
    return found


def _why_not_free(connection: sa.Connection, alert: CardAlert) -> str:
    if alert.state == "taken" and alert.held_by is not None:
        return f"alert {alert.number} is open at {alert.held_by.partition(':')[2]}."
    if alert.state == "decided":
        return f"alert {alert.number} has a verdict, which can still be undone."
    held = label_table.holding(label_table.of_cards(connection, [alert.card])).values()
    if any(each.is_fraud and each.source == "claim" for each in held):
        return f"alert {alert.number} is closed: the holder of the card has claimed a fraud."
    return f"alert {alert.number} is closed."


def _why_not_yours(connection: sa.Connection, alert: CardAlert) -> str:
    if alert.state in ("taken", "closed"):
        return _why_not_free(connection, alert)
    return f"alert {alert.number} is not yours, or no longer; open it again to go on."
