"""Metrics over the last labelled events of a stream, in constant memory.

A short window keeps its rows and is exact. A long one counts them by score in panes, histograms of
consecutive rows:

    oldest pane | ... | ... | open pane
    <------- at most `size` rows ----->

A new row goes into the open pane. Once there are `size` rows, the oldest pane is dropped whole.
"""

import reprlib
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.files.state import stored_vector
from toprank.metrics.points import FORMULAS
from toprank.metrics.ranking import Ranking
from toprank.metrics.score_histogram import Bounded, ScoreHistogram

_SETTINGS = ("size", "budget", "panes", "exact_up_to")
_MOST_PANES = 100  # a pane takes up to 1 MB
_MOST_EXACT = 1_000_000  # a stored row takes about 100 bytes
_UNCOUNTED = 1000  # rows that are counted at once, which is faster than one by one


class WindowSummary(NamedTuple):
    """The metrics of a window; None if undefined for its rows.

    `n_alerts` is the budget's share for `n_rows`: how many of the highest scores count as alerts.
    """

    n_rows: int
    n_positives: int
    n_alerts: int
    error: float | None
    average_precision: Bounded | None
    precision_at_budget: Bounded | None
    recall_at_budget: Bounded | None


class Window:
    """The last `size` labelled events, of which `budget` could be checked.

    A window of at most `exact_up_to` rows is exactly the last `size` rows, and its metrics are
    those of their scores. A longer one is made of panes of `size / panes` rows, rounded up: once
    full, it covers the last `size * (1 - 1 / panes)` to `size` rows. The bounds of its metrics
    say how uncertain they are due to the bins of the scores.

    The learner decides what counts as an error. Without rows nothing is defined, and without
    positives neither average precision nor recall.

    >>> window = Window(size=4, budget=1)
    >>> for score, is_positive in [(0.2, True), (0.9, True), (0.5, False), (0.4, False)]:
    ...     window.add(score, is_positive, is_error=(score >= 0.5) != is_positive)
    >>> window.add(0.1, is_positive=False, is_error=False)
    >>> window.summary().n_positives, window.summary().error
    (1, 0.25)
    >>> window.summary().average_precision
    Bounded(value=1.0, low=1.0, high=1.0)
    """

    def __init__(self, size: int, budget: int, panes: int = 10, exact_up_to: int = 10_000) -> None:
        self.size = checks.whole_number(size, "size", 1, 2**53)
        self.budget = checks.whole_number(budget, "budget", 1, self.size)
        self.panes = checks.whole_number(panes, "panes", 2, _MOST_PANES)
        self.exact_up_to = checks.whole_number(exact_up_to, "exact_up_to", 0, _MOST_EXACT)
        self._is_exact = self.size <= self.exact_up_to
        self._panes = _Panes(self.size, -(-self.size // self.panes))
        # All rows of an exact window; with panes, those not counted yet.
        self._rows: deque[_Row] = deque(maxlen=self.size if self._is_exact else None)
        self._most_uncounted = inf if self._is_exact else _UNCOUNTED

    def add(self, score: float, is_positive: bool, is_error: bool) -> None:
        """Add one event: its score, its label and whether its class was predicted wrongly."""
        if not -inf < score < inf:
            raise ValueError(f"score must be a finite number; got {score!r}.")
        if is_positive not in (True, False) or is_error not in (True, False):
            raise ValueError(
                "is_positive and is_error must be True or False; "
                f"got {is_positive!r} and {is_error!r}."
            )
        self._rows.append((float(score), is_positive, is_error))
        if len(self._rows) >= self._most_uncounted:
            self._count_rows()

    def add_batch(self, scores: ArrayLike, is_positive: ArrayLike, is_error: ArrayLike) -> None:
        """Add events in their order; the same as adding them one by one.

        >>> window = Window(size=3, budget=1)
        >>> window.add_batch([0.9, 0.1], [True, False], [False, False])
        >>> window.summary().n_rows
        2
        """
        scores = checks.finite_vector(scores, "scores")
        is_positive = checks.flags(is_positive, "is_positive", scores.size)
        is_error = checks.flags(is_error, "is_error", scores.size)
        if self._is_exact:
            columns = (column.tolist() for column in (scores, is_positive, is_error))
            self._rows.extend(zip(*columns, strict=True))
        else:
            self._count_rows()
            self._panes.add(scores, is_positive, is_error)

    def summary(self) -> WindowSummary:
        """Return the metrics of the rows that the window holds."""
        n_rows, n_errors, ranked = self._judged()
        if not n_rows:
            return WindowSummary(0, 0, 0, None, None, None, None)
        n_alerts = max(round(self.budget * n_rows / self.size), 1)
        has_positives = ranked.n_positives > 0
        return WindowSummary(
            n_rows,
            ranked.n_positives,
            n_alerts,
            n_errors / n_rows,
            ranked.average_precision() if has_positives else None,
            ranked.precision_at(n_alerts),
            ranked.recall_at(n_alerts) if has_positives else None,
        )

    def to_state(self) -> tuple[dict[str, int], dict[str, NDArray]]:
        """Return the settings, which are JSON, and the arrays that `from_state` restores."""
        settings = {name: getattr(self, name) for name in _SETTINGS}
        if self._is_exact:
            scores, is_positive, is_error = _columns(self._rows)
            return settings, {"scores": scores, "is_positive": is_positive, "is_error": is_error}
        self._count_rows()
        return settings, self._panes.to_arrays()

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: Mapping[str, NDArray]) -> Self:
        """Return the window that `to_state` gave; raises ValueError if the state is invalid.

        >>> window = Window(size=3, budget=1)
        >>> window.add(0.9, True, False)
        >>> Window.from_state(*window.to_state()).summary() == window.summary()
        True
        """
        window = cls(**_checked_settings(settings))
        if window._is_exact:
            window.add_batch(*_stored_rows(arrays, window.size))
        else:
            window._panes.restore(arrays, window.panes)
        return window

    def _count_rows(self) -> None:
        self._panes.add(*_columns(self._rows))
        self._rows.clear()

    def _judged(self) -> "tuple[int, int, _ExactRows | ScoreHistogram]":
        """Return the number of rows, the errors among them, and what ranks them."""
        if self._is_exact:
            scores, is_positive, is_error = _columns(self._rows)
            return scores.size, int(is_error.sum()), _ExactRows(scores, is_positive)
        self._count_rows()
        return self._panes.n_rows, self._panes.n_errors, self._panes.merged()


_Row = tuple[float, bool, bool]
_Columns = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]


