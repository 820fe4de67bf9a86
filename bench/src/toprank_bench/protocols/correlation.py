"""How closely average precision and the best F-beta agree over simulated rankings.

With each seed, rankings are drawn, each of 100 to 10,000 rows with a share of .01 to .5 of
positives; suspicions come from one of four pairs of distributions, chosen at random. Of every
ranking we take the average precision and the highest F-beta of its thresholds. The metrics are
their correlations over all rankings: `pearson` and `spearman`.

`data` are readings of that text, which does not say how rows and shares are drawn:

- `even`: both evenly, every threshold tried;
- `share even in its logarithm`, `rows even in their logarithm`: one of them otherwise;
- `thresholds from 0 to 1`: only those, in steps of .01; scores of the normal pairs reach beyond.

The one learner is `best-f-beta` with its `beta`. Options:

- `rankings`: how many a seed has.
"""

import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr

from toprank import metrics
from toprank.data import checks
from toprank_bench.experiment import Experiment, Method
from toprank_bench.protocols.declared import check_sets_alike, options_of, seed_by_seed
from toprank_bench.protocols.protocol import Cell, TrialOutcome

PAIRS = {  # distributions of the positives' suspicions and of the negatives'
    "N(0,1), N(0,1)": (("normal", 0, 1), ("normal", 0, 1)),
    "Beta(4,1), Beta(1,1)": (("beta", 4, 1), ("beta", 1, 1)),
    "Beta(1,1), Beta(1,4)": (("beta", 1, 1), ("beta", 1, 4)),
    "N(3,1), N(0,1)": (("normal", 3, 1), ("normal", 0, 1)),
}
_ROWS, _SHARES = (100, 10_000), (0.01, 0.5)
_STEPS = np.linspace(0, 1, 101)
_METRICS = ("pearson", "spearman")
_LEARNER = "best-f-beta"
_FEWEST = 100  # rankings, so that every pair has some


class Rankings(NamedTuple):
    """Simulated rankings: the number of each one's pair, its AP, its best F-beta by beta."""

    pairs: NDArray[np.intp]
    precision: NDArray[np.float64]
    best: dict[float, NDArray[np.float64]]


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
            checks.one_of(name, "data of the protocol correlation", tuple(_READINGS))
        for method in experiment.methods:
            _beta(method)
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
        found = simulated(cell.data, cell.seed, self.n_rankings, [beta])
        seconds = {"simulate": round(time.perf_counter() - begin, 3)}
        precision, best = found.precision, found.best[beta]
        whole = _agreement(precision, best)
        by_pair = {
            name: _agreement(precision[found.pairs == pair], best[found.pairs == pair])
            for pair, name in enumerate(PAIRS)
        }
        return TrialOutcome(
            {name: whole[name] for name in self.experiment.metrics},
            method.parameters,
            seconds,
            {"rankings": self.n_rankings, "interval": whole["interval"], "by_pair": by_pair},
        )


def simulated(reading: str, seed: int, n_rankings: int, betas: Iterable[float]) -> Rankings:
    """Return rankings drawn with this seed; `betas` do not change what is drawn.

    >>> simulated("even", 0, 3, [1.0]).precision.round(2).tolist()
    [0.67, 0.19, 0.65]
    """
    how, generator = _READINGS[reading], np.random.default_rng(seed)
    pairs = generator.integers(len(PAIRS), size=n_rankings)
    precision = np.empty(n_rankings)
    best = {beta: np.empty(n_rankings) for beta in betas}
    distributions = list(PAIRS.values())
    for place, pair in enumerate(pairs):
        n_rows = round(how.draw_rows(generator, *_ROWS))
        n_positive = max(round(n_rows * how.draw_share(generator, *_SHARES)), 1)
        counts = n_positive, n_rows - n_positive
        suspicion = np.concatenate(
            [
                getattr(generator, kind)(*of_kind, count)
                for (kind, *of_kind), count in zip(distributions[pair], counts, strict=True)
            ]
        )
        is_positive = np.arange(n_rows) < n_positive
        precision[place] = metrics.average_precision(is_positive, suspicion)
        for beta, values in best.items():
            values[place] = how.best(is_positive, suspicion, beta)
    return Rankings(pairs, precision, best)


def _even(generator: np.random.Generator, low: float, high: float) -> float:
    return generator.uniform(low, high)


def _even_in_logarithm(generator: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(generator.uniform(np.log(low), np.log(high))))


def _best_of_all(is_positive: NDArray, suspicion: NDArray, beta: float) -> float:
    return metrics.best_f_beta(is_positive, suspicion, beta).value


def _best_from_0_to_1(is_positive: NDArray, suspicion: NDArray, beta: float) -> float:
    n_positive = int(is_positive.sum())
    found, false = (
        part.size - np.searchsorted(np.sort(part), _STEPS)
        for part in (suspicion[is_positive], suspicion[~is_positive])
    )
    return float(((1 + beta**2) * found / (beta**2 * n_positive + found + false)).max())


class _Reading(NamedTuple):
    draw_rows: Callable[[np.random.Generator, float, float], float]
    draw_share: Callable[[np.random.Generator, float, float], float]
    best: Callable[[NDArray, NDArray, float], float]


_READINGS = {
    "even": _Reading(_even, _even, _best_of_all),
    "share even in its logarithm": _Reading(_even, _even_in_logarithm, _best_of_all),
    "rows even in their logarithm": _Reading(_even_in_logarithm, _even, _best_of_all),
    "thresholds from 0 to 1": _Reading(_even, _even, _best_from_0_to_1),
}


def _agreement(precision: NDArray, best: NDArray) -> dict[str, Any]:
    """Return Pearson's r with its 95 % Fisher interval, and Spearman's."""
    pearson = pearsonr(precision, best)
    return {
        "rankings": precision.size,
        "pearson": float(pearson.statistic),
        "interval": [round(float(end), 4) for end in pearson.confidence_interval()],
        "spearman": float(spearmanr(precision, best).statistic),
    }


def _beta(method: Method) -> float:
    """Return the beta of a method, which has that parameter and nothing to choose."""
    if set(method.parameters) != {"beta"} or method.grid:
        raise ValueError(
            f"methods.{method.name} must have the one parameter beta, and no grid; got "
            f"{', '.join([*method.parameters, *method.grid]) or 'neither'}."
        )
    return checks.number_above(method.parameters["beta"], f"methods.{method.name}.beta", 0)
