"""The search: what is tried, in which order, and what wins.

Plain log-loss trees come first and are the baseline. Then, in an order that depends on the
number of positives: boosted trees of other sizes, bins and losses; randomised forests; smooth
models; and a blend. With few positives to judge by, the best of many is mostly the luckiest. So
the most stable choice has priority: a blend of whatever was tried, unless one of its members
leads it beyond doubt. With many positives leads are measured well and fits take long: a single
recipe has priority over a blend of one of each kind. The winner must also lead plain log-loss,
which is kept otherwise, unless there are too few positives to measure a lead at all, or it is
certain that the columns say something.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from toprank.rankers.auto import candidates
from toprank.rankers.auto.blend import Recipe
from toprank.rankers.auto.boosted import BoostedTrees, n_log_trees
from toprank.rankers.auto.judge import Judge, JudgedGrowth, Scores
from toprank.rankers.auto.trial import Trial, blended_trial, equal_blend
from toprank.rankers.auto.work import Budget
from toprank.rankers.progress import Progress

BEYOND_DOUBT = 0.9
"""The share of resamples in which an alternative must be ahead of the preferred choice."""

AHEAD = 0.7
"""The share of resamples in which the winner must be ahead of plain log-loss, which wins ties."""

_FIXED_AHEAD = 0.5
"""The share in which a blend fixed in advance must be, too.

What was chosen among many is ahead of plain log-loss by luck alone more often than not. So the
lead of a blend in which nothing was chosen must confirm it: where columns say nothing, that is
ahead in about half of all searches only.
"""

_SURELY = 3.0
"""By how many standard errors positives must rank above others for columns to say something.

It is measured on a blend fixed in advance, for which nothing was chosen, and needs far fewer
positives than a comparison of average precisions. Where columns do say something, plain log-loss
is kept only if it leads beyond doubt: on other data the blend was ahead of it whenever the two
were too close to compare. It is kept, too, if the winner has all judged rows in the same order.
Where columns say nothing, or it is not sure, the other rules hold.
"""

_TOO_FEW_POSITIVES = 15
"""With fewer positives to judge by, next to nothing can be measured.

