"""One draw of a simulated design per seed; parameters chosen on draws that no figure comes from.

`data` are designs of `simulated.boxes`. A method learns from the rows of a draw and ranks those
of its test, whose labels it never gets. One with a grid learns with the candidate that has the
highest mean AUC over other draws of the same design, on a tie the first: the same for all seeds.

Options:

- `tuned_on`: seeds of the draws that candidates are tried on, such as { from = 1001, to = 1020 };
  none of them may be a seed of the experiment.
"""

import json
import time
from collections.abc import Collection
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.metrics import roc_auc
from toprank_bench import named_metrics
from toprank_bench.experiment import Experiment, Method, Parameters
from toprank_bench.learners.rankers import LEARNERS, compile_kernels, make_learner, why_not_learner
from toprank_bench.protocols.declared import check_sets_alike, options_of, seed_by_seed
from toprank_bench.protocols.protocol import Cell, TrialOutcome
from toprank_bench.simulated.boxes import BoxDesign, BoxSample, design_of, drawn


class SimulatedSamples:
    """Draws of simulated designs, parameters by the mean AUC of other draws."""

    learners: ClassVar[Collection[str]] = LEARNERS.keys()

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        options = options_of(experiment, {"tuned_on": None})
        for name in experiment.metrics:
            named_metrics.figure(name)
        for name in experiment.data:
            design_of(name)
        self.tuned_on = _tuned_on(options["tuned_on"], experiment)
        check_sets_alike(experiment)

    def cells(self) -> list[Cell]:
        """Return all cells, seed by seed."""
        return seed_by_seed(self.experiment)

    def why_not_data(self, data: str, folder: Path | None) -> str | None:
        """Return None: designs are made here."""
        return None

    def why_not_method(self, method: str) -> str | None:
        """Return which package a method lacks, or which of its parameters is wrong."""
        return why_not_learner(self.experiment.method(method))

    def run(self, cell: Cell, folder: Path | None) -> TrialOutcome:
        """Return the figures of one method on one draw."""
        method, design = self.experiment.method(cell.method), design_of(cell.data)
        compile_kernels(method.learner, method.parameters)
        begin = time.perf_counter()
        chosen = self._chosen(method, design)
        tuned = time.perf_counter()
        train, test = drawn(design, cell.seed)
        ranked = _ranked(method.learner, cell.seed, chosen.parameters, train, test)
        return TrialOutcome(
            named_metrics.figures(self.experiment.metrics, test.is_positive, ranked.suspicion),
            chosen.parameters,
            {"tune": round(tuned - begin, 3), **ranked.seconds},
            {
                "rows": design.n_rows,
                "test_rows": test.is_positive.size,
                "test_positives": int(np.count_nonzero(test.is_positive)),
                "candidates": len(method.candidates),
                **({"tuned_auc": chosen.auc} if chosen.auc is not None else {}),
            },
        )

    def _chosen(self, method: Method, design: BoxDesign) -> "_Chosen":
        if len(method.candidates) == 1:
            return _Chosen(method.candidates[0], None)
        return _best(method.learner, json.dumps(method.candidates), design, self.tuned_on)


class _Chosen(NamedTuple):
    """The parameters to learn with and their mean AUC over the draws for tuning, if any."""

    parameters: Parameters
    auc: float | None


class _RankedSample(NamedTuple):
    suspicion: NDArray[np.float64]
    seconds: dict[str, float]


@cache  # all seeds share the choice: once per process is enough
def _best(learner: str, candidates: str, design: BoxDesign, seeds: tuple[int, ...]) -> _Chosen:
    """Return the candidate with the highest mean AUC; `candidates` are in JSON, to be a key."""
    tried = json.loads(candidates)
    found: list[list[float]] = [[] for _ in tried]
    for seed in seeds:
        train, test = drawn(design, seed)
        for aucs, parameters in zip(found, tried, strict=True):
            ranked = _ranked(learner, seed, parameters, train, test)
            aucs.append(roc_auc(test.is_positive, ranked.suspicion))
    means = list(map(fmean, found))
    return _Chosen(tried[means.index(max(means))], max(means))


def _ranked(
    learner: str, seed: int, parameters: Parameters, train: BoxSample, test: BoxSample
) -> _RankedSample:
    """Return what a learner makes of test rows whose labels it never gets."""
    begin = time.perf_counter()
    ranker = make_learner(learner, seed, parameters)
    ranker.fit(train.features, train.is_positive)
    fitted = time.perf_counter()
    suspicion = checks.finite_vector(ranker.suspicion(test.features), "suspicion")
    scored = time.perf_counter()
    seconds = {"fit": round(fitted - begin, 3), "score": round(scored - fitted, 3)}
    return _RankedSample(suspicion, seconds)


def _tuned_on(value: Any, experiment: Experiment) -> tuple[int, ...]:
    """Return the seeds to choose by, which no method with a grid can do without."""
    if value is None:
        for method in experiment.methods:
            if len(method.candidates) > 1:
                raise ValueError(
                    f"tuned_on must name draws to choose from the grid of method {method.name!r} "
                    "by; it is not there."
                )
        return ()
    if not isinstance(value, dict) or set(value) != {"from", "to"}:
        raise ValueError(f"tuned_on must be like {{from = 1001, to = 1020}}; got {value!r}.")
    first = checks.whole_number(value["from"], "tuned_on.from", 0)
    seeds = range(first, checks.whole_number(value["to"], "tuned_on.to", first) + 1)
    for cell in seed_by_seed(experiment):
        if cell.seed in seeds:
            raise ValueError(
                "tuned_on must name none of the seeds that figures come from; "
                f"both have {cell.seed}."
            )
    return tuple(seeds)
