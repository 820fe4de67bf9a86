"""Missed frauds and recall from random checks, against the truth.

    a desk's tables     days replayed through alerts, draws, checks and claims of a desk's database
    N frauds drawn      30 days of samples alone, in which so many frauds are drawn on average: the
                        number of cards, missed frauds and checks differs from day to day

Estimates are those of the random checks alone: what claims have shown is not used, though the
interval that a desk shows is.
"""

import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toprank.live.monitor.missed_frauds import LEVEL, DrawnDay, missed_frauds
from toprank_bench.protocols.protocol import TrialOutcome

TABLES = "a desk's tables"
SAMPLES = {"1 fraud drawn": 1.0, "3 frauds drawn": 3.0, "10 frauds drawn": 10.0}
DATA = (TABLES, *SAMPLES)
METRICS = (
    "covered", "covered_with_claims", "missed_bias", "missed_error", "recall_bias",
    "recall_error", "frauds_drawn",
)  # fmt: skip
N_DAYS, N_CARDS, N_DRAWN, N_FOUND = 30, 1_000, 10, 300


class _Case(NamedTuple):
    """The true number of missed frauds and the true recall, and what was estimated of them."""

    missed: float
    recall: float
    estimate: float
    recall_estimate: float
    is_covered: bool
    is_covered_with_claims: bool
    n_drawn: int


def recall_coverage(data: str, seed: int, folder: Path | None, *, replays: int) -> TrialOutcome:
    """Return bias and coverage over replays; errors are standard errors of the biases."""
    begin = time.perf_counter()
    case = _replayed if data == TABLES else _sampled
    found = np.array([case(data, seed * 100_000 + each) for each in range(replays)])
    missed, recall, estimate, recall_estimate, covered, with_claims, drawn = found.T
    off, recall_off = estimate - missed, recall_estimate - recall
    return TrialOutcome(
        {
            "covered": float(covered.mean()),
            "covered_with_claims": float(with_claims.mean()),
            "missed_bias": float(off.mean() / missed.mean()),
            "missed_error": float(off.std() / np.sqrt(replays) / missed.mean()),
            "recall_bias": float(recall_off.mean()),
            "recall_error": float(recall_off.std() / np.sqrt(replays)),
            "frauds_drawn": float(drawn.mean()),
        },
        {"replays": replays},
        {"all replays": round(time.perf_counter() - begin, 3)},
        {"level": LEVEL, "mean recall": float(recall.mean()), "mean missed": float(missed.mean())},
    )


def _replayed(_: str, seed: int) -> _Case:
    """Return a case from the tables of a desk."""
    # the live system is an extra of its own
    from toprank.live.monitor.drawn_days import drawn_days
    from toprank.live.store.desk_database import Database
    from toprank_bench.simulated.drawn_replay import DrawnReplay, ReplayedWorld

    with tempfile.TemporaryDirectory() as place:
        database = Database.create(place)
        world = ReplayedWorld(n_cards=250, n_days=12, new_frauds=5.0, random_share=0.6)
        replay = DrawnReplay(database, world, seed)
        replay.run()
        with database.reading() as connection:
            days = drawn_days(connection, 0, 10**6)
        database.close()
    usable = {each.day for each in days if each.is_usable}
    truth = [each for each in replay.truth if each.day in usable]
    missed = sum(len(each.missed) for each in truth)
    excluded = [(each.day, card) for each in truth for card in each.excluded]
    return _compared(days, missed, len(replay.found.intersection(excluded)), len(excluded))


def _sampled(data: str, seed: int) -> _Case:
    """Return a case from samples alone."""
    drawn = np.random.default_rng(seed)
    days, total = [], 0
    per_day = SAMPLES[data] / N_DAYS * N_CARDS / N_DRAWN / 0.8  # so many are not checked
    for day in range(N_DAYS):
        n_cards = round(N_CARDS * drawn.uniform(0.6, 1.4))
        n_missed = min(drawn.poisson(per_day * drawn.gamma(4, 0.25)), n_cards)
        n_checked = int(drawn.binomial(N_DRAWN, 0.8))
        n_frauds = int(drawn.hypergeometric(n_missed, n_cards - n_missed, n_checked))
        found = N_FOUND // N_DAYS
        days.append(DrawnDay(day, n_cards, N_DRAWN, 0, 0, n_checked, n_frauds, found, 0, n_missed))
        total += n_missed if n_checked else 0
    n_found = sum(each.n_found for each in days if each.is_usable)
    return _compared(days, total, n_found, n_found)


def _compared(days: list[DrawnDay], missed: int, n_found: int, n_excluded: int) -> _Case:
    with_claims = missed_frauds(days)
    alone = missed_frauds([each._replace(n_known=0) for each in days])
    assert with_claims is not None and alone is not None and alone.recall is not None
    return _Case(
        missed,
        n_found / (n_excluded + missed),
        alone.missed.value,
        alone.recall.value,
        alone.missed.low <= missed <= alone.missed.high,
        with_claims.missed.low <= missed <= with_claims.missed.high,
        alone.n_sampled_frauds,
    )
