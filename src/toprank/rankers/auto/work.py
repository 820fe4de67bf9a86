"""How much a search may do: an amount of work, and perhaps a limit of time on top of it.

Work is counted in values read to build histograms, estimated from the numbers of rows, columns
and trees: the same rows and effort allow the same trials on any machine, however busy it is.
Only a time limit depends on the clock.
"""

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

from toprank.rankers.auto.boosted import BoostedTrees

_LARGEST = BoostedTrees(max_leaves=255)


class Effort(NamedTuple):
    """How much work a search may do.

    `n_fits` is in fits of 255-leaf trees to all rows; `least` and `bags` are in values: what any
    search may do, and how far the final fit may be repeated with other seeds.
    """

    n_fits: float
    least: float
    bags: float


_EFFORTS = {
    "quick": Effort(0.1, 3e9, 2e9),
    "normal": Effort(0.4, 1e11, 3e9),
    "thorough": Effort(4.0, 5e11, 1e11),
}
EFFORTS = tuple(_EFFORTS)

_MARGIN = 1.15  # a final fit is often a little slower than its trials


class WorkDone(NamedTuple):
    """Work that was done, and how long it took."""

    values: float
    seconds: float


class Budget:
    """Work and time that are left.

    Time is for the trials and the final fit: a trial is allowed if there is time for it and for
    the fit that would follow. How long work takes is measured by the trials before, separately
    for each kind of model.
    """

    def __init__(
        self,
        work: float = float("inf"),
        deadline: float | None = None,
        *,
        bags: float = float("inf"),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._left, self._bags = work, bags
        self._deadline, self._clock = deadline, clock
        self._begin = clock()
        self._done: dict[str, WorkDone] = {}

    @classmethod
    def of(
        cls, effort: str, deadline: float | None, n_trees: int, n_rows: int, n_columns: int
    ) -> Self:
        """Return the budget of an effort on so many rows."""
        allowed = _EFFORTS[effort]
        one_fit = _LARGEST.with_trees(n_trees).work(n_rows, n_columns)
        return cls(max(allowed.n_fits * one_fit, allowed.least), deadline, bags=allowed.bags)

    def has_work(self, work: float) -> bool:
        """Return whether the effort allows so much more."""
        return work <= self._left

    def has_time(self, planned: Iterable[tuple[str, float]]) -> bool:
        """Return whether work of these kinds would end before the deadline."""
        if self._deadline is None:
            return True
        seconds = sum(work * self._seconds_per_work(kind) for kind, work in planned)
        return self._clock() + _MARGIN * seconds <= self._deadline

    def n_bags(self, kind: str, work: float, most: int) -> int:
        """Return how often a fit may be repeated with other seeds."""
        n_bags = int(min(max(self._bags // work, 1), most))
        while n_bags > 1 and not self.has_time([(kind, n_bags * work)]):
            n_bags -= 1
        return n_bags

    def start(self) -> None:
        """Begin to measure a trial."""
        self._begin = self._clock()

    def spend(self, kind: str, work: float) -> float:
        """Record a trial that has ended; returns its seconds."""
        seconds = self._clock() - self._begin
        before = self._done.get(kind, WorkDone(0.0, 0.0))
        self._done[kind] = WorkDone(before.values + work, before.seconds + seconds)
        self._left -= work
        return seconds

    def _seconds_per_work(self, kind: str) -> float:
        """Return the speed of this kind; of one not tried yet, the slowest so far."""
        measured = [self._done[kind]] if kind in self._done else self._done.values()
        return max((work.seconds / work.values for work in measured), default=0.0)
