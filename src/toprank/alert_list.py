"""The rows to check: the most suspicious of a table too large to hold, with their reasons."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank import reasons
from toprank.metrics import Interval


@dataclass(frozen=True)
class AlertList:
    """The top rows, most suspicious first.

    `rows` holds them as they came; `row_numbers` counts from 1 in the order they were read.
    """

    rows: pa.Table
    row_numbers: NDArray[np.int64]
    suspicion: NDArray[np.float64]
    probability: NDArray[np.float64]
    reasons: list[list[reasons.Reason]]
    expected: Interval
    n_seen: int

    def to_table(self) -> pa.Table:
        """Return the list as one table: rank, row, suspicion, probability, reasons, then columns.

        A column of the data that has one of these names keeps it, with `data_` in front.
        """
        added = {
            "rank": np.arange(1, len(self.suspicion) + 1),
            "row": self.row_numbers,
            "suspicion": self.suspicion,
            "probability": self.probability,
            "reasons": [" | ".join(map(str, row)) for row in self.reasons],
        }
        columns = {name: pa.array(values) for name, values in added.items()}
        for name in self.rows.column_names:
            columns[f"data_{name}" if name in added else name] = self.rows[name]
        return pa.table(columns)


def top_alerts(
    ranker: Any, batches: Iterable[pa.Table], budget: int, n_reasons: int = 5
) -> AlertList:
    """Return the `budget` most suspicious rows of all batches; of equals, the earlier.

    Only one batch and the best rows so far are held at any time.
    """
    best: pa.Table | None = None
    scores, numbers, n_seen = np.empty(0), np.empty(0, dtype=np.int64), 0
    for batch in batches:
        batch_scores = ranker.suspicion(batch)
        batch_numbers = np.arange(n_seen + 1, n_seen + len(batch_scores) + 1)
        n_seen += len(batch_scores)
        chosen = np.argsort(-batch_scores, kind="stable")[:budget]
        top = batch.take(chosen)
        best = top if best is None else pa.concat_tables([best, top], promote_options="permissive")
        scores = np.concatenate([scores, batch_scores[chosen]])
        numbers = np.concatenate([numbers, batch_numbers[chosen]])
        order = np.argsort(-scores, kind="stable")[:budget]
        best, scores, numbers = best.take(order), scores[order], numbers[order]
    if best is None or not n_seen:
        raise ValueError("there are no rows to rank.")
    return AlertList(
        best,
        numbers,
        scores,
        ranker.calibration_.probability(scores),
        reasons.explain(ranker, best, n_reasons),
        ranker.calibration_.expected_positives(scores),
        n_seen,
    )
