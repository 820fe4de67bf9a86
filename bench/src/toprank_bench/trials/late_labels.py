"""Card payments in order of time whose labels become known a week later, week by week.

The payments of some customers of handbook_transactions are scored when they are made; their labels
are learned 7 days later. Features see the past only: those of `simulated.payment_past`, by whole
days. All learners get the same rows; River's have its StandardScaler before them.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank import metrics
from toprank_bench import datasets
from toprank_bench.protocols.protocol import TrialOutcome
from toprank_bench.resources import processor_seconds
from toprank_bench.simulated.payment_past import CardPast, past_of_payments

METRICS = ("average_precision", "rows_per_second")
DELAY_DAYS = 7
_FIRST_WEEK = 4  # the weeks before it are what every learner needs to start with


def late_labels(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    learner: str,
    customers: int = 1000,
    first_customer: int = 1000,
    **parameters: Any,
) -> TrialOutcome:
    """Return the average precision from the fifth week on of a learner that learns as it scores.

    Customers before `first_customer` served to develop the learners.
    """
    payments = past_of_payments(
        datasets.load(data, folder=folder), CardPast(first_customer, customers)
    )
    midnight = payments.moments.min().astype("datetime64[D]")
    days = (payments.moments - midnight) / np.timedelta64(1, "D")
    is_positive = payments.is_positive
    begin, worked = time.perf_counter(), processor_seconds()
    if learner in _RIVER:
        model = _RIVER[learner](seed, **parameters)
        suspicion = _river_suspicion(model, payments.features, is_positive, days)
    else:
        suspicion = _own_suspicion(learner, seed, parameters, payments.features, is_positive, days)
    seconds, worked = time.perf_counter() - begin, processor_seconds() - worked
    weeks = (days // 7).astype(int)
    later = weeks >= _FIRST_WEEK
    by_week = [
        _precision(is_positive[weeks == week], suspicion[weeks == week])
        for week in range(weeks.max() + 1)
    ]
    return TrialOutcome(
        {
            "average_precision": metrics.average_precision(is_positive[later], suspicion[later]),
            "rows_per_second": is_positive.size / seconds,
        },
        {"learner": learner, **parameters},
        {"score and learn": round(seconds, 3), "of the processor": round(worked, 3)},
        {
            "rows": is_positive.size,
            "positives": int(is_positive.sum()),
            "by_week": by_week,
        },
    )


def _precision(is_positive: NDArray[np.bool_], suspicion: NDArray[np.float64]) -> float | None:
    if not is_positive.any() or is_positive.all():
        return None
    return round(metrics.average_precision(is_positive, suspicion), 3)


def _own_suspicion(
    name: str,
    seed: int,
    parameters: dict[str, Any],
    features: dict[str, NDArray],
    is_positive: NDArray[np.bool_],
    days: NDArray[np.float64],
) -> NDArray[np.float64]:
    import pandas as pd

    import toprank
    from toprank.rankers.online.validation import progressive_validation

    model = getattr(toprank, name)(random_state=seed, **parameters)
    rows = pd.DataFrame(features)
    validation = progressive_validation(
        model, rows, is_positive, times=days, delay=float(DELAY_DAYS)
    )
    return validation.suspicion


def _river_suspicion(
    model: Any,
    features: dict[str, NDArray],
    is_positive: NDArray[np.bool_],
    days: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return each payment's probability of fraud when it was made, from the labels known then."""
    from river import compose, preprocessing

    pipeline = compose.Pipeline(preprocessing.StandardScaler(), model)
    columns = [values.tolist() for values in features.values()]
    rows = [dict(zip(features, values, strict=True)) for values in zip(*columns, strict=True)]
    labels = is_positive.tolist()
    n_known = np.searchsorted(days, days - DELAY_DAYS, side="right")
    suspicion, n_learned = np.zeros(len(rows)), 0
    for place, row in enumerate(rows):
        while n_learned < n_known[place]:
            pipeline.learn_one(rows[n_learned], labels[n_learned])
            n_learned += 1
        suspicion[place] = pipeline.predict_proba_one(row).get(True, 0.0)
    return suspicion


def _river_forest(seed: int, **parameters: Any) -> Any:
    from river import forest

    return forest.ARFClassifier(seed=seed, **parameters)


def _river_tree(seed: int, **parameters: Any) -> Any:
    from river import tree

    return tree.HoeffdingAdaptiveTreeClassifier(seed=seed, **parameters)


def _river_logistic(seed: int, learning_rate: float = 0.1) -> Any:
    from river import linear_model, optim

    return linear_model.LogisticRegression(optim.AdaGrad(learning_rate))


_RIVER: dict[str, Callable[..., Any]] = {
    "river-forest": _river_forest,
    "river-tree": _river_tree,
    "river-logistic": _river_logistic,
}
