"""Averages of rankers, and the logistic regression they are compared with."""

from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from toprank import BoostedRanker
from toprank.data import checks

_LEAST_CHANCE = 1e-4  # keeps log-odds finite where all trees of a forest agree


class ScaledLogistic:
    """Logistic regression of scaled columns, none of which may have gaps.

    Parameters are those of scikit-learn's LogisticRegression.
    """

    def __init__(self, seed: int, **parameters: Any) -> None:
        model = LogisticRegression(random_state=seed, **parameters)
        self.model = make_pipeline(StandardScaler(), model)

    def fit(self, features: pa.Table, is_positive: NDArray[np.bool_]) -> Self:
        """Learn to rank the positive rows first."""
        self.model.fit(_matrix(features), is_positive)
        return self

    def suspicion(self, features: pa.Table) -> NDArray[np.float64]:
        """Return one score per row, higher for what is more suspicious."""
        return self.model.decision_function(_matrix(features))


class BoostedAverage:
    """The mean of boosted rankers that differ in their seed and, optionally, part of a forest.

    `forest` is the weight of the log-odds of extremely randomised trees, which take gaps as 0.
    The other parameters are those of BoostedRanker.
    """

    def __init__(
        self, seed: int, *, members: int = 4, forest: float = 0.0, **parameters: Any
    ) -> None:
        checks.whole_number(members, "members", 1)
        self.members = [
            BoostedRanker(**parameters, positive_label=True, random_state=each, n_jobs=1)
            for each in range(seed, seed + members)
        ]
        self.weight = checks.number_from(forest, "forest", 0)
        self.forest = ExtraTreesClassifier(150, min_samples_leaf=5, random_state=seed)

    def fit(self, features: pa.Table, is_positive: NDArray[np.bool_]) -> Self:
        """Learn to rank the positive rows first."""
        for member in self.members:
            member.fit(features, is_positive)
        if self.weight:
            self.forest.fit(np.nan_to_num(_matrix(features)), is_positive)
        return self

    def suspicion(self, features: pa.Table) -> NDArray[np.float64]:
        """Return one score per row, higher for what is more suspicious."""
        mean = np.mean([member.suspicion(features) for member in self.members], axis=0)
        return mean + self.weight * self._log_odds(features) if self.weight else mean

    def _log_odds(self, features: pa.Table) -> NDArray[np.float64]:
        chance = self.forest.predict_proba(np.nan_to_num(_matrix(features)))[:, 1]
        return np.log((chance + _LEAST_CHANCE) / (1 - chance + _LEAST_CHANCE))


def _matrix(features: pa.Table) -> NDArray[np.float64]:
    columns = [column.to_numpy() for column in features.columns]
    return np.column_stack(columns).astype(np.float64)
