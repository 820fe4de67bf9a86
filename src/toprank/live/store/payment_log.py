"""The log of payments: what came in, what was known of it then, and what was decided.

Rows are only ever added, in one order: the position. What a desk knows is what follows from the
log, so a payment counts once it is here. The model's scores come a moment later and are a table of
their own, since rows of the log never change.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from toprank.live.store.compiled_statement import CompiledStatement
from toprank.live.store.desk_database import Number, Text, metadata

payments = sa.Table(
    "payments",
    metadata,
    sa.Column("position", Number, primary_key=True),
    sa.Column("id", Text, nullable=False, unique=True),
    sa.Column("card", Text, nullable=False),
    sa.Column("terminal", Text, nullable=False),
    sa.Column("paid_at", sa.BigInteger, nullable=False),
    sa.Column("received_at", sa.BigInteger, nullable=False),
    sa.Column("body", Text, nullable=False),
    sa.Column("features", sa.LargeBinary, nullable=False),
    sa.Column("decision", Text, nullable=False),
    sa.Column("matched", Text, nullable=False),
    sa.Column("rule_set", sa.BigInteger, nullable=False),
    sa.Index("payments_of_card", "card", "paid_at"),
)

scores = sa.Table(
    "scores",
    metadata,
    sa.Column("position", Number, primary_key=True),
    sa.Column("suspicion", sa.Double, nullable=False),
    sa.Column("probability", sa.Double, nullable=False),
    sa.Column("matched", Text, nullable=False),
    sa.Column("rule_set", sa.BigInteger, nullable=False),
    sa.Column("model", Text, nullable=False),
    sa.Column("scored_at", sa.BigInteger, nullable=False),
)

_INSERT = CompiledStatement(payments.insert())
_INSERT_SCORES = CompiledStatement(scores.insert())
_REPLACE_SCORES = (
    scores.update()
    .where(scores.c.position == sa.bindparam("of_position"))
    .values(
        {name: sa.bindparam(name) for name in ("suspicion", "probability", "model", "scored_at")}
    )
)
_KNOWN = CompiledStatement(
    sa.select(payments.c.id, payments.c.body, payments.c.decision, payments.c.matched).where(
        payments.c.id == sa.bindparam("id")
    )
)
_CHUNK = 10_000  # rows read at a time
_NOTHING = "[]"  # what most payments match
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


class LoggedPayment(NamedTuple):
    """One row of the log, as it is stored.

    `matched` has the rules that matched, as JSON: name, version and state of each, "live" of those
    that blocked. `features` are those of `History.names`, as bytes of float64.
    """

    position: int
    id: str
    card: str
    terminal: str
    paid_at: int
    received_at: int
    body: str
    features: bytes
    decision: str
    matched: str
    rule_set: int

    @property
    def feature_values(self) -> NDArray[np.float64]:
        """The features as numbers, NaN where missing."""
        return np.frombuffer(self.features, "<f8")


class KnownPayment(NamedTuple):
    """What is needed to answer a payment that is sent again."""

    id: str
    body: str
    decision: str
    matched: str

    @property
    def blocking(self) -> list[str]:
        """The rules that blocked the payment."""
        if self.matched == _NOTHING:
            return []
        return [name for name, _, state in json.loads(self.matched) if state == "live"]


class StoredScore(NamedTuple):
    """What the model said of the payment at a position."""

    position: int
    suspicion: float
    probability: float
    matched: str
    rule_set: int
    model: str
    scored_at: int


class NewScore(NamedTuple):
    """What another model says of the payment at a position."""

    position: int
    suspicion: float
    probability: float
    model: str
    scored_at: int


def add(connection: sa.Connection, rows: Sequence[LoggedPayment]) -> None:
    """Add payments to the log."""
    _INSERT.many(connection, rows)


def add_scores(connection: sa.Connection, rows: Sequence[StoredScore]) -> None:
    """Add what the model said of payments."""
    _INSERT_SCORES.many(connection, rows)


def replace_scores(connection: sa.Connection, rows: Sequence[NewScore]) -> None:
    """Replace what a model said of payments; one that has no score yet gets none."""
    if rows:
        values = [row._asdict() for row in rows]
        for each in values:
            each["of_position"] = each.pop("position")
        connection.execute(_REPLACE_SCORES, values)


def known(connection: sa.Connection, ids: Sequence[str]) -> dict[str, KnownPayment]:
    """Return those of the payments that are in the log already, by id."""
    found = _KNOWN.first_of_each(connection, ((each,) for each in ids))
    return {row[0]: KnownPayment(*row) for row in found if row is not None}


def last_position(connection: sa.Connection) -> int:
    """Return the position of the newest payment, 0 of an empty log."""
    return connection.execute(sa.select(sa.func.max(payments.c.position))).scalar() or 0


def after(
    connection: sa.Connection, position: int, until: int | None = None
) -> Iterator[LoggedPayment]:
    """Yield the payments after a position, in order; only up to `until`, if it is given."""
    query = sa.select(payments).where(payments.c.position > position)
    if until is not None:
        query = query.where(payments.c.position <= until)
    found = connection.execute(
        query.order_by(payments.c.position).execution_options(yield_per=_CHUNK)
    )
    for row in found:
        yield LoggedPayment(*row)


def scored_after(
    connection: sa.Connection, position: int, until: int | None = None
) -> Iterator[tuple[LoggedPayment, StoredScore]]:
    """Yield the scored payments after a position with their scores, in order."""
    query = (
        sa.select(payments, scores)
        .join(scores, scores.c.position == payments.c.position)
        .where(payments.c.position > position)
    )
    if until is not None:
        query = query.where(payments.c.position <= until)
    n_columns = len(payments.c)
    options = {"yield_per": _CHUNK}
    for row in connection.execute(
        query.order_by(payments.c.position).execution_options(**options)
    ):
        yield LoggedPayment(*row[:n_columns]), StoredScore(*row[n_columns:])


def unscored(connection: sa.Connection) -> list[LoggedPayment]:
    """Return the payments that the model has not seen yet, in order.

    Payments are scored in their order, so these are the ones after the last that was.
    """
    last = connection.execute(sa.select(sa.func.max(scores.c.position))).scalar() or 0
    return list(after(connection, last))


def scores_between(
    connection: sa.Connection, rows: Sequence[LoggedPayment]
) -> dict[int, StoredScore]:
    """Return the scores of payments that follow one another in the log, by position."""
    if not rows:
        return {}
    is_between = scores.c.position.between(rows[0].position, rows[-1].position)
    found = connection.execute(sa.select(scores).where(is_between))
    return {row.position: StoredScore(*row) for row in found}


def last_received(connection: sa.Connection) -> int | None:
    """Return when the newest payment came, None of an empty log."""
    query = sa.select(payments.c.received_at).order_by(payments.c.position.desc()).limit(1)
    return connection.execute(query).scalar()


def first_received(connection: sa.Connection, since: int | None) -> int | None:
    """Return the position of the first payment received at or after a moment, None if none was."""
    query = sa.select(sa.func.min(payments.c.position))
    if since is not None:
        query = query.where(payments.c.received_at >= since)
    return connection.execute(query).scalar()


def score_of(connection: sa.Connection, position: int) -> StoredScore | None:
    """Return what the model said of a payment, None if it has not been asked yet."""
    row = connection.execute(sa.select(scores).where(scores.c.position == position)).first()
    return None if row is None else StoredScore(*row)


def by_id(connection: sa.Connection, payment_id: str) -> LoggedPayment | None:
    """Return one payment of the log, None if there is none of this id."""
    row = connection.execute(sa.select(payments).where(payments.c.id == payment_id)).first()
    return None if row is None else LoggedPayment(*row)


def cards_of(connection: sa.Connection, ids: Sequence[str]) -> dict[str, str]:
    """Return the cards of those of the payments that are in the log, by id."""
    query = sa.select(payments.c.id, payments.c.card).where(payments.c.id.in_(list(ids)))
    return {row.id: row.card for row in connection.execute(query)}


def of_card(
    connection: sa.Connection, card: str, since: int, limit: int = 1_000
) -> list[LoggedPayment]:
    """Return the payments of a card from a moment on, the newest first."""
    found = connection.execute(
        sa.select(payments)
        .where(payments.c.card == card, payments.c.paid_at >= since)
        .order_by(payments.c.paid_at.desc(), payments.c.position.desc())
        .limit(limit)
    )
    return [LoggedPayment(*row) for row in found]


def matched_text(matched: list[list]) -> str:
    """Return the rules that matched as they are stored.

    >>> matched_text([]), matched_text([["large", 1, "live"]])
    ('[]', '[["large",1,"live"]]')
    """
    return json_text(matched) if matched else _NOTHING


def json_text(value: Any) -> str:
    """Return a value as compact JSON, by which the bodies of two payments can be compared."""
    return _encoder.encode(value)
