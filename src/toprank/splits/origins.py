"""Rolling origins: learn from everything before a moment, be judged on the window after it.

    time ->   [ train             | gap | judged ]
              [ train                   | gap | judged ]
              [ train                         | gap | judged ]

The windows follow each other up to the last row, so that together they cover the latest rows.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.data.tables.columns import TableWarning
from toprank.data.tables.spans import DAY, span_of
from toprank.splits.by_time import latest
from toprank.splits.moments import moments_of

_SCHEMES = ((4, 0.5), (3, 0.5), (2, 0.4))
"""How many windows, and the share of the latest rows that they cover together."""

_LEAST_POSITIVES = 5  # in one window: with fewer, its figures are luck
_DAYS_FOR_MIDNIGHT = 20

Parts = tuple[NDArray[np.int64], NDArray[np.int64]]


def rolling_origins(time: ArrayLike, is_positive: ArrayLike, gap: Any = None) -> list[Parts]:
    """Return the rows to learn from and the rows to be judged on, origin by origin.

    There are four windows over the latest half of the rows, or fewer where a window would have
    fewer than five positives or too little before it; at the least the latest fifth. Rows of
    equal time stay together, and when the rows span 20 days or more, windows begin at midnight.
    `gap` is the span before each window whose labels would not be known yet; of rows so few that
    it would leave nothing to learn from, it is left out, with a warning.

    >>> time = np.datetime64("2025-01-01", "D") + np.arange(80)
    >>> [(train.size, judged.size) for train, judged in rolling_origins(time, [0, 1] * 40, "2d")]
    [(38, 10), (48, 10), (58, 10), (68, 10)]
    """
    moments = moments_of(time)
    labels = checks.positives(is_positive, "is_positive")
    if moments.size != labels.size:
        raise ValueError(
            f"time must have one moment per row; got {moments.size} for {labels.size} rows."
        )
    span = np.timedelta64(0, "us") if gap is None else span_of(gap, "gap")
    for n_windows, share in _SCHEMES:
        windows = _windows(moments, n_windows, share, span)
        if len(windows) == n_windows and all(_is_usable(labels, window) for window in windows):
            return windows
    return [_latest_window(moments, labels, span)]


def _windows(
    moments: NDArray[np.datetime64], n_windows: int, share: float, gap: np.timedelta64
) -> list[Parts]:
    ordered = np.sort(moments)
    if ordered[-1] - ordered[0] >= _DAYS_FOR_MIDNIGHT * DAY:
        cuts = np.unique(moments.astype("datetime64[D]")).astype(ordered.dtype)
    else:
        cuts = np.unique(ordered)
    wanted = ordered.size * (1 - share + share * np.arange(n_windows) / n_windows)
    rows_before = np.searchsorted(ordered, cuts)
    nearest = np.abs(rows_before - wanted[:, None]).argmin(axis=1)
    begins = np.unique(cuts[nearest])
    ends = [*begins[1:], ordered[-1] + np.timedelta64(1, "us")]
    return [
        (
            np.flatnonzero(moments < begin - gap),
            np.flatnonzero((moments >= begin) & (moments < end)),
        )
        for begin, end in zip(begins, ends, strict=True)
    ]


def _is_usable(labels: NDArray[np.bool_], window: Parts) -> bool:
    """Return whether there is enough of both classes on both sides."""
    counts = [np.bincount(labels[rows], minlength=2).min() for rows in window]
    return counts[0] >= 1 and counts[1] >= _LEAST_POSITIVES


def _latest_window(
    moments: NDArray[np.datetime64], labels: NDArray[np.bool_], gap: np.timedelta64
) -> Parts:
    earlier, judged = latest(moments, labels, 0.2)
    train = earlier[moments[earlier] < moments[judged].min() - gap]
    if labels[train].all() or not labels[train].any():
        warnings.warn(
            f"a gap of {gap.astype('timedelta64[s]')} would leave nothing to learn from before "
            "the latest fifth of the rows; they are judged without it, so that figures may be "
            "too good.",
            TableWarning,
            stacklevel=2,
        )
        train = earlier
    return train, judged
