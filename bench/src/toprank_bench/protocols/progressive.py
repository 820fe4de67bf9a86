"""Folds learned in one pass; parameters chosen by progressive validation, errors on what is left.

A seed splits a set into folds. All but one of them are a stream in random order, from which every
candidate of a method learns once; its progressive error is that on each row before the row's label
is known. The candidate with the fewest errors, on a tie the first, scores the fold that is left,
without its labels. Figures are means over folds.

Options:

- `folds`: how many;
- `published_sizes`: numbers of weak learners by data set, then by the method they were published
  for. A grid takes one by that method's name, as in `n_learners = ["ONLB", 10, 20]`.

Metrics:

- `error`: the share of test rows on the wrong side of a score of 0;
- `error_at_published_size`: the same when only candidates of a published size are chosen from;
  of a method that has none, `error` again;
- `progressive_error`: that of the candidate chosen, by which it was chosen;
- `weak_learners`: how many the candidate chosen has, 1 for a learner that boosts nothing.
"""

import time
from collections.abc import Collection, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from toprank.data import checks
from toprank_bench import datasets
from toprank_bench.experiment import Experiment, Method, Parameters
from toprank_bench.learners.online_rivals import (
    ONLINE_LEARNERS,
    Features,
    compile_online_kernels,
    make_online_learner,
)
from toprank_bench.protocols.declared import check_sets_alike, options_of, seed_by_seed
from toprank_bench.protocols.protocol import Cell, TrialOutcome

_METRICS = ("error", "error_at_published_size", "progressive_error", "weak_learners")
_DEFAULTS: dict[str, Any] = {"folds": 3, "published_sizes": {}}
_SIZE = "n_learners"
_ROUNDED = 5  # decimals of what a row says of each fold


class OnlineCandidate(NamedTuple):
    """One setting of a method, called by what of it is chosen."""

    name: str
    parameters: Parameters
    is_published: bool
    """Whether its number of weak learners is a published one."""

    @property
    def n_learners(self) -> int:
        """How many weak learners it has."""
        return self.parameters.get(_SIZE, 1)


class ProgressiveValidation:
    """Folds of each seed, learned in one pass, parameters by progressive validation."""

    learners: ClassVar[Collection[str]] = ONLINE_LEARNERS.keys()

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        options = options_of(experiment, _DEFAULTS)
        self.n_folds = checks.whole_number(options["folds"], "folds", 2)
        self.published_sizes = _sizes(options["published_sizes"])
        for metric in experiment.metrics:
            checks.one_of(metric, "metrics", _METRICS)
        check_sets_alike(experiment)
        for data in experiment.data:
            for method in experiment.methods:
                self.candidates(method, data)

    def cells(self) -> list[Cell]:
        """Return all cells, seed by seed."""
        return seed_by_seed(self.experiment)

    def why_not_data(self, data: str, folder: Path | None) -> str | None:
        """Return the sentence of `datasets.load` when it cannot load the set."""
        try:
            datasets.load(data, folder=folder)
        except (ValueError, OSError) as error:
            return str(error)
        return None

    def why_not_method(self, method: str) -> str | None:
        """Return which package a method lacks, or which of its parameters is wrong."""
        how = self.experiment.method(method)
        candidate = self.candidates(how, self.experiment.data[0])[0]
        try:
            make_online_learner(how.learner, 0, candidate.parameters)
        except (ImportError, ValueError) as error:
            return f"method {method!r} is left out: {error}"
        return None

    def candidates(self, method: Method, data: str) -> list[OnlineCandidate]:
        """Return all settings of a method on a data set, with the sizes that are published."""
        return [self._candidate(each, method, data) for each in method.candidates]

    def run(self, cell: Cell, folder: Path | None) -> TrialOutcome:
        """Return the figures of one method over the folds of one seed."""
        method = self.experiment.method(cell.method)
        candidates = self.candidates(method, cell.data)
        dataset = datasets.load(cell.data, folder=folder)
        features, is_positive = matrix_or_table(dataset.X), dataset.is_positive
        compile_online_kernels(method.learner, method.parameters)
        judged = []
        kfold = KFold(self.n_folds, shuffle=True, random_state=cell.seed)
        for number, (train, test) in enumerate(kfold.split(is_positive)):
            stream = np.random.default_rng([cell.seed, number]).permutation(train)
            learned = _learned(
                method.learner,
                candidates,
                (rows_taken(features, stream), is_positive[stream]),
                rows_taken(features, test),
                cell.seed,
            )
            judged.append(_judged(learned, candidates, is_positive[test]))
        return _outcome(judged, is_positive.size, len(candidates))

    def _candidate(self, parameters: Parameters, method: Method, data: str) -> OnlineCandidate:
        size = parameters.get(_SIZE, 1)
        is_published = isinstance(size, str)
        if is_published:
            sizes = self.published_sizes.get(data, {})
            if size not in sizes:
                raise ValueError(
                    f"{_SIZE} of method {method.name!r} must be a whole number or a name in "
                    f"options.published_sizes.{data}; got {size!r}."
                )
            parameters = {**parameters, _SIZE: sizes[size]}
        settings = [f"{key}={parameters[key]}" for key in method.grid]
        return OnlineCandidate(" ".join(settings) or "as given", parameters, is_published)


