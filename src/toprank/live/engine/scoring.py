"""What the model says of payments, by their features of the moment they came in."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.data.inputs import Encoded
from toprank.live.engine.alerting import Sentences
from toprank.live.messages import Payment
from toprank.payments.payment_model import PaymentModel
from toprank.rankers import reasons

_N_REASONS = 5


class Scores(NamedTuple):
    """Suspicion and probability of payments, and the rows that the model saw."""

    suspicion: NDArray[np.float64]
    probability: NDArray[np.float64]
    rows: NDArray[np.float32]


def score(
    model: PaymentModel, payments: Sequence[Payment], features: NDArray[np.float64]
) -> Scores:
    """Return what the model says of payments: bit for bit as in a table."""
    assert model.state_ is not None
    names = model.state_.history.names
    encode = model.ranker_.schema_.encode_row
    rows = np.stack(
        [
            encode({**dict(zip(names, row, strict=True)), **payment.body})
            for payment, row in zip(payments, features.tolist(), strict=True)
        ]
    )
    suspicion = model.ranker_.suspicion(Encoded(rows))
    return Scores(suspicion, model.ranker_.calibration_.probability(suspicion), rows)


def sentences(model: PaymentModel, rows: NDArray[np.float32]) -> list[Sentences]:
    """Return the reasons for scored rows, in sentences."""
    if not len(rows):
        return []
    found = reasons.reasons_for_list(model.ranker_, Encoded(rows), _N_REASONS, model.describer())
    return [
        Sentences(
            [str(each) for each in row.reasons] or row.together,
            [str(each) for each in row.less_suspicious],
        )
        for row in found
    ]
