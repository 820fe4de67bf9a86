"""Metrics by name, as experiments write them.

`precision_at_k(100%)` looks at as many rows as the test has positives, `recall_at_k(50)` at 50.
"""

import re
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from toprank import metrics
from toprank.data import checks

Figure = Callable[[NDArray[np.bool_], NDArray[np.float64]], float]

_POINTS: dict[str, Figure] = {
    "average_precision": metrics.average_precision,
    "roc_auc": metrics.roc_auc,
    "positives_at_top": metrics.positives_at_top,
    "best_f1": lambda y, suspicion: metrics.best_f_beta(y, suspicion).value,
}
_AT_K = {
    "precision_at_k": metrics.precision_at_k,
    "recall_at_k": metrics.recall_at_k,
}
_WITH_K = re.compile(r"(\w+)\((\d+)(%?)\)")


def figure(name: str) -> Figure:
    """Return the metric of this name.

    >>> figure("precision_at_k(100%)")(np.array([True, False]), np.array([0.9, 0.1]))
    1.0
    """
    if name in _POINTS:
        return _POINTS[name]
    match = _WITH_K.fullmatch(name)
    if match and match[1] in _AT_K and int(match[2]) >= 1:
        metric, number, is_share = _AT_K[match[1]], int(match[2]), bool(match[3])
        return lambda y, suspicion: metric(y, suspicion, _k(y, number, is_share))
    known = [*_POINTS, *(f"{each}(100%)" for each in _AT_K)]
    hint = checks.nearest_name(name, known) or f"; known are {', '.join(known)}."
    raise ValueError(f"metric {name!r} is not known{hint}")


def figures(
    names: Iterable[str], is_positive: NDArray[np.bool_], suspicion: NDArray[np.float64]
) -> dict[str, float]:
    """Return every metric of one ranking.

    >>> figures(["roc_auc"], np.array([True, False]), np.array([0.9, 0.1]))
    {'roc_auc': 1.0}
    """
    return {name: float(figure(name)(is_positive, suspicion)) for name in names}


def _k(is_positive: NDArray[np.bool_], number: int, is_share: bool) -> int:
    n_positive = int(np.count_nonzero(is_positive))
    k = int(number * n_positive / 100) if is_share else number
    return min(max(1, k), is_positive.size)
