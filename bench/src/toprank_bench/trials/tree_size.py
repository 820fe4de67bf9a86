"""How many groups a tree has, and its average precision on training and test rows.

Splits are those of the protocol stratified: 30 % of the rows are the test.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from toprank import metrics
from toprank_bench import datasets
from toprank_bench.learners.rankers import make_learner
from toprank_bench.protocols.protocol import TrialOutcome

METRICS = ("leaves", "average_precision", "training_average_precision")


def tree_size(
    data: str, seed: int, folder: Path | None, *, learner: str, **parameters: Any
) -> TrialOutcome:
    """Return the number of groups a tree has, and its average precision."""
    dataset = datasets.load(data, folder=folder)
    features, is_positive = dataset.X, dataset.is_positive
    train, test = train_test_split(
        np.arange(is_positive.size),
        stratify=is_positive,
        test_size=0.3,
        random_state=np.random.RandomState(seed),
    )
    ranker: Any = make_learner(learner, seed, parameters)
    begin = time.perf_counter()
    ranker.fit(features.take(train), is_positive[train])
    seconds = time.perf_counter() - begin
    precision = [
        metrics.average_precision(is_positive[rows], ranker.suspicion(features.take(rows)))
        for rows in (train, test)
    ]
    tree = getattr(ranker, "estimator", ranker).tree_
    return TrialOutcome(
        {
            "leaves": int(tree.n_groups[0]),
            "average_precision": precision[1],
            "training_average_precision": precision[0],
        },
        {"learner": learner, **parameters},
        {"fit": round(seconds, 3)},
        {"rows": is_positive.size, "test_rows": test.size},
    )
