"""Rows held out in turn, the same way wherever a tree is judged."""

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

_N_FOLDS = 5


def stratified_folds(
    is_positive: NDArray[np.bool_], seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the rows to learn from and those held out, five times.

    A class of fewer rows than that gives as many folds as it has rows.

    >>> labels = np.array([True, True, True, False, False, False, False])
    >>> [held_out.size for _, held_out in stratified_folds(labels, seed=0)]
    [3, 2, 2]
    """
    rarer = min(np.count_nonzero(is_positive), np.count_nonzero(~is_positive))
    if rarer < 2:
        raise ValueError(
            f"cross-validation must have at least two rows of either class; got {rarer} of one. "
            "Name the depths, or leave the tree unpruned."
        )
    folds = StratifiedKFold(min(_N_FOLDS, rarer), shuffle=True, random_state=seed)
    return list(folds.split(is_positive, is_positive))
