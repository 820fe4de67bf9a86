"""The clock of a desk, and that of the machine, in microseconds since 1970."""

import time

import numpy as np


def wall_time() -> int:
    """Return the time of the machine; the audit is by this clock."""
    return time.time_ns() // 1_000


class DeskClock:
    """What the time is for a desk, in microseconds: the wall clock's, or the newest payment's."""

    def __init__(self, kind: str, newest: np.datetime64 | None) -> None:
        self._is_wall = kind == "wall"
        self._newest = 0 if newest is None else int(newest.astype("datetime64[us]").view(np.int64))

    def now(self) -> int:
        """Return the time."""
        return wall_time() if self._is_wall else self._newest

    def see(self, paid_at: int) -> None:
        """Take in the time of a payment."""
        self._newest = max(self._newest, paid_at)
