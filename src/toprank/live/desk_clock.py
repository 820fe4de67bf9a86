"""The clock of a desk, and that of the machine, in microseconds since 1970."""

import time
from collections.abc import Iterable
from typing import NamedTuple

_DAY = 86_400_000_000


def wall_time() -> int:
    """Return the time of the machine; the audit is by this clock."""
    return time.time_ns() // 1_000


class Moment(NamedTuple):
    """One moment by both clocks: the desk's, for days and ages, and that of people who wait."""

    desk: int
    wall: int

    @property
    def day(self) -> int:
        """The desk's day, counted from 1970."""
        return self.desk // _DAY


class DeskClock:
    """What the time is for a desk, in microseconds: the wall clock's, or the newest payment's."""

    def __init__(self, kind: str, newest: int) -> None:
        self._is_wall, self._newest = kind == "wall", newest

    def now(self) -> int:
        """Return the time."""
        return wall_time() if self._is_wall else self._newest

    def after(self, times: Iterable[int]) -> int:
        """Return the time that it would be after payments of these times, and do not move."""
        other = DeskClock("payments", self._newest)
        for each in times:
            other.see(each)
        return self.now() if self._is_wall else other.now()

    def see(self, paid_at: int) -> None:
        """Take in the time of a payment.

        The clock moves by a day at most, so that one payment of a wrong year does not move it
        there, and what is kept with it; after a pause, as many payments as days bring it on.
        """
        if paid_at > self._newest:
            self._newest = min(paid_at, self._newest + _DAY) if self._newest else paid_at
