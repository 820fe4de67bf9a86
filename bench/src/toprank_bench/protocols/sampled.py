"""Sampling before learning: rows split in time, everything chosen on validation.

Train, validation, gap and test follow each other (`toprank.splits.chronological`). For each metric
apart, validation with seed 0 chooses the settings of the model without sampling, then the share of
positives after sampling; F1 is that at the threshold best on validation. A cell learns anew with
its own seed whatever was chosen for each metric. The labels of the test are read by the metrics
alone.

What is chosen follows from the data and the method alone. Within a process it is remembered, and
methods share the fits that they have in common.

Options:

- `forest_seeds`: forests take only the first so many seeds, since they take the longest;
- `payments.NAME`: the set is one of bare payments, whose features are made from their past
  (`simulated.payment_past`). Kept are those of `n_cards` cards from the number `first_card` on,
  from the day `first_day` on; each may be left out.
"""

import json
import time
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank import metrics, splits
from toprank.data import checks
from toprank.data.tables import Schema
from toprank_bench import datasets
from toprank_bench.experiment import Experiment
from toprank_bench.learners.one_hot import one_hot
from toprank_bench.protocols.declared import check_sets_alike
from toprank_bench.protocols.protocol import Cell, TrialOutcome
from toprank_bench.sampling import fits as sampled_fits
from toprank_bench.sampling.fits import (
    LEARNERS,
    METRICS,
    Choosing,
    ChosenFit,
    FitScores,
    SplitPart,
    SplitParts,
)
from toprank_bench.simulated.payment_past import CardPast, past_of_payments

_OPTIONS = ("forest_seeds", "payments")
_FOREST = "random-forest"


class SampledInTime:
    """Methods with and without sampling, each at what validation chose for the metric."""

    learners: ClassVar[Collection[str]] = LEARNERS.keys()

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        options = experiment.options
        _check_names(options, _OPTIONS, "option", "the protocol sampled")
        self.forest_seeds = None
        if "forest_seeds" in options:
            self.forest_seeds = checks.whole_number(options["forest_seeds"], "forest_seeds", 1)
        self.payments = _payments(options.get("payments", {}), experiment.data)
        _check_names(experiment.metrics, METRICS, "metric", "the protocol sampled")
        for method in experiment.methods:
            sampled_fits.check_method(method)
        check_sets_alike(experiment)

    def cells(self) -> list[Cell]:
        """Return all cells: every method on every set with the first seed, then the next."""
        experiment = self.experiment
        cells = []
        for data in experiment.data:
            options = experiment.set_options(data)
            for method in experiment.methods:
                seeds = options.seeds or experiment.seeds
                kept = seeds[: self.forest_seeds] if method.learner == _FOREST else seeds
                if method.name not in options.without:
                    cells += [Cell(data, seed, method.name) for seed in kept]
        return sorted(cells, key=lambda cell: cell.seed)  # stable: sets and methods keep order

    def why_not_data(self, data: str, folder: Path | None) -> str | None:
        """Return why a set cannot be loaded or split in time."""
        try:
            self._choosing(data, folder)
        except (ValueError, OSError) as error:
            return str(error)
        return None

    def why_not_method(self, method: str) -> str | None:
        """Return which package a method lacks, or which of its parameters is wrong."""
        how = self.experiment.method(method)
        try:
            sampled_fits.make_model(how.learner, how.candidates[0], 0)
        except (ImportError, ValueError) as error:
            return f"method {method!r} is left out: {error}"
        return None

    def run(self, cell: Cell, folder: Path | None) -> TrialOutcome:
        """Return the test figures of one method, each at what was chosen for it."""
        choosing = self._choosing(cell.data, folder)
        parts, method = choosing.parts, self.experiment.method(cell.method)
        begin = time.perf_counter()
        chosen = {name: choosing.chosen(method, name) for name in self.experiment.metrics}
        decided = time.perf_counter()
        found = _scores(method.learner, chosen, cell.seed, choosing)
        scored = time.perf_counter()
        return TrialOutcome(
            {name: sampled_fits.figures_on_test(parts, found[name])[name] for name in chosen},
            {name: each.parameters for name, each in chosen.items()},
            {"choose": round(decided - begin, 3), "fit": round(scored - decided, 3)},
            _facts(parts, chosen, found),
        )

    def _choosing(self, data: str, folder: Path | None) -> Choosing:
        return _choosing(data, folder, self.payments.get(data))


