"""What the pages of a large desk read, timed: queue, card, claim, search, decisions, board."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import sqlalchemy as sa

from toprank.live.checks import claims, queue
from toprank.live.checks.card_view import card_view
from toprank.live.checks.day import decisions, search
from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.messages import PaymentField
from toprank.live.monitor.desk_monitor import desk_monitor
from toprank.live.rules.rule_board import rule_board
from toprank.live.store.desk_database import Database
from toprank.payments.features import default_features
from toprank.payments.roles import Roles
from toprank_bench.desk_pages.large_desk import DAY, NOW, DeskSize, large_desk
from toprank_bench.live_load.live_figures import LiveFigure
from toprank_bench.provenance import provenance
from toprank_bench.row_file import Row, rows_file, writing

FULL, QUICK = DeskSize(10_000_000, 100_000), DeskSize(200_000, 2_000)
QUEUE_LIMIT, CARD_LIMIT, BOARD_LIMIT = 100.0, 300.0, 300.0  # milliseconds

_SEED = 0
_ROUNDS = 40
_WHO = "person:anna"
_ROLES = Roles("paid_at", "card", "terminal", "amount", "payment")


class Timed(NamedTuple):
    """What is timed, and the limit of its 95th percentile in milliseconds, if there is one."""

    name: str
    read: Callable[[sa.Connection, int], object]
    at_most: float | None = None
    is_writing: bool = False


def run(results: Path, *, quick: bool, report: Callable[[str], None]) -> list[LiveFigure]:
    """Make a desk, time what its pages read, and record the figures as a row."""
    size = QUICK if quick else FULL
    with (
        TemporaryDirectory(prefix="toprank-desk-") as folder,
        writing(rows_file(results, "desk-quick" if quick else "desk")) as writer,
    ):
        begin = time.perf_counter()
        report(f"writing {size.n_payments:,} payments and {size.n_alerts:,} alerts")
        database = large_desk(Path(folder, "desk"), size, _SEED)
        report(f"written ({time.perf_counter() - begin:.0f} s)")
        found = [each for timed in _timed() for each in _figures(database, timed, size)]
        database.close()
        row: Row = {
            "stage": "pages", "options": size._asdict(), "seed": _SEED,
            "figures": [each.to_json() for each in found],
        }  # fmt: skip
        writer.append(row | provenance())
    return found


def _timed() -> Iterable[Timed]:
    settings, now, silence = DeskSettings(), Moment(NOW, NOW), 30 * DAY
    names = (("paid_at", "time"), ("card", "card"), ("terminal", "terminal"), ("amount", "amount"),
             ("payment", "id"), ("channel", None), ("country", None))  # fmt: skip
    fields = [PaymentField(name, "text", True, cast(Any, role)) for name, role in names]
    features = default_features(_ROLES.card, _ROLES.terminal, _ROLES.amount)
    model = SimpleNamespace(
        roles=_ROLES, state_=SimpleNamespace(history=SimpleNamespace(features=features))
    )
    live = cast(Any, SimpleNamespace(fields=fields, model=model))

    def queue_page(connection: sa.Connection, _: int) -> object:
        return queue.queue(connection), queue.header(connection, now, settings)

    def later_page(connection: sa.Connection, alert: int) -> object:
        return queue.queue(connection, after=f"{(0.5 / alert).hex()}_1")

    return [
        Timed("queue with its header", queue_page, QUEUE_LIMIT),
        Timed("a later page of the queue", later_page, QUEUE_LIMIT),
        Timed("card", lambda c, alert: card_view(c, live, alert, NOW), CARD_LIMIT),
        Timed("claim the next card", lambda c, _: claims.claim_next(c, _WHO, now, settings),
              is_writing=True),
        Timed("search by the end of a card", lambda c, alert: search(c, f"{alert:04}")),
        Timed("decisions of a day", lambda c, _: decisions(c, "amount", since=NOW - 10**10)),
        Timed("board of rules", lambda c, _: rule_board(c, NOW, silence, settings.alert_from),
              BOARD_LIMIT),
        Timed("monitor", lambda c, _: desk_monitor(c, NOW, silence), BOARD_LIMIT),
    ]  # fmt: skip


def _figures(database: Database, timed: Timed, size: DeskSize) -> list[LiveFigure]:
    """Return the middle and the 95th percentile of the times, for alerts drawn at random."""
    rng = np.random.default_rng(_SEED)
    spent = []
    for alert in rng.integers(1, size.n_alerts + 1, _ROUNDS).tolist():
        with database.writing() if timed.is_writing else database.reading() as connection:
            begin = time.perf_counter()
            timed.read(connection, alert)
            spent.append(1_000 * (time.perf_counter() - begin))
    middle, late = np.percentile(spent, [50, 95]).tolist()
    return [
        LiveFigure(f"{timed.name}, median", middle, "ms"),
        LiveFigure(f"{timed.name}, p95", late, "ms", at_most=timed.at_most),
    ]
