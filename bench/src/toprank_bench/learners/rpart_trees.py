"""Classification trees with the defaults of rpart, the trees of R.

rpart splits nodes of 20 rows or more into parts of 7 or more, and keeps a split only where more
rows are then classified correctly. With 6 positives among 1,000 rows hardly any split is kept.
"""

from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from toprank.data.tables import Schema


class RpartTree:
    """One tree; the suspicion of a row is the class it predicts."""

    def __init__(self, seed: int) -> None:
        self.tree = rpart_tree(seed)

    def fit(self, features: pa.Table, is_positive: NDArray[np.bool_]) -> Self:
        """Learn to classify the rows."""
        self.schema_ = Schema.of(features)
        self.tree.fit(self.schema_.encode(features), is_positive)
        return self

    def suspicion(self, features: pa.Table) -> NDArray[np.float64]:
        """Return 1 for rows that are classified as positive, 0 for all others."""
        return self.tree.predict(self.schema_.encode(features)).astype(float)


def rpart_tree(seed: int) -> DecisionTreeClassifier:
    """Return a tree that is ready to fit."""
    return DecisionTreeClassifier(min_samples_split=20, min_samples_leaf=7, random_state=seed)
