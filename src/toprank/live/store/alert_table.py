"""The alerts: cards that someone should check, at most one open alert per card.

    open -> taken -> decided -> closed     a check begins, ends with a verdict, and is final
    unsure, snoozed                        not in the queue until something happens, or some time
    escalated                              as open, for seniors

`probability` is that of the card's most suspicious payment, as on the list of `toprank rank`. The
queue is in the order of `rank_value`. An alert is updated until it is closed; after that, new
payments of the card open another.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.store.compiled_statement import CompiledStatement
from toprank.live.store.desk_database import Number, Text, insert_new, metadata
from toprank.live.store.label_table import labels
from toprank.live.store.payment_log import StoredScore, payments, scores

alerts = sa.Table(
    "alerts",
    metadata,
    sa.Column("number", Number, primary_key=True),
    sa.Column("card", Text, nullable=False),
    sa.Column("state", Text, nullable=False),
    sa.Column("opened_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("probability", sa.Double, nullable=False),
    sa.Column("suspicion", sa.Double, nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),  # of the most suspicious payment
    sa.Column("reasons", Text, nullable=False),
    sa.Column("less_suspicious", Text, nullable=False),
    sa.Column("rules", Text, nullable=False),
    sa.Column("model", Text, nullable=False),
    sa.Column("reason_features", Text, nullable=False),  # of the reasons, in their order
    sa.Column("expected", sa.Double, nullable=False),  # chance that any of its payments is fraud
    sa.Column("rank_value", sa.Double, nullable=False),  # that, or one drawn for a random check
    sa.Column("n_payments", sa.Integer, nullable=False),
    sa.Column("amount", sa.Double, nullable=False),  # of all its payments
    sa.Column("last_at", sa.BigInteger, nullable=False),  # when the newest of them was paid
    sa.Column("held_by", Text),
    sa.Column("lease_until", sa.BigInteger),  # by the machine's clock
    sa.Column("hidden_until", sa.BigInteger),  # of a snoozed one
    sa.Column("escalated_by", Text),
    sa.Index("alerts_in_order", "state", "probability", "opened_at"),
    sa.Index("alerts_by_age", "opened_at", "state", "rules", "probability"),
    sa.Index("alerts_by_change", "state", "updated_at"),
    sa.Index("alerts_of_card", "card"),
)


def _in_states(*names: str) -> sa.ColumnElement[bool]:
    """Return the condition of a partial index, and of the queries that are to be read from it.

    A database takes such an index only if it finds the condition word by word, so there are no
    parameters in it. Nothing is added to the state, so that no index of states is taken instead.
    """
    state = alerts.c.state.concat(sa.literal_column("''"))
    return state.in_([sa.literal_column(f"'{name}'") for name in names])


_IS_OPEN = alerts.c.state != sa.literal_column("'closed'")
IS_LISTED = _in_states("open", "taken")
IS_AWAY = _in_states("taken", "snoozed")
sa.Index(
    "alerts_in_queue",
    alerts.c.rank_value.desc(),
    alerts.c.number,
    sqlite_where=IS_LISTED,
    postgresql_where=IS_LISTED,
)
sa.Index(
    "alerts_away",
    alerts.c.lease_until,
    sqlite_where=IS_AWAY,
    postgresql_where=IS_AWAY,
)
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

STATES = ("open", "taken", "decided", "unsure", "snoozed", "escalated", "closed")

_LAST = CompiledStatement(sa.select(sa.func.max(alerts.c.number)))
_INSERT = CompiledStatement(alerts.insert())
# an alert drawn at random may have payments already that the model has not seen yet
_INSERT_PAYMENTS = CompiledStatement(insert_new(alert_payments))
_OPEN_OF = CompiledStatement(
    sa.select(alerts).where(alerts.c.card == sa.bindparam("card"), _IS_OPEN)
)
_REOPEN = CompiledStatement(
    alerts.update()
    .where(
        alerts.c.number == sa.bindparam("of_number"),
        alerts.c.state == sa.literal_column("'unsure'"),
    )
    .values(state=sa.literal_column("'open'"))
)
_OPEN_CHANCES = CompiledStatement(
    sa.select(scores.c.probability)
    .join(alert_payments, alert_payments.c.position == scores.c.position)
    .join(payments, payments.c.position == alert_payments.c.position)
    .where(alert_payments.c.alert == sa.bindparam("number"))
    .where(~sa.exists().where(labels.c.id == payments.c.id))
    .order_by(alert_payments.c.position)
)
_PAYMENTS_OF = (
    sa.select(alert_payments.c.alert, payments.c.id)
    .join(payments, payments.c.position == alert_payments.c.position)
    .where(alert_payments.c.alert.in_(sa.bindparam("numbers", expanding=True)))
    .order_by(alert_payments.c.position.desc())
)
_HELD = ("held_by", "lease_until", "hidden_until", "escalated_by")
_FIXED = ("number", "card", "state", "opened_at", *_HELD)
_CHANGING = [column.name for column in alerts.c if column.name not in _FIXED]
_UPDATE = CompiledStatement(
    alerts.update()
    .where(alerts.c.number == sa.bindparam("of_number"), _IS_OPEN)
    .values({name: sa.bindparam(name) for name in _CHANGING})
)
_place_of = alerts.c.keys().index
_UPDATED = [_place_of(name) for name in (*_CHANGING, "number")]  # as `_UPDATE` takes them
_AS_JSON = [_place_of(name) for name in ("reasons", "less_suspicious", "rules", "reason_features")]


class CardAlert(NamedTuple):
    """A card on the list; `reasons` are those of its most suspicious payment, in sentences.

    `probability` is that payment's, and `expected` the chance that any of its payments is a fraud.
    `amount` is that of all of them together, and `last_at` when the newest was paid.
    """

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
    reason_features: list[str]
    expected: float = 0.0
    rank_value: float = 0.0
    n_payments: int = 0
    amount: float = 0.0
    last_at: int = 0
    held_by: str | None = None
    lease_until: int | None = None
    hidden_until: int | None = None
    escalated_by: str | None = None


def open_of(connection: sa.Connection, cards: Iterable[str]) -> dict[str, CardAlert]:
    """Return the alerts of these cards that are not closed, by card."""
    rows = (_OPEN_OF.one(connection, card) for card in cards)
    found = [_alert(row) for row in rows if row is not None]
    return {alert.card: alert for alert in found}


def by_number(connection: sa.Connection, number: int) -> CardAlert | None:
    """Return an alert, None if there is none of this number."""
    row = connection.execute(sa.select(alerts).where(alerts.c.number == number)).first()
    return None if row is None else _alert(row)


def held_by(connection: sa.Connection, who: str) -> list[int]:
    """Return the numbers of the alerts that a person holds, in the order of the queue."""
    is_held = (alerts.c.state == "taken") & (alerts.c.held_by == who)
    query = sa.select(alerts.c.number).where(IS_LISTED, is_held)
    order = (alerts.c.rank_value.desc(), alerts.c.number)
    return list(connection.execute(query.order_by(*order)).scalars())


def of_card(connection: sa.Connection, card: str) -> list[CardAlert]:
    """Return all alerts of a card, the newest first."""
    query = sa.select(alerts).where(alerts.c.card == card).order_by(alerts.c.number.desc())
    return [_alert(row) for row in connection.execute(query)]


def cards_ending(connection: sa.Connection, text: str, limit: int) -> list[CardAlert]:
    """Return the alerts of cards that end with a text, the newest first."""
    query = sa.select(alerts).where(alerts.c.card.endswith(text, autoescape=True))
    found = connection.execute(query.order_by(alerts.c.number.desc()).limit(limit))
    return [_alert(row) for row in found]


def cards_not_closed(connection: sa.Connection) -> set[str]:
    """Return the cards with an alert that is not closed."""
    return set(connection.execute(sa.select(alerts.c.card).where(_IS_OPEN)).scalars())


def next_number(connection: sa.Connection) -> int:
    """Return the number of the next alert."""
    (last,) = _LAST.all(connection)[0]
    return (last or 0) + 1


def open_new(connection: sa.Connection, found: Sequence[CardAlert]) -> None:
    """Open alerts."""
    if found:
        _INSERT.many(connection, [_stored(each) for each in found])


def update(connection: sa.Connection, found: Sequence[CardAlert]) -> None:
    """Replace what is known of alerts that are not closed; their state and holder stay."""
    if found:
        rows = [_stored(each) for each in found]
        _UPDATE.many(connection, [[row[place] for place in _UPDATED] for row in rows])


def reopen(connection: sa.Connection, numbers: Sequence[int]) -> None:
    """Put alerts back into the queue that an investigator was unsure of; others stay."""
    _REOPEN.many(connection, [(number,) for number in numbers])


def add_payments(connection: sa.Connection, pairs: Sequence[tuple[int, int]]) -> None:
    """Add payments to alerts, unless they have them: pairs of its number and a position."""
    if pairs:
        _INSERT_PAYMENTS.many(connection, pairs)


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


def change_state(
    connection: sa.Connection, number: int, before: str, state: str, **values: Any
) -> bool:
    """Move an alert on from a state; return False if it is not, or no longer, in that state."""
    changed = connection.execute(
        alerts.update()
        .where(alerts.c.number == number, alerts.c.state == before)
        .values(state=state, **values)
    )
    return changed.rowcount == 1


def in_queue(
    connection: sa.Connection,
    limit: int,
    after: tuple[float, int] | None = None,
    *,
    is_escalated: bool = False,
) -> list[CardAlert]:
    """Return the alerts of the queue, open or taken, or those that wait for a senior; in order."""
    listed = alerts.c.state == "escalated" if is_escalated else IS_LISTED
    query = sa.select(alerts).where(listed)
    if after is not None:
        value, number = after
        query = query.where(
            alerts.c.rank_value <= value,
            (alerts.c.rank_value < value) | (alerts.c.number > number),
        )
    order = (alerts.c.rank_value.desc(), alerts.c.number)
    return [_alert(row) for row in connection.execute(query.order_by(*order).limit(limit))]


def close(connection: sa.Connection, cards: Iterable[str], at: int) -> list[int]:
    """Close the alerts of these cards, in whatever state, and return their numbers."""
    found = open_of(connection, cards)
    numbers = [alert.number for alert in found.values()]
    connection.execute(
        alerts.update()
        .where(alerts.c.number.in_(numbers), _IS_OPEN)
        .values(state="closed", updated_at=at, held_by=None, lease_until=None)
    )
    return numbers


def positions_of(connection: sa.Connection, number: int) -> list[int]:
    """Return the positions of the payments of an alert, in order."""
    query = sa.select(alert_payments.c.position).where(alert_payments.c.alert == number)
    return list(connection.execute(query.order_by(alert_payments.c.position)).scalars())


def positions_of_all(connection: sa.Connection, numbers: Sequence[int]) -> list[int]:
    """Return the positions of the payments of alerts, in order."""
    is_of_them = alert_payments.c.alert.in_(list(numbers))
    query = sa.select(alert_payments.c.position).where(is_of_them).distinct()
    return sorted(connection.execute(query).scalars())


def open_by_others(connection: sa.Connection, model: str) -> list[int]:
    """Return the alerts that are not closed and were ranked by another model, the first first."""
    query = sa.select(alerts.c.number).where(_IS_OPEN, alerts.c.model != model)
    return list(connection.execute(query.order_by(alerts.c.rank_value.desc())).scalars())


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


def top_unlabelled(connection: sa.Connection, number: int) -> StoredScore | None:
    """Return the score of an alert's most suspicious payment that has no label, None if none."""
    query = (
        sa.select(scores)
        .join(alert_payments, alert_payments.c.position == scores.c.position)
        .join(payments, payments.c.position == scores.c.position)
        .where(alert_payments.c.alert == number)
        .where(~sa.exists().where(labels.c.id == payments.c.id))
        .order_by(scores.c.suspicion.desc(), scores.c.position)
    )
    row = connection.execute(query.limit(1)).first()
    return None if row is None else StoredScore(*row)


def open_chances(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, list[float]]:
    """Return the probabilities of the payments of alerts that have no label, by alert."""
    return {
        number: [chance for (chance,) in _OPEN_CHANCES.all(connection, number)]
        for number in numbers
    }


def close_unchanged(connection: sa.Connection, before: int, at: int) -> list[int]:
    """Close the alerts that nothing has happened to since a moment; return their numbers."""
    is_waiting = alerts.c.state.in_(("open", "unsure", "escalated"))
    is_old = is_waiting & (alerts.c.updated_at < before)
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
    is_listed = alerts.c.state.in_(("open", "taken"))  # counted by the index of states
    return connection.execute(sa.select(sa.func.count()).where(is_listed)).scalar_one()


def _stored(alert: CardAlert) -> list[Any]:
    """Return the values of an alert's columns."""
    values: list[Any] = list(alert)
    for place in _AS_JSON:
        values[place] = json.dumps(values[place], ensure_ascii=False)
    return values


def _alert(row: Sequence[Any]) -> CardAlert:
    values = list(row)
    for place in _AS_JSON:
        values[place] = json.loads(values[place])
    return CardAlert(*values)
