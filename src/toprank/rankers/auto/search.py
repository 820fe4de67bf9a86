"""The search: what is tried, in which order, and what wins.

Plain log-loss trees come first and are the baseline. Then, in an order that depends on the
number of positives: boosted trees of other sizes, bins and losses; a randomised forest; a smooth
model; and a blend of one of each kind. With few positives to judge by, the best of many is mostly
the luckiest. So the most stable choice has priority: the blend, unless one of its members leads
it beyond doubt; and within a kind the recipe that is tried first. With many positives leads are
measured well, and a single recipe has priority over a blend. The winner must also lead plain
log-loss, which is kept otherwise.
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
from toprank.rankers.auto.smooth_member import SmoothModel
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
        n_kinds = 3 if SmoothModel(2).can_fit(judge.columns) else 2
        n_variants = len(self._variants(self._sizes[0]))
        self._n_steps = 1 + n_kinds + len(self._sizes) + n_variants

    def run(self) -> Outcome:
        plain = self.try_plain()
        boosted = self._boosted(plain) if self._has_some_positives else None
        forest = self._try(candidates.forest(self._n_trees))
        self._fixed += [forest] if forest else []
        smooth = self._smooth()
        if boosted is None:
            boosted = self._boosted(plain)
        kinds = [trial for trial in (boosted, forest, smooth) if trial is not None]
        winner, reason = self._winner(plain, kinds)
        if winner is not plain and not self._can_be_fitted(winner):
            self._left_out.append(f"fitting {winner.words} to all rows")
            winner, reason = plain, "there was no time to fit anything else to all rows"
        return Outcome(self._trials, winner, reason, self._left_out, self._beyond_effort)

    def try_plain(self) -> Trial:
        """Return the baseline, whatever the budget."""
        recipe = BoostedTrees(n_trees=self._n_trees)
        self._finals[kind_of(recipe)] = self._judge.final_work(recipe)
        return self._add(recipe, lambda: self._judge.scores(recipe), self._judge.work(recipe))

    def _boosted(self, plain: Trial) -> Trial:
        """Return the boosted trees to blend: the first size unless another one is better."""
        grown = self._grown_sizes()
        if not grown:
            return plain
        # many positives measure a lead well; with few, the first size has priority
        needed = 0.5 if self._has_many_positives else _lead_needed(len(self._sizes) - 1)
        best, growth = grown[0]
        for other, other_growth in grown[1:]:
            if other.ahead_of(best) >= needed:
                best, growth = other, other_growth
        recipe = best.recipes[0]
        assert isinstance(recipe, BoostedTrees)
        base, variants = best, self._variants(recipe)
        for variant in variants:
            trial = self._try_variant(variant, growth)
            if trial is None or trial.ahead_of(base) < _lead_needed(len(variants)):
                continue
            if trial.average_precision > best.average_precision:
                best = trial
        return best

    def _variants(self, recipe: BoostedTrees) -> list[BoostedTrees]:
        """Return other losses and bins, if there are enough rows for them to matter."""
        variants = []
        if candidates.tries_losses(self._judge):
            variants += [replace(recipe, loss=loss) for loss in self._losses]
        if candidates.tries_bins(self._judge):
            variants.append(replace(recipe, binning="balanced"))
        return variants

    def _smooth(self) -> Trial | None:
        models = [SmoothModel(1), SmoothModel(2)]
        fitting = [model for model in models if model.can_fit(self._judge.columns)]
        tried = [trial for model in fitting if (trial := self._try(model)) is not None]
        self._fixed += tried
        return max(tried, key=lambda trial: trial.average_precision, default=None)

    def _winner(self, plain: Trial, kinds: list[Trial]) -> tuple[Trial, str]:
        blended = blended_trial(self._judge, kinds)
        if len(blended.recipes) > 1:
            self._trials.append(blended)
        single = max(kinds, key=lambda trial: trial.average_precision)
        winner, reason = self._blend_or_single(blended, single, len(kinds))
        if winner is plain or self._leads(winner, plain):
            return winner, reason
        return plain, "nothing else is clearly better"

    def _leads(self, winner: Trial, plain: Trial) -> bool:
        """Return whether the lead over plain log-loss is more than that of the luckiest."""
        lead = winner.ahead_of(plain)
        if lead >= _lead_needed(len(self._trials)):
            return True
        if self._has_many_positives or not self._fixed:
            return False
        fixed = equal_blend(self._judge, self._fixed)
        return lead >= AHEAD and fixed.ahead_of(plain) > _FIXED_AHEAD

    def _blend_or_single(self, blended: Trial, single: Trial, n_kinds: int) -> tuple[Trial, str]:
        if n_kinds == 1:
            return single, "no other kind was tried"
        if blended is single:
            return single, "a blend with other kinds gains nothing"
        if self._has_many_positives:
            if blended.ahead_of(single) >= BEYOND_DOUBT:
                return blended, "the blend leads each of its members beyond doubt"
            return single, "no blend leads it beyond doubt"
        if single.ahead_of(blended) >= _lead_needed(n_kinds):
            return single, "it leads the blend beyond doubt"
        return blended, "the blend of every kind is the most stable choice"

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
