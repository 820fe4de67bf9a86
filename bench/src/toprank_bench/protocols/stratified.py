"""One stratified split per seed; parameters chosen by folds of the training rows.

A split is that of `train_test_split(..., random_state=seed)`, which is also that of
`np.random.seed(seed)` followed by a split without a seed. A method gets the training rows with
their labels and the test rows without: the labels of the test are read once, by the metrics.

Options:

- `test_share`: a number, or a fraction in text such as "1/3";
- `folds`: how many, to choose parameters by;
- `one_generator`: whether the folds are drawn by the generator that drew the split, where it
  stopped, as in scripts that seed NumPy once; otherwise by one of their own with the same seed.

In addition to the metrics of a ranking there is `cuts`: the inner nodes of all trees of a method,
where all methods boost trees.
"""

import time
from collections.abc import Collection, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split

from toprank.data import checks
from toprank.data.tables import check_columns
from toprank_bench import datasets, named_metrics
from toprank_bench.experiment import Experiment, Method, Parameters
from toprank_bench.learners.rankers import (
    LEARNERS,
    TableRanker,
    compile_kernels,
    make_learner,
    n_cuts,
    what_it_chose,
    why_not_learner,
)
from toprank_bench.protocols.declared import options_of, seed_by_seed
from toprank_bench.protocols.protocol import Cell, TrialOutcome
from toprank_bench.tuning import Folds, tuned

_CUTS = "cuts"
_DEFAULTS = {"test_share": 0.3, "folds": 5, "one_generator": False}


class StratifiedSplits:
    """A stratified split per seed, parameters by cross-validated AP of the training rows."""

    learners: ClassVar[Collection[str]] = LEARNERS.keys()

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        options = options_of(experiment, _DEFAULTS)
        self.test_share = _share(options["test_share"])
        self.n_folds = checks.whole_number(options["folds"], "folds", 2)
        self.one_generator = options["one_generator"]
        if not isinstance(self.one_generator, bool):
            raise ValueError(f"one_generator must be true or false; got {self.one_generator!r}.")
        self.counts_cuts = _CUTS in experiment.metrics
        self.of_ranking = [name for name in experiment.metrics if name != _CUTS]
        for name in self.of_ranking:
            named_metrics.figure(name)
        if self.counts_cuts:
            _check_boosters(experiment.methods)

    def cells(self) -> list[Cell]:
        """Return all cells, seed by seed."""
        return seed_by_seed(self.experiment)

    def why_not_data(self, data: str, folder: Path | None) -> str | None:
        """Return the sentence of `datasets.load` when it cannot load the set."""
        try:
            _, is_positive = self.loaded(data, folder)
        except (ValueError, OSError) as error:
            return str(error)
        return self._too_few(data, int(np.count_nonzero(is_positive)))

    def why_not_method(self, method: str) -> str | None:
        """Return which package a method lacks, or which of its parameters is wrong."""
        return why_not_learner(self.experiment.method(method))

    def run(self, cell: Cell, folder: Path | None) -> TrialOutcome:
        """Return the test figures of one method on one split."""
        features, is_positive = self.loaded(cell.data, folder)
        test, ranked = self.ranked_test(cell, features, is_positive)
        method = self.experiment.method(cell.method)
        is_tuned = self.experiment.set_options(cell.data).is_tuned
        found = named_metrics.figures(self.of_ranking, is_positive[test], ranked.suspicion)
        if self.counts_cuts:
            found[_CUTS] = n_cuts(method.learner, ranked.ranker)
        return TrialOutcome(
            found,
            ranked.parameters,
            ranked.seconds,
            {
                "rows": is_positive.size,
                "test_rows": test.size,
                "test_positives": int(np.count_nonzero(is_positive[test])),
                "candidates": len(method.candidates) if is_tuned else 1,
                **({"chosen": chosen} if (chosen := what_it_chose(ranked.ranker)) else {}),
            },
        )

    def _too_few(self, data: str, n_positive: int) -> str | None:
        """Return a sentence where a split or its folds must lack positives; None otherwise."""
        if n_positive < 2:
            return (
                f"data {data!r} must have at least 2 positives, one to learn from and one to test "
                f"on; it has {n_positive}."
            )
        n_learning = n_positive - max(int(n_positive * self.test_share), 1)
        has_grids = any(len(method.candidates) > 1 for method in self.experiment.methods)
        if has_grids and self.experiment.set_options(data).is_tuned and n_learning < self.n_folds:
            return (
                f"data {data!r} must have a positive to learn from for each of {self.n_folds} "
                f"folds to choose by; it has {n_positive} in all, so {n_learning}. Set fewer "
                f"folds in options, or tuned = false in sets.{data}."
            )
        return None

    def loaded(self, data: str, folder: Path | None) -> tuple[pa.Table, NDArray[np.bool_]]:
        """Return the features of a set and which of its rows are positive."""
        dataset = datasets.load(data, folder=folder)
        ranges = self.experiment.set_options(data).ranges
        return _with_lower_ends(dataset.X, ranges), dataset.is_positive

    def ranked_test(
        self, cell: Cell, features: pa.Table, is_positive: NDArray[np.bool_]
    ) -> tuple[NDArray[np.intp], "Ranked"]:
        """Return the test rows of the cell's split, and what its method makes of them."""
        generator = np.random.RandomState(cell.seed)  # the papers' splits come from it
        train, test = train_test_split(
            np.arange(is_positive.size),
            stratify=is_positive,
            test_size=self.test_share,
            random_state=generator,
        )
        learning = _Learning(
            features.take(train),
            is_positive[train],
            self._folds(is_positive[train], generator, cell.seed),
            cell.seed,
        )
        is_tuned = self.experiment.set_options(cell.data).is_tuned
        method = self.experiment.method(cell.method)
        return test, _ranked(method, is_tuned, learning, features.take(test))

    def _folds(self, is_positive: NDArray[np.bool_], generator: Any, seed: int) -> Folds:
        state = generator if self.one_generator else seed
        folds = StratifiedKFold(self.n_folds, shuffle=True, random_state=state)
        return list(folds.split(is_positive, is_positive))


