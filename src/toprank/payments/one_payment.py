"""The score of one payment, with its reasons."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from toprank.data import checks
from toprank.data.inputs import Encoded
from toprank.payments.far_times import check_one
from toprank.payments.features import cells
from toprank.payments.roles import row_of
from toprank.rankers import reasons
from toprank.rankers.reasons import ScoredRow

FeaturesOfOne = Callable[[Mapping[str, Any]], Mapping[str, float]]


def scored_payment(
    model: Any, payment: Mapping[str, Any], n_reasons: int, features_of: FeaturesOfOne | None
) -> ScoredRow:
    """Return the score of a payment; `features_of` looks at it or remembers it, None does not."""
    checks.whole_number(n_reasons, "n_reasons", 0)
    if features_of is None:
        return _explained(model, payment, n_reasons)
    history = model.state_.history
    row = model.stored_cards_.in_row(row_of(history, payment, model.classes_), model.card)
    # what cannot be scored must not be remembered either
    model.ranker_.schema_.encode_row({**row, **dict.fromkeys(history.names, math.nan)})
    if features_of != model.state_.look:
        moment = np.datetime64(cells.instant(row.get(history.time), history.time), "us")
        check_one(moment, history.time, history.until)
    return _explained(model, {**row, **features_of(row)}, n_reasons)


def _explained(model: Any, row: Mapping[str, Any], n_reasons: int) -> ScoredRow:
    """Return the score of one row, with reasons as on a list."""
    scored = model.ranker_.explain_one(row, 0)
    encoded = Encoded(model.ranker_.schema_.encode_row(row)[np.newaxis])
    (found,) = reasons.reasons_for_list(model.ranker_, encoded, n_reasons, model.describer())
    return ScoredRow(scored.suspicion, scored.probability, *found[:2])
