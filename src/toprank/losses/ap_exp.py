"""Average precision with the exponential in place of "is ranked above" (SGBAP).

With s = w exp(f), Z its sum over all rows, S its sum over the positives, A = S / Z:

    form "log"    -log A       gradient  p - q          p = s / Z,  q = y s / S
    form "paper"  1 - A        gradient  A (p - q)

Both forms order any two models alike and their gradients point the same way. The paper's
vanishes with A when the positives' scores are far below the top; the log form never does.
Neither is convex. The diagonal of the Hessian is negative for positives, so the curvature
is that of the parts pulling either way, p + q (times A in the paper's form): a Newton leaf
sum(q - p) / sum(p + q) then stays within [-1, 1].
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from toprank import checks
from toprank.losses.contract import TINY, Floats, Vector, rows, two_vectors
from toprank.losses.gather import HERE, Gather


@dataclass(frozen=True)
class ApExp:
    """The exponential surrogate of average precision; `form` is "log" or "paper".

    Rows of equal score share a gradient within their class. A list without positives or
    without negatives has value 0 and gradient 0.

    >>> from toprank.losses import ApExp
    >>> ApExp(form="paper").value([True, False, False, False], [0.0, 0.0, 0.0, 0.0])
    0.75
    """

    form: str = "log"

    is_listwise = True

    def __post_init__(self) -> None:
        checks.one_of(self.form, "form of ap-exp", ("log", "paper"))

    def start(
        self, is_positive: NDArray[np.bool_], weight: Vector | None = None, gather: Gather = HERE
    ) -> float:
        """Return 0: a constant added to every score changes nothing."""
        return 0.0

    def value(
        self,
        is_positive: ArrayLike,
        raw: ArrayLike,
        weight: ArrayLike | None = None,
        gather: Gather = HERE,
    ) -> float:
        labels, scores, weights = rows(is_positive, raw, weight)
        mass = _total_mass(labels, scores, weights, np.empty(0), gather)
        if not mass.has_both_classes:
            return 0.0
        # mathematically A <= 1; rounding may say otherwise when the negatives vanish
        log_a = min(mass.log_a, 0.0)
        return -log_a if self.form == "log" else -math.expm1(log_a)

    def gradient_curvature(
        self,
        is_positive: ArrayLike,
        raw: ArrayLike,
        weight: ArrayLike | None = None,
        gather: Gather = HERE,
        out: tuple[Floats, Floats] | None = None,
    ) -> tuple[Floats, Floats]:
        labels, scores, weights = rows(is_positive, raw, weight)
        gradient, curvature = two_vectors(labels.size, out)
        mass = _total_mass(labels, scores, weights, gradient, gather)
        if not mass.has_both_classes:
            gradient.fill(0.0)
            curvature.fill(TINY)
            return gradient, curvature
        factor = 1.0 if self.form == "log" else math.exp(min(mass.log_a, 0.0))
        gather.run(_fill, labels.size, labels, scores, weights, *mass, factor, gradient, curvature)
        return gradient, curvature


class _Mass(NamedTuple):
    """exp of the scores, summed; each sum relative to its own highest score."""

    peak: float
    everything: float
    positive_peak: float
    positives: float

    @property
    def has_both_classes(self) -> bool:
        return self.positives > 0

    @property
    def log_a(self) -> float:
        top = self.positive_peak + math.log(self.positives)
        return top - self.peak - math.log(self.everything)


def _total_mass(labels, scores, weights, exponentials, gather: Gather) -> _Mass:
    """Return the sums; where given, `exponentials` receives each row's w exp(f - peak)."""
    parts = gather.run(_find_peaks, labels.size, labels, scores, weights)
    positive_peak, negative_peak = gather.peaks(parts, 2)
    if math.isinf(positive_peak) or math.isinf(negative_peak):
        return _Mass(0.0, 0.0, 0.0, 0.0)
    peak = max(positive_peak, negative_peak)
    arguments = (labels, scores, weights, peak, positive_peak, exponentials)
    sums = gather.sums(gather.run(_sum_mass, labels.size, *arguments), 2)
    return _Mass(float(peak), float(sums[0]), float(positive_peak), float(sums[1]))


@njit(cache=True, nogil=True)
def _find_peaks(is_positive, raw, weight, begin, end):
    positive, negative = -np.inf, -np.inf
    for i in range(begin, end):
        if weight.size and weight[i] == 0.0:
            continue
        score = float(raw[i])
        if is_positive[i]:
            positive = max(positive, score)
        else:
            negative = max(negative, score)
    return positive, negative


@njit(cache=True, nogil=True)
def _sum_mass(is_positive, raw, weight, peak, positive_peak, exponentials, begin, end):
    everything, positives = 0.0, 0.0
    for i in range(begin, end):
        w = weight[i] if weight.size else 1.0
        exponential = w * math.exp(raw[i] - peak) if w > 0.0 else 0.0
        everything += exponential
        if is_positive[i] and w > 0.0:
            positives += w * math.exp(raw[i] - positive_peak)
        if exponentials.size:
            exponentials[i] = exponential
    return everything, positives


@njit(cache=True, nogil=True)
def _fill(
    is_positive, raw, weight, peak, everything, positive_peak, positives, factor,
    gradient, curvature, begin, end,
):  # fmt: skip
    # gradient comes in holding w exp(f - peak)
    share = factor / everything
    for i in range(begin, end):
        p, q = gradient[i] * share, 0.0
        w = weight[i] if weight.size else 1.0
        if is_positive[i] and w > 0.0:
            q = factor * w * math.exp(raw[i] - positive_peak) / positives
        gradient[i] = p - q
        curvature[i] = max(p + q, TINY) if w > 0.0 else 0.0