class _Learning(NamedTuple):
    """All that a method may learn from."""

    features: pa.Table
    is_positive: NDArray[np.bool_]
    folds: Folds
    seed: int


class Ranked(NamedTuple):
    """The suspicion of test rows, and how it was come by."""

    suspicion: NDArray[np.float64]
    parameters: Parameters
    seconds: dict[str, float]
    ranker: TableRanker


def _ranked(method: Method, is_tuned: bool, learning: _Learning, test: pa.Table) -> Ranked:
    """Return what a method makes of test rows whose labels it never gets."""
    rows = learning.features, learning.is_positive
    compile_kernels(method.learner, method.parameters)
    begin = time.perf_counter()
    parameters = (
        tuned(method, *rows, learning.folds, learning.seed) if is_tuned else method.untuned
    )
    chosen = time.perf_counter()
    ranker = make_learner(method.learner, learning.seed, parameters)
    ranker.fit(*rows)
    fitted = time.perf_counter()
    suspicion = checks.finite_vector(ranker.suspicion(test), "suspicion")
    scored = time.perf_counter()
    seconds = {"tune": chosen - begin, "fit": fitted - chosen, "score": scored - fitted}
    rounded = {step: round(value, 3) for step, value in seconds.items()}
    return Ranked(suspicion, parameters, rounded, ranker)


def _with_lower_ends(features: pa.Table, ranges: tuple[str, ...]) -> pa.Table:
    """Return the table with its ranges, such as 30-34, as numbers: their lower ends."""
    check_columns(list(ranges), features.column_names, "the data set")
    for name in ranges:
        texts = features[name].to_pylist()
        try:
            lower = [None if each is None else float(each.split("-")[0]) for each in texts]
        except (AttributeError, ValueError):
            raise ValueError(
                f"column {name!r} must contain texts such as 30-34 to be read as ranges; it holds "
                f"{features[name].type} such as {next(filter(None, texts), None)!r}."
            ) from None
        place = features.column_names.index(name)
        features = features.set_column(place, name, pa.array(lower, pa.float64()))
    return features


def _check_boosters(methods: Iterable[Method]) -> None:
    for method in methods:
        if LEARNERS[method.learner].booster is None:
            raise ValueError(
                f"metric 'cuts' must be left out with method {method.name!r}: learner "
                f"{method.learner!r} boosts no trees to count them in."
            )


def _share(value: Any) -> float:
    try:
        share = float(Fraction(value))
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        share = np.nan
    if isinstance(value, bool) or not 0 < share < 1:
        raise ValueError(
            f"test_share must be between 0 and 1, such as 0.3 or '1/3'; got {value!r}."
        )
    return share
