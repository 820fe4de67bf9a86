"""Rows parted into train, validation and test, by time or by chance.

A ranker is judged on payments that came after those it learned from. Between validation and
test lies a gap: rows whose labels would not be known yet on the day the test begins.

    time ->   [ train | validation | gap | test ]
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank import checks

DAY = np.timedelta64(1, "D")


@dataclass(frozen=True, eq=False)
class Split:
    """The row numbers of each part, ascending; `gap` holds the rows that no part may use.

    `periods` gives the first and the last moment of each part when the split was made by time.
    """

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]
    gap: NDArray[np.int64]
    periods: dict[str, tuple[np.datetime64, np.datetime64]] | None = None

    def parts(self) -> dict[str, NDArray[np.int64]]:
        """Return the rows of train, validation and test under their names."""
        return {"train": self.train, "validation": self.validation, "test": self.test}


def chronological(
    time: ArrayLike,
    *,
    validation: float = 0.15,
    test: float = 0.25,
    gap: np.timedelta64 | None = None,
) -> Split:
    """Return the split in which validation follows train, and test follows both after a gap.

    `validation` and `test` are shares of all rows, met as nearly as whole moments allow: rows of
    equal time stay together, and when the rows span 20 days or more, validation and test begin at
    midnight. Left alone, `gap` is 7 days, or a tenth of a span shorter than 70 days.

    >>> time = np.datetime64("2025-01-01T12:00", "us") + np.arange(100) * np.timedelta64(1, "D")
    >>> split = chronological(time)
    >>> [rows.size for rows in (split.train, split.validation, split.gap, split.test)]
    [53, 15, 7, 25]
    >>> print(*split.periods["test"])
    2025-03-17T12:00:00.000000 2025-04-10T12:00:00.000000
    """
    _check_shares(validation, test)
    moments = _moments(time)
    ordered = np.sort(moments)
    span = ordered[-1] - ordered[0]
    gap = checked_gap(gap, span)
    cuts = np.unique(moments.astype("datetime64[D]") if span >= 20 * DAY else moments)
    cuts = cuts.astype(ordered.dtype)

    test_begin = _nearest_cut(ordered, cuts, (1 - test) * ordered.size, "test", gap)
    validation_end = test_begin - gap
    before = ordered[: np.searchsorted(ordered, validation_end)]
    n_train = before.size - validation * ordered.size
    emptied = "train" if before.size else "validation"
    validation_begin = _nearest_cut(before, cuts, n_train, emptied, gap)
    return _split_at(moments, validation_begin, validation_end, test_begin)


def stratified(
    is_positive: ArrayLike,
    *,
    validation: float = 0.15,
    test: float = 0.25,
    random_state: int = 0,
) -> Split:
    """Return a random split whose parts hold the same share of positives, and at least one each.

    >>> is_positive = np.arange(200) < 20
    >>> split = stratified(is_positive)
    >>> [int(is_positive[rows].sum()) for rows in split.parts().values()]
    [12, 3, 5]
    """
    _check_shares(validation, test)
    labels = checks.positives(is_positive, "is_positive")
    shuffled = _shuffled_classes(labels, 3, "part", random_state)
    classes = [_parted(rows, validation, test) for rows in shuffled]
    # classes = [positives, negatives], each a triple of train, validation, test
    joined = (np.sort(np.concatenate(rows)) for rows in zip(*classes, strict=True))
    train_rows, validation_rows, test_rows = joined
    return Split(train_rows, validation_rows, test_rows, gap=np.empty(0, dtype=np.int64))


def held_out(
    is_positive: ArrayLike, share: float, random_state: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to keep and the rows to hold out, at random, both classes on both sides.

    >>> kept, apart = held_out(np.arange(100) < 2, share=0.15)
    >>> kept.size, apart.size
    (84, 16)
    """
    labels = checks.positives(is_positive, "is_positive")
    apart = [
        rows[: min(max(round(share * rows.size), 1), rows.size - 1)]
        for rows in _shuffled_classes(labels, 2, "side", random_state)
    ]
    chosen = np.isin(np.arange(labels.size), np.concatenate(apart))
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def folds(
    is_positive: ArrayLike, n_folds: int, random_state: int = 0
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the rows to learn from and the rows apart for each fold, classes spread evenly.

    One fold holds a fifth of the rows apart; with more, every row is apart once.

    >>> [apart.size for _, apart in folds(np.arange(100) < 10, n_folds=5)]
    [20, 20, 20, 20, 20]
    """
    if checks.whole_number(n_folds, "n_folds", 1) == 1:
        return [held_out(is_positive, 0.2, random_state)]
    labels = checks.positives(is_positive, "is_positive")
    parts = [
        np.array_split(rows, n_folds)
        for rows in _shuffled_classes(labels, n_folds, "fold", random_state)
    ]
    # the larger parts of one class meet the smaller ones of the other
    aparts = [
        np.sort(np.concatenate([a, b])) for a, b in zip(parts[0], parts[1][::-1], strict=True)
    ]
    everything = np.arange(labels.size)
    return [(np.setdiff1d(everything, apart), apart) for apart in aparts]


def latest(
    time: ArrayLike, is_positive: ArrayLike, share: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the earlier rows and the latest ones, parted at the moment nearest to `share`.

    Rows of equal time stay together.

    >>> time = np.datetime64("2025-01-01", "D") + np.arange(10)
    >>> latest(time, [0, 1] * 5, 0.2)[1]
    array([8, 9])
    """
    checks.number_above(share, "share", 0, 0.99)
    moments = _moments(time)
    labels = checks.positives(is_positive, "is_positive")
    if moments.size != labels.size:
        raise ValueError(f"time must have one moment a row; got {moments.size} for {labels.size}.")
    ordered = np.sort(moments)
    if ordered[0] == ordered[-1]:
        raise ValueError(
            f"time must hold at least two moments to tell earlier rows from the latest; all "
            f"{ordered.size} rows are of {ordered[0]}."
        )
    none = np.timedelta64(0, "us")
    begin = _nearest_cut(ordered, np.unique(ordered), (1 - share) * ordered.size, "latest", none)
    parts = np.flatnonzero(moments < begin), np.flatnonzero(moments >= begin)
    for name, rows in zip(("earlier", "latest"), parts, strict=True):
        n_positive = np.count_nonzero(labels[rows])
        if n_positive in (0, rows.size):
            raise ValueError(
                f"the {name} rows must hold both classes; got {n_positive} positives in "
                f"{rows.size} rows. Bring data of a longer period, or leave out time."
            )
    return parts


def check_positives(split: Split, is_positive: ArrayLike) -> None:
    """Raise a ValueError unless every part of `split` holds both classes.

    >>> check_positives(stratified([0, 1] * 10), [0, 1] * 10)
    """
    labels = checks.positives(is_positive, "is_positive")
    n_rows = 1 + max(int(rows.max(initial=-1)) for rows in split.parts().values())
    if labels.size < n_rows:
        raise ValueError(
            f"is_positive must have a value for each of the {n_rows} rows; got {labels.size}."
        )
    for part, rows in split.parts().items():
        n_positive = np.count_nonzero(labels[rows])
        if n_positive in (0, rows.size):
            raise ValueError(
                f"the {part} part must hold both classes; got {n_positive} positives in "
                f"{rows.size} rows. Give it a larger share, or bring data of a longer period."
            )


def days(time: ArrayLike) -> NDArray[np.int64]:
    """Return the day of each moment, counted in UTC from the day of the earliest one.

    >>> days(np.array(["2025-01-01T23:59", "2025-01-02T00:00"], dtype="datetime64[us]"))
    array([0, 1])
    """
    dates = _moments(time).astype("datetime64[D]")
    return (dates - dates.min()).astype(np.int64)


def checked_gap(gap: np.timedelta64 | None, span: np.timedelta64) -> np.timedelta64:
    """Return `gap` or, left alone, the one that suits rows of such a span.

    >>> checked_gap(None, span=np.timedelta64(35, "D")).astype("timedelta64[D]")
    np.timedelta64(3,'D')
    """
    if gap is None:
        return _default_gap(span)
    if not isinstance(gap, np.timedelta64) or np.isnat(gap):
        raise TypeError(
            f"gap must be a np.timedelta64 such as np.timedelta64(7, 'D'); got {gap!r}."
        )
    if gap < np.timedelta64(0, "us"):
        raise ValueError(f"gap must not be negative; got {gap}.")
    return gap.astype("timedelta64[us]")


def _moments(time: ArrayLike) -> NDArray[np.datetime64]:
    moments = np.asarray(time)
    if moments.dtype.kind != "M":
        raise TypeError(
            f"time must hold moments of type datetime64; got {moments.dtype}. "
            f"Convert it with `np.asarray(time, dtype='datetime64[us]')`."
        )
    if moments.ndim != 1 or moments.size == 0:
        raise ValueError(
            f"time must be a vector of at least one moment; got shape {moments.shape}."
        )
    n_missing = np.count_nonzero(np.isnat(moments))
    if n_missing:
        raise ValueError(f"time must not be missing; it is in {n_missing} of {moments.size} rows.")
    return moments.astype("datetime64[us]")


def _check_shares(validation: float, test: float) -> None:
    checks.number_above(validation, "validation", 0, 1)
    checks.number_above(test, "test", 0, 1)
    if validation + test >= 1:
        raise ValueError(
            f"validation and test must leave rows to train on, so their sum must be below 1; "
            f"got {validation:g} + {test:g}."
        )


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
) -> np.datetime64:
    """Return the cut with the nearest to `n_before` rows before it, and rows on both sides."""
    rows_before = np.searchsorted(ordered, cuts)
    usable = (rows_before > 0) & (rows_before < ordered.size)
    if n_before <= 0 or not usable.any():
        raise ValueError(
            f"the {part} part would be empty. Choose a smaller gap (it is {_in_words(gap)}), "
            f"smaller shares for validation and test, or rows spread over more moments."
        )
    distance = np.where(usable, np.abs(rows_before - n_before), np.inf)
    return cuts[distance.argmin()]


def _shuffled_classes(
    labels: NDArray[np.bool_], least: int, place: str, random_state: int
) -> list[NDArray[np.int64]]:
    """Return the rows of the positives and of the negatives, shuffled; `least` of each."""
    generator = np.random.default_rng(random_state)
    classes = []
    for kind, members in (("positives", labels), ("negatives", ~labels)):
        rows = generator.permutation(np.flatnonzero(members))
        if rows.size < least:
            raise ValueError(
                f"is_positive must hold at least {least} {kind}, one for each {place}; got "
                f"{rows.size} of {labels.size}."
            )
        classes.append(rows)
    return classes


def _parted(
    rows: NDArray[np.int64], validation: float, test: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    # Whatever the shares round to, one row is left for every part.
    n_test = min(max(round(test * rows.size), 1), rows.size - 2)
    n_validation = min(max(round(validation * rows.size), 1), rows.size - 1 - n_test)
    # rows = [test | validation | train]
    n_held_out = n_test + n_validation
    return rows[n_held_out:], rows[n_test:n_held_out], rows[:n_test]


def _in_words(gap: np.timedelta64) -> str:
    return f"{gap / DAY:g} days" if gap >= DAY else f"{gap / np.timedelta64(1, 'h'):g} hours"


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
