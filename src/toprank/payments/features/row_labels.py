"""Which of one row's labels holds when: the rules of the ledger.

Of a row's labels the one known last holds; of those known at the same time an investigator's takes
precedence over a claim, and the one given last over others of its source. Silence holds only where
there is no other label. A label given without a time counts as known before all that have one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.payments.features.questions import LabelTimes
from toprank.payments.features.row_reader import NEVER
from toprank.payments.ledger.holding import FIRST_KNOWN, SILENCE, holds

_FIRST = int(FIRST_KNOWN.astype("datetime64[us]").astype(int)) - 1
_END_OF_TIME = 2**62


class RowLabel(NamedTuple):
    """One label of a row; `source` is its place in `SOURCES`."""

    known: int
    source: int
    is_positive: bool


_SILENT = RowLabel(NEVER, SILENCE, False)


class Holding(NamedTuple):
    """A label and the span of time in which it is the row's label: [since, until)."""

    since: int
    until: int
    is_positive: bool

    @property
    def is_ended(self) -> bool:
        """Whether another label replaces it."""
        return self.until < _END_OF_TIME


def with_label(labels: Sequence[RowLabel], new: RowLabel) -> list[RowLabel]:
    """Return a row's labels with one more, in the order in which they come to hold.

    Those that never hold are left out, so times increase, and each label replaces the one before.

    >>> verdict, claim = RowLabel(5, 0, False), RowLabel(9, 1, True)
    >>> with_label(with_label([], claim), verdict) == [verdict, claim]
    True
    """
    kept: list[RowLabel] = []
    for each in sorted([*labels, new], key=lambda label: label.known):  # equal ones as they came
        if kept and not _holds(each, kept[-1]):
            continue
        if kept and kept[-1].known == each.known:
            kept.pop()  # it never held
        kept.append(each)
    return kept


def with_silence(labels: Sequence[RowLabel]) -> list[RowLabel]:
    """Return a row's labels with the silence before the first: without a label it is negative.

    A label that says what held before says nothing new, and is left out.

    >>> with_silence([RowLabel(5, 0, False), RowLabel(9, 1, True)])[1:]
    [RowLabel(known=9, source=1, is_positive=True)]
    """
    found: list[RowLabel] = []
    for each in with_label(labels, _SILENT):
        if not found or found[-1].is_positive != each.is_positive:
            found.append(each)
    return found


def _holds(label: RowLabel, over: RowLabel) -> bool:
    # a label without a time counts as known before all that have one
    known, over_known = (max(each.known, _FIRST) for each in (label, over))
    return holds(known, label.source, over_known, over.source)


def counts_from(
    time: NDArray[np.int64], known: NDArray[np.int64], times: LabelTimes
) -> NDArray[np.int64]:
    """Return from when on labels count, by the times of their rows and when they became known."""
    known = np.where(known == NEVER, time + times.assumed, known)
    # not known to its own row, even if it was found at the same moment
    return np.maximum(time + max(times.least, 1), known)


def holdings(
    labels: Sequence[RowLabel], time: int, times: LabelTimes, begin: int
) -> list[Holding]:
    """Return when each label of a row holds, for labels that some row from `begin` on can see.

    `time` is that of the row.
    """
    known = np.array([each.known for each in labels], dtype=np.int64)
    since = counts_from(np.full(known.size, time), known, times).tolist()
    spans = zip(since, [*since[1:], _END_OF_TIME], labels, strict=False)
    return [
        Holding(start, stop, each.is_positive)
        for start, stop, each in spans
        if start < stop and stop > begin
    ]


def positive_holdings(
    labels: Sequence[RowLabel], time: int, times: LabelTimes, begin: int
) -> list[Holding]:
    """Return when a row is positive, for spans that some row from `begin` on can see.

    Labels that say the same one after the other are one span, so that a row counts once.
    """
    found: list[Holding] = []
    for each in holdings(labels, time, times, NEVER):
        if found and found[-1].until == each.since and each.is_positive:
            found[-1] = found[-1]._replace(until=each.until)
        elif each.is_positive:
            found.append(each)
    return [each for each in found if each.until > begin]
