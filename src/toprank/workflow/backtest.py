"""What a recipe's lists would have held: promised before, counted after.

Windows of rows come in order of time, each scored by a model that had learned from earlier rows
only. In every window but the first, probabilities come from the windows before it, newest first;
so each list has an honest promise to compare with what was in it:

    time ->  [ window 0 | window 1 | window 2 | test ]
                          expected   expected   expected
                          found      found      found

How promise and find differ, and how that grows with a model's age, is the drift that later lists
are to be expected to have.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.calibration import Calibration, fit_calibration
from toprank.calibration.list_drift import Drift, ListDay, fit_drift
from toprank.metrics import Interval
from toprank.splits import DAY
from toprank.workflow.promise import HeldDays, Promise, Times, list_day

ENOUGH_POSITIVES = 200
"""Calibration takes the newest windows until they have as many positives."""

_LEAST_DAYS = 5  # of a test whose lists are days; a shorter one is cut into blocks
_N_BLOCKS = 8


class ScoredWindow(NamedTuple):
    """Rows scored by a model that had learned from none after `until`.

    `card` says whose row each is, where a list has one row per card, and `weight` how many rows
    each represents, where they are a sample: probabilities can be learned from one, lists cannot.
    """

    is_positive: NDArray[np.bool_]
    suspicion: NDArray[np.float64]
    time: Times | None = None
    until: np.datetime64 | None = None
    card: NDArray | None = None
    weight: NDArray[np.float64] | None = None


class ListSize(NamedTuple):
    """How long the period of one list is, and how many of its rows are checked."""

    period: np.timedelta64
    n_checks: int

    @classmethod
    def of(cls, time: Times, budget: int) -> "ListSize":
        """Return a day and the budget; of a short test, a part of both."""
        if np.unique(time.astype("datetime64[D]")).size >= _LEAST_DAYS:
            return cls(DAY, budget)
        span = time.max() - time.min()
        block = max(span // _N_BLOCKS, np.timedelta64(1, "us"))
        share = block / min(DAY, max(span, np.timedelta64(1, "us")))
        return cls(block, max(round(budget * share), 1))


def newest_calibration(windows: Sequence[ScoredWindow]) -> Calibration:
    """Return the calibration of the newest windows that have enough positives together."""
    used: list[ScoredWindow] = []
    for window in reversed(windows):
        used.append(window)
        if sum(int(each.is_positive.sum()) for each in used) >= ENOUGH_POSITIVES:
            break
    weight = None
    if any(each.weight is not None for each in used):
        weights = (
            np.ones(each.is_positive.size) if each.weight is None else each.weight for each in used
        )
        weight = np.concatenate(list(weights))
    return fit_calibration(
        np.concatenate([each.is_positive for each in used]),
        np.concatenate([each.suspicion for each in used]),
        weight=weight,
    )


def backtested(
    windows: Sequence[ScoredWindow],
    calibration: Calibration,
    until: np.datetime64,
    budget: int,
) -> Promise | None:
    """Return what later lists may be promised; None without times or an earlier window.

    The last window is the test. `until` is the newest row that the written model learned from, and
    `calibration` is its own.
    """
    test = windows[-1]
    if test.time is None or len(windows) < 2:
        return None
    size = ListSize.of(test.time, budget)
    paths = [
        lists_of(window, newest_calibration(windows[:number]), size)
        for number, window in enumerate(windows)
        if number
    ]
    drift = fit_drift(paths)
    assert drift is not None
    held = _held(fit_drift(paths[:-1]), paths[-1])
    return Promise(drift, until, _likely(drift, test, calibration, budget), held)


def lists_of(window: ScoredWindow, calibration: Calibration, size: ListSize) -> list[ListDay]:
    """Return the lists of a window: what each was expected to hold, and what it held."""
    assert window.time is not None and window.until is not None
    period = (window.time - window.time.min().astype("datetime64[D]")) // size.period
    lists = []
    for each in np.unique(period):
        rows = _first_rows(window, np.flatnonzero(period == each), size.n_checks)
        day = list_day(calibration, window.suspicion[rows], window.time[rows], window.until)
        lists.append(day._replace(found=float(window.is_positive[rows].sum())))
    return lists


def _first_rows(window: ScoredWindow, rows: NDArray[np.intp], n_checks: int) -> NDArray[np.intp]:
    """Return the most suspicious of these rows, at most one per card."""
    falling = rows[np.argsort(-window.suspicion[rows], kind="stable")]
    if window.card is not None:
        # the first place of a card is its most suspicious row
        falling = falling[np.sort(np.unique(window.card[falling], return_index=True)[1])]
    return falling[:n_checks]


def _held(drift: Drift | None, lists: Sequence[ListDay]) -> HeldDays:
    """Return on how many lists the range held that was made from what came before them."""
    drift = drift or NO_DRIFT
    ranges = [drift.expected([each]) for each in lists]
    inside = [
        low <= each.found <= high for each, (_, low, high) in zip(lists, ranges, strict=True)
    ]
    return HeldDays(sum(inside), len(inside))


def _likely(drift: Drift, test: ScoredWindow, calibration: Calibration, budget: int) -> Interval:
    """Return what to expect of one list as long as those of the test, one per day."""
    lists = lists_of(test, calibration, ListSize(DAY, budget))
    first = min(each.age for each in lists)
    # the new model is as old after its newest row as the list is after the first of the test
    return drift.likely([[each._replace(age=each.age - first)] for each in lists])


NO_DRIFT = Drift(mean=0.0, start=0.0, reach=0.0, memory=1.0, noise=0.0, oldest=0.0)
"""Lists that hold what was promised, but for chance."""
