"""Positives and negatives counted by score: metrics of a stream in memory that never grows.

A score becomes a float32, and its sign, its exponent and the first 7 bits of its mantissa are its
bin. Bins are in the order of the scores without a range to be set: they are narrow where scores
are near 0 and wide where they are large, and each is at most 1/128 as wide as its scores are far
from 0. So two scores of one sign that differ by more than 1/128 of the smaller one are never in
one bin (down to 2**-126; nearer to 0, a difference of 2**-133 separates them). Scores beyond the
largest float32, some 3.4e38, count as that number.

Probabilities close to 1 are crowded: 0.997 and 0.999 share a bin. Log-odds are not.
"""

import struct
from typing import NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.metrics.points import FORMULAS, found_checked
from toprank.metrics.ranking import Ranking

_AS_FLOAT32, _AS_BITS = struct.Struct("<f"), struct.Struct("<I")
_N_BINS = 1 << 16
_LARGEST = float(np.finfo(np.float32).max)
_LOWEST_BIN, _HIGHEST_BIN = 0x0080, 0xFF7F  # of the largest float32, with a minus and without
_MOST_ROWS = 2.0**53  # metrics count in float64, exact up to here
_MANY = 1000  # positives of one bin from which on an integral replaces their sum


class Bounded(NamedTuple):
    """A metric of binned scores; that of the scores themselves is between `low` and `high`."""

    value: float
    low: float
    high: float


