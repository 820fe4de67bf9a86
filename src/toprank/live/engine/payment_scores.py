"""What the model says of payments, by their features of the moment they came in."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toprank.data.inputs import Encoded
from toprank.live.engine.alerting import Sentences
from toprank.live.messages import Payment
from toprank.payments.payment_model import PaymentModel
from toprank.payments.row_scores import RowScores, ScoredRows

_N_REASONS = 5


class Scorer:
    """Scores payments by a model: bit for bit as in a table."""

    def __init__(self, model: PaymentModel) -> None:
        self._rows = RowScores(model)
        self._missing = dict.fromkeys([] if model.schema_ is None else model.schema_.names)

    def score(self, payments: Sequence[Payment], features: NDArray[np.float64]) -> ScoredRows:
        """Return suspicion and probability of payments; fields may be missing.

        So are features that are infinite: a ratio to next to nothing says nothing.
        """
        features = np.where(np.isinf(features), np.nan, features)
        return self._rows.scored([self._missing | each.body for each in payments], features)

    def sentences(self, rows: Encoded) -> list[Sentences]:
        """Return the reasons for scored rows, in sentences."""
        return [
            Sentences(
                [str(each) for each in row.reasons] or row.together,
                [str(each) for each in row.less_suspicious],
                [each.feature for each in row.reasons] or [""] * len(row.together),
            )
            for row in self._rows.reasons(rows, _N_REASONS)
        ]
