"""Score, probability and reasons of a single row, without building a table."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks, inputs
from toprank.data.tables import Schema
from toprank.rankers import reasons


class SingleRowScoring:
    """What rankers and detectors do with one row, given as a dict.

    The results are identical, to the last bit, to those of a table with this row. When payments
    are scored as they arrive, building such a table would take longer than everything else.
    """

    schema_: Schema

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        raise NotImplementedError

    def score_one(self, row: Mapping[str, Any]) -> float:
        """Return the suspicion of one row, a mapping of column names to values.

        Other names are ignored. A ranker fitted on an array names its columns x0, x1
        and so on.

        >>> from toprank import BoostedRanker
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> ranker = BoostedRanker(n_estimators=20).fit(X, X[:, 0] > 1.5)
        >>> ranker.score_one({"x0": 2.5, "x1": 0.0}) == ranker.suspicion([[2.5, 0.0]])[0]
        np.True_
        """
        return float(self._raw(self._one_encoded(row))[0])

    def explain_one(self, row: Mapping[str, Any], n_reasons: int = 5) -> reasons.Explained:
        """Return the suspicion of one row, its probability and what moved it most.

        The reasons are those of `toprank.explain`; a learner without contributions gives
        none. The probability is None if there were no labels to learn it from.

        >>> from toprank import BoostedRanker
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> ranker = BoostedRanker(n_estimators=20).fit(X, X[:, 0] > 1.5)
        >>> suspicion, probability, why = ranker.explain_one({"x0": 2.5, "x1": 0.0})
        >>> probability > 0.5, why[0].feature, why[0].value
        (True, 'x0', '2.50')
        """
        checks.whole_number(n_reasons, "n_reasons", 0)
        return reasons.explain_encoded(self, self._one_encoded(row), n_reasons)[0]

    def _one_encoded(self, row: Mapping[str, Any]) -> NDArray[np.float32]:
        inputs.check_fitted(self)
        return self.schema_.encode_row(row)[None, :]