class _ExactRows:
    """Exact metrics of stored scores: lower and upper bounds are equal."""

    def __init__(self, scores: NDArray[np.float64], is_positive: NDArray[np.bool_]) -> None:
        levels, group = np.unique(-scores, return_inverse=True)
        n_positive = np.bincount(group[is_positive], minlength=levels.size)
        n_negative = np.bincount(group[~is_positive], minlength=levels.size)
        self._ranking = Ranking(-levels, n_positive, n_negative)
        self.n_positives = self._ranking.total_positive

    def average_precision(self) -> Bounded:
        return self._measured("average_precision")

    def precision_at(self, k: int) -> Bounded:
        return self._measured("precision_at_k", k)

    def recall_at(self, k: int) -> Bounded:
        return self._measured("recall_at_k", k)

    def _measured(self, metric: str, *options: int) -> Bounded:
        value = FORMULAS[metric](self._ranking, *options)
        return Bounded(value, value, value)


@dataclass
class _Pane:
    n_rows: int = 0
    n_errors: int = 0
    histogram: ScoreHistogram = field(default_factory=ScoreHistogram)


class _Panes:
    """Panes of `pane_rows` rows each, the last one open, `size` rows in all at most.

    All but the last are full and the last one is not empty, so that there are never more of them
    than `size / pane_rows`, rounded up.
    """

    def __init__(self, size: int, pane_rows: int) -> None:
        self._size, self._pane_rows = size, pane_rows
        self._panes: deque[_Pane] = deque()

    @property
    def n_rows(self) -> int:
        return sum(pane.n_rows for pane in self._panes)

    @property
    def n_errors(self) -> int:
        return sum(pane.n_errors for pane in self._panes)

    def add(
        self,
        scores: NDArray[np.float64],
        is_positive: NDArray[np.bool_],
        is_error: NDArray[np.bool_],
    ) -> None:
        start = 0
        while start < scores.size:
            pane = self._open_pane()
            room = min(self._pane_rows - pane.n_rows, self._size - self.n_rows)
            rows = slice(start, min(start + room, scores.size))
            pane.histogram.add(scores[rows], is_positive[rows])
            pane.n_rows += rows.stop - rows.start
            pane.n_errors += int(is_error[rows].sum())
            start = rows.stop

    def merged(self) -> ScoreHistogram:
        total = ScoreHistogram()
        for pane in self._panes:
            total += pane.histogram
        return total

    def to_arrays(self) -> dict[str, NDArray]:
        counts = [pane.histogram.to_arrays() for pane in self._panes]
        empty = ScoreHistogram().to_arrays()
        return {
            "pane_errors": np.array([pane.n_errors for pane in self._panes], dtype=np.int64),
            "pane_bins": np.array([each["bins"].size for each in counts], dtype=np.int64),
            **{
                name: np.concatenate([empty[name], *(each[name] for each in counts)])
                for name in empty
            },
        }

    def restore(self, arrays: Mapping[str, NDArray], most_panes: int) -> None:
        """Restore what `to_arrays` gave; raises ValueError if it is invalid."""
        n_errors = stored_vector(arrays, "pane_errors", np.int64)
        if n_errors.size > most_panes:
            raise ValueError(f"there must be at most {most_panes} panes; got {n_errors.size}.")
        histograms = list(_stored_histograms(arrays, n_errors.size))
        n_rows = [histogram.n_rows for histogram in histograms]
        self._check_rows(n_rows)
        for rows, errors in zip(n_rows, n_errors.tolist(), strict=True):
            if not 0 <= errors <= rows:
                raise ValueError(
                    f"a pane of {rows} rows must have 0 to {rows} errors; got {errors}."
                )
        self._panes = deque(map(_Pane, n_rows, n_errors.tolist(), histograms))

    def _open_pane(self) -> _Pane:
        """Return the pane for the next row, dropping the oldest once there are `size` rows."""
        if self.n_rows == self._size:
            self._panes.popleft()
        if not self._panes or self._panes[-1].n_rows == self._pane_rows:
            self._panes.append(_Pane())
        return self._panes[-1]

    def _check_rows(self, n_rows: list[int]) -> None:
        if any(rows != self._pane_rows for rows in n_rows[:-1]):
            raise ValueError(
                f"each pane but the last must have {self._pane_rows} rows; got {n_rows}."
            )
        if n_rows and not 0 < n_rows[-1] <= self._pane_rows:
            raise ValueError(
                f"the last pane must have 1 to {self._pane_rows} rows; got {n_rows[-1]}."
            )
        if sum(n_rows) > self._size:
            raise ValueError(f"panes must have at most {self._size} rows; got {sum(n_rows)}.")


