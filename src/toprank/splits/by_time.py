"""Rows split by time: later parts contain only what came after the earlier ones."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.data.tables.spans import DAY, in_words, span_of
from toprank.splits.moments import moment_of, moments_of
from toprank.splits.parts import Split, check_shares


def chronological(
    time: ArrayLike,
    *,
    validation: float = 0.15,
    test: float = 0.25,
    gap: Any = None,
    test_begin: Any = None,
) -> Split:
    """Return the split in which validation follows train, and test follows both after a gap.

    `validation` and `test` are shares of all rows, met as nearly as whole moments allow: rows of
    equal time stay together, and when the rows span 20 days or more, validation and test begin at
    midnight. `gap` is a span of time such as "7d"; by default, 7 days, or a tenth of a span
    shorter than 70 days. `test_begin` names the moment from which rows are the test, whatever
    their share.

    >>> time = np.datetime64("2025-01-01T12:00", "us") + np.arange(100) * np.timedelta64(1, "D")
    >>> split = chronological(time)
    >>> [rows.size for rows in (split.train, split.validation, split.gap, split.test)]
    [53, 15, 7, 25]
    >>> print(*split.periods["test"])
    2025-03-17T12:00:00.000000 2025-04-10T12:00:00.000000
    """
    check_shares(validation, test)
    moments = moments_of(time)
    ordered = np.sort(moments)
    span = ordered[-1] - ordered[0]
    gap = checked_gap(gap, span)
    cuts = np.unique(moments.astype("datetime64[D]") if span >= 20 * DAY else moments)
    cuts = cuts.astype(ordered.dtype)

    period = ordered[0], ordered[-1]
    n_before = (1 - test) * ordered.size
    if test_begin is not None:
        test_begin = moment_of(test_begin, "test_begin")
        n_before = np.searchsorted(ordered, test_begin)
        cuts = np.unique(np.append(cuts, test_begin))
    test_begin = _nearest_cut(ordered, cuts, n_before, "test", gap, period)
    validation_end = test_begin - gap
    before = ordered[: np.searchsorted(ordered, validation_end)]
    n_train = before.size - validation * ordered.size
    emptied = "train" if before.size else "validation"
    validation_begin = _nearest_cut(before, cuts, n_train, emptied, gap, period)
    return _split_at(moments, validation_begin, validation_end, test_begin)


def latest(
    time: ArrayLike, is_positive: ArrayLike, share: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the earlier rows and the latest ones, split at the moment nearest to `share`.

    Rows of equal time stay together.

    >>> time = np.datetime64("2025-01-01", "D") + np.arange(10)
    >>> latest(time, [0, 1] * 5, 0.2)[1]
    array([8, 9])
    """
    checks.number_above(share, "share", 0, 0.99)
    moments = moments_of(time)
    labels = checks.positives(is_positive, "is_positive")
    if moments.size != labels.size:
        raise ValueError(
            f"time must have one moment per row; got {moments.size} for {labels.size} rows."
        )
    ordered = np.sort(moments)
    if ordered[0] == ordered[-1]:
        raise ValueError(
            f"time must hold at least two moments to split earlier rows from the latest; all "
            f"{ordered.size} rows are of {ordered[0]}."
        )
    none = np.timedelta64(0, "us")
    begin = _nearest_cut(
        ordered,
        np.unique(ordered),
        (1 - share) * ordered.size,
        "latest",
        none,
        (ordered[0], ordered[-1]),
    )
    parts = np.flatnonzero(moments < begin), np.flatnonzero(moments >= begin)
    for name, rows in zip(("earlier", "latest"), parts, strict=True):
        n_positive = np.count_nonzero(labels[rows])
        if n_positive in (0, rows.size):
            raise ValueError(
                f"the {name} rows must hold both classes; got {n_positive} positives in "
                f"{rows.size} rows; bring data of a longer period, or leave out time."
            )
    return parts


def checked_gap(gap: Any, span: np.timedelta64) -> np.timedelta64:
    """Return `gap`, or the default for rows of such a span.

    >>> checked_gap(None, span=np.timedelta64(35, "D")).astype("timedelta64[D]")
    np.timedelta64(3,'D')
    """
    return _default_gap(span) if gap is None else span_of(gap, "gap")


def _default_gap(span: np.timedelta64) -> np.timedelta64:
    if span >= 70 * DAY:
        return (7 * DAY).astype("timedelta64[us]")
    gap = span // 10
    return gap // DAY * DAY.astype("timedelta64[us]") if gap >= DAY else gap


def _nearest_cut(
    ordered: NDArray[np.datetime64],
    cuts: NDArray[np.datetime64],
    n_before: float,
    part: str,
    gap: np.timedelta64,
    period: tuple[np.datetime64, np.datetime64],
) -> np.datetime64:
    """Return the cut with the nearest to `n_before` rows before it, and rows on both sides."""
    rows_before = np.searchsorted(ordered, cuts)
    usable = (rows_before > 0) & (rows_before < ordered.size)
    if n_before <= 0 or not usable.any():
        raise ValueError(
            f"there would be no {part} rows: the times go from {_shown(period[0])} to "
            f"{_shown(period[1])}, and {in_words(gap)} are left out before the test; choose a "
            "shorter `gap`, bring rows of a longer period, or leave out `time` to split the rows "
            "at random."
        )
    distance = np.where(usable, np.abs(rows_before - n_before), np.inf)
    return cuts[distance.argmin()]


def _shown(moment: np.datetime64) -> str:
    return str(moment.astype("datetime64[s]")).replace("T", " ")


def _split_at(
    moments: NDArray[np.datetime64],
    validation_begin: np.datetime64,
    validation_end: np.datetime64,
    test_begin: np.datetime64,
) -> Split:
    bounds = np.array([validation_begin, validation_end, test_begin])
    side = np.searchsorted(bounds, moments, side="right")
    train, validation, gap, test = (np.flatnonzero(side == number) for number in range(4))
    parts = {"train": train, "validation": validation, "test": test}
    periods = {part: (moments[rows].min(), moments[rows].max()) for part, rows in parts.items()}
    return Split(**parts, gap=gap, periods=periods)
