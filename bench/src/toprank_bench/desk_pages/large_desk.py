"""A database of a desk with many payments and alerts: rows that are written directly.

Sending ten million payments would take hours, and pages read nothing but the database.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from toprank.live.store.alert_table import alert_payments, alerts
from toprank.live.store.desk_database import Database
from toprank.live.store.fraud_terminal_table import fraud_terminals
from toprank.live.store.label_table import labels
from toprank.live.store.payment_log import payments, scores

DAY = 86_400_000_000
FIRST = 20_000 * DAY
N_DAYS = 180
NOW = FIRST + N_DAYS * DAY

_PER_CARD = 100  # payments
_PER_TERMINAL = 500
_N_FEATURES = 44
_FRAUD_EVERY = 500  # payments
_ALERT_PAYMENTS = 3
_CHUNK = 100_000
_COUNTRIES = ("FR", "DE", "BE", "ES")


class DeskSize(NamedTuple):
    """How many payments and alerts a desk has."""

    n_payments: int
    n_alerts: int

    @property
    def n_cards(self) -> int:
        """The cards; each has at most one alert that is open."""
        return max(self.n_payments // _PER_CARD, self.n_alerts)


def large_desk(folder: Path, size: DeskSize, seed: int) -> Database:
    """Return the database of a desk of this size, in a new folder."""
    folder.mkdir(parents=True)
    database = Database.create(folder)
    rng = np.random.default_rng(seed)
    cards = rng.integers(size.n_cards, size=size.n_payments)
    terminals = rng.integers(max(size.n_payments // _PER_TERMINAL, 1), size=size.n_payments)
    # an index of rows in no order is made much faster when all of them are there
    (by_card,) = (each for each in payments.indexes if each.name == "payments_of_card")
    with database.writing() as connection:
        by_card.drop(connection)
    for start in range(0, size.n_payments, _CHUNK):
        end = min(start + _CHUNK, size.n_payments)
        with database.writing() as connection:
            rows = list(_payments(rng, cards, terminals, start, end, size.n_payments))
            _insert(connection, payments, rows)
            _insert(connection, scores, _scores(rng, start, end))
    with database.writing() as connection:
        by_card.create(connection)
        _add_frauds(connection)
    with database.writing() as connection:
        _add_alerts(connection, rng, cards, size)
    return database


def _insert(connection: sa.Connection, table: sa.Table, rows: list[tuple[Any, ...]]) -> None:
    names = ", ".join(table.c.keys())
    places = ", ".join("?" * len(table.c))
    connection.exec_driver_sql(f"INSERT INTO {table.name} ({names}) VALUES ({places})", rows)


def _payments(
    rng: np.random.Generator, cards: Any, terminals: Any, start: int, end: int, n: int
) -> Iterator[tuple[Any, ...]]:
    amounts = rng.lognormal(3.0, 1.0, end - start).round(2).tolist()
    countries = rng.integers(len(_COUNTRIES), size=end - start).tolist()
    features = rng.normal(size=(64, _N_FEATURES)).astype("<f8")
    blobs = [row.tobytes() for row in features]
    for place in range(start, end):
        amount, country = amounts[place - start], _COUNTRIES[countries[place - start]]
        card, terminal = f"card-{cards[place]:08}", f"terminal-{terminals[place]:06}"
        paid_at = FIRST + place * N_DAYS * DAY // n
        body = (
            f'{{"amount":{amount},"card":"{card}","channel":"shop","country":"{country}",'
            f'"paid_at":{paid_at},"payment":"p{place}","terminal":"{terminal}"}}'
        )
        yield (
            place + 1, f"p{place}", card, terminal, paid_at, paid_at, body, blobs[place % 64],
            "accept", "[]", 0,
        )  # fmt: skip


def _scores(rng: np.random.Generator, start: int, end: int) -> list[tuple[Any, ...]]:
    chances = rng.beta(0.1, 20.0, end - start).tolist()
    return [
        (start + place + 1, chance, chance, "[]", 0, "0001.toprank", FIRST)
        for place, chance in enumerate(chances)
    ]


def _add_frauds(connection: sa.Connection) -> None:
    """Label every so many payments as fraud."""
    columns = [payments.c[name] for name in fraud_terminals.c.keys()]  # noqa: SIM118
    found = sa.select(*columns).where(payments.c.position % _FRAUD_EVERY == 0)
    connection.execute(fraud_terminals.insert().from_select(fraud_terminals.c.keys(), found))
    rows = connection.execute(sa.select(fraud_terminals)).all()
    _insert(
        connection,
        labels,
        [
            (number, row.id, row.card, True, row.paid_at, "claim", "key:claims", 0, row.paid_at)
            for number, row in enumerate(rows, start=1)
        ],
    )


def _add_alerts(
    connection: sa.Connection, rng: np.random.Generator, cards: Any, size: DeskSize
) -> None:
    """Open an alert for the newest payments of as many cards."""
    of_card: dict[int, list[int]] = {}
    for place in range(size.n_payments - 1, -1, -1):
        found = of_card.setdefault(int(cards[place]), [])
        if len(found) < _ALERT_PAYMENTS:
            found.append(place + 1)
    listed = list(of_card.items())[: size.n_alerts]
    chances = rng.beta(0.3, 3.0, len(listed)).tolist()
    reasons = '["9 payments in the last hour; usual 0-2", "amount 310.00; usual 3-75"]'
    features = '["card_count_1h", "amount"]'
    rows, pairs = [], []
    for number, ((card, positions), chance) in enumerate(
        zip(listed, chances, strict=True), start=1
    ):
        opened = NOW - number * 20 * DAY // len(listed)
        rows.append(
            (
                number, f"card-{card:08}", "open", opened, opened, chance, chance, positions[0],
                reasons, "[]", "[]", "0001.toprank", features, chance, chance, len(positions),
                120.0, NOW, None, None, None, None,
            )
        )  # fmt: skip
        pairs += [(number, position) for position in positions]
    _insert(connection, alerts, rows)
    _insert(connection, alert_payments, pairs)