class ScoreHistogram:
    """Counts of positives and negatives by score, 1 MB of them however many rows are added.

    Each metric comes as a value and two bounds. The value takes the rows of a bin as tied. The
    bounds are those of the worst and of the best order that the rows of every bin may have, so
    the metric of the scores themselves cannot be outside (except for rounding, some 1e-15).

    >>> histogram = ScoreHistogram()
    >>> histogram.add([0.9, 0.5, 0.4, 0.1], [True, False, True, False])
    >>> histogram.precision_at(1)
    Bounded(value=1.0, low=1.0, high=1.0)
    """

    def __init__(self) -> None:
        # cells = [negatives, positives of the lowest bin | of the next | ...]
        self._cells = np.zeros(2 * _N_BINS, dtype=np.int64)

    def add(self, scores: ArrayLike, is_positive: ArrayLike) -> None:
        """Count rows."""
        scores = checks.finite_vector(scores, "scores")
        is_positive = checks.flags(is_positive, "is_positive", scores.size)
        np.add.at(self._cells, 2 * bins_of(scores) + is_positive, 1)

    def add_one(self, score: float, is_positive: bool) -> None:
        """Count one row.

        >>> histogram = ScoreHistogram()
        >>> histogram.add_one(0.9, True)
        >>> histogram.n_rows
        1
        """
        if not -_LARGEST <= score <= _LARGEST:
            score = _clipped(score)
        if is_positive not in (True, False):
            raise ValueError(f"is_positive must be True or False; got {is_positive!r}.")
        self._cells[2 * _bin_of(score) + (1 if is_positive else 0)] += 1

    def __iadd__(self, other: "ScoreHistogram") -> Self:
        self._cells += other._cells
        return self

    def __add__(self, other: "ScoreHistogram") -> "ScoreHistogram":
        """Return the counts of both."""
        both = ScoreHistogram()
        both += self
        both += other
        return both

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScoreHistogram) and np.array_equal(self._cells, other._cells)

    @property
    def n_rows(self) -> int:
        return int(self._cells.sum())

    @property
    def n_positives(self) -> int:
        return int(self._cells[1::2].sum())

    def ranking(self) -> Ranking:
        """Return the ranking in which the rows of a bin are tied, for any metric of `points`.

        A threshold is the lowest float32 of its bin.
        """
        n_negative, n_positive = self._cells[::2], self._cells[1::2]
        used = np.flatnonzero(n_negative | n_positive)[::-1]
        return Ranking(lowest_scores(used), n_positive[used], n_negative[used])

    def average_precision(self) -> Bounded:
        """Return the average precision and its bounds.

        A positive adds the precision at its score. Of a bin with p positives, behind F positives
        and N negatives of higher bins, this is at most (F + p) / (F + p + N): all p are tied and
        ahead of the bin's own n negatives. At worst they come behind these, one after the other:
        the i-th adds (F + i) / (F + i + N + n). What other bins add depends on neither, so the
        bounds are reached when every bin is at its worst or at its best.

        >>> histogram = ScoreHistogram()
        >>> histogram.add([5.01, 5.0, 1.0, 0.5], [True, False, True, False])
        >>> [round(number, 3) for number in histogram.average_precision()]
        [0.583, 0.583, 0.833]
        """
        ranking = self._ranking_with_positives()
        value = FORMULAS["average_precision"](ranking)
        low, high = _outermost_precisions(ranking.n_positive, ranking.n_negative)
        # where the bounds meet, rounding may have put the value slightly outside
        return Bounded(value, min(value, float(low)), max(value, float(high)))

    def precision_at(self, k: int) -> Bounded:
        """Return the share of positives among the `k` highest scores, and its bounds.

        The bounds differ where the k-th row shares its bin with rows of both classes.

        >>> histogram = ScoreHistogram()
        >>> histogram.add([5.01, 5.0, 1.0, 0.5], [True, False, True, False])
        >>> histogram.precision_at(1)
        Bounded(value=0.5, low=0.0, high=1.0)
        """
        found = _found_at(self.ranking(), k)
        return Bounded(*(number / k for number in found))

    def recall_at(self, k: int) -> Bounded:
        """Return the share of the positives among the `k` highest scores, and its bounds.

        >>> histogram = ScoreHistogram()
        >>> histogram.add([5.01, 5.0, 1.0, 0.5], [True, False, True, False])
        >>> histogram.recall_at(2)
        Bounded(value=0.5, low=0.5, high=0.5)
        """
        ranking = self._ranking_with_positives()
        return Bounded(*(number / ranking.total_positive for number in _found_at(ranking, k)))

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the counts of the bins with rows, for `from_counts`."""
        n_negative, n_positive = self._cells[::2], self._cells[1::2]
        bins = np.flatnonzero(n_negative | n_positive)
        return {
            "bins": bins.astype(np.uint16),
            "n_positive": n_positive[bins],
            "n_negative": n_negative[bins],
        }

    @classmethod
    def from_counts(cls, bins: NDArray, n_positive: NDArray, n_negative: NDArray) -> Self:
        """Return the histogram that `to_arrays` gave; ValueError if it is not valid.

        >>> histogram = ScoreHistogram()
        >>> histogram.add_one(0.9, True)
        >>> ScoreHistogram.from_counts(**histogram.to_arrays()) == histogram
        True
        """
        bins = checks.typed_vector(bins, "bins", np.uint16).astype(np.int64)
        checks.typed_vector(n_positive, "n_positive", np.int64, bins.size)
        checks.typed_vector(n_negative, "n_negative", np.int64, bins.size)
        _check_bins(bins)
        _check_counts(n_positive, n_negative)
        histogram = cls()
        histogram._cells[2 * bins] = n_negative
        histogram._cells[2 * bins + 1] = n_positive
        return histogram

    def _ranking_with_positives(self) -> Ranking:
        ranking = self.ranking()
        if not ranking.total_positive:
            raise ValueError(
                f"histogram must contain at least one positive; got 0 of {ranking.n_rows} rows."
            )
        return ranking


def bins_of(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bin of each score; bins are in the order of scores.

    >>> bins_of(np.array([-1.0, 0.5, 0.501])).tolist()
    [16511, 48896, 48896]
    """
    single = np.clip(scores, -_LARGEST, _LARGEST).astype(np.float32)
    bits = single.view(np.uint32).astype(np.int64)
    return np.where(bits > 0x8000_0000, 0xFFFF - (bits >> 16), (bits >> 16) | 0x8000)


