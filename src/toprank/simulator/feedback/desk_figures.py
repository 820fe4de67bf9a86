"""What a desk says of itself in a replay, beside what was true: daily promises and recall."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.metrics.intervals import Interval

NEW_FOR = 10
"""Days from a new kind of fraud on that count as those of the change."""


class HeldPhase(NamedTuple):
    """On how many days the range held, of how many, and on how many it was to be expected."""

    n_held: int
    n_days: int
    n_expected: float


@dataclass(frozen=True, eq=False)
class DailyPromise:
    """What the checks of each day were expected to find, the range of it, and what they found.

    `chance` is that of the range to hold: more than it is made for where few frauds are expected,
    since counts are whole.

    >>> promise = DailyPromise(*(np.array([each]) for each in (4.0, 2.0, 6.0, 7.0, 0.8)))
    >>> promise.is_held
    array([False])
    """

    expected: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    found: NDArray[np.float64]
    chance: NDArray[np.float64]

    @property
    def is_held(self) -> NDArray[np.bool_]:
        """Whether what was found is in the range, by day."""
        return (self.low <= self.found) & (self.found <= self.high)

    def held_by_phase(self, new_on: int | None) -> dict[str, HeldPhase]:
        """Return on how many days the range held, by phase of the replay.

        `new_on` is the day, counted from 0, on which a new kind of fraud begins; without one,
        there is one phase.
        """
        n_days = self.found.size
        if new_on is None:
            bounds = {"all days": (0, n_days)}
        else:
            end = min(new_on + NEW_FOR, n_days)
            bounds = {"before": (0, new_on), "during": (new_on, end), "after": (end, n_days)}
        return {
            phase: HeldPhase(
                int(self.is_held[first:last].sum()),
                last - first,
                float(self.chance[first:last].sum()),
            )
            for phase, (first, last) in bounds.items()
        }


class EstimatedRecall(NamedTuple):
    """Recall as a desk estimates it from random checks, and as it was."""

    estimate: Interval
    truth: float
    n_days: int


class DeskFigures(NamedTuple):
    """The promises of a desk, its recall if random checks say anything, and its models.

    `n_models` is how many models ranked, the first included. `accused` has the people whose
    verdicts raised an alarm, and on which day, counted from 0.
    """

    promise: DailyPromise
    recall: EstimatedRecall | None
    n_models: int
    accused: dict[str, int]
