"""A database of a desk with many payments and alerts: rows that are written directly.

Sending ten million payments would take hours, and pages read nothing but the database.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex

from toprank.live.desk_settings import DeskSettings
from toprank.live.monitor import log_digest
from toprank.live.store import rule_table, sqlite_database
from toprank.live.store.alert_table import alert_payments, alerts
from toprank.live.store.alert_terminal_table import alert_terminals
from toprank.live.store.desk_database import Database
from toprank.live.store.fraud_terminal_table import fraud_terminals
from toprank.live.store.label_table import labels
from toprank.live.store.payment_log import payments, scores
from toprank.live.store.rule_table import StoredRule

DAY = 86_400_000_000
FIRST = 20_000 * DAY
N_DAYS = 180
NOW = FIRST + N_DAYS * DAY

_PER_CARD = 100  # payments
_PER_TERMINAL = 500
_N_FEATURES = 44
_FRAUD_EVERY = 500  # payments
_N_RULES = 50
_MATCH_EVERY = 500  # payments, for each rule
_ALERT_PAYMENTS = 3
_CHUNK = 100_000
_REPORT_EVERY = 1_000_000  # payments
_COUNTED_AT_ONCE = 20_000  # payments and labels
_COUNTRIES = ("FR", "DE", "BE", "ES")


class DeskSize(NamedTuple):
    """How many payments and alerts a desk has."""

    n_payments: int
    n_alerts: int

    @property
    def n_cards(self) -> int:
        """The cards; each has at most one alert that is open."""
        return max(self.n_payments // _PER_CARD, self.n_alerts)


def terminal_name(number: int) -> str:
    """Return what a terminal is called."""
    return f"terminal-{number:06}"


def large_desk(
    folder: Path, size: DeskSize, seed: int, report: Callable[[str], None] = lambda _: None
) -> Database:
    """Return the database of a desk of this size, in a new folder; `report` gets the progress."""
    folder.mkdir(parents=True)
    Database.create(folder).close()
    rng = np.random.default_rng(seed)
    cards = rng.integers(size.n_cards, size=size.n_payments)
    terminals = rng.integers(max(size.n_payments // _PER_TERMINAL, 1), size=size.n_payments)
    _write_log(folder, rng, cards, terminals, report)
    database = Database.open(folder)
    with database.writing() as connection:
        _add_rules(connection)
        _add_frauds(connection, size)
    with database.writing() as connection:
        _add_alerts(connection, rng, cards, terminals, size)
    report(f"{size.n_alerts:,} alerts written; counting what rules matched")
    log_digest.catch_up(
        database, DeskSettings().alert_from, most_seconds=float("inf"), at_once=_COUNTED_AT_ONCE
    )
    return database


def _write_log(
    folder: Path,
    rng: np.random.Generator,
    cards: Any,
    terminals: Any,
    report: Callable[[str], None],
) -> None:
    """Write payments and scores as fast as SQLite can: a crash would only mean to start again."""
    n, begin = len(cards), time.monotonic()
    (by_card,) = (each for each in payments.indexes if each.name == "payments_of_card")
    writer = sqlite3.connect(folder / sqlite_database.NAME, isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -400000"):
        writer.execute(f"PRAGMA {pragma}")
    # an index of rows in no order is made much faster when all of them are there
    writer.execute(f"DROP INDEX {by_card.name}")
    for start in range(0, n, _CHUNK):
        end = min(start + _CHUNK, n)
        writer.execute("BEGIN")
        rows = _payments(rng, cards[start:end], terminals[start:end], start, n)
        writer.executemany(_insert_into(payments), rows)
        writer.executemany(_insert_into(scores), _scores(rng, start, end))
        writer.execute("COMMIT")
        if end == n or end % _REPORT_EVERY == 0:
            report(f"{end:,} of {n:,} payments written ({time.monotonic() - begin:.0f} s)")
    writer.execute(str(CreateIndex(by_card).compile(dialect=sqlite.dialect())))
    writer.close()
    report(f"indexed by card ({time.monotonic() - begin:.0f} s)")


def _insert(connection: sa.Connection, table: sa.Table, rows: list[tuple[Any, ...]]) -> None:
    connection.exec_driver_sql(_insert_into(table), rows)


def _insert_into(table: sa.Table) -> str:
    names = ", ".join(table.c.keys())
    places = ", ".join("?" * len(table.c))
    return f"INSERT INTO {table.name} ({names}) VALUES ({places})"


def _payments(
    rng: np.random.Generator, cards: Any, terminals: Any, start: int, n: int
) -> Iterator[tuple[Any, ...]]:
    amounts = rng.lognormal(3.0, 1.0, len(cards)).round(2).tolist()
    countries = rng.integers(len(_COUNTRIES), size=len(cards)).tolist()
    features = rng.normal(size=(64, _N_FEATURES)).astype("<f8")
    blobs = [row.tobytes() for row in features]
    some = zip(amounts, countries, cards.tolist(), terminals.tolist(), strict=True)
    for place, (amount, country, card_number, terminal_number) in enumerate(some, start):
        card, terminal = f"card-{card_number:08}", terminal_name(terminal_number)
        paid_at = FIRST + place * N_DAYS * DAY // n
        body = (
            f'{{"amount":{amount},"card":"{card}","channel":"shop",'
            f'"country":"{_COUNTRIES[country]}","paid_at":{paid_at},'
            f'"payment":"p{place:08}","terminal":"{terminal}"}}'
        )
        yield (
            place + 1, f"p{place:08}", card, terminal, paid_at, paid_at, body, blobs[place % 64],
            "accept", "[]", 0,
        )  # fmt: skip


def _scores(rng: np.random.Generator, start: int, end: int) -> list[tuple[Any, ...]]:
    chances = rng.beta(0.1, 20.0, end - start).tolist()
    matched = rng.integers(_MATCH_EVERY, size=end - start).tolist()
    return [
        (start + place + 1, chance, chance, _matched(rule), 0, "0001.toprank", FIRST)
        for place, (chance, rule) in enumerate(zip(chances, matched, strict=True))
    ]


def _matched(rule: int) -> str:
    """Return the rule that matches, if it is one of those that there are."""
    return f'[["rule-{rule}",1,"live"]]' if rule < _N_RULES else "[]"


def _add_rules(connection: sa.Connection) -> None:
    for number in range(_N_RULES):
        text = f"amount > {number}"
        rule_table.add(
            connection,
            StoredRule(f"rule-{number}", 1, "alert", text, "", "person:anna", 0, "live", None),
        )


def _add_frauds(connection: sa.Connection, size: DeskSize) -> None:
    """Label every so many payments as fraud."""
    columns = [payments.c[name] for name in fraud_terminals.c.keys()]  # noqa: SIM118
    found = sa.select(*columns).where(payments.c.position % _FRAUD_EVERY == 0)
    connection.execute(fraud_terminals.insert().from_select(fraud_terminals.c.keys(), found))
    rows = connection.execute(sa.select(fraud_terminals)).all()
    _insert(
        connection,
        labels,
        [
            (
                number,
                row.id,
                row.card,
                True,
                row.paid_at,
                "claim",
                "key:claims",
                size.n_payments,
                row.paid_at,
            )
            for number, row in enumerate(rows, start=1)
        ],
    )


def _add_alerts(
    connection: sa.Connection, rng: np.random.Generator, cards: Any, terminals: Any, size: DeskSize
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
    places = {(terminal_name(terminals[position - 1]), number) for number, position in pairs}
    _insert(connection, alert_terminals, sorted(places))
