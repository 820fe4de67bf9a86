"""How often a desk's daily range of frauds holds when the pattern of fraud changes.

A replay has 60 days of checks. Each day's cards have chances as a queue's first ones have; frauds
are drawn with these chances up to day 20, and afterwards with log-odds that are off by a shift;
every day has a part of its own as well, normal with standard deviation .15. `data` name the change
and the number of checks per day, which differs from day to day by up to a third:

    no change                chances stay right
    half, a third, double    log-odds are off at once by log(1/2), log(1/3), log(2) ...
    slow                     ... or by log(1/3) over 20 days

Days 5 to 19 are before the change, 20 to 29 during it, the other 30 after it.
"""

import math
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from toprank.calibration import count_range
from toprank.calibration.daily_shift import LEVEL, CheckedList, DailyShift
from toprank_bench.protocols.protocol import TrialOutcome

METRICS = ("before", "during", "after", "first_day", "mean_width")
CHANGES = {
    "no change": (0.0, 0),
    "half": (math.log(1 / 2), 0),
    "a third": (math.log(1 / 3), 0),
    "double": (math.log(2), 0),
    "slow": (math.log(1 / 3), 20),
}
CHECKS = {"30 checks": 30, "100 checks": 100}
DATA = tuple(f"{change}, {checks}" for change in CHANGES for checks in CHECKS)
N_DAYS, CHANGE, NOISE = 60, 20, 0.15
PHASES = {"before": (5, 20), "during": (20, 30), "after": (30, 60), "first_day": (20, 21)}


def promise_under_drift(
    data: str, seed: int, folder: Path | None, *, corrected: bool, replays: int
) -> TrialOutcome:
    """Return the share of days on which the range held, before, during and after the change."""
    change, _, checks = data.partition(", ")
    begin = time.perf_counter()
    found = [
        _replay(np.random.default_rng([seed, each]), change, CHECKS[checks], corrected)
        for each in range(replays)
    ]
    held, width = np.swapaxes(np.array(found), 1, 2).transpose(1, 0, 2)
    return TrialOutcome(
        {
            **{name: float(held[:, a:b].mean()) for name, (a, b) in PHASES.items()},
            "mean_width": float(width[:, 5:].mean()),
        },
        {"corrected": corrected, "replays": replays},
        {"all replays": round(time.perf_counter() - begin, 3)},
        {"level": LEVEL, "replays": replays},
    )


def _replay(
    drawn: np.random.Generator, change: str, n_checks: int, corrected: bool
) -> list[tuple[float, float]]:
    """Return whether each day's range held, and how wide it was."""
    shift, found = DailyShift.start(), []
    for day in range(N_DAYS):
        chances = _chances(drawn, n_checks)
        off = _off(change, day) + drawn.normal(0.0, NOISE)
        n_found = float((drawn.random(chances.size) < expit(logit(chances) + off)).sum())
        if corrected:
            _, low, high = shift.expected(chances)
            shift = shift.after(CheckedList(chances, n_found))
        else:
            variance = float((chances * (1 - chances)).sum())
            low, high = count_range(float(chances.sum()), variance, chances.size, LEVEL)
        found.append((float(low <= n_found <= high), high - low))
    return found


def _chances(drawn: np.random.Generator, n_checks: int) -> NDArray[np.float64]:
    n = round(n_checks * drawn.uniform(2 / 3, 4 / 3))
    return np.clip(drawn.beta(0.5, 1.2, n), 0.01, 0.99)


def _off(change: str, day: int) -> float:
    """Return by how much the log-odds of a day are off."""
    size, n_days = CHANGES[change]
    if day < CHANGE:
        return 0.0
    return size if not n_days else size * min((day - CHANGE + 1) / n_days, 1.0)
