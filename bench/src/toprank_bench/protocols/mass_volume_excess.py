"""The area under the mass-volume curve of detectors that learn from rows without labels.

`data` are samples of `simulated.anomaly_data`. With each seed, folds are drawn: a method learns
from all but one and is evaluated on that one, all methods in the same box, by the same points. The
metrics, for both of which lower is better:

- `area`: the mean over folds of the area under the mass-volume curve;
- `excess_area`: how much that is above the area of the true density on the same rows.

Options:

- `folds`: how many;
- `points`: how many measure volume, where the sample has no lattice.

The learner `true-density` is no detector: it knows the sample. Detectors that score rows relative
to those scored with them, ECOD and COPOD, enclose nothing and cannot be judged so.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from toprank.data import checks
from toprank.metrics.mass_volume import mass_volume_interval
from toprank_bench.experiment import Experiment, Method
from toprank_bench.learners.detectors import (
    DETECTORS,
    RowDetector,
    compile_kernels,
    make_detector,
    why_not_detector,
)
from toprank_bench.protocols.declared import (
    check_sets_alike,
    check_untuned,
    options_of,
    seed_by_seed,
)
from toprank_bench.protocols.protocol import Cell, TrialOutcome
from toprank_bench.simulated.anomaly_data import (
    AnomalySample,
    anomaly_sample,
    check_sample_name,
    has_density,
)

_AREA, _EXCESS = "area", "excess_area"
_TRUTH = "true-density"
_DEFAULTS = {"folds": 5, "points": 100_000}
_PARTS = 10  # of the points, so that a kernel of all of them is never held

Suspicion = Callable[[NDArray[np.float32]], NDArray[np.float64]]


class MassVolume:
    """Areas under mass-volume curves, over folds of rows without labels."""

    learners: ClassVar[Collection[str]] = (
        *(name for name, kind in DETECTORS.items() if not kind.is_relative),
        _TRUTH,
    )

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        options = options_of(experiment, _DEFAULTS)
        self.n_folds = checks.whole_number(options["folds"], "folds", 2)
        self.n_points = checks.whole_number(options["points"], "points", 1)
        for name in experiment.metrics:
            checks.one_of(name, "a metric of the protocol mass-volume", (_AREA, _EXCESS))
        check_untuned(experiment)
        check_sets_alike(experiment)
        self._check_densities()

    def cells(self) -> list[Cell]:
        """Return all cells, seed by seed."""
        return seed_by_seed(self.experiment)

    def why_not_data(self, data: str, folder: Path | None) -> str | None:
        """Return the sentence of `datasets.load` when it cannot load the set of a sample."""
        try:
            anomaly_sample(data, 0, 1, folder)
        except (ValueError, OSError) as error:
            return str(error)
        return None

    def why_not_method(self, method: str) -> str | None:
        """Return which package a method lacks, or which of its parameters is wrong."""
        how = self.experiment.method(method)
        return None if how.learner == _TRUTH else why_not_detector(how)

    def run(self, cell: Cell, folder: Path | None) -> TrialOutcome:
        """Return the areas of one method in one sample, means over folds."""
        sample = anomaly_sample(cell.data, cell.seed, self.n_points, folder)
        method = self.experiment.method(cell.method)
        if method.learner != _TRUTH:
            compile_kernels(method.learner, method.parameters)
        folds = list(self._folds(sample, cell))
        judged = [
            _judged(_detector(method, sample, cell.seed), sample, train, test)
            for train, test in folds
        ]
        found = {_AREA: _mean(each.area for each in judged)}
        if _EXCESS in self.experiment.metrics:
            best = _mean(_area(_Truth(sample).suspicion, sample, test)[0] for _, test in folds)
            found[_EXCESS] = found[_AREA] - best
        seconds = {
            "fit": round(sum(each.fit_seconds for each in judged), 3),
            "score": round(sum(each.score_seconds for each in judged), 3),
        }
        return TrialOutcome(found, method.parameters, seconds, _facts(sample, judged))

    def _folds(self, sample: AnomalySample, cell: Cell) -> Iterator[tuple[NDArray, NDArray]]:
        """Yield the rows to learn from and those to be judged on."""
        folds = KFold(self.n_folds, shuffle=True, random_state=cell.seed)
        for train, test in folds.split(sample.rows):
            yield sample.rows[train], sample.rows[test]

    def _check_densities(self) -> None:
        for name in self.experiment.data:
            if has_density(check_sample_name(name)):
                continue
            if _EXCESS in self.experiment.metrics:
                raise ValueError(
                    f"metric {_EXCESS!r} must be left out with data {name!r}, whose true density "
                    "is not known."
                )
            for method in self.experiment.methods:
                if method.learner == _TRUTH:
                    raise ValueError(
                        f"methods.{method.name} must be left out with data {name!r}, whose true "
                        "density is not known."
                    )


class _JudgedExcess(NamedTuple):
    """One fold: its area, half the interval that points leave, a tree's own area, seconds."""

    area: float
    width: float
    exact: float | None
    fit_seconds: float
    score_seconds: float


class _Truth:
    """What would rank if the density were known."""

    def __init__(self, sample: AnomalySample) -> None:
        assert sample.density is not None
        self.density = sample.density

    def fit(self, rows: NDArray) -> Self:
        """Learn nothing: there is nothing left to learn."""
        return self

    def suspicion(self, places: NDArray) -> NDArray[np.float64]:
        """Return the less the denser."""
        return -self.density(places)


def _detector(method: Method, sample: AnomalySample, seed: int) -> RowDetector:
    if method.learner == _TRUTH:
        return _Truth(sample)
    return make_detector(method.learner, seed, method.parameters, sample.bounds)


def _judged(
    detector: RowDetector, sample: AnomalySample, train: NDArray, test: NDArray
) -> _JudgedExcess:
    """Return what a detector that learns from some rows makes of others."""
    begin = time.perf_counter()
    detector.fit(train)
    fitted = time.perf_counter()
    area, width = _area(detector.suspicion, sample, test)
    scored = time.perf_counter()
    exact = detector.mass_volume(test).area if hasattr(detector, "mass_volume") else None
    return _JudgedExcess(area, width, exact, fitted - begin, scored - fitted)


def _area(suspicion: Suspicion, sample: AnomalySample, test: NDArray) -> tuple[float, float]:
    """Return the area of test rows, and half the 95 % interval that the points leave."""
    parts = np.array_split(sample.points, _PARTS)
    of_points = np.concatenate([suspicion(part) for part in parts])
    judged = mass_volume_interval(suspicion(test), of_points)
    return judged.value, (judged.high - judged.low) / 2


def _facts(sample: AnomalySample, judged: list[_JudgedExcess]) -> dict[str, Any]:
    exact = [each.exact for each in judged if each.exact is not None]
    return {
        "rows": len(sample.rows),
        "points": len(sample.points),
        "areas_of_folds": [round(each.area, 5) for each in judged],
        "width_of_points": round(_mean(each.width for each in judged), 5),
        **({"exact_area": round(_mean(exact), 5)} if exact else {}),
    }


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
