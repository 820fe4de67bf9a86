"""Early stopping in the words of each library: trees are added until they no longer help.

What helps is judged on rows apart, by average precision where a library measures it quickly, by
log-loss otherwise.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROUNDS = 50  # trees without a gain, after which no more are grown
Rows = tuple[NDArray[np.float32], NDArray[np.int64]]
"""Columns and labels of 0 and 1."""


class EarlyStopping(NamedTuple):
    """How an estimator learns until judged rows gain no more, and what it calls its trees.

    `fit(estimator, rows, judged)` returns the number of trees that were best.
    """

    fit: Callable[[Any, Rows, Rows], int]
    trees: str = "n_estimators"


def _lightgbm(estimator: Any, rows: Rows, judged: Rows) -> int:
    from lightgbm import early_stopping

    estimator.set_params(metric="average_precision")
    estimator.fit(*rows, eval_set=[judged], callbacks=[early_stopping(ROUNDS, verbose=False)])
    return estimator.best_iteration_


def _xgboost(estimator: Any, rows: Rows, judged: Rows) -> int:
    estimator.set_params(eval_metric="aucpr", early_stopping_rounds=ROUNDS)
    estimator.fit(*rows, eval_set=[judged], verbose=False)
    return estimator.best_iteration + 1


def _catboost(estimator: Any, rows: Rows, judged: Rows) -> int:
    estimator.fit(*rows, eval_set=judged, early_stopping_rounds=ROUNDS, use_best_model=True)
    return estimator.tree_count_


def _histogram_boosting(estimator: Any, rows: Rows, judged: Rows) -> int:
    estimator.set_params(early_stopping=True, n_iter_no_change=ROUNDS, scoring="loss")
    estimator.fit(*rows, X_val=judged[0], y_val=judged[1])
    return max(int(np.argmax(estimator.validation_score_)), 1)  # the first is that of no tree


LIGHTGBM = EarlyStopping(_lightgbm)
XGBOOST = EarlyStopping(_xgboost)
CATBOOST = EarlyStopping(_catboost)
HISTOGRAM_BOOSTING = EarlyStopping(_histogram_boosting, "max_iter")
