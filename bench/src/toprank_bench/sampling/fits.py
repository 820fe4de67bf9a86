"""Forests and boosting after a sampler: single fits, and what validation chooses among many.

The parameters of a fit are those of its model and, where a `sampler` is among them, `share`: that
of positives after sampling. Probabilities stay on the scale of the rows learned from.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier

from toprank import metrics
from toprank_bench.experiment import Method, Parameters
from toprank_bench.sampling.resamples import Resamples

METRICS = ("roc_auc", "f1", "average_precision")
"""What can be judged; `f1` is at the threshold that is best on validation."""

_CHOOSING_SEED = 0
_SHARE, _SAMPLER, _SUBSETS = "share", "sampler", "n_subsets"


class SplitPart(NamedTuple):
    """Rows and which of them are positive."""

    features: NDArray[np.float32]
    is_positive: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SplitParts:
    """What is learned from, what is chosen by, and what is judged on, in the order of time."""

    train: SplitPart
    validation: SplitPart
    test: SplitPart

    @cached_property
    def resamples(self) -> Resamples:
        """The resamples of the test rows."""
        return Resamples(self.test.is_positive)


class FitScores(NamedTuple):
    """Probabilities of the validation and the test rows."""

    validation: NDArray[np.float64]
    test: NDArray[np.float64]


class ChosenFit(NamedTuple):
    """The parameters chosen for one metric, and among how many."""

    parameters: Parameters
    n_candidates: int


def scores(learner: str, parameters: Mapping[str, Any], seed: int, parts: SplitParts) -> FitScores:
    """Return the probabilities of a model that learned from the training rows."""
    model = make_model(learner, parameters, seed)
    others = parts.validation.features, parts.test.features
    model.fit(*parts.train)
    if _SAMPLER not in parameters:
        return FitScores(*(model.predict_proba(rows)[:, 1].astype(np.float64) for rows in others))
    return FitScores(*(expit(model.suspicion(rows)) for rows in others))


def make_model(learner: str, parameters: Mapping[str, Any], seed: int) -> Any:
    """Return a forest or booster on one thread, behind its sampler if it has one.

    >>> make_model("random-forest", {"n_estimators": 30}, seed=1)
    RandomForestClassifier(n_estimators=30, n_jobs=1, random_state=1)
    """
    own = {k: v for k, v in parameters.items() if k not in (_SHARE, _SAMPLER, _SUBSETS)}
    try:
        model = LEARNERS[learner](**own, n_jobs=1, random_state=seed)
    except TypeError as error:
        raise ValueError(f"learner {learner!r} cannot be made: {error}.") from error
    if _SAMPLER not in parameters:
        return model
    from toprank.decisions.sampled_ranker import SampledRanker
    from toprank.decisions.samplers import import_imblearn

    import_imblearn()
    return SampledRanker(
        model,
        parameters[_SAMPLER],
        ratio=parameters[_SHARE] / (1 - parameters[_SHARE]),  # positives per negative
        n_subsets=parameters.get(_SUBSETS, 1),
        random_state=seed,
    )


class Choosing:
    """Choices by validation figures of one data set, with seed 0; none is computed twice."""

    def __init__(self, parts: SplitParts) -> None:
        self.parts = parts
        self._known: dict[str, tuple[FitScores, dict[str, float]]] = {}

    def chosen(self, method: Method, metric: str) -> ChosenFit:
        """Return what is best for a metric; on a tie, the first.

        The settings of the model are those best without sampling; then the share is chosen among
        those above the training rows' own.
        """
        settings, shares = _candidates(method)
        if _SAMPLER not in method.parameters:
            return self._best(method.learner, settings, metric)
        plain = [_without_sampler(each) for each in settings]
        n_before, setting = 0, settings[0]
        if len(settings) > 1:
            best = self._best(method.learner, plain, metric)
            n_before, setting = len(settings), settings[plain.index(best.parameters)]
        sampled = [{**setting, _SHARE: share} for share in self._above_own(shares)]
        best = self._best(method.learner, sampled, metric)
        return best._replace(n_candidates=n_before + best.n_candidates)

    def scores(self, learner: str, parameters: Parameters, seed: int) -> FitScores:
        """Return the scores of a fit, which the choice may have made already."""
        if seed == _CHOOSING_SEED:
            return self._judged(learner, parameters)[0]
        return scores(learner, parameters, seed, self.parts)

    def _best(self, learner: str, candidates: list[Parameters], metric: str) -> ChosenFit:
        best = 0
        if len(candidates) > 1:
            values = [self._judged(learner, each)[1][metric] for each in candidates]
            best = int(np.argmax(values))
        return ChosenFit(candidates[best], len(candidates))

    def _judged(self, learner: str, parameters: Parameters) -> tuple[FitScores, dict[str, float]]:
        """Return the scores of a fit with seed 0, and its figures on validation."""
        key = json.dumps([learner, parameters], sort_keys=True)
        if key not in self._known:
            found = scores(learner, parameters, _CHOOSING_SEED, self.parts)
            self._known[key] = found, figures_on_validation(self.parts, found)
        return self._known[key]

    def _above_own(self, shares: Iterable[float]) -> list[float]:
        own = float(self.parts.train.is_positive.mean())
        above = [share for share in shares if share > own]
        if not above:
            raise ValueError(
                f"one share at least must be above that of the training rows, {own:.4g}; got "
                f"{', '.join(map(str, shares))}."
            )
        return above


def figures_on_validation(parts: SplitParts, found: FitScores) -> dict[str, float]:
    """Return every metric on validation, rounded, so that no choice hangs on the last digits."""
    y = parts.validation.is_positive
    values = {
        "roc_auc": metrics.roc_auc(y, found.validation),
        "f1": metrics.best_f_beta(y, found.validation).value,
        "average_precision": metrics.average_precision(y, found.validation),
    }
    return {name: round(value, 5) for name, value in values.items()}


def threshold_of(parts: SplitParts, found: FitScores) -> float:
    """Return the threshold with the best F1 on validation."""
    return metrics.best_f_beta(parts.validation.is_positive, found.validation).threshold


def figures_on_test(parts: SplitParts, found: FitScores) -> dict[str, float]:
    """Return every metric on the test rows, F1 at the threshold best on validation."""
    y = parts.test.is_positive
    return {
        "roc_auc": metrics.roc_auc(y, found.test),
        "f1": metrics.f_beta(y, found.test, threshold_of(parts, found)),
        "average_precision": metrics.average_precision(y, found.test),
    }


def check_method(method: Method) -> None:
    """Raise unless a method with a sampler has shares to choose from, and one without has none."""
    has_shares = _SHARE in method.grid
    if has_shares != (_SAMPLER in method.parameters):
        raise ValueError(
            f"methods.{method.name} must have both a sampler among its parameters and a list of "
            f"share in its grid, or neither; it has only "
            f"{'share' if has_shares else 'the sampler'}."
        )
    for share in method.grid.get(_SHARE, ()):
        if isinstance(share, bool) or not isinstance(share, float) or not 0 < share <= 0.5:
            raise ValueError(
                f"methods.{method.name}: share must be above 0 and at most 0.5; got {share!r}."
            )


def _candidates(method: Method) -> tuple[list[Parameters], tuple[float, ...]]:
    """Return all settings of the model, and the shares to choose from."""
    grid = {name: values for name, values in method.grid.items() if name != _SHARE}
    settings = Method(method.name, method.learner, method.parameters, grid).candidates
    return settings, method.grid.get(_SHARE, ())


def _without_sampler(parameters: Parameters) -> Parameters:
    return {k: v for k, v in parameters.items() if k not in (_SAMPLER, _SUBSETS)}


def _booster(**parameters: Any) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(**parameters)


LEARNERS: Mapping[str, Callable[..., Any]] = {
    "random-forest": RandomForestClassifier,
    "gradient-boosting": _booster,
}
