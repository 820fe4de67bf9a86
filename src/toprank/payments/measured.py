"""How well a payment model ranks labelled rows."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from toprank.data import tables
from toprank.data.tables import TableWarning
from toprank.workflow import evaluation
from toprank.workflow.evaluation import Evaluation


def evaluated(
    model: Any, batches: Iterable[pa.Table], k: int | None, label: str | None, time: str | None
) -> Evaluation:
    """Return how well a model ranks tables that have their features, one list per day."""
    label = label or model.label_column
    facts: list[pa.Table] = []
    suspicion = []
    for batch in batches:
        if not facts:
            time = time or _fitted_time(model, batch)
            named = [name for name in (label, time, model.card, model.amount) if name]
        tables.check_columns(named, batch.column_names)
        facts.append(batch.select(list(dict.fromkeys(named))))
        suspicion.append(model.ranker_.suspicion(batch))
    if not facts:
        raise ValueError("there are no rows to measure the model on.")
    return evaluation.evaluate_rows(
        model.ranker_,
        pa.concat_tables(facts, promote_options="permissive"),
        np.concatenate(suspicion),
        label=label,
        time=time,
        budget=model.budget if k is None else k,
        card=model.card,
        amount=model.amount,
    )


def _fitted_time(model: Any, batch: pa.Table) -> str | None:
    """Return the column of times that the model was fitted with, if the rows have it."""
    if model.time is None or model.time in batch.column_names:
        return model.time
    warnings.warn(
        f"there is no column {model.time!r}; all rows are ranked as one list.",
        TableWarning,
        stacklevel=4,
    )
    return None
