"""How closely average precision and the best F-beta agree over simulated rankings.

`data` are readings of `simulated.rankings`, which says how rankings are drawn. The metrics are the
correlations of AP and F-beta over all rankings of a seed: `pearson`, `spearman` and `kendall`.

The one learner is `best-f-beta` with its `beta`. Options:

- `rankings`: how many a seed has.
"""

import time
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, pearsonr, spearmanr

from toprank.data import checks
from toprank_bench.experiment import Experiment, Method
from toprank_bench.protocols.declared import check_sets_alike, options_of, seed_by_seed
from toprank_bench.protocols.protocol import Cell, TrialOutcome
from toprank_bench.simulated.rankings import PAIRS, READINGS, Rankings, simulated

_METRICS = ("pearson", "spearman", "kendall")
_LEARNER = "best-f-beta"
_FEWEST = 100  # rankings, so that every pair has some


class SimulatedRankings:
    """Correlations of average precision with the best F-beta over simulated rankings."""

    learners: ClassVar[Collection[str]] = (_LEARNER,)

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        options = options_of(experiment, {"rankings": 10_000})
        self.n_rankings = checks.whole_number(options["rankings"], "rankings", _FEWEST)
        for name in experiment.metrics:
            checks.one_of(name, "a metric of the protocol correlation", _METRICS)
        for name in experiment.data:
            checks.one_of(name, "data of the protocol correlation", tuple(READINGS))
        self.betas = tuple(dict.fromkeys(_beta(method) for method in experiment.methods))
        check_sets_alike(experiment)

    def cells(self) -> list[Cell]:
        """Return all cells, seed by seed."""
        return seed_by_seed(self.experiment)

    def why_not_data(self, data: str, folder: Path | None) -> str | None:
        """Return None: rankings are made here."""
        return None

    def why_not_method(self, method: str) -> str | None:
        """Return None: nothing needs to be installed."""
        return None

    def run(self, cell: Cell, folder: Path | None) -> TrialOutcome:
        """Return the correlations over one draw of rankings."""
        method = self.experiment.method(cell.method)
        beta = _beta(method)
        begin = time.perf_counter()
        found = _once(cell.data, cell.seed, self.n_rankings, self.betas)
        seconds = {"simulate": round(time.perf_counter() - begin, 3)}
        precision, best = found.precision, found.f_beta[beta]
        whole = _agreement(precision, best)
        by_pair = {
            name: _agreement(precision[found.pairs == pair], best[found.pairs == pair])
            for pair, name in enumerate(PAIRS)
            if np.count_nonzero(found.pairs == pair) > 1
        }
        return TrialOutcome(
            {name: whole[name] for name in self.experiment.metrics},
            method.parameters,
            seconds,
            {"rankings": self.n_rankings, "interval": whole["interval"], "by_pair": by_pair},
        )


@lru_cache(maxsize=1)  # the betas of a reading share its rankings
def _once(reading: str, seed: int, n_rankings: int, betas: tuple[float, ...]) -> Rankings:
    return simulated(reading, seed, n_rankings, betas)


def _agreement(precision: NDArray, best: NDArray) -> dict[str, Any]:
    """Return Pearson's r with its 95 % Fisher interval, and Spearman's."""
    pearson = pearsonr(precision, best)
    return {
        "rankings": precision.size,
        "pearson": float(pearson.statistic),
        "interval": [round(float(end), 4) for end in pearson.confidence_interval()],
        "spearman": float(spearmanr(precision, best).statistic),
        "kendall": float(kendalltau(precision, best).statistic),
    }


def _beta(method: Method) -> float:
    """Return the beta of a method, which has that parameter and nothing to choose."""
    if set(method.parameters) != {"beta"} or method.grid:
        raise ValueError(
            f"methods.{method.name} must have the one parameter beta, and no grid; got "
            f"{', '.join([*method.parameters, *method.grid]) or 'neither'}."
        )
    return checks.number_above(method.parameters["beta"], f"methods.{method.name}.beta", 0)
