"""Known frauds with what models said of them when they came in; denied payments are left out."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.digest_tables import DAY, known_frauds
from toprank.live.store.listed_score_table import listed_scores
from toprank.live.store.payment_log import payments, scores
from toprank.live.store.score_day_table import ScoreDay
from toprank.live.store.shadow_score_table import shadow_scores

_IS_ACCEPTED = payments.c.decision != "block"


class PairedFraud(NamedTuple):
    """A known fraud, when it was received, who said so, and the scores of two models."""

    position: int
    at: int
    card: str
    source: str
    champion: float
    challenger: float


class ScoredFraud(NamedTuple):
    """A known fraud with the score of the model that was in use."""

    position: int
    at: int
    card: str
    model: str
    suspicion: float


def paired(
    connection: sa.Connection, champion: str, challenger: int, first: int
) -> list[PairedFraud]:
    """Return the known frauds from a position on that both models have scored when they came in.

    Another model that took over, and was rolled back, may have scored some of them again.
    """
    f, s, h, c = known_frauds.c, scores.c, shadow_scores.c, listed_scores.c
    said = sa.func.coalesce(c.suspicion, sa.case((s.model == champion, s.suspicion)))
    query = (
        sa.select(f.position, f.at, f.card, f.source, said, h.suspicion)
        .join(payments, payments.c.position == f.position)
        .join(scores, s.position == f.position)
        .join(shadow_scores, h.position == f.position)
        .join(listed_scores, (c.position == f.position) & (c.model == champion), isouter=True)
        .where(f.position >= first, h.model == challenger, said.is_not(None), _IS_ACCEPTED)
        .order_by(f.position)
    )
    return [PairedFraud(*row) for row in connection.execute(query)]


def of_days(connection: sa.Connection, days: Iterable[ScoreDay]) -> list[ScoredFraud]:
    """Return the known frauds of days whose scores are counted, with the score of then.

    A model that takes over scores payments on the list again. Of these, the first score is in
    `listed_scores`; those of desks from before it was kept for all of them are left out.
    """
    in_use: defaultdict[int, list[ScoreDay]] = defaultdict(list)
    for each in sorted(days, key=lambda day: day.first_position):
        in_use[each.day].append(each)
    if not in_use:
        return []
    first = min(each.first_position for some in in_use.values() for each in some)
    end = (max(in_use) + 1) * DAY
    f, s = known_frauds.c, scores.c
    query = (
        sa.select(f.position, f.at, f.card, s.model, s.suspicion)
        .join(payments, payments.c.position == f.position)
        .join(scores, s.position == f.position)
        .where(f.position >= first, f.at < end, _IS_ACCEPTED)
        .order_by(f.position)
    )
    before = _first_scores(connection, first)
    found = []
    for row in connection.execute(query):
        models = [
            each.model for each in in_use[row.at // DAY] if each.first_position <= row.position
        ]
        if row.model in models:
            found.append(ScoredFraud(*row))
        elif models and (row.position, models[-1]) in before:
            said = before[row.position, models[-1]]
            found.append(ScoredFraud(*row)._replace(model=models[-1], suspicion=said))
    return found


def _first_scores(connection: sa.Connection, first: int) -> dict[tuple[int, str], float]:
    """Return the first scores of known frauds that models would list, by position and model."""
    f, c = known_frauds.c, listed_scores.c
    query = (
        sa.select(c.position, c.model, c.suspicion)
        .join(known_frauds, f.position == c.position)
        .where(f.position >= first)
    )
    return {(row.position, row.model): row.suspicion for row in connection.execute(query)}
