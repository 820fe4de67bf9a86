"""Rows to race on: made up from a seed or, where the shape is that of a public set, that set."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank_bench.datasets import local
from toprank_bench.datasets.dataset import Dataset

SEED = 0


class LabelledRows(NamedTuple):
    """Features, which rows are positive, and where they are from."""

    features: NDArray[np.float32]
    is_positive: NDArray[np.bool_]
    source: str = "made up"


def rare_positives(n_rows: int, n_columns: int) -> LabelledRows:
    """Return rows of which about 2 in 1,000 are positive.

    >>> rare_positives(10_000, 5).is_positive.sum().item()
    24
    """
    generator = np.random.default_rng(SEED)
    features = generator.standard_normal((n_rows, n_columns), dtype=np.float32)
    score = features[:, 0] + features[:, 1] * features[:, 2]
    score += generator.standard_normal(n_rows, dtype=np.float32)
    is_positive = score > 5.2
    is_positive[np.argmax(score)] = True  # few rows may hold none
    return LabelledRows(features, is_positive)


def rows_like(name: str, n_rows: int, n_columns: int, folder: Path | None) -> LabelledRows:
    """Return rows of a public set that is in the folder, otherwise made-up ones of its shape."""
    found = local.find(name, folder)
    if not isinstance(found, Dataset):
        return rare_positives(n_rows, n_columns)
    columns = [column.to_numpy() for column in found.X.columns]
    step = max(found.X.num_rows // n_rows, 1)
    features = np.column_stack(columns).astype(np.float32)[::step][:n_rows]
    return LabelledRows(features, found.is_positive[::step][:n_rows], name)