def split_in_time(data: str, folder: Path | None, cards: CardPast | None) -> SplitParts:
    """Return the training, validation and test rows of a data set, in the order of time."""
    return _choosing(data, folder, cards).parts


def _scores(
    learner: str, chosen: Mapping[str, ChosenFit], seed: int, choosing: Choosing
) -> dict[str, FitScores]:
    """Return the scores for each metric; metrics that chose alike share one fit."""
    fits: dict[str, FitScores] = {}
    found = {}
    for name, each in chosen.items():
        key = json.dumps(each.parameters)
        if key not in fits:
            fits[key] = choosing.scores(learner, each.parameters, seed)
        found[name] = fits[key]
    return found


def _facts(
    parts: SplitParts, chosen: Mapping[str, ChosenFit], found: Mapping[str, FitScores]
) -> dict[str, Any]:
    """Return what a row has in addition to its figures, the resampled ones in ten-thousandths."""
    facts: dict[str, Any] = {
        "train_rows": parts.train.is_positive.size,
        "train_positives": int(parts.train.is_positive.sum()),
        "validation_positives": int(parts.validation.is_positive.sum()),
        "test_rows": parts.test.is_positive.size,
        "test_positives": int(parts.test.is_positive.sum()),
        "candidates": next(iter(chosen.values())).n_candidates,
        "validation": {
            name: sampled_fits.figures_on_validation(parts, each)[name]
            for name, each in found.items()
        },
    }
    if "f1" in found:
        of_f1 = found["f1"]
        facts["threshold"] = sampled_fits.threshold_of(parts, of_f1)
        at_half = metrics.f_beta(parts.test.is_positive, of_f1.test, 0.5)
        facts["f1_at_half"] = round(at_half, 5)
    facts["resampled"] = {
        name: parts.resamples.figures(each.test, sampled_fits.threshold_of(parts, each))[name]
        for name, each in found.items()
    }
    return facts


@cache
def _choosing(data: str, folder: Path | None, cards: CardPast | None) -> Choosing:
    """Return the parts of a set with all that was chosen on it; once per process."""
    dataset = datasets.load(data, folder=folder)
    if cards is None:
        moments, features, is_positive = _moments(dataset), dataset.X, dataset.is_positive
    else:
        past = past_of_payments(dataset, cards)
        moments, features, is_positive = past.moments, pa.table(past.features), past.is_positive
    split = splits.chronological(moments)
    splits.check_positives(split, is_positive)
    schema = Schema.of(features.take(split.train))
    train, validation, test = (
        SplitPart(one_hot(features.take(rows), schema), is_positive[rows])
        for rows in (split.train, split.validation, split.test)
    )
    return Choosing(SplitParts(train, validation, test))


def _moments(dataset: datasets.Dataset) -> NDArray[np.datetime64]:
    """Return when each row was; times in numbers are seconds."""
    if "time" not in dataset.roles:
        raise ValueError(
            f"{dataset.name} must have a time column to be split in time; it has none."
        )
    time_of_rows = dataset.features[dataset.roles["time"]].to_numpy()
    if time_of_rows.dtype.kind == "M":
        return time_of_rows.astype("datetime64[us]")
    return np.datetime64("2000-01-01", "us") + (1e6 * time_of_rows).astype("timedelta64[us]")


def _payments(given: Any, data: Collection[str]) -> dict[str, CardPast]:
    if not isinstance(given, dict):
        raise ValueError(f"options.payments must be a table by data set; got {given!r}.")
    payments = {}
    for name, table in given.items():
        where = f"options.payments.{name}"
        # a quick experiment may leave out the set; a slip of the pen must not go unseen
        if name not in data and (hint := checks.nearest_name(name, list(data))):
            raise ValueError(f"options.payments names {name!r}, which is not in data{hint}")
        if not isinstance(table, dict):
            raise ValueError(f"{where} must be a table; got {table!r}.")
        _check_names(table, CardPast._fields, "key", where)
        for key, value in table.items():
            checks.whole_number(value, f"{where}.{key}", 0)
        payments[name] = CardPast(**table)
    return payments


def _check_names(given: Collection[str], known: Collection[str], what: str, of: str) -> None:
    for name in given:
        if name not in known:
            hint = checks.nearest_name(name, list(known)) or f"; known are {', '.join(known)}."
            raise ValueError(f"{what} {name!r} is not one of {of}{hint}")
