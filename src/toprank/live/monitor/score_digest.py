"""Counting scores: how those of each day and model are spread, and who would be listed.

As `log_digest` does, on from where it was left and some time after payments were scored. It has a
place of its own, so that a desk whose log was counted before there were these counts gets them.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store import listed_score_table, payment_reads, score_day_table
from toprank.live.store.desk_database import Database
from toprank.live.store.digest_tables import DAY
from toprank.live.store.listed_score_table import ListedScore
from toprank.live.store.payment_log import payments, scores
from toprank.live.store.score_day_table import ScoreCounts, ScoreKey
from toprank.live.store.shadow_score_table import shadow_name, shadow_scores

AT_ONCE = 500
"""Payments per transaction: what is written is a row or two per day and model."""


class _Scored(NamedTuple):
    """A payment that was not denied, with its score and those of models in shadow."""

    position: int
    at: int
    card: str
    model: str
    suspicion: float
    probability: float


class _SomeScores(NamedTuple):
    """Scores up to a position."""

    last: int
    spread: dict[ScoreKey, list[tuple[int, float]]]
    listed: Sequence[ListedScore] = ()


def catch_up(
    database: Database, alert_from: float, end: float, pause: float = 0.0, at_once: int = AT_ONCE
) -> bool:
    """Count scores until none is left, or until a monotonic time; return whether none is left."""
    while _is_behind(database):
        if time.monotonic() > end:
            return False
        count_some(database, alert_from, at_once)
        time.sleep(pause)
    return True


def count_some(database: Database, alert_from: float, most: int = AT_ONCE) -> None:
    """Count some more scores; nothing if another process has counted them meanwhile."""
    with database.reading() as connection:
        before = score_day_table.place(connection)
        start = payment_reads.first_position(connection) - 1 if before is None else before
        some = _some_scores(connection, start, alert_from, most)
    with database.writing() as connection:
        if score_day_table.place(connection) != before:
            return
        for key, found in some.spread.items():
            counts = ScoreCounts.of(suspicion for _, suspicion in found)
            score_day_table.add(connection, key, found[0][0], counts)
        listed_score_table.add(connection, some.listed)
        score_day_table.set_place(connection, some.last)


def _is_behind(database: Database) -> bool:
    with database.reading() as connection:
        place = score_day_table.place(connection)
        return place is None or _last_scored(connection) > place


def _last_scored(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.max(scores.c.position))).scalar() or 0


def _some_scores(
    connection: sa.Connection, after: int, alert_from: float, most: int
) -> _SomeScores:
    last = max(min(_last_scored(connection), after + most), after)
    found: _SomeScores = _SomeScores(last, defaultdict(list))
    listed: dict[tuple[int, str], ListedScore] = {}
    for first, *beside in _by_payment(connection, after, last):
        day = first.at // DAY
        found.spread[ScoreKey(day, first.model)].append((first.position, first.suspicion))
        for each in beside:
            for one, other in ((first, each), (each, first)):
                key = ScoreKey(day, one.model, other.model)
                found.spread[key].append((one.position, one.suspicion))
            _list(listed, (first, each), alert_from)
        _list(listed, (first,), alert_from)
    return found._replace(listed=list(listed.values()))


def _by_payment(connection: sa.Connection, after: int, last: int) -> Iterable[list[_Scored]]:
    """Return the scores of each payment: that in use first, then those in shadow."""
    p, s, h = payments.c, scores.c, shadow_scores.c
    beside = [h.model.label("beside"), h.suspicion.label("beside_suspicion"), h.probability]
    query = (
        sa.select(p.position, p.received_at, p.card, s.model, s.suspicion, s.probability, *beside)
        .join(scores, s.position == p.position)
        .join(shadow_scores, h.position == p.position, isouter=True)
        .where(p.position.between(after + 1, last), p.decision != "block")
        .order_by(p.position, h.model)
    )
    by_payment: dict[int, list[_Scored]] = {}
    for row in connection.execute(query):
        some = by_payment.setdefault(row.position, [_Scored(*row[:6])])
        if row.beside is not None:
            name, suspicion, probability = shadow_name(row.beside), row[7], row[8]
            some.append(some[0]._replace(model=name, suspicion=suspicion, probability=probability))
    return by_payment.values()


def _list(
    listed: dict[tuple[int, str], ListedScore], both: Sequence[_Scored], alert_from: float
) -> None:
    """Add what models said of a payment, if one of them lists it."""
    if any(each.probability >= alert_from for each in both):
        for each in both:
            is_listed = each.probability >= alert_from
            listed[each.position, each.model] = ListedScore(
                each.position, each.model, each.at, each.card, each.suspicion, is_listed
            )
