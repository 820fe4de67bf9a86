"""Rows split at random, positives and negatives alike."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.splits.parts import Split, check_shares


def stratified(
    is_positive: ArrayLike,
    *,
    validation: float = 0.15,
    test: float = 0.25,
    random_state: int = 0,
) -> Split:
    """Return a random split whose parts have the same share of positives, and at least one each.

    >>> is_positive = np.arange(200) < 20
    >>> split = stratified(is_positive)
    >>> [int(is_positive[rows].sum()) for rows in split.parts().values()]
    [12, 3, 5]
    """
    check_shares(validation, test)
    labels = checks.positives(is_positive, "is_positive")
    shuffled = _shuffled_classes(labels, 3, "part", random_state)
    classes = [_split_class(rows, validation, test) for rows in shuffled]
    # classes = [positives, negatives], each a triple of train, validation, test
    joined = (np.sort(np.concatenate(rows)) for rows in zip(*classes, strict=True))
    train_rows, validation_rows, test_rows = joined
    return Split(train_rows, validation_rows, test_rows, gap=np.empty(0, dtype=np.int64))


def held_out(
    is_positive: ArrayLike,
    share: float,
    random_state: int = 0,
    groups: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows to keep and rows to hold out, drawn at random, both classes on both sides.

    With `groups`, a number per row, whole groups are drawn: positive ones, with a positive row,
    and the others.

    >>> kept, apart = held_out(np.arange(100) < 2, share=0.15)
    >>> kept.size, apart.size
    (84, 16)
    """
    labels = checks.positives(is_positive, "is_positive")
    if groups is not None:
        numbers, place = np.unique(groups, return_inverse=True)
        of_groups = np.bincount(place, labels, numbers.size) > 0
        is_apart = np.isin(place, held_out(of_groups, share, random_state)[1])
        return np.flatnonzero(~is_apart), np.flatnonzero(is_apart)
    apart = [
        rows[: min(max(round(share * rows.size), 1), rows.size - 1)]
        for rows in _shuffled_classes(labels, 2, "side", random_state)
    ]
    chosen = np.isin(np.arange(labels.size), np.concatenate(apart))
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def folds(
    is_positive: ArrayLike, n_folds: int, random_state: int = 0
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the rows to learn from and the held-out rows of each fold, classes spread evenly.

    One fold holds out a fifth of the rows; with more, every row is held out once.

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
                f"there must be at least {least} {kind} to split the rows, one for each {place}; "
                f"got {rows.size} in {labels.size:,} rows; bring more labelled rows."
            )
        classes.append(rows)
    return classes


def _split_class(
    rows: NDArray[np.int64], validation: float, test: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    # Whatever the shares round to, one row is left for every part.
    n_test = min(max(round(test * rows.size), 1), rows.size - 2)
    n_validation = min(max(round(validation * rows.size), 1), rows.size - 1 - n_test)
    # rows = [test | validation | train]
    n_held_out = n_test + n_validation
    return rows[n_held_out:], rows[n_test:n_held_out], rows[:n_test]