def _bin_of(score: float) -> int:
    """Return the bin of one score, as `bins_of` does for many.

    The bits are sign | exponent | mantissa. Those of a negative number rise as it falls, hence
    their complement; the sign alone is a zero, the same as the other.
    """
    (bits,) = _AS_BITS.unpack(_AS_FLOAT32.pack(score))
    return 0xFFFF - (bits >> 16) if bits > 0x8000_0000 else (bits >> 16) | 0x8000


def _clipped(score: float) -> float:
    if not -np.inf < score < np.inf:
        raise ValueError(f"score must be a finite number; got {score!r}.")
    return _LARGEST if score > 0 else -_LARGEST


def lowest_scores(bins: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the lowest float32 of each bin.

    >>> lowest_scores(bins_of(np.array([0.5, 0.501]))).tolist()
    [0.5, 0.5]
    """
    is_negative = bins < 0x8000
    bits = np.where(is_negative, ((0xFFFF - bins) << 16) | 0xFFFF, (bins & 0x7FFF) << 16)
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


def _found_at(ranking: Ranking, k: int) -> Bounded:
    """Return the positives among the first `k` rows: expected, least and most."""
    if not ranking.n_rows:
        raise ValueError("histogram must contain at least one row; got 0.")
    k = checks.whole_number(k, "k", 1, ranking.n_rows)
    expected, _ = found_checked(ranking, np.array([k]))
    cut = int(np.searchsorted(ranking.checked, k))  # the bin of the k-th row
    n_positive, n_negative = int(ranking.n_positive[cut]), int(ranking.n_negative[cut])
    found_before = int(ranking.found[cut]) - n_positive
    left = k - (int(ranking.checked[cut]) - n_positive - n_negative)
    low, high = max(left - n_negative, 0), min(left, n_positive)
    return Bounded(float(expected[0]), found_before + low, found_before + high)


def _check_bins(bins: NDArray[np.int64]) -> None:
    if bins.size and not _LOWEST_BIN <= bins.min() <= bins.max() <= _HIGHEST_BIN:
        raise ValueError(
            f"array 'bins' must be between {_LOWEST_BIN} and {_HIGHEST_BIN}, the bins of finite "
            f"scores; got {bins.min()} to {bins.max()}."
        )
    if (np.diff(bins) <= 0).any():
        raise ValueError("array 'bins' must rise from each bin to the next.")


def _check_counts(n_positive: NDArray[np.int64], n_negative: NDArray[np.int64]) -> None:
    least = min(n_positive.min(initial=0), n_negative.min(initial=0))
    if least < 0:
        raise ValueError(f"counts of positives and negatives must not be negative; got {least}.")
    if ((n_positive == 0) & (n_negative == 0)).any():
        raise ValueError("each bin must contain at least one row; one or more are empty.")
    n_rows = n_positive.sum(dtype=np.float64) + n_negative.sum(dtype=np.float64)
    if n_rows > _MOST_ROWS:
        raise ValueError(f"counts must sum to at most 2**53 rows; got about {n_rows:.3g}.")


@njit(cache=True)
def _outermost_precisions(n_positive, n_negative):
    found, passed, low, high = 0.0, 0.0, 0.0, 0.0
    for group in range(n_positive.size):
        count = n_positive[group]
        if count > 0:
            high += count * (found + count) / (found + count + passed)
            low += _one_by_one(count, found, passed + n_negative[group])
        found += count
        passed += n_negative[group]
    return low / found, high / found


@njit(cache=True)
def _one_by_one(count, found, passed):
    """Return the sum over i = 1..count of (found + i) / (found + i + passed), or a hair less."""
    if count > _MANY:
        # The terms are concave in i, so each is at least its integral from i - 1/2 to i + 1/2.
        # Less than 1/24 is lost in all, and a count of any size costs the same.
        return count - passed * np.log1p(count / (found + passed + 0.5))
    total = 0.0
    for i in range(1, count + 1):
        total += (found + i) / (found + i + passed)
    return total
