"""Measurements of their own kind: a method names a trial and its parameters, nothing is tuned.

The trials are in `trials`, one file each; `data` are data sets, or the names that the
trial gives to what it simulates.
"""

import inspect
from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

from toprank.data import checks
from toprank_bench import datasets
from toprank_bench.experiment import Experiment, Method
from toprank_bench.protocols.declared import (
    check_sets_alike,
    check_untuned,
    options_of,
    seed_by_seed,
)
from toprank_bench.protocols.protocol import Cell, TrialOutcome
from toprank_bench.trials.trial_table import TRIALS

_OF_THE_CELL = ("data", "seed", "folder")


class Trials:
    """Each cell is one call of a trial."""

    learners: ClassVar[Collection[str]] = TRIALS.keys()

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        options_of(experiment, {})
        check_untuned(experiment)
        check_sets_alike(experiment)
        for method in experiment.methods:
            trial = TRIALS[method.learner]
            for metric in experiment.metrics:
                checks.one_of(metric, f"a metric of {method.learner}", tuple(trial.metrics))
            for data in experiment.data if trial.data else ():
                checks.one_of(data, f"data of {method.learner}", tuple(trial.data))
            _check_parameters(method)

    def cells(self) -> list[Cell]:
        """Return all cells, seed by seed."""
        return seed_by_seed(self.experiment)

    def why_not_data(self, data: str, folder: Path | None) -> str | None:
        """Return the sentence of `datasets.load` when it cannot load a set."""
        if any(data in TRIALS[method.learner].data for method in self.experiment.methods):
            return None
        try:
            datasets.load(data, folder=folder)
        except (ValueError, OSError) as error:
            return str(error)
        return None

    def why_not_method(self, method: str) -> str | None:
        """Return None: what is not installed shows when the trial runs."""
        return None

    def run(self, cell: Cell, folder: Path | None) -> TrialOutcome:
        """Return what the trial measures."""
        method = self.experiment.method(cell.method)
        measure = TRIALS[method.learner].measure
        return measure(cell.data, cell.seed, folder, **method.parameters)


def _check_parameters(method: Method) -> None:
    """Raise where a parameter is unknown to a trial, or a required one is missing."""
    known = inspect.signature(TRIALS[method.learner].measure).parameters
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in known.values())
    named = {
        name: each
        for name, each in known.items()
        if name not in _OF_THE_CELL and each.kind is inspect.Parameter.KEYWORD_ONLY
    }
    for name in method.parameters:
        if name not in named and not takes_any:
            hint = checks.nearest_name(name, list(named)) or f"; known are {', '.join(named)}."
            raise ValueError(f"methods.{method.name}: parameter {name!r} is not known{hint}")
    for name, each in named.items():
        if each.default is inspect.Parameter.empty and name not in method.parameters:
            raise ValueError(f"methods.{method.name} must have the parameter {name!r}.")
