"""A model as a running desk uses it: loaded beside the one in use, and ready to score."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.live.engine.payment_scores import Scorer
from toprank.live.messages import Payment, PaymentField
from toprank.payments.model_files import read_version
from toprank.payments.payment_model import PaymentModel


class ServedModel(NamedTuple):
    """A model that shares the history of the one in use; `name` is that of its file."""

    name: str
    model: PaymentModel
    scorer: Scorer


def made_up_payment(fields: Sequence[PaymentField], now: int) -> Payment:
    """Return a payment to warm up with: nobody has made it, and nothing remembers it."""
    values = {"number": 1.0, "text": "none", "boolean": False, "time": 0}
    return Payment("none", "none", "none", now, {each.name: values[each.kind] for each in fields})


def load_beside(in_use: PaymentModel, path: Path, fields: Sequence[PaymentField]) -> ServedModel:
    """Return the model in a file, warmed up; slow, so it is for a thread of its own."""
    model = read_version(in_use, path)
    scorer = Scorer(model)
    assert model.state_ is not None
    features: NDArray[np.float64] = np.zeros((1, len(model.state_.history.names)))
    found = scorer.score([made_up_payment(fields, 0)], features)
    scorer.sentences(found.encoded)
    return ServedModel(path.name, model, scorer)