Then plain log-loss is kept only if it leads beyond doubt: on other data with 4 to 8 positives, it
was far behind forests, linear models and their blends.
"""

LOSSES_TRIED = ("ap-exp", "ap-lambda")
"""The losses tried by default in addition to log-loss."""


@dataclass(frozen=True)
class Outcome:
    """Everything that was tried, the plain log-loss trees first, and the winner.

    What was skipped is in `left_out`, for lack of time, or in `beyond_effort`.
    """

    trials: list[Trial]
    winner: Trial
    reason: str
    left_out: list[str] = field(default_factory=list)
    beyond_effort: list[str] = field(default_factory=list)

    @property
    def plain(self) -> Trial:
        return self.trials[0]


def search(
    judge: Judge,
    n_trees: int,
    budget: Budget | None = None,
    progress: Progress | None = None,
    losses: Sequence[str] = LOSSES_TRIED,
) -> Outcome:
    """Return what was tried on the judge's rows, and what won.

    `n_trees` is the size of the plain recipe and of the forest. Plain log-loss is tried in any
    case, the rest as far as the `budget` allows. No loss is trained but log-loss and those of
    `losses`.
    """
    return _Search(judge, n_trees, budget or Budget(), progress, losses).run()


def plain_only(judge: Judge, n_trees: int, reason: str) -> Outcome:
    """Return plain log-loss as the outcome, for when recipes cannot be compared."""
    trial = _Search(judge, n_trees, Budget(), None, ()).try_plain()
    return Outcome([trial], trial, reason)


class _Search:
    def __init__(
        self,
        judge: Judge,
        n_trees: int,
        budget: Budget,
        progress: Progress | None,
        losses: Sequence[str],
    ) -> None:
        self._judge, self._n_trees, self._losses = judge, n_trees, losses
        self._budget, self._progress = budget, progress
        self._trials: list[Trial] = []
        self._fixed: list[Trial] = []  # members of the blend in which nothing is chosen
        self._finals: dict[str, float] = {}
        self._left_out: list[str] = []
        self._beyond_effort: list[str] = []
        self._has_many_positives = candidates.has_many_positives(judge)
        self._has_some_positives = candidates.has_some_positives(judge)
        self._sizes = [each.with_trees(n_trees) for each in candidates.tree_sizes(judge)]
        n_smooth = len(candidates.smooth_models(judge))
        n_forests = len(candidates.forests(judge, n_trees))
        n_variants = len(self._variants(self._sizes[0]))
        self._n_steps = 1 + n_forests + n_smooth + len(self._sizes) + n_variants

    def run(self) -> Outcome:
        plain = self.try_plain()
        steps = [self._forests, self._smooth, self._boosted]
        if self._has_some_positives:
            steps = [self._boosted, self._forests, self._smooth]
        pool = [trial for step in steps for trial in step()]
        winner, reason = self._winner(plain, pool or [plain])
        if winner is not plain and not self._can_be_fitted(winner):
            self._left_out.append(f"fitting {winner.words} to all rows")
            winner, reason = self._affordable(plain, pool), "there is no time to fit a better one"
        return Outcome(self._trials, winner, reason, self._left_out, self._beyond_effort)

    def try_plain(self) -> Trial:
        """Return the baseline, whatever the budget."""
        recipe = BoostedTrees(n_trees=self._n_trees)
        self._finals[kind_of(recipe)] = self._judge.final_work(recipe)
        return self._add(recipe, lambda: self._judge.scores(recipe), self._judge.work(recipe))

    def _boosted(self) -> list[Trial]:
        """Return the boosted trees to blend: of many positives' trees only the best."""
        grown = self._grown_sizes()
        if not grown:
            return []
        # many positives measure a lead well; with few, the first size has priority
        needed = 0.5 if self._has_many_positives else _lead_needed(len(self._sizes) - 1)
        best, growth = grown[0]
        for other, other_growth in grown[1:]:
            if other.ahead_of(best) >= needed:
                best, growth = other, other_growth
        variant = self._best_variant(best, growth)
        sizes = [] if self._has_many_positives else [trial for trial, _ in grown]
        return [variant or best, *(size for size in sizes if size is not best)]

    def _best_variant(self, best: Trial, growth: JudgedGrowth) -> Trial | None:
        """Return the same trees on another loss or other bins, if that is better beyond doubt."""
        recipe = best.recipes[0]
        assert isinstance(recipe, BoostedTrees)
        variants = self._variants(recipe)
        tried = [self._try_variant(variant, growth) for variant in variants]
        needed = _lead_needed(len(variants))
        ahead = [trial for trial in tried if trial is not None and trial.ahead_of(best) >= needed]
        return max(ahead, key=lambda trial: trial.average_precision, default=None)

    def _variants(self, recipe: BoostedTrees) -> list[BoostedTrees]:
        """Return other losses and bins, if there are enough rows for them to matter."""
        variants = []
        if candidates.tries_losses(self._judge):
            variants += [replace(recipe, loss=loss) for loss in self._losses]
        if candidates.tries_bins(self._judge):
            variants.append(replace(recipe, binning="balanced"))
        return variants

    def _forests(self) -> list[Trial]:
        recipes = candidates.forests(self._judge, self._n_trees)
        tried = [trial for recipe in recipes if (trial := self._try(recipe)) is not None]
        self._fixed += tried[:1]
        return tried

    def _smooth(self) -> list[Trial]:
        models = candidates.smooth_models(self._judge)
        tried = [trial for model in models if (trial := self._try(model)) is not None]
        self._fixed += tried
        if self._has_many_positives:
            return sorted(tried, key=lambda trial: -trial.average_precision)[:1]
        return tried

    def _winner(self, plain: Trial, pool: list[Trial]) -> tuple[Trial, str]:
        blended = blended_trial(self._judge, pool)
        if len(blended.recipes) > 1:
            self._trials.append(blended)
        single = max(pool, key=lambda trial: trial.average_precision)
        winner, reason = self._blend_or_single(blended, single, len(pool))
        if winner is plain or self._leads(winner, plain):
            return winner, reason
        return plain, "nothing else is clearly better"

    def _leads(self, winner: Trial, plain: Trial) -> bool:
        """Return whether the winner may take the place of plain log-loss."""
        fixed = None
        if self._fixed and not self._has_many_positives:
            fixed = equal_blend(self._judge, self._fixed)
            if self._judge.separation(fixed.blended) >= _SURELY:
                is_same = self._judge.is_same_order(winner.blended, plain.blended)
                return not is_same and plain.ahead_of(winner) < BEYOND_DOUBT
        if self._judge.is_positive.sum() < _TOO_FEW_POSITIVES:
            is_tie = winner.average_precision == plain.average_precision
            return not is_tie and plain.ahead_of(winner) < BEYOND_DOUBT
        lead = winner.ahead_of(plain)
        if lead >= _lead_needed(len(self._trials)):
            return True
        return fixed is not None and lead >= AHEAD and fixed.ahead_of(plain) > _FIXED_AHEAD

    def _blend_or_single(self, blended: Trial, single: Trial, n_tried: int) -> tuple[Trial, str]:
        if n_tried == 1:
            return single, "nothing else was tried"
        if blended is single:
            return single, "a blend with others gains nothing"
        if self._has_many_positives:
            if blended.ahead_of(single) >= BEYOND_DOUBT:
                return blended, "the blend leads each of its members beyond doubt"
            return single, "no blend leads it beyond doubt"
        if single.ahead_of(blended) >= _lead_needed(n_tried):
            return single, "it leads the blend beyond doubt"
        return blended, "a blend is the most stable choice"

    def _try(self, recipe: Recipe) -> Trial | None:
        work = self._judge.work(recipe)
        if not self._may(recipe, work):
            return None
        return self._add(recipe, lambda: self._judge.scores(recipe), work)

    def _try_variant(self, recipe: BoostedTrees, growth: JudgedGrowth) -> Trial | None:
        """Return the trial of other bins, or of another loss on top of trees grown before."""
        if recipe.loss == "log":
            return self._try(recipe)
        work = self._judge.work(recipe.with_trees(recipe.n_trees - n_log_trees(recipe.n_trees)))
        if not self._may(recipe, work):
            return None
        return self._add(recipe, partial(growth.then, recipe.loss, recipe.n_trees), work)

    def _grown_sizes(self) -> list[tuple[Trial, JudgedGrowth]]:
        """Return trees of every size, each with the number of trees that it needs.

        A size whose first trees are behind those of another one beyond doubt grows no further.
        """
        begun = []
        for size in self._sizes:
            stage, work = next(self._stages(size))
            if self._may(stage, work):
                growth = self._judge.growth(size)
                begun.append(
                    (self._judged(stage, partial(growth.to, stage.n_trees), work), growth)
                )
        if not begun:
            return []
        leader = max((trial for trial, _ in begun), key=lambda trial: trial.average_precision)
        self._fixed.append(begun[0][0])
        grown = [
            (
                trial if leader.ahead_of(trial) >= BEYOND_DOUBT else self._grown(trial, growth),
                growth,
            )
            for trial, growth in begun
        ]
        self._trials += [trial for trial, _ in grown]
        return grown

    def _grown(self, best: Trial, growth: JudgedGrowth) -> Trial:
        """Return the trial of more trees, if they are ahead beyond doubt.

        They grow stage by stage until a stage gains nothing.
        """
        recipe = best.recipes[0]
        assert isinstance(recipe, BoostedTrees)
        seconds = best.seconds
        for stage, work in itertools.islice(self._stages(recipe), 1, None):
            if not self._may(stage, work):
                break
            trial = self._judged(stage, partial(growth.to, stage.n_trees), work)
            seconds += trial.seconds
            lead = trial.ahead_of(best)
            if lead < 0.5:
                break
            best = trial if lead >= BEYOND_DOUBT else best
        return replace(best, seconds=seconds)

    def _stages(self, recipe: BoostedTrees) -> Iterator[tuple[BoostedTrees, float]]:
        """Yield the recipe with more and more trees, and the work of the trees that are added."""
        n_before = 0
        for n_trees in candidates.tree_stages(self._judge, self._n_trees):
            added = self._judge.work(recipe.with_trees(n_trees - n_before))
            yield recipe.with_trees(n_trees), added
            n_before = n_trees

    def _add(self, recipe: Recipe, scored: Callable[[], Scores], work: float) -> Trial:
        trial = self._judged(recipe, scored, work)
        self._trials.append(trial)
        return trial

    def _judged(self, recipe: Recipe, scored: Callable[[], Scores], work: float) -> Trial:
        self._report()
        self._budget.start()
        scores = scored()
        seconds = self._budget.spend(kind_of(recipe), work)
        return Trial((recipe,), (scores,), self._judge.standing(scores), seconds)

    def _may(self, recipe: Recipe, work: float) -> bool:
        """Return whether to start; what is skipped is noted."""
        kind = kind_of(recipe)
        largest = max(self._finals.get(kind, 0.0), self._judge.final_work(recipe))
        finals = {**self._finals, kind: largest}
        if not self._budget.has_work(work):
            self._beyond_effort.append(recipe.words)
        elif not self._budget.has_time([(kind, work), *finals.items()]):
            self._left_out.append(recipe.words)
        else:
            self._finals = finals
            return True
        return False

    def _can_be_fitted(self, trial: Trial) -> bool:
        finals = [(kind_of(each), self._judge.final_work(each)) for each in trial.recipes]
        return self._budget.has_time(finals)

    def _affordable(self, plain: Trial, pool: list[Trial]) -> Trial:
        """Return the best single recipe that there is time to fit, if it leads plain log-loss."""
        singles = [trial for trial in pool if self._can_be_fitted(trial)]
        best = max(singles, key=lambda trial: trial.average_precision, default=plain)
        return best if self._leads(best, plain) else plain

    def _report(self) -> None:
        if self._progress is not None:
            done = sum(len(trial.recipes) == 1 for trial in self._trials)
            self._progress("trying recipes", min(done, self._n_steps), self._n_steps)


def _lead_needed(n_alternatives: int) -> float:
    """Return the share of resamples in which one of so many alternatives must be ahead.

    The best of many looks ahead by luck: the chance of a wrong choice is shared among them.
    """
    return 1 - (1 - BEYOND_DOUBT) / max(n_alternatives, 1)


def kind_of(recipe: Recipe) -> str:
    """Return the kind of model, by which speeds are measured."""
    return type(recipe).__name__
