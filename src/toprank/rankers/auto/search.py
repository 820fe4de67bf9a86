"""The search: what is tried, in which order, and what wins.

Plain log-loss trees come first and are the baseline. Then a smooth model; a randomised
forest; other depths of trees, bins and losses; and blends of one of each kind. With few
positives to judge by, the best of many is mostly the luckiest. So the most stable choice has
priority: the blend of all kinds, unless something simpler leads it beyond doubt; and within a
kind the plain recipe, unless another leads it. The winner must also lead plain log-loss, which
is kept otherwise.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from toprank.rankers.auto.blend import Recipe
from toprank.rankers.auto.boosted import BoostedTrees
from toprank.rankers.auto.forest_member import RandomisedForest
from toprank.rankers.auto.judge import Judge, RecipeStanding, Scores
from toprank.rankers.auto.smooth_member import SmoothModel
from toprank.rankers.progress import Progress

BEYOND_DOUBT = 0.9
"""The share of resamples in which an alternative must be ahead of the preferred choice."""

AHEAD = 0.7
"""The share of resamples in which the outcome must be ahead of plain log-loss."""

LOSSES_TRIED = ("ap-exp", "ap-lambda")
"""The losses tried by default in addition to log-loss."""

# relative to the plain number of trees
_STAGES = (1 / 6, 1 / 3, 2 / 3, 1)
_LATER_STAGES = (1 / 3, 2 / 3, 1, 2)
_POSITIVES_FOR_DEPTH = 200
_ROWS_FOR_BINS = 10_000  # with fewer, 256 quantiles are fine enough anywhere
_POSITIVES_FOR_LOSSES = 50  # with fewer, the top of the list is mostly luck

Scale = tuple[float, float]
"""Centre and spread."""


@dataclass(frozen=True)
class Trial:
    """Recipes that were judged, alone or blended, with their result."""

    recipes: tuple[Recipe, ...]
    scores: tuple[Scores, ...]
    standing: RecipeStanding
    seconds: float

    @property
    def name(self) -> str:
        return " + ".join(recipe.name for recipe in self.recipes)

    @property
    def words(self) -> str:
        return " + ".join(recipe.words for recipe in self.recipes)

    @property
    def blended(self) -> Scores:
        """The mean of the standardised scores; the scores of a single recipe are unchanged."""
        return blend(self.scores, scales_of(self.scores))


@dataclass(frozen=True)
class Outcome:
    """Everything that was tried, the plain log-loss trees first, and the winner."""

    trials: list[Trial]
    winner: Trial
    reason: str
    left_out: list[str]

    @property
    def plain(self) -> Trial:
        return self.trials[0]


def search(
    judge: Judge,
    n_trees: int,
    deadline: float | None = None,
    progress: Progress | None = None,
    losses: Sequence[str] = LOSSES_TRIED,
) -> Outcome:
    """Return what was tried on the judge's rows, and what won.

    `n_trees` is the size of the plain recipe and of the forest. Past the `deadline` (of
    `time.monotonic`) nothing new is started, except plain log-loss. No loss is trained but
    log-loss and those of `losses`.
    """
    return _Search(judge, n_trees, deadline, progress, losses).run()


def plain_only(judge: Judge, n_trees: int, reason: str) -> Outcome:
    """Return plain log-loss as the outcome, for when recipes cannot be compared."""
    recipe = BoostedTrees(n_trees=n_trees)
    scores, seconds = judge.scores(recipe)
    trial = Trial((recipe,), (scores,), judge.standing(scores), seconds)
    return Outcome([trial], trial, reason, [])


def blend(scores: Sequence[Scores], scales: Sequence[Scale]) -> Scores:
    """Return the mean of the scores, each on its own scale."""
    scaled = [
        (each - centre) / spread for each, (centre, spread) in zip(scores, scales, strict=True)
    ]
    return np.mean(scaled, axis=0)


def scales_of(judged: Sequence[Scores]) -> list[Scale]:
    """Return the scales that standardise the judged rows' scores.

    A single recipe keeps its own scale, log-odds.
    """
    return [(0.0, 1.0)] if len(judged) == 1 else [centre_spread(scores) for scores in judged]


def centre_spread(scores: Scores) -> tuple[float, float]:
    """Return mean and standard deviation; the latter is 1 if all scores are the same."""
    centre, spread = float(scores.mean()), float(scores.std())
    # equal scores may differ from their mean by a rounding error, which must not become a scale
    return centre, spread if spread > 1e-13 * abs(centre) else 1.0


class _Search:
    def __init__(
        self,
        judge: Judge,
        n_trees: int,
        deadline: float | None,
        progress: Progress | None,
        losses: Sequence[str],
    ) -> None:
        self._judge, self._n_trees, self._losses = judge, n_trees, losses
        self._deadline, self._progress = deadline, progress
        self._trials: list[Trial] = []
        self._left_out: list[str] = []
        n_kinds = 3 if SmoothModel(2).can_fit(judge.columns) else 2
        self._n_steps = (
            1 + n_kinds + len(self._depths()) + len(self._variants(BoostedTrees(n_trees=n_trees)))
        )

    def run(self) -> Outcome:
        plain = self._try(BoostedTrees(n_trees=self._n_trees))
        # other kinds before other trees: when time is short, they gain the most
        smooth = self._smooth()
        forest = self._try_in_time(RandomisedForest(self._n_trees))
        boosted = self._boosted(plain)
        kinds = [trial for trial in (boosted, forest, smooth) if trial is not None]
        winner, reason = self._winner(plain, kinds)
        return Outcome(self._trials, winner, reason, self._left_out)

    def _boosted(self, plain: Trial) -> Trial:
        """Return the boosted trees to blend: plain ones unless others lead them beyond doubt."""
        best = plain
        for max_depth in self._depths():
            shape = BoostedTrees(max_depth=max_depth, n_trees=self._n_trees, random_share=0.7)
            best = self._better(best, plain, self._try_stages(shape))
        recipe = best.recipes[0]
        assert isinstance(recipe, BoostedTrees)
        for variant in self._variants(recipe):
            best = self._better(best, best, self._try_in_time(variant))
        return best

    def _depths(self) -> tuple[int, ...]:
        """Return the depths to try: deeper trees need many positives."""
        return (4, 2, 6, 8) if self._has_many_positives() else (4, 2, 6)

    def _has_many_positives(self) -> bool:
        return int(self._judge.is_positive.sum()) >= _POSITIVES_FOR_DEPTH

    def _variants(self, recipe: BoostedTrees) -> list[BoostedTrees]:
        """Return other bins and losses, if there are enough rows for them to matter."""
        variants = []
        if self._judge.rows.is_positive.size >= _ROWS_FOR_BINS:
            variants.append(replace(recipe, binning="balanced"))
        if self._judge.is_positive.sum() >= _POSITIVES_FOR_LOSSES:
            variants += [replace(recipe, loss=loss) for loss in self._losses]
        return variants

    def _smooth(self) -> Trial | None:
        models = [SmoothModel(1), SmoothModel(2)]
        fitting = [model for model in models if model.can_fit(self._judge.columns)]
        tried = [trial for model in fitting if (trial := self._try_in_time(model)) is not None]
        return max(tried, key=lambda trial: trial.standing.average_precision, default=None)

    def _winner(self, plain: Trial, kinds: list[Trial]) -> tuple[Trial, str]:
        widest, *others = self._blends(kinds)
        winner, reason = widest, "the blend of every kind is the most stable choice"
        if not others:
            reason = "there was no time to try other kinds"
        leading = [
            trial for trial in others if trial.standing.ahead_of(widest.standing) >= BEYOND_DOUBT
        ]
        if leading:
            winner = max(leading, key=lambda trial: trial.standing.average_precision)
            reason = "it leads the blend of every kind beyond doubt"
        if winner is not plain and winner.standing.ahead_of(plain.standing) < AHEAD:
            return plain, "nothing else is clearly better"
        return winner, reason

    def _blends(self, kinds: list[Trial]) -> list[Trial]:
        """Return all kinds together, then pairs of them, then each alone."""
        sizes = range(len(kinds), 0, -1)
        chosen = itertools.chain(*(itertools.combinations(kinds, size) for size in sizes))
        return [trials[0] if len(trials) == 1 else self._blend(trials) for trials in chosen]

    def _blend(self, trials: tuple[Trial, ...]) -> Trial:
        recipes = tuple(trial.recipes[0] for trial in trials)
        scores = tuple(trial.scores[0] for trial in trials)
        standing = self._judge.standing(blend(scores, scales_of(scores)))
        trial = Trial(recipes, scores, standing, sum(trial.seconds for trial in trials))
        self._trials.append(trial)
        return trial

    def _better(self, best: Trial, baseline: Trial, trial: Trial | None) -> Trial:
        """Return the trial if it leads the baseline beyond doubt and beats the best so far."""
        if trial is None or trial.standing.ahead_of(baseline.standing) < BEYOND_DOUBT:
            return best
        if trial.standing.average_precision <= best.standing.average_precision:
            return best
        return trial

    def _try(self, recipe: Recipe) -> Trial:
        self._report()
        scores, seconds = self._judge.scores(recipe)
        return self._add(recipe, scores, seconds)

    def _try_in_time(self, recipe: Recipe) -> Trial | None:
        return self._try(recipe) if self._has_time(recipe) else None

    def _try_stages(self, recipe: BoostedTrees) -> Trial | None:
        """Return the recipe with the best number of trees, all grown once."""
        if not self._has_time(recipe):
            return None
        self._report()
        shares = _LATER_STAGES if self._has_many_positives() else _STAGES
        stages = tuple(sorted({max(round(share * self._n_trees), 1) for share in shares}))
        staged, seconds = self._judge.scores_in_stages(recipe, stages)
        standings = {n_trees: self._judge.standing(each) for n_trees, each in staged.items()}
        best = max(standings, key=lambda n_trees: standings[n_trees].average_precision)
        return self._add(recipe.with_trees(best), staged[best], seconds)

    def _add(self, recipe: Recipe, scores: Scores, seconds: float) -> Trial:
        trial = Trial((recipe,), (scores,), self._judge.standing(scores), seconds)
        self._trials.append(trial)
        return trial

    def _has_time(self, recipe: Recipe) -> bool:
        """Return whether to start; the longest trial so far is the estimate for any other."""
        guess = max(trial.seconds for trial in self._trials)
        if self._deadline is None or time.monotonic() + guess < self._deadline:
            return True
        self._left_out.append(recipe.words)
        return False

    def _report(self) -> None:
        if self._progress is not None:
            done = sum(len(trial.recipes) == 1 for trial in self._trials)
            self._progress("trying recipes", done, self._n_steps)
