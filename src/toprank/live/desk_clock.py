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
        self._was_ahead = False  # whether the last payment was of a later day

    def now(self) -> int:
        """Return the time."""
        return wall_time() if self._is_wall else self._newest

    def after(self, times: Iterable[int]) -> int:
        """Return the time that it would be after payments of these times, and do not move."""
        other = DeskClock("payments", self._newest)
        other._was_ahead = self._was_ahead
        for each in times:
            other.see(each)
        return self.now() if self._is_wall else other.now()

    def see(self, paid_at: int) -> None:
        """Take in the time of a payment.

        One that is more than a day ahead does not move the clock: its date may be wrong. If the
        next one is, too, there has been a pause. Then each moves it by a day, so that as many
        payments as days bring it on.
        """
        was_ahead = self._was_ahead
        self._was_ahead = bool(self._newest) and paid_at > self._newest + _DAY
        if not self._was_ahead:
            self._newest = max(self._newest, paid_at)
        elif was_ahead:
            self._newest += _DAY
