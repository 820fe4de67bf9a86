"""How well payments were ranked, per day or week: the prevalence-adjusted AP of the model in use.

It is that of the scores made when payments came in, on days whose labels are final, and as if one
payment in a thousand were a fraud: so figures of different months can be compared. Where days have
too few frauds for an interval that says anything, weeks are taken. Scores are read as
`score_digest` has counted them; those of one bin are tied.

The interval is from resamples: cards with a fraud are drawn with all their frauds, and genuine
payments as Poisson counts.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from toprank.live.learning.model_comparison import PREVALENCE
from toprank.live.store import score_day_table, scored_frauds
from toprank.live.store.digest_tables import DAY
from toprank.live.store.score_day_table import ScoreCounts, ScoreDay
from toprank.live.store.scored_frauds import ScoredFraud
from toprank.metrics.intervals import Interval
from toprank.metrics.resampling import percentile_band
from toprank.metrics.score_histogram import bins_of, lowest_scores

N_DAYS, N_WEEKS = 30, 13
LEAST_FRAUDS = 10
"""With fewer frauds, nothing is said of a day or week."""

_N_RESAMPLES = 300
_LEVEL = 0.95


class RankedSpan(NamedTuple):
    """Days from one to another, and how the models in use ranked their payments.

    `adjusted_ap` is None with too few frauds.
    """

    first_day: int
    last_day: int
    models: tuple[str, ...]
    n_payments: int
    n_frauds: int
    adjusted_ap: Interval | None


class RankingQuality(NamedTuple):
    """Spans of days in order; `n_waiting` later days have payments whose label is not final."""

    spans: list[RankedSpan]
    is_weekly: bool
    n_waiting: int


def ranking_quality(connection: sa.Connection, now: int, silence: int) -> RankingQuality:
    """Return how payments were ranked, on days that are older than `silence`."""
    today, end = now // DAY, (now - silence) // DAY  # the first day that is not final
    n_waiting = score_day_table.n_days(connection, end, today)
    length, n_spans = 1, N_DAYS
    days, frauds = _read(connection, end - N_DAYS, end)
    if _usual_number(frauds) < LEAST_FRAUDS:  # few, so that more days are soon read
        length, n_spans = 7, N_WEEKS
        days, frauds = _read(connection, end - 7 * N_WEEKS, end)
    firsts = range(end - n_spans * length, end, length)
    by_span: defaultdict[int, list[ScoredFraud]] = defaultdict(list)
    for each in frauds:
        by_span[(end - 1 - each.at // DAY) // length].append(each)
    spans = [
        _span(first, first + length - 1, days, by_span[(end - 1 - first) // length])
        for first in firsts
    ]
    while spans and not spans[0].n_payments:  # before the desk
        del spans[0]
    return RankingQuality(spans, length > 1, n_waiting)


def _read(
    connection: sa.Connection, first: int, end: int
) -> tuple[list[ScoreDay], list[ScoredFraud]]:
    days = score_day_table.between(connection, first, end - 1)
    return days, scored_frauds.of_days(connection, days)


def _usual_number(frauds: Sequence[ScoredFraud]) -> float:
    """Return the frauds of a usual day, of the days with any."""
    if not frauds:
        return 0.0
    _, per_day = np.unique([each.at // DAY for each in frauds], return_counts=True)
    return float(np.median(per_day))


def _span(
    first: int, last: int, days: Sequence[ScoreDay], known: Sequence[ScoredFraud]
) -> RankedSpan:
    own = [each for each in days if first <= each.day <= last]
    models = tuple(dict.fromkeys(each.model for each in own))
    n_payments = sum(each.n_payments for each in own)
    found = _adjusted_ap(own, known, models) if len(known) >= LEAST_FRAUDS else None
    return RankedSpan(first, last, models, n_payments, len(known), found)


def _adjusted_ap(
    days: Sequence[ScoreDay], frauds: Sequence[ScoredFraud], models: Sequence[str]
) -> Interval | None:
    """Return the AP of all lists, each weighted by its frauds: scores of two models are two."""
    total, n_frauds = np.zeros(1 + _N_RESAMPLES), 0
    for model in models:
        known = [each for each in frauds if each.model == model]
        others = _without(_spread(each for each in days if each.model == model), known)
        if known and others.counts.any():
            total += len(known) * _resampled_ap(known, others)
            n_frauds += len(known)
    if n_frauds < LEAST_FRAUDS:
        return None
    total /= n_frauds
    return Interval(float(total[0]), *percentile_band(total[1:], _LEVEL).tolist())


def _spread(days: Iterable[ScoreDay]) -> ScoreCounts:
    """Return the scores of several days together."""
    first, *others = (each.scores for each in days)
    for each in others:
        first = first.plus(each)
    return first


def _without(scores: ScoreCounts, frauds: Sequence[ScoredFraud]) -> ScoreCounts:
    return scores.without([each.suspicion for each in frauds])


def _resampled_ap(frauds: Sequence[ScoredFraud], others: ScoreCounts) -> NDArray[np.float64]:
    """Return the adjusted AP of a list, then that of each resample."""
    random = np.random.default_rng(0)
    _, card = np.unique([each.card for each in frauds], return_inverse=True)
    drawn = random.poisson(1.0, (_N_RESAMPLES, card.max() + 1))
    drawn[~drawn.any(axis=1)] = 1  # a resample without any fraud says nothing
    counts = np.vstack([np.ones(card.max() + 1), drawn])[:, card]
    raw = lowest_scores(bins_of(np.array([each.suspicion for each in frauds])))
    levels, level = np.unique(-raw, return_inverse=True)
    order = np.argsort(level, kind="stable")
    starts = np.searchsorted(level[order], np.arange(levels.size))
    found = np.add.reduceat(counts[:, order], starts, axis=1)
    # genuine payments from each level to the one above it; those below all frauds do not matter
    place = np.searchsorted(levels, -lowest_scores(others.bins))
    passed = np.bincount(place, others.counts, levels.size + 1)[: levels.size]
    passed = np.vstack([passed, random.poisson(passed, (_N_RESAMPLES, levels.size))])
    n_others = others.counts.sum()
    n_found = found.sum(axis=1, keepdims=True)
    share = n_found * (1 - PREVALENCE) / (PREVALENCE * n_others)
    found_so_far = np.cumsum(found, axis=1)
    checked = found_so_far + np.cumsum(passed * share, axis=1)
    precision = np.divide(found_so_far, checked, out=np.zeros(checked.shape), where=checked > 0)
    return (found * precision).sum(axis=1) / n_found[:, 0]
