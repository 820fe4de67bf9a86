"""The latent spaces of online non-linear boosting: the thesis' Figures 4.6 to 4.9.

ONLB with 100 latents, its weak learners of 2 or of 500 hidden units. Measured are the correlations
of the latents' weights b_p and, for rows not learned from, how much each latent adds to the score:
the mean of |a_p relu(z_p)|.
"""

import time
from pathlib import Path

import numpy as np

from toprank_bench import datasets
from toprank_bench.protocols.protocol import TrialOutcome

METRICS = ("error", "progressive_error", "mean_absolute_correlation", "unused_latents")
_LATENTS, _LEARNERS, _HELD_OUT = 100, 20, 5_000
_UNUSED = 0.05  # of the importance of the most important one


def latents(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    width: int,
    learning_rate: float,
    update: str = "residual",
    rows: int = 10_000,
) -> TrialOutcome:
    """Return the error with weak learners of this width, and how alike the latents are."""
    import toprank

    dataset = datasets.load(data, folder=folder)
    features = np.column_stack([column.to_numpy() for column in dataset.X.columns]).astype(float)
    is_positive = dataset.is_positive
    order = np.random.default_rng(seed).permutation(is_positive.size)
    train, held_out = order[:rows], order[rows : rows + _HELD_OUT]
    learner = toprank.OnlineNonLinearBoost(
        _LEARNERS,
        _LATENTS,
        width=width,
        update=update,
        learning_rate=learning_rate,
        wide=False,  # what the thesis has
        n_buckets=1,
        random_state=seed,
    )
    begin = time.perf_counter()
    scores = learner.score_then_learn(features[train], is_positive[train])
    seconds = time.perf_counter() - begin
    correlation = np.asarray(np.corrcoef(learner.projections().T))
    importance = np.abs(learner.latents(features[held_out])).mean(axis=0)
    is_alert = learner.suspicion(features[held_out]) > 0
    others = ~np.eye(_LATENTS, dtype=bool)
    return TrialOutcome(
        {
            "error": float(np.mean(is_alert != is_positive[held_out])),
            "progressive_error": float(np.mean((scores > 0) != is_positive[train])),
            "mean_absolute_correlation": float(np.abs(correlation[others]).mean()),
            "unused_latents": int(np.count_nonzero(importance < _UNUSED * importance.max())),
        },
        {"width": width, "update": update, "learning_rate": learning_rate, "rows": rows},
        {"score and learn": round(seconds, 3)},
        {
            "learners": _LEARNERS,
            "latents": _LATENTS,
            "mean_correlation": round(float(correlation[others].mean()), 3),
            "importance_spread": round(float(importance.std() / importance.mean()), 3),
            "correlation": correlation.round(2).tolist(),
            "importance": importance.round(4).tolist(),
        },
    )
