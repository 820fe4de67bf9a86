"""Correction of probabilities learned from a sample with another share of positives.

With a share `kept` of the negatives in the sample and all positives, the odds of being positive
are `1 / kept` times too high there (Dal Pozzolo et al., 2015): a constant in log-odds, which
changes every probability and no rank.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks


def undersampling_corrected(probability: ArrayLike, kept: float) -> NDArray[np.float64]:
    """Return the probabilities among all rows, given those among the sampled rows.

    `kept` is the share of the negatives that the model learned from:
    `p = kept p_s / (kept p_s - p_s + 1)`.

    >>> undersampling_corrected([0.0, 0.5, 1.0], kept=0.01).round(4).tolist()
    [0.0, 0.0099, 1.0]
    """
    sampled = checks.finite_vector(probability, "probability")
    if (sampled < 0).any() or (sampled > 1).any():
        raise ValueError(
            f"probability must be between 0 and 1; got {sampled.min():g} to {sampled.max():g}."
        )
    kept = checks.number_above(kept, "kept", 0, 1)
    return kept * sampled / (kept * sampled - sampled + 1)


def log_odds_shift(is_positive: NDArray[np.bool_], sampled: NDArray[np.bool_]) -> float:
    """Return what to add to log-odds learned from sampled rows to get those of all rows.

    It is log(kept) if negatives were left out, and analogous if positives were added.

    >>> round(log_odds_shift(np.arange(100) < 10, np.arange(20) < 10), 3)
    -2.197
    """
    return _log_odds(is_positive) - _log_odds(sampled)


def _log_odds(is_positive: NDArray[np.bool_]) -> float:
    n_positive = np.count_nonzero(is_positive)
    return float(np.log(n_positive / (is_positive.size - n_positive)))
