"""The folds by which trees are judged."""

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

_N_FOLDS = 5


def stratified_folds(
    is_positive: NDArray[np.bool_], seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the training rows and the held-out rows of each of five folds.

    If a class has fewer than five rows, there are as many folds as it has rows.

    >>> labels = np.array([True, True, True, False, False, False, False])
    >>> [held_out.size for _, held_out in stratified_folds(labels, seed=0)]
    [3, 2, 2]
    """
    fewest = min(np.count_nonzero(is_positive), np.count_nonzero(~is_positive))
    if fewest < 2:
        raise ValueError(
            f"cross-validation must have at least two rows of each class; got {fewest} of one. "
            "Set the depths, or do not prune the tree."
        )
    folds = StratifiedKFold(min(_N_FOLDS, fewest), shuffle=True, random_state=seed)
    return list(folds.split(is_positive, is_positive))
