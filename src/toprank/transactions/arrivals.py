"""How the rows of a file lie in time beside what a history remembers, seen batch by batch."""

import numpy as np
from numpy.typing import NDArray


class Arrivals:
    """The times of rows that come after a history's, or should.

    `until` is the newest that the history knew before the first of them; `begin` is the earliest
    of the first batch. A history may learn from the batches meanwhile: where `check_new` raises,
    the caller must not keep what it learned.

    >>> arrivals = Arrivals(np.datetime64("2025-03-01", "us"))
    >>> arrivals.see(np.array(["2025-02-28", "2025-03-02", "2025-03-03"], dtype="datetime64[us]"))
    >>> arrivals.n_old, arrivals.n_rows, arrivals.is_in_order
    (1, 3, True)
    """

    def __init__(self, until: np.datetime64 | None) -> None:
        self.until = until
        self.begin: np.datetime64 | None = None
        self.is_in_order = True
        self.n_rows = self.n_old = 0
        self._newest: np.datetime64 | None = None

    def see(self, times: NDArray[np.datetime64]) -> None:
        """Take in the times of one more batch."""
        earliest, newest = times.min(), times.max()
        if self._newest is None:
            self.begin = self._newest = earliest
        if earliest < self._newest:
            self.is_in_order = False
        self._newest = max(self._newest, newest)
        self.n_rows += times.size
        if self.until is not None:
            self.n_old += int(np.count_nonzero(times <= self.until))

    @property
    def days_between(self) -> float | None:
        """Days from the end of the history to the first rows, below 0 where they overlap."""
        if self.until is None or self.begin is None:
            return None
        return float((self.begin - self.until) / np.timedelta64(1, "D"))

    def check_new(self, source: str) -> None:
        """Raise where most rows are at or before the newest that the history knew."""
        if 2 * self.n_old > self.n_rows:
            raise ValueError(
                f"{source} must have rows after {self.until}, up to which the history goes; "
                f"{self.n_old:,} of its {self.n_rows:,} are not, and were probably remembered "
                "before; leave out --remember."
            )