class _Learned(NamedTuple):
    """What the candidates came to on one fold, whose labels none of them has seen."""

    progressive_errors: list[float]
    chosen: int
    chosen_at_published_size: int
    suspicion: Mapping[int, NDArray[np.float64]]
    """Of the candidates that were chosen, by their number."""
    seconds: dict[str, float]


class _Judged(NamedTuple):
    """One fold: what is measured, what was chosen, seconds, and what a row says of it."""

    figures: dict[str, float]
    parameters: Parameters
    seconds: dict[str, float]
    facts: dict[str, Any]


def _learned(
    name: str,
    candidates: list[OnlineCandidate],
    stream: tuple[Features, NDArray[np.bool_]],
    test: Features,
    seed: int,
) -> _Learned:
    """Let all candidates learn from a stream, and score the test with those chosen."""
    begin = time.perf_counter()
    learners = [make_online_learner(name, seed, each.parameters) for each in candidates]
    errors = [_error(learner.score_then_learn(*stream), stream[1]) for learner in learners]
    all_numbers = range(len(candidates))
    published = [number for number in all_numbers if candidates[number].is_published]
    chosen = min(all_numbers, key=errors.__getitem__)
    chosen_at_published_size = min(published or all_numbers, key=errors.__getitem__)
    learned = time.perf_counter()
    suspicion = {
        number: learners[number].suspicion(test) for number in {chosen, chosen_at_published_size}
    }
    seconds = {"learn": learned - begin, "score": time.perf_counter() - learned}
    return _Learned(errors, chosen, chosen_at_published_size, suspicion, seconds)


def _judged(
    learned: _Learned, candidates: list[OnlineCandidate], is_positive: NDArray[np.bool_]
) -> _Judged:
    """Return the figures of one fold by the labels of its test rows."""
    chosen, at_published_size = learned.chosen, learned.chosen_at_published_size
    figures = {
        "error": _error(learned.suspicion[chosen], is_positive),
        "error_at_published_size": _error(learned.suspicion[at_published_size], is_positive),
        "progressive_error": learned.progressive_errors[chosen],
        "weak_learners": float(candidates[chosen].n_learners),
    }
    validated = zip(candidates, learned.progressive_errors, strict=True)
    facts = {
        "chosen": candidates[chosen].name,
        "chosen_at_published_size": candidates[at_published_size].name,
        **{name: round(value, _ROUNDED) for name, value in figures.items()},
        "validated": {each.name: round(error, _ROUNDED) for each, error in validated},
    }
    return _Judged(figures, candidates[chosen].parameters, learned.seconds, facts)


def _outcome(folds: list[_Judged], n_rows: int, n_candidates: int) -> TrialOutcome:
    """Return the means over folds, and what was chosen on each."""
    seconds = [each.seconds for each in folds]
    return TrialOutcome(
        {name: fmean(each.figures[name] for each in folds) for name in _METRICS},
        {f"fold {number}": each.parameters for number, each in enumerate(folds)},
        {step: round(sum(each[step] for each in seconds), 3) for step in seconds[0]},
        {
            "rows": n_rows,
            "candidates": n_candidates,
            "folds": [each.facts for each in folds],
        },
    )


def _error(suspicion: NDArray[np.float64], is_positive: NDArray[np.bool_]) -> float:
    suspicion = checks.finite_vector(suspicion, "suspicion")
    return float(np.mean((suspicion > 0) != is_positive))


def matrix_or_table(features: pa.Table) -> Features:
    """Return a matrix where all columns are numbers.

    Weights begin by the names of columns, and the recorded rows are those of a matrix.
    """
    if all(_is_number(each.type) for each in features.columns):
        return np.column_stack([each.cast(pa.float64()).to_numpy() for each in features.columns])
    return features


def _is_number(kind: pa.DataType) -> bool:
    return pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind)


def rows_taken(features: Features, rows: NDArray[np.intp]) -> Features:
    """Return some rows of a matrix or table."""
    return features.take(rows) if isinstance(features, pa.Table) else features[rows]


def _sizes(given: Any) -> dict[str, dict[str, int]]:
    """Return numbers of weak learners by data set, then by name."""
    sizes: dict[str, dict[str, int]] = {}
    for data, of_methods in _table(given, "published_sizes").items():
        where = f"published_sizes.{data}"
        sizes[data] = {
            name: checks.whole_number(size, f"{where}.{name}", 1)
            for name, size in _table(of_methods, where).items()
        }
    return sizes


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be a table; got {value!r}.")
    return value
