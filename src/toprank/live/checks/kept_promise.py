"""What checks are expected to find, corrected day by day by what they have found.

Only cards that were checked count, with the chances that they had when they were: which cards
people choose from the list, or have no time for, does not matter then.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from toprank.calibration.daily_shift import CheckedList, DailyShift
from toprank.live.store import check_day_table
from toprank.live.store.check_day_table import CheckDay
from toprank.metrics.intervals import Interval

N_DAYS = 60
"""Days of checks that the correction looks back at."""


class DayRange(NamedTuple):
    """The checks of a day, and what was to be expected of them by what was known before it.

    `chance` is that of the range to hold: more than 8 in 10 where few frauds are expected, since
    counts are whole.
    """

    counts: CheckDay
    expected: Interval
    chance: float

    @property
    def is_held(self) -> bool:
        """Whether what was found is in the range."""
        return self.expected.low <= self.counts.n_found <= self.expected.high


def shift_now(connection: sa.Connection, today: int) -> DailyShift:
    """Return how far chances are off, from all days with checks up to now."""
    days = check_day_table.between(connection, today - N_DAYS, today - 1)
    so_far = check_day_table.counted(connection, today)
    return _followed(tuple(days)).seen(_list(so_far))


def day_ranges(connection: sa.Connection, first: int, last: int) -> list[DayRange]:
    """Return the days from one to another that had checks, each with its corrected range."""
    days = check_day_table.between(connection, first - N_DAYS, last)
    return [each for each in _ranges(tuple(days)) if each.counts.day >= first]


def _list(day: CheckDay) -> CheckedList:
    return CheckedList(np.array(day.probabilities), float(day.n_found))


@lru_cache(maxsize=4)
def _followed(days: Sequence[CheckDay]) -> DailyShift:
    # days that are over hardly ever change, and the queue is looked at all the time
    return DailyShift.followed(_list(day) for day in days)


@lru_cache(maxsize=4)
def _ranges(days: Sequence[CheckDay]) -> list[DayRange]:
    found, shift = [], DailyShift.start()
    for day in days:
        checked = _list(day)
        expected = shift.expected(checked.probability)
        chance = shift.chance_within(checked.probability, expected.low, expected.high)
        found.append(DayRange(day, expected, chance))
        shift = shift.after(checked)
    return found