def _columns(rows: deque[_Row]) -> _Columns:
    if not rows:
        return np.zeros(0), np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
    scores, is_positive, is_error = zip(*rows, strict=True)
    return np.array(scores), np.array(is_positive, dtype=bool), np.array(is_error, dtype=bool)


def _checked_settings(settings: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(settings, dict) or set(settings) != set(_SETTINGS):
        names = ", ".join(_SETTINGS)
        raise ValueError(f"settings of a window must be {names}; got {reprlib.repr(settings)}.")
    return settings


def _stored_rows(arrays: Mapping[str, NDArray], size: int) -> _Columns:
    scores = stored_vector(arrays, "scores", np.float64)
    if scores.size > size:
        raise ValueError(f"array 'scores' must have at most {size} values; got {scores.size}.")
    is_positive = stored_vector(arrays, "is_positive", np.bool_, scores.size)
    return scores, is_positive, stored_vector(arrays, "is_error", np.bool_, scores.size)


def _stored_histograms(arrays: Mapping[str, NDArray], n_panes: int) -> Iterator[ScoreHistogram]:
    n_bins = stored_vector(arrays, "pane_bins", np.int64, n_panes)
    bins = stored_vector(arrays, "bins", np.uint16)
    if ((n_bins < 1) | (n_bins > bins.size)).any() or n_bins.sum() != bins.size:
        raise ValueError(
            f"array 'pane_bins' must split the {bins.size} bins among {n_panes} panes; "
            f"got {n_bins.tolist()}."
        )
    counts = {
        "bins": bins,
        "n_positive": stored_vector(arrays, "n_positive", np.int64, bins.size),
        "n_negative": stored_vector(arrays, "n_negative", np.int64, bins.size),
    }
    stops = np.cumsum(n_bins)
    for start, stop in zip(stops - n_bins, stops, strict=True):
        own = {name: each[start:stop] for name, each in counts.items()}
        yield ScoreHistogram.from_counts(**own)
