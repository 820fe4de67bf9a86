"""The pages of a large desk, timed at the server: queue, card, search, decisions, board, monitor.

A time is that of the whole answer: session, permission, what is read, audit and the page itself.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from toprank.live.checks import claims
from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.store.desk_database import Database
from toprank_bench.desk_pages.large_desk import DAY, NOW, DeskSize, large_desk, terminal_name
from toprank_bench.desk_pages.page_visitor import WHO, PageVisitor
from toprank_bench.live_load.live_figures import LiveFigure
from toprank_bench.live_load.stage_rows import desk_file
from toprank_bench.provenance import provenance
from toprank_bench.row_file import Row, writing

FULL, QUICK = DeskSize(10_000_000, 100_000), DeskSize(200_000, 2_000)
QUEUE_LIMIT, CARD_LIMIT, SEARCH_LIMIT, BOARD_LIMIT = 100.0, 300.0, 300.0, 300.0  # milliseconds

_SEED = 0
ROUNDS = 40  # per figure


class Timed(NamedTuple):
    """What is timed, of an alert, and the limit of its 95th percentile, if there is one."""

    name: str
    ask: Callable[[int], object]
    at_most: float | None = None  # milliseconds


def run(results: Path, *, quick: bool, report: Callable[[str], None]) -> list[LiveFigure]:
    """Make a desk, time what its pages read, and record the figures as a row."""
    size = QUICK if quick else FULL
    with (
        TemporaryDirectory(prefix="toprank-desk-") as folder,
        writing(desk_file(results, quick)) as writer,
    ):
        begin = time.perf_counter()
        report(f"writing {size.n_payments:,} payments and {size.n_alerts:,} alerts")
        database = large_desk(Path(folder, "desk"), size, _SEED, report)
        report(f"written ({time.perf_counter() - begin:.0f} s)")
        with PageVisitor(database, NOW) as visitor:
            found = []
            for timed in _timed(database, visitor, size):
                report(f"timing: {timed.name}")
                found += _figures(timed, size)
        database.close()
        row: Row = {
            "stage": "pages", "options": size._asdict(), "seed": _SEED,
            "figures": [each.to_json() for each in found],
        }  # fmt: skip
        writer.append(row | provenance())
    return found


def _timed(database: Database, visitor: PageVisitor, size: DeskSize) -> Iterable[Timed]:
    settings, now = DeskSettings(), Moment(NOW, NOW)
    day = np.datetime64(NOW - DAY, "us").astype("datetime64[D]")

    def claim(_: int) -> None:
        with database.writing() as connection:
            claims.claim_next(connection, f"person:{WHO}", now, settings)

    def page(path_of: Callable[[int], str]) -> Callable[[int], object]:
        return lambda alert: visitor.get(path_of(alert))

    return [
        Timed("queue", page(lambda _: "/queue"), QUEUE_LIMIT),
        Timed("a later page of the queue",
              page(lambda alert: f"/queue?after={alert}"), QUEUE_LIMIT),
        Timed("card", page(lambda alert: f"/alerts/{alert}"), CARD_LIMIT),
        Timed("claim the next card", claim),
        Timed("search by the end of a card", page(lambda alert: f"/search?q={alert:04}"),
              SEARCH_LIMIT),
        Timed("search by payment",
              page(lambda alert: f"/search?q=p{alert * size.n_payments // size.n_alerts - 1:08}"),
              SEARCH_LIMIT),
        Timed("search by terminal", page(lambda alert: f"/search?q={terminal_name(alert // 10)}"),
              SEARCH_LIMIT),
        Timed("my day", page(lambda _: "/day"), SEARCH_LIMIT),
        Timed("decisions of a day", page(lambda _: f"/decisions?since={day}"), SEARCH_LIMIT),
        Timed("decisions of a rule", page(lambda alert: f"/decisions?rule=rule-{alert % 100}")),
        Timed("board of rules", page(lambda _: "/rules"), BOARD_LIMIT),
        Timed("page of a rule", page(lambda alert: f"/rules/rule-{alert % 50}"), BOARD_LIMIT),
        Timed("monitor", page(lambda _: "/monitor"), BOARD_LIMIT),
    ]  # fmt: skip


def _figures(timed: Timed, size: DeskSize) -> list[LiveFigure]:
    """Return the middle and the 95th percentile of the times, for alerts drawn at random."""
    rng = np.random.default_rng(_SEED)
    timed.ask(1)  # templates and statements are compiled
    spent = []
    for alert in rng.integers(1, size.n_alerts + 1, ROUNDS).tolist():
        begin = time.perf_counter()
        timed.ask(alert)
        spent.append(1_000 * (time.perf_counter() - begin))
    middle, late = np.percentile(spent, [50, 95]).tolist()
    return [
        LiveFigure(f"{timed.name}, median", middle, "ms"),
        LiveFigure(f"{timed.name}, p95", late, "ms", at_most=timed.at_most),
    ]
