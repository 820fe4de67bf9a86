"""The alerts: cards that someone should check, at most one open alert per card.

    open -> taken -> closed        a check begins, and ends with a verdict

`probability` is that of the card's most suspicious payment, as on the list of `toprank rank`. An
alert is updated while it is open or taken; after that, new payments of the card open another.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.store.database import metadata
from toprank.live.store.label_table import labels
from toprank.live.store.payment_log import Number, payments

alerts = sa.Table(
    "alerts",
    metadata,
    sa.Column("number", Number, primary_key=True, autoincrement=True),
    sa.Column("card", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("opened_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("probability", sa.Double, nullable=False),
    sa.Column("suspicion", sa.Double, nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),  # of the most suspicious payment
    sa.Column("reasons", sa.Text, nullable=False),
    sa.Column("less_suspicious", sa.Text, nullable=False),
    sa.Column("rules", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Index("alerts_in_order", "state", "probability", "opened_at"),
)
_IS_OPEN = alerts.c.state.in_(["open", "taken"])
sa.Index(
    "one_open_alert_per_card",
    alerts.c.card,
    unique=True,
    sqlite_where=_IS_OPEN,
    postgresql_where=_IS_OPEN,
)

alert_payments = sa.Table(
    "alert_payments",
    metadata,
    sa.Column("alert", sa.BigInteger, sa.ForeignKey("alerts.number"), primary_key=True),
    sa.Column("position", sa.BigInteger, primary_key=True),
)

STATES = ("open", "taken", "closed")
_AS_JSON = ("reasons", "less_suspicious", "rules")


class Alert(NamedTuple):
    """A card on the list; `reasons` are those of its most suspicious payment, in sentences."""

    number: int
    card: str
    state: str
    opened_at: int
    updated_at: int
    probability: float
    suspicion: float
    position: int
    reasons: list[str]
    less_suspicious: list[str]
    rules: list[str]
    model: str


def open_of(connection: sa.Connection, cards: Iterable[str]) -> dict[str, Alert]:
    """Return the open or taken alerts of these cards, by card."""
    query = sa.select(alerts).where(alerts.c.card.in_(list(cards)), _IS_OPEN)
    return {row.card: _alert(row) for row in connection.execute(query)}


def open_new(connection: sa.Connection, alert: Alert) -> int:
    """Open an alert and return its number, whatever number the given one has."""
    values = _stored(alert)
    del values["number"]
    number = connection.execute(alerts.insert().values(**values)).inserted_primary_key
    assert number is not None
    return int(number[0])


def update(connection: sa.Connection, alert: Alert) -> None:
    """Replace what is known of an alert that is still open or taken; its state stays."""
    values = _stored(alert)
    for name in ("number", "card", "state", "opened_at"):
        del values[name]
    connection.execute(
        alerts.update().where(alerts.c.number == alert.number, _IS_OPEN).values(**values)
    )


def add_payments(connection: sa.Connection, number: int, positions: Sequence[int]) -> None:
    """Add payments to an alert."""
    rows = [{"alert": number, "position": position} for position in positions]
    connection.execute(alert_payments.insert(), rows)


def in_order(
    connection: sa.Connection, state: str, limit: int, after: tuple[float, int] | None = None
) -> list[Alert]:
    """Return alerts of a state, the most probable first; of equal ones, the oldest.

    `after` is the probability and the number of the alert after which to begin.
    """
    query = sa.select(alerts).where(alerts.c.state == state)
    if after is not None:
        probability, number = after
        query = query.where(
            (alerts.c.probability < probability)
            | ((alerts.c.probability == probability) & (alerts.c.number > number))
        )
    order = (alerts.c.probability.desc(), alerts.c.number)
    return [_alert(row) for row in connection.execute(query.order_by(*order).limit(limit))]


def close(connection: sa.Connection, cards: Iterable[str], at: int) -> list[int]:
    """Close the open or taken alerts of these cards, and return their numbers."""
    found = open_of(connection, cards)
    numbers = [alert.number for alert in found.values()]
    connection.execute(
        alerts.update()
        .where(alerts.c.number.in_(numbers), _IS_OPEN)
        .values(state="closed", updated_at=at)
    )
    return numbers


def n_unlabelled(connection: sa.Connection, number: int) -> int:
    """Return how many payments of an alert have no label yet."""
    of_alert = (
        sa.select(payments.c.id)
        .join(alert_payments, alert_payments.c.position == payments.c.position)
        .where(alert_payments.c.alert == number)
    )
    is_labelled = sa.exists().where(labels.c.id == payments.c.id)
    query = sa.select(sa.func.count()).select_from(of_alert.where(~is_labelled).subquery())
    return connection.execute(query).scalar_one()


def n_open(connection: sa.Connection) -> int:
    """Return how many alerts are open or taken."""
    return connection.execute(sa.select(sa.func.count()).where(_IS_OPEN)).scalar_one()


def _stored(alert: Alert) -> dict[str, Any]:
    values = alert._asdict()
    for name in _AS_JSON:
        values[name] = json.dumps(values[name], ensure_ascii=False)
    return values


def _alert(row: Any) -> Alert:
    values = dict(row._mapping)
    for name in _AS_JSON:
        values[name] = json.loads(values[name])
    return Alert(**values)
