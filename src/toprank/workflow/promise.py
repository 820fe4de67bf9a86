"""What a model promises of a list: how many positives to expect in it, now and as days pass."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from toprank.calibration import Calibration
from toprank.calibration.list_drift import UNSEEN_DRIFT, Drift, ListDay
from toprank.data import checks
from toprank.metrics import Interval
from toprank.splits import DAY
from toprank.splits.moments import moment_of

Times = NDArray[np.datetime64]


class HeldDays(NamedTuple):
    """On how many lists of the test period the range held, of how many."""

    n_held: int
    n_lists: int


@dataclass(frozen=True)
class Promise:
    """What is known of a model's lists in time.

    `until` is the newest row that the model learned from, and `drift` how far lists of such models
    strayed as they aged. `likely` is what to expect of one list of the budget's checks, and `held`
    how often the range held in the test period, when it was made from what came before.
    """

    drift: Drift
    until: np.datetime64
    likely: Interval
    held: HeldDays

    def expected(
        self, calibration: Calibration, suspicion: NDArray[np.float64], time: Times | None
    ) -> Interval:
        """Return how many positives to expect in a list of rows of these times.

        Rows of unknown time are taken to be as late as the backtest reached.
        """
        if time is None:
            probability, doubt = calibration.counted(suspicion)
            return self.drift.expected([ListDay(probability, self.drift.oldest, doubt)])
        return self.drift.expected(list_days(calibration, suspicion, time, self.until))

    def days_beyond(self, time: Times) -> float:
        """Return by how many days rows are later than the backtest reached; 0 if they are not."""
        return max(age_in_days(time.max(), self.until) - self.drift.oldest, 0.0)

    def to_json(self) -> dict[str, Any]:
        """Return the promise as plain values."""
        return {
            "drift": self.drift.to_json(),
            "until": str(self.until),
            "likely": list(self.likely),
            "held": list(self.held),
        }

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Self:
        """Return the promise that `to_json` wrote; ValueError if it is not valid."""
        value, low, high = map(float, plain["likely"])
        if not 0 <= low <= high < np.inf or not np.isfinite(value):
            raise ValueError(f"likely of a promise must be a range; got {plain['likely']}.")
        n_held, n_lists = plain["held"]
        checks.whole_number(n_held, "lists that held", 0, checks.whole_number(n_lists, "lists", 0))
        return cls(
            Drift.from_json(plain["drift"]),
            moment_of(plain["until"], "until"),
            Interval(value, low, high),
            HeldDays(n_held, n_lists),
        )


def expected_of_unlike_rows(calibration: Calibration, suspicion: NDArray[np.float64]) -> Interval:
    """Return how many positives to expect among rows unlike those that the model learned from.

    Without a backtest, nothing says how far such lists stray from what the probabilities promise.
    The range allows for what is thought of drifts before any list is seen.
    """
    probability, doubt = calibration.counted(suspicion)
    return UNSEEN_DRIFT.expected([ListDay(probability, age=0.0, doubt=doubt)])


def list_days(
    calibration: Calibration, suspicion: NDArray[np.float64], time: Times, until: np.datetime64
) -> list[ListDay]:
    """Return the rows of a list by day, with their probabilities and the model's age."""
    days = time.astype("datetime64[D]")
    return [
        list_day(calibration, suspicion[days == day], time[days == day], until)
        for day in np.unique(days)
    ]


def age_in_days(moment: np.datetime64, until: np.datetime64) -> float:
    """Return the age at a moment of a model that learned until then; 0 of one that learned later.

    >>> age_in_days(np.datetime64("2025-03-02T12:00"), np.datetime64("2025-03-01T00:00"))
    1.5
    """
    return max(float((moment - until) / DAY), 0.0)


def list_day(
    calibration: Calibration, suspicion: NDArray[np.float64], time: Times, until: np.datetime64
) -> ListDay:
    """Return rows of one day with their probabilities and the model's age at their mean time."""
    probability, doubt = calibration.counted(suspicion)
    middle = until + np.mean(time - until)
    return ListDay(probability, age_in_days(middle, until), doubt)
