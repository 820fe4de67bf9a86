"""When to refit: counted in labels, never by the clock.

    labels    ... | refit is due         | its trees take over      ...
    scores by     |      the old trees, corrected       | the new trees, corrected

What a ranker of rare events can learn is in the positives. So a refit is due when the positives
that count have grown by a share; and at the latest after some labels, since negatives change, too.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.rankers.boosted.boosted_ranker import BoostedRanker

LEAST_OF_CLASS = 5
"""Rows of either class before the first fit."""

_COUNTS = ("begun_at", "due_from", "due_positives", "due_at", "takes_over_at")
_MOST_COUNTED = 2**54  # labels so far, and those that a refit waits for


class RefitPlan(NamedTuple):
    """When to refit, and with what.

    A refit is due after so many new positives as are a `share` of those that count, but after
    `least` labels at the soonest and `most` at the latest. Its trees take over after a `lag` share
    of the labels since the refit before.
    """

    ranker: BoostedRanker
    share: float
    least: int
    most: int
    lag: float
    corrects_leaves: bool
    in_background: bool


class RefitCounts:
    """At which counts of labels a refit begins, and its trees take over."""

    def __init__(self, plan: RefitPlan) -> None:
        self.plan = plan
        self.begun_at = self.takes_over_at = 0
        self.due_from, self.due_at = plan.least, plan.most
        self.due_positives = LEAST_OF_CLASS

    @property
    def is_refitting(self) -> bool:
        """Whether a refit is under way."""
        return self.takes_over_at > 0

    def is_due(self, n_rows: int, n_positives: int) -> bool:
        """Return whether a refit is due after so many labels, so many of them positive."""
        has_grown = n_positives >= self.due_positives and n_rows >= self.due_from
        return has_grown or n_rows >= self.due_at

    def labels_until_next(
        self, n_rows: int, n_positives: int, is_positive: NDArray[np.bool_]
    ) -> int:
        """Return how many of the next labels can be learned before anything is due."""
        if self.is_refitting:
            until = self.takes_over_at - n_rows
        else:
            grown = np.searchsorted(np.cumsum(is_positive), self.due_positives - n_positives)
            until = min(max(int(grown) + 1, self.due_from - n_rows), self.due_at - n_rows)
        return max(min(until, is_positive.size), 1)

    def begin(self, n_rows: int, n_positives: int, n_counted: float) -> None:
        """Begin a refit, where the positives in memory count as much as `n_counted` new ones."""
        plan, interval = self.plan, n_rows - self.begun_at
        self.begun_at = n_rows
        self.takes_over_at = n_rows + max(math.ceil(plan.lag * interval), 1)
        new = max(math.ceil(plan.share * n_counted), 1)
        self.due_positives = min(n_positives + new, _MOST_COUNTED)
        self.due_from, self.due_at = n_rows + plan.least, n_rows + plan.most

    def end(self) -> None:
        """Note that the trees of a refit have taken over."""
        self.takes_over_at = 0

    def postpone(self, n_rows: int) -> None:
        """Wait for further labels, since there are too few of one class."""
        self.due_from, self.due_at = n_rows + self.plan.least, n_rows + self.plan.most

    def make_due(self, n_rows: int) -> None:
        """Make a refit due at once."""
        self.due_at = n_rows

    def state(self) -> dict[str, int]:
        """Return what a file keeps."""
        return {name: getattr(self, name) for name in _COUNTS}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` gave; raises ValueError if it does not fit."""
        for name in _COUNTS:
            setattr(self, name, checks.whole_number(state[name], name, 0, _MOST_COUNTED))
