"""The alerts: cards that someone should check, at most one open alert per card.

    open -> taken -> closed        a check begins, and ends with a verdict

`probability` is that of the card's most suspicious payment, as on the list of `toprank rank`. An
alert is updated while it is open or taken; after that, new payments of the card open another.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import metadata
from toprank.live.store.label_table import labels
from toprank.live.store.payment_log import Number, payments

alerts = sa.Table(
    "alerts",
    metadata,
    sa.Column("number", Number, primary_key=True),
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
    sa.Index("alerts_by_time", "opened_at", "rules", "probability"),
)
_IS_OPEN = alerts.c.state != "closed"
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

_LAST = sa.select(sa.func.max(alerts.c.number))
_INSERT, _INSERT_PAYMENTS = alerts.insert(), alert_payments.insert()
_OPEN_OF = sa.select(alerts).where(
    alerts.c.card.in_(sa.bindparam("cards", expanding=True)), _IS_OPEN
)
_PAYMENTS_OF = (
    sa.select(alert_payments.c.alert, payments.c.id)
    .join(payments, payments.c.position == alert_payments.c.position)
    .where(alert_payments.c.alert.in_(sa.bindparam("numbers", expanding=True)))
    .order_by(alert_payments.c.position.desc())
)
_FIXED = ("number", "card", "state", "opened_at")
_UPDATE = (
    alerts.update()
    .where(alerts.c.number == sa.bindparam("of_number"), _IS_OPEN)
    .values({c.name: sa.bindparam(c.name) for c in alerts.c if c.name not in _FIXED})
)
_AS_JSON = ("reasons", "less_suspicious", "rules")


class CardAlert(NamedTuple):
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


def open_of(connection: sa.Connection, cards: Iterable[str]) -> dict[str, CardAlert]:
    """Return the open or taken alerts of these cards, by card."""
    found = connection.execute(_OPEN_OF, {"cards": list(cards)})
    return {row.card: _alert(row) for row in found}


def next_number(connection: sa.Connection) -> int:
    """Return the number of the next alert."""
    return (connection.execute(_LAST).scalar() or 0) + 1


def open_new(connection: sa.Connection, found: Sequence[CardAlert]) -> None:
    """Open alerts."""
    if found:
        connection.execute(_INSERT, [_stored(each) for each in found])


def update(connection: sa.Connection, found: Sequence[CardAlert]) -> None:
    """Replace what is known of alerts that are still open or taken; their state stays."""
    if found:
        rows = [_stored(each) for each in found]
        connection.execute(_UPDATE, [row | {"of_number": row["number"]} for row in rows])


def add_payments(connection: sa.Connection, pairs: Sequence[tuple[int, int]]) -> None:
    """Add payments to alerts: pairs of an alert's number and a payment's position."""
    if pairs:
        rows = [{"alert": number, "position": position} for number, position in pairs]
        connection.execute(_INSERT_PAYMENTS, rows)


def in_order(
    connection: sa.Connection, state: str, limit: int, after: tuple[float, int] | None = None
) -> list[CardAlert]:
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


def payments_of(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, list[str]]:
    """Return the ids of the payments of alerts, the newest first, by the alerts' numbers."""
    found = connection.execute(_PAYMENTS_OF, {"numbers": list(numbers)})
    ids: dict[int, list[str]] = {number: [] for number in numbers}
    for number, payment_id in found:
        ids[number].append(payment_id)
    return ids


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


def close_unchanged(connection: sa.Connection, before: int, at: int) -> list[int]:
    """Close the open alerts that nothing has happened to since a moment; return their numbers."""
    is_old = (alerts.c.state == "open") & (alerts.c.updated_at < before)
    numbers = list(connection.execute(sa.select(alerts.c.number).where(is_old)).scalars())
    connection.execute(alerts.update().where(is_old).values(state="closed", updated_at=at))
    return numbers


def n_by_rules(
    connection: sa.Connection, since: int, alert_from: float
) -> list[tuple[list[str], bool, int]]:
    """Return how many alerts were opened from a moment on: by rules, and whether by the model."""
    is_by_model = alerts.c.probability >= alert_from
    query = (
        sa.select(alerts.c.rules, is_by_model, sa.func.count())
        .where(alerts.c.opened_at >= since)
        .group_by(alerts.c.rules, is_by_model)
    )
    return [(json.loads(rules), bool(model), n) for rules, model, n in connection.execute(query)]


def n_open(connection: sa.Connection) -> int:
    """Return how many alerts are open or taken."""
    return connection.execute(sa.select(sa.func.count()).where(_IS_OPEN)).scalar_one()


def _stored(alert: CardAlert) -> dict[str, Any]:
    values = alert._asdict()
    for name in _AS_JSON:
        values[name] = json.dumps(values[name], ensure_ascii=False)
    return values


def _alert(row: Any) -> CardAlert:
    values = dict(row._mapping)
    for name in _AS_JSON:
        values[name] = json.loads(values[name])
    return CardAlert(**values)
