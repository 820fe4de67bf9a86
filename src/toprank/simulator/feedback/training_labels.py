"""What a strategy may learn from at the end of a day: the labels known by then, and no others."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.payments.ledger import SOURCES, Known
from toprank.payments.ledger.fraud_weights import fraud_weights

_VERDICT, _CLAIM = SOURCES.index("investigator"), SOURCES.index("claim")


class Labelled(NamedTuple):
    """Features and labels of payments whose label is known."""

    features: NDArray[np.float32]
    is_positive: NDArray[np.bool_]

    @property
    def n_rarer_class(self) -> int:
        """The number of rows of the rarer class."""
        n_positive = int(np.count_nonzero(self.is_positive))
        return min(n_positive, self.is_positive.size - n_positive)


class WeightedRows(NamedTuple):
    """Features and labels of payments, and how many payments each represents."""

    rows: Labelled
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TrainingLabels:
    """The labels of the payments in the window, as known at the end of a day.

    `is_old` says which payments are older than the silence: all of these have a label. `since`
    is the beginning of that day, None before the first day. `gather` returns the features of rows.
    `paid` is the time of each payment, and `check_chance` that with which its card was checked.
    """

    known: Known
    is_old: NDArray[np.bool_]
    since: np.datetime64 | None
    gather: Callable[[NDArray[np.int64]], NDArray[np.float32]]
    paid: NDArray[np.datetime64]
    check_chance: NDArray[np.float64]

    @cached_property
    def delayed(self) -> Labelled:
        """The payments older than the silence, and the more recent ones that were claimed."""
        is_claimed = self.known.source_code == _CLAIM
        return self._labelled(np.flatnonzero(self.is_old | is_claimed))

    @cached_property
    def feedback(self) -> Labelled:
        """The more recent payments that were checked."""
        is_checked = self.known.source_code == _VERDICT
        return self._labelled(np.flatnonzero(is_checked & ~self.is_old))

    @cached_property
    def pooled(self) -> Labelled:
        """Delayed labels and feedback together."""
        both = zip(self.delayed, self.feedback, strict=True)
        return Labelled(*(np.concatenate(pair) for pair in both))

    @cached_property
    def weighted(self) -> WeightedRows:
        """All payments: those without a label as genuine, known frauds with their weights."""
        known = self.known
        is_claim = known.is_positive & (known.source_code == _CLAIM)
        age = known.moment - self.paid
        delays = (known.known - self.paid)[is_claim & self.is_old]
        weight = np.ones(age.size)
        fraud = known.is_positive
        weight[fraud] = fraud_weights(self.check_chance[fraud], age[fraud], delays)
        return WeightedRows(self._labelled(np.arange(age.size)), weight)

    @cached_property
    def new(self) -> Labelled:
        """The payments whose label became known on that day, in the order it became known."""
        is_new = self.known.has_label
        if self.since is not None:
            is_new = is_new & (self.known.known >= self.since)
        places = np.flatnonzero(is_new)
        return self._labelled(places[np.argsort(self.known.known[places], kind="stable")])

    def _labelled(self, places: NDArray[np.int64]) -> Labelled:
        return Labelled(self.gather(self.known.ids[places]), self.known.is_positive[places])
