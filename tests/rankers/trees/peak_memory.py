"""The most memory that a fit takes in addition to its rows, as NumPy reports it."""

import tracemalloc
from collections.abc import Callable

import numpy as np


def rows_of_forty_columns(n_rows: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n_rows, 40), dtype=np.float32)


def peak_over_rows(features: np.ndarray, fit: Callable[[int], object]) -> float:
    """Return the peak while `fit` learns from all rows, over their size; the lower of two.

    `fit` takes how many rows, the first ones, to learn from: a few come first, so that what is
    loaded and compiled for them is not counted. Nor are the arrays that kernels allocate. Other
    threads of a test process allocate as well, and can only add.
    """
    fit(1000)
    return min(_peak(fit, len(features)) for _ in range(2)) / features.nbytes


def _peak(fit: Callable[[int], object], n_rows: int) -> int:
    tracemalloc.start()
    try:
        fit(n_rows)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
