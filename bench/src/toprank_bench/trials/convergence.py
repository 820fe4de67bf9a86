"""The error of progressive validation as rows are learned: the thesis' Figure 4.5.

The stream is the first fold of the experiment thesis-table4-5; `settings` are, by data set, those
that the fold chose among candidates of the published size.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from toprank_bench import datasets
from toprank_bench.learners.online_rivals import make_online_learner
from toprank_bench.protocols.progressive import matrix_or_table, rows_taken
from toprank_bench.protocols.protocol import TrialOutcome

METRICS = ("progressive_error",)
_N_FOLDS, _N_POINTS = 3, 60


def convergence(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    learner: str,
    settings: Mapping[str, Mapping[str, Any]],
    **parameters: Any,
) -> TrialOutcome:
    """Return the error over the whole stream, and the error after so many rows."""
    dataset = datasets.load(data, folder=folder)
    is_positive = dataset.is_positive
    train, _ = next(KFold(_N_FOLDS, shuffle=True, random_state=seed).split(is_positive))
    order = np.random.default_rng([seed, 0]).permutation(train)
    chosen = {**parameters, **settings[data]}
    begin = time.perf_counter()
    scores = make_online_learner(learner, seed, chosen).score_then_learn(
        rows_taken(matrix_or_table(dataset.X), order), is_positive[order]
    )
    seconds = time.perf_counter() - begin
    errors = np.cumsum((scores > 0) != is_positive[order]) / np.arange(1, order.size + 1)
    rows = np.unique(np.geomspace(100, order.size, _N_POINTS).astype(int))
    return TrialOutcome(
        {"progressive_error": float(errors[-1])},
        chosen,
        {"score and learn": round(seconds, 3)},
        {"rows": rows.tolist(), "errors": errors[rows - 1].round(5).tolist()},
    )
