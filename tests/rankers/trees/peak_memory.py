"""The most memory that a fit takes in addition to its rows, as NumPy reports it."""

import tracemalloc
from collections.abc import Callable

import numpy as np


def rows_of_forty_columns(n_rows: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n_rows, 40), dtype=np.float32)


def peak_over_rows(features: np.ndarray, fit: Callable[[int], object]) -> float:
    """Return the peak while `fit` learns from all rows, over their size.

    `fit` takes how many rows, the first ones, to learn from: a few come first, so that what is
    loaded and compiled for them is not counted. Nor are the arrays that kernels allocate.
    """
    fit(1000)
    tracemalloc.start()
    try:
        fit(len(features))
        return tracemalloc.get_traced_memory()[1] / features.nbytes
    finally:
        tracemalloc.stop()
