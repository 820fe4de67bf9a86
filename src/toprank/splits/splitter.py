"""Prequential folds as scikit-learn wants them: `cross_val_score(ranker, X, y, cv=...)`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.splits.time_folds import prequential


@dataclass(eq=False)
class PrequentialSplit:
    """The folds of `prequential` for scikit-learn's searches and scores.

    `time` holds the moment of each row, or names the column of `X` that does. The `groups` given
    to the search, if any, are the cards, and its `y` the labels that `card_rule="known"` needs.

    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> time = np.datetime64("2025-01-01", "us") + np.arange(60) * np.timedelta64(1, "D")
    >>> X, y = np.zeros((60, 1)), np.arange(60) % 2
    >>> cross_val_score(DummyClassifier(), X, y, cv=PrequentialSplit(time, n_folds=3)).size
    3
    """

    time: Any = field(repr=False)
    n_folds: int = 4
    train: Any = "7d"
    delay: Any = "7d"
    test: Any = "7d"
    start: Any = None
    card_rule: str = "known"
    random_state: int = 0

    def split(
        self, X: Any, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the rows to train on and the rows to test on, fold by fold."""
        folds = prequential(
            self._moments(X),
            n_folds=self.n_folds,
            train=self.train,
            delay=self.delay,
            test=self.test,
            start=self.start,
            cards=groups,
            is_positive=y,
            card_rule=self.card_rule,
            random_state=self.random_state,
        )
        for fold in folds:
            yield fold.train, fold.test

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_folds

    def _moments(self, X):
        if isinstance(self.time, str):
            return _column(X, self.time)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if len(self.time) != n_rows:
            raise ValueError(
                f"time must have one moment for each of the {n_rows} rows of X; got "
                f"{len(self.time)}. To split parts of a table, name its time column instead."
            )
        return self.time


def _column(X, name):
    names = [str(column) for column in getattr(X, "columns", [])]
    if name not in names:
        hint = checks.nearest_name(name, names) if names else "; X has no named columns"
        raise ValueError(f"time column {name!r} is not in X{hint or '.'}")
    return np.asarray(X[name])
