"""Small sets that come with scikit-learn, one class of each against the others."""

from typing import NamedTuple

import pyarrow as pa
from sklearn import datasets as sklearn_datasets

from toprank_bench.datasets.dataset import Dataset, from_table
from toprank_bench.datasets.places import NotHere


class _Task(NamedTuple):
    loader: str
    positive_class: int


_TASKS = {
    "sklearn_breast_cancer": _Task("load_breast_cancer", 0),
    "sklearn_wine_2": _Task("load_wine", 2),
    "sklearn_digits_8": _Task("load_digits", 8),
}


def find(name: str) -> Dataset | NotHere:
    """Return one of scikit-learn's own sets with its rare class marked."""
    if name not in _TASKS:
        return NotHere("scikit-learn's own sets")
    task = _TASKS[name]
    bunch = getattr(sklearn_datasets, task.loader)()
    columns = dict(zip(map(str, bunch.feature_names), bunch.data.T, strict=True))
    columns |= {"label": bunch.target, "y": bunch.target == task.positive_class}
    return from_table(name, pa.table(columns), f"scikit-learn's {task.loader}")


def names() -> list[str]:
    """Return the names of the sets that scikit-learn brings along."""
    return list(_TASKS)
