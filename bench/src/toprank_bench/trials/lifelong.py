"""What a ranker of streams should remember: policies of its memory in worlds where fraud changes.

Payments are scored when they are made, their labels learned 7 days later. A `method` is "stream",
`StreamRanker` with its other parameters; "nightly", boosted trees of the same settings fitted
every midnight on all labels known by then, in unbounded memory; or "online",
`OnlineNonLinearBoost`, which learns from each label once. Metrics:

- `average_precision`: from the fifth week on;
- `after_change`: the average precision of the four weeks after the change, among the frauds that
  it brought;
- `recovery_days`: days after the change until the average precision of those frauds over 7 days
  is first a half or more; the days left, if it never is.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from toprank import metrics
from toprank_bench.protocols.protocol import TrialOutcome
from toprank_bench.simulated.drifting_worlds import WORLDS, DriftingWorld, drifting_world

METRICS = ("average_precision", "after_change", "recovery_days", "rows_per_second")
DATA = tuple(WORLDS)
DELAY_DAYS = 7
_FIRST_DAY = 28
_TREES: dict[str, Any] = {"n_estimators": 60, "max_depth": 4, "learning_rate": 0.15}
_ENOUGH = 0.5


def lifelong(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    method: str,
    cards: int = 150,
    days: int = 310,
    **parameters: Any,
) -> TrialOutcome:
    """Return how well a method ranks before and after the change of a world."""
    world = drifting_world(data, seed, cards, days)
    begin = time.perf_counter()
    suspicion = _SCORES[method](world, seed, parameters)
    seconds = time.perf_counter() - begin
    later = world.days >= _FIRST_DAY
    after = (world.days >= world.change) & (world.days < world.change + 28)
    weeks = range(int(world.days.max()) // 7)
    by_week = [_precision(world, suspicion, world.days // 7 == week) for week in weeks]
    return TrialOutcome(
        {
            "average_precision": metrics.average_precision(
                world.is_positive[later], suspicion[later]
            ),
            "after_change": _precision(world, suspicion, after, of_change=True) or 0.0,
            "recovery_days": _recovery_days(world, suspicion),
            "rows_per_second": suspicion.size / seconds,
        },
        {"method": method, **parameters},
        {"score and learn": round(seconds, 3)},
        {
            "rows": suspicion.size,
            "positives": int(world.is_positive.sum()),
            "of_change": int((world.is_changed & after).sum()),
            "by_week": [None if each is None else round(each, 3) for each in by_week],
        },
    )


def _precision(
    world: DriftingWorld,
    suspicion: NDArray[np.float64],
    chosen: NDArray[np.bool_],
    *,
    of_change: bool = False,
) -> float | None:
    """Return the average precision among some rows; None without frauds."""
    if of_change:  # other frauds are neither found nor in the way
        chosen = chosen & (world.is_changed | ~world.is_positive)
    is_positive = world.is_positive[chosen]
    return metrics.average_precision(is_positive, suspicion[chosen]) if is_positive.any() else None


def _recovery_days(world: DriftingWorld, suspicion: NDArray[np.float64]) -> float:
    last = int(world.days.max())
    for day in range(world.change + 1, last + 1):
        chosen = (world.days >= max(world.change, day - 7)) & (world.days < day)
        found = _precision(world, suspicion, chosen, of_change=True)
        if found is not None and found >= _ENOUGH:
            return float(day - world.change)
    return float(last - world.change)


def _stream(world: DriftingWorld, seed: int, parameters: dict[str, Any]) -> NDArray[np.float64]:
    from toprank import StreamRanker

    return _validated(StreamRanker(random_state=seed, **_TREES, **parameters), world)


def _online(world: DriftingWorld, seed: int, parameters: dict[str, Any]) -> NDArray[np.float64]:
    from toprank import OnlineNonLinearBoost

    return _validated(OnlineNonLinearBoost(random_state=seed, **parameters), world)


def _validated(learner: Any, world: DriftingWorld) -> NDArray[np.float64]:
    from toprank.rankers.online.validation import progressive_validation

    rows = pd.DataFrame(world.features)
    return progressive_validation(
        learner, rows, world.is_positive, times=world.days, delay=float(DELAY_DAYS)
    ).suspicion


def _nightly(world: DriftingWorld, seed: int, parameters: dict[str, Any]) -> NDArray[np.float64]:
    from toprank import BoostedRanker

    rows = np.column_stack(list(world.features.values()))
    suspicion = np.zeros(len(rows))
    for day in range(int(world.days.max()) + 1):
        today = slice(*np.searchsorted(world.days, [day, day + 1]))
        n_known = int(np.searchsorted(world.days, day - DELAY_DAYS))
        if world.is_positive[:n_known].sum() >= 5:  # before, all payments are alike
            ranker = BoostedRanker(random_state=seed, **_TREES, **parameters)
            ranker.fit(rows[:n_known], world.is_positive[:n_known])
            suspicion[today] = ranker.suspicion(rows[today])
    return suspicion


_SCORES = {"stream": _stream, "online": _online, "nightly": _nightly}
