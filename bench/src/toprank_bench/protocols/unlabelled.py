"""Detectors learn from all rows without their labels and rank the same rows.

With each seed the rows are put in another order, and the first `most_rows` are taken. Every
detector gets the same matrix: numbers as they are, a column of 0 and 1 per category. Labels are
read once, by the metrics.

Options:

- `most_rows`: to how many a large set is drawn down.
"""

import time
from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from toprank.data import checks
from toprank.data.tables import Schema
from toprank_bench import datasets, named_metrics
from toprank_bench.experiment import Experiment
from toprank_bench.learners.detectors import (
    DETECTORS,
    compile_kernels,
    make_detector,
    why_not_detector,
)
from toprank_bench.learners.one_hot import one_hot
from toprank_bench.protocols.declared import (
    check_sets_alike,
    check_untuned,
    options_of,
    seed_by_seed,
)
from toprank_bench.protocols.protocol import Cell, TrialOutcome

_DEFAULTS = {"most_rows": 50_000}


class Unlabelled:
    """Known anomalies ranked without their labels, by detectors that learn from the same rows."""

    learners: ClassVar[Collection[str]] = DETECTORS.keys()

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        options = options_of(experiment, _DEFAULTS)
        self.most_rows = checks.whole_number(options["most_rows"], "most_rows", 2)
        for name in experiment.metrics:
            named_metrics.figure(name)
        check_untuned(experiment)
        check_sets_alike(experiment)

    def cells(self) -> list[Cell]:
        """Return all cells, seed by seed."""
        return seed_by_seed(self.experiment)

    def why_not_data(self, data: str, folder: Path | None) -> str | None:
        """Return the sentence of `datasets.load`, or which column has gaps."""
        try:
            table = datasets.load(data, folder=folder).X
        except (ValueError, OSError) as error:
            return str(error)
        for name in table.column_names:
            n_missing = pc.sum(pc.is_null(table[name], nan_is_null=True)).as_py()
            if n_missing:
                return (
                    f"data {data!r} must hold no missing values, which most detectors do not "
                    f"take; column {name!r} misses {n_missing:,}."
                )
        return None

    def why_not_method(self, method: str) -> str | None:
        """Return which package a method lacks, or which of its parameters is wrong."""
        return why_not_detector(self.experiment.method(method))

    def run(self, cell: Cell, folder: Path | None) -> TrialOutcome:
        """Return the figures of one method on one draw of the rows."""
        rows, is_anomaly = self._drawn(cell, folder)
        method = self.experiment.method(cell.method)
        compile_kernels(method.learner, method.parameters)
        begin = time.perf_counter()
        detector = make_detector(method.learner, cell.seed, method.parameters)
        detector.fit(rows)
        fitted = time.perf_counter()
        suspicion = checks.finite_vector(detector.suspicion(rows), "suspicion")
        scored = time.perf_counter()
        return TrialOutcome(
            named_metrics.figures(self.experiment.metrics, is_anomaly, suspicion),
            method.parameters,
            {"fit": round(fitted - begin, 3), "score": round(scored - fitted, 3)},
            {"rows": len(rows), "anomalies": int(np.count_nonzero(is_anomaly))},
        )

    def _drawn(
        self, cell: Cell, folder: Path | None
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the rows of a seed, and which are anomalies."""
        dataset = datasets.load(cell.data, folder=folder)
        n_rows = dataset.is_positive.size
        chosen = np.random.default_rng(cell.seed).permutation(n_rows)[: self.most_rows]
        features = dataset.X.take(chosen)
        return one_hot(features, Schema.of(features)), dataset.is_positive[chosen]
