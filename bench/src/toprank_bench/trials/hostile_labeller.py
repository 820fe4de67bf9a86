"""How soon a hostile investigator is noticed, and how often honest ones are suspected.

A team of 10 checks 15 cards each per working day, drawn from the same queue. Verdicts are right
but for 3 % of them. The hostile one gives the opposite verdict in a share of cases. Of wrong
verdicts, 70 % are contradicted by a claim or a correction, 2 to 20 days later. Alarms are looked
at once per day over the verdicts of the last 90 days, 65 of them working days.

    honest              a year of 250 working days in which nobody flips verdicts
    20 % flipped, ...   until the alarm, at most 250 working days
"""

import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toprank_bench.protocols.protocol import TrialOutcome

FLIPPED = {"honest": 0.0, "20 % flipped": 0.2, "100 % flipped": 1.0}
DATA = tuple(FLIPPED)
METRICS = ("noticed", "median_checks", "most_checks", "median_days", "false_alarms_per_year")
N_PEOPLE, N_CHECKS, N_DAYS, WINDOW = 10, 15, 250, 65
WRONG, CONTRADICTED = 0.03, 0.7


def hostile_labeller(data: str, seed: int, folder: Path | None, *, teams: int) -> TrialOutcome:
    """Return how many checks of the hostile person it takes, and how often others are named.

    Without an alarm, the days of the whole year count.
    """
    begin = time.perf_counter()
    found = [_team(np.random.default_rng([seed, each]), FLIPPED[data]) for each in range(teams)]
    days = np.array([each[0] for each in found], dtype=float)
    years = np.array([each[1] for each in found], dtype=float)
    noticed, is_hostile = days <= N_DAYS, FLIPPED[data] > 0
    counted = np.minimum(days, N_DAYS) * N_CHECKS
    return TrialOutcome(
        {
            "noticed": float(noticed.mean()) if is_hostile else 0.0,
            "median_checks": float(np.median(counted)) if is_hostile else 0.0,
            "most_checks": float(counted.max()) if is_hostile else 0.0,
            "median_days": float(np.median(np.minimum(days, N_DAYS))) if is_hostile else 0.0,
            "false_alarms_per_year": float(sum(each[2] for each in found) / years.sum()),
        },
        {"teams": teams},
        {"all teams": round(time.perf_counter() - begin, 3)},
        {"people": N_PEOPLE, "years": round(float(years.sum()), 2)},
    )


def _team(drawn: np.random.Generator, flipped: float) -> tuple[int, float, int]:
    """Return the day of the alarm, the years looked at and the honest people named meanwhile."""
    from toprank.live.monitor.verdict_guard import RARE, VerdictCounts, compared

    unlikely, late = _verdicts(drawn, flipped)
    named: set[int] = set()
    for day in range(N_DAYS):
        first = max(day - WINDOW + 1, 0)
        n = (day - first + 1) * N_CHECKS
        odd = unlikely[first : day + 1].sum(axis=(0, 2))
        age = np.arange(day - first, -1, -1)[:, None, None]
        known = (late[first : day + 1] <= age).sum(axis=(0, 2))
        counts = {
            str(who): VerdictCounts(n, int(known[who]), int(odd[who])) for who in range(N_PEOPLE)
        }
        suspected = {int(each.who) for each in compared(counts) if each.chance < RARE}
        if flipped and 0 in suspected:
            return day + 1, (day + 1) / N_DAYS, len(named)
        named |= suspected - ({0} if flipped else set())
    return N_DAYS + 1, 1.0, len(named)


def _verdicts(
    drawn: np.random.Generator, flipped: float
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which verdicts surprise the model, and after how many days each is contradicted."""
    shape = (N_DAYS, N_PEOPLE, N_CHECKS)
    chance = drawn.beta(0.5, 1.2, shape)
    truth = drawn.random(shape) < chance
    wrong = np.full(shape, WRONG)
    wrong[:, 0] = np.maximum(flipped, WRONG)
    is_wrong = drawn.random(shape) < wrong
    unlikely = (truth != is_wrong) != (chance >= 0.5)
    is_found_out = is_wrong & (drawn.random(shape) < CONTRADICTED)
    return unlikely, np.where(is_found_out, drawn.integers(2, 21, shape), np.inf)
