"""A trial: recipes that were judged, alone or blended; and how scores are blended."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toprank.rankers.auto.blend import Recipe
from toprank.rankers.auto.judge import Judge, RecipeStanding, Scores

_GREEDY_STEPS = 20
_POSITIVES_HALFWAY = 50.0
"""With so many judged positives, weights are halfway between equal and the best ones found."""

_LEAST_WEIGHT = 0.1  # a member that weighs less costs time and changes nothing
_LEAST_SPREAD = 0.1

Scale = tuple[float, float]
"""Centre and spread."""


@dataclass(frozen=True)
class Trial:
    """Recipes that were judged, alone or blended, with their result."""

    recipes: tuple[Recipe, ...]
    scores: tuple[Scores, ...]
    standing: RecipeStanding
    seconds: float
    weights: tuple[float, ...] = (1.0,)

    @property
    def name(self) -> str:
        names = Counter(recipe.name for recipe in self.recipes)
        return " + ".join(f"{n} x {name}" if n > 1 else name for name, n in names.items())

    @property
    def words(self) -> str:
        return " + ".join(recipe.words for recipe in self.recipes)

    @property
    def average_precision(self) -> float:
        return self.standing.average_precision

    @property
    def scales(self) -> list[Scale]:
        """The scale of each recipe's scores in the blend."""
        return scales_of(self.scores, self.weights)

    @property
    def blended(self) -> Scores:
        """The weighted mean of the standardised scores; a single recipe's are unchanged."""
        return blend(self.scores, self.scales)

    def ahead_of(self, other: Trial) -> float:
        """Return the share of resamples in which this trial is ahead."""
        return self.standing.ahead_of(other.standing)


def blended_trial(judge: Judge, trials: Sequence[Trial]) -> Trial:
    """Return the blend of single recipes, each with the weight that it earns.

    Weights start from equal ones and move towards those found by greedy selection, the further
    the more positives there are to judge by. With a handful, the best weights are luck.
    """
    standard = [blend([each.scores[0]], [centre_spread(each.scores[0])]) for each in trials]
    n_positive = float(judge.is_positive.sum())
    trust = n_positive / (n_positive + _POSITIVES_HALFWAY)
    weights = trust * _greedy_weights(judge, standard) + (1 - trust) / len(trials)
    is_kept = weights >= _LEAST_WEIGHT
    members = list(itertools.compress(trials, is_kept))
    return _weighted(judge, members, weights[is_kept] / weights[is_kept].sum())


def equal_blend(judge: Judge, trials: Sequence[Trial]) -> Trial:
    """Return the blend of single recipes with equal weights."""
    return _weighted(judge, trials, np.full(len(trials), 1 / len(trials)))


def _weighted(judge: Judge, trials: Sequence[Trial], weights: Scores) -> Trial:
    if len(trials) == 1:
        return trials[0]
    scores = tuple(each.scores[0] for each in trials)
    shares = tuple(weights.tolist())
    return Trial(
        tuple(each.recipes[0] for each in trials),
        scores,
        judge.standing(blend(scores, scales_of(scores, shares))),
        sum(each.seconds for each in trials),
        shares,
    )


def blend(scores: Sequence[Scores], scales: Sequence[Scale]) -> Scores:
    """Return the mean of the scores, each on its own scale."""
    total = np.zeros(len(scores[0]))
    # one after the other: a row's score must not depend on the other rows of the batch
    for each, (centre, spread) in zip(scores, scales, strict=True):
        total += (each - centre) / spread
    return total / len(scores)


def scales_of(judged: Sequence[Scores], weights: Sequence[float]) -> list[Scale]:
    """Return the scales that standardise the judged rows' scores and weigh them.

    A spread that is smaller by some factor is a weight that is larger by it. A single recipe
    keeps its own scale, log-odds.
    """
    if len(judged) == 1:
        return [(0.0, 1.0)]
    scales = [centre_spread(scores) for scores in judged]
    return [
        (centre, spread / (weight * len(judged)))
        for (centre, spread), weight in zip(scales, weights, strict=True)
    ]


def centre_spread(scores: Scores) -> Scale:
    """Return mean and standard deviation of log-odds; the latter is 1 if they hardly differ.

    Such small differences are those of folds or of rounding, and no scale for the scores of the
    final fit.
    """
    centre, spread = float(scores.mean()), float(scores.std())
    return centre, spread if spread > _LEAST_SPREAD else 1.0


def _greedy_weights(judge: Judge, standard: list[Scores]) -> Scores:
    """Return how often each is chosen when the sum of the chosen is to have the highest AP."""
    chosen = np.zeros(len(standard))
    total = np.zeros_like(standard[0])
    for _ in range(_GREEDY_STEPS):
        precisions = [judge.average_precision(total + each) for each in standard]
        best = int(np.argmax(precisions))
        chosen[best] += 1
        total += standard[best]
    return chosen / chosen.sum()
