"""Undersampling at every share of positives, and F1 by threshold with and without it.

The rows are those of the experiment thesis-table2-2, split in time; `settings` are, by data set,
what validation chose there for the model without sampling and the metric in the method's name.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from toprank import metrics
from toprank.data.tables import Schema
from toprank.decisions.samplers import Sampling, resampled
from toprank_bench.protocols.protocol import TrialOutcome
from toprank_bench.protocols.sampled import split_in_time
from toprank_bench.sampling.fits import SplitPart, SplitParts, figures_on_test, make_model, scores
from toprank_bench.simulated.payment_past import CardPast

METRICS = ("average_precision", "f1", "roc_auc", "f1_at_half")
THRESHOLDS: NDArray[np.float64] = expit(np.linspace(-7, 7, 113))  # close together at both ends
NO_SAMPLING = "none"
_UNDERSAMPLED = 0.5  # the share of positives of the other curve by threshold


def undersampling_curves(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    learner: str,
    settings: Mapping[str, Mapping[str, Any]],
    shares: Sequence[float],
    payments: Mapping[str, Mapping[str, int]],
    thresholds: bool = False,
    **parameters: Any,
) -> TrialOutcome:
    """Return the test figures without sampling; those at every share, and curves, are facts."""
    parts = split_in_time(data, folder, CardPast(**payments[data]) if data in payments else None)
    model = {**parameters, **settings[data]}
    begin = time.perf_counter()
    by_share = {NO_SAMPLING: _figures(learner, model, seed, parts)}
    own_share = parts.train.is_positive.mean()
    for share in shares:
        if share > own_share:
            sampled = {**model, "sampler": "under", "share": share}
            by_share[str(share)] = _figures(learner, sampled, seed, parts)
    facts: dict[str, Any] = {"by_share": by_share}
    if thresholds:
        facts["f1_by_threshold"] = {
            str(share): _by_threshold(learner, model, seed, parts, share)
            for share in (NO_SAMPLING, _UNDERSAMPLED)
        }
    return TrialOutcome(
        by_share[NO_SAMPLING],
        {"learner": learner, **model},
        {"all fits": round(time.perf_counter() - begin, 3)},
        facts,
    )


def _figures(
    learner: str, parameters: Mapping[str, Any], seed: int, parts: SplitParts
) -> dict[str, float]:
    found = scores(learner, parameters, seed, parts)
    figures = figures_on_test(parts, found)
    figures["f1_at_half"] = metrics.f_beta(parts.test.is_positive, found.test, 0.5)
    return {name: round(value, 5) for name, value in figures.items()}


def _by_threshold(
    learner: str, model: Mapping[str, Any], seed: int, parts: SplitParts, share: float | str
) -> dict[str, list[float]]:
    """Return F1 by threshold on the rows learned from, after sampling, and on the test rows."""
    learned = parts.train
    if isinstance(share, float):
        how = Sampling("under", share / (1 - share), k_neighbors=1, seed=seed)
        learned = SplitPart(*resampled(*parts.train, Schema.of(parts.train.features), how))
    classifier = make_model(learner, model, seed).fit(*learned)
    f1 = {}
    for part, (features, is_positive) in {"train": learned, "test": parts.test}.items():
        probability = classifier.predict_proba(features)[:, 1]
        f1[part] = [round(metrics.f_beta(is_positive, probability, t), 3) for t in THRESHOLDS]
    return f1
