"""The model that is written, on rows of later days: toprank and what one would use instead.

`data` are tables of `in_time.time_tables`. A method learns from the labelled rows and ranks the
later ones, whose labels it never gets. toprank learns as `toprank fit` does, with its defaults;
every other method chooses among its candidates by the latest 15 % of the labelled rows, and then
learns from all of them. Metrics, in addition to those of a ranking:

- `precision_per_day`: the mean over later days of the precision among the rows checked;
- `seconds`: those of the processor for choosing, fitting and scoring, on one thread;
- `megabytes`: the most memory meanwhile, beyond what the table takes; on Linux alone;
- `covered`: of toprank, the share of later days whose printed range contains the positives found
  in the list.

The row has the rank of each later positive, from which differences between methods are resampled.
"""

from collections.abc import Collection
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank_bench import named_metrics
from toprank_bench.experiment import Experiment, Method
from toprank_bench.in_time.daily_lists import DailyList, daily_lists, fitted_model
from toprank_bench.in_time.named_tables import TABLES, time_table
from toprank_bench.in_time.rival_fits import fitted_rival
from toprank_bench.in_time.time_tables import TimeTable
from toprank_bench.learners.rankers import (
    LEARNERS,
    compile_kernels,
    what_it_chose,
    why_not_learner,
)
from toprank_bench.protocols.declared import check_sets_alike, options_of, seed_by_seed
from toprank_bench.protocols.protocol import Cell, TrialOutcome
from toprank_bench.resources import PeakMemory, processor_seconds

TOPRANK = "toprank-fit"
PRECISION, SECONDS, MEGABYTES, COVERED = "precision_per_day", "seconds", "megabytes", "covered"
_OWN = (PRECISION, SECONDS, MEGABYTES, COVERED)


class LaterRows:
    """Each cell is one method on one table."""

    learners: ClassVar[Collection[str]] = [TOPRANK, *LEARNERS]

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        options_of(experiment, {})
        check_sets_alike(experiment)
        self.of_ranking = [name for name in experiment.metrics if name not in _OWN]
        for name in self.of_ranking:
            named_metrics.figure(name)
        for name in experiment.data:
            checks.one_of(name, "data", tuple(TABLES))
        for method in experiment.methods:
            if method.learner == TOPRANK and method.grid:
                raise ValueError(
                    f"methods.{method.name} must have no grid: toprank fit chooses for itself."
                )

    def cells(self) -> list[Cell]:
        """Return all cells, table by table."""
        return seed_by_seed(self.experiment)

    def why_not_data(self, data: str, folder: Path | None) -> str | None:
        """Return why a table cannot be made."""
        try:
            time_table(data, folder)
        except (ValueError, OSError) as error:
            return str(error)
        return None

    def why_not_method(self, method: str) -> str | None:
        """Return which package a method lacks, or which of its parameters is wrong."""
        declared = self.experiment.method(method)
        return None if declared.learner == TOPRANK else why_not_learner(declared)

    def run(self, cell: Cell, folder: Path | None) -> TrialOutcome:
        """Return the figures of one method on one table."""
        table = time_table(cell.data, folder)
        method = self.experiment.method(cell.method)
        compile_kernels("auto" if method.learner == TOPRANK else method.learner, method.parameters)
        work = _ranked_by_toprank if method.learner == TOPRANK else _ranked_by_rival
        peak, begin = PeakMemory(), processor_seconds()
        suspicion, parameters, facts = work(method, table, cell.seed)
        seconds, megabytes = processor_seconds() - begin, peak.megabytes()
        is_positive = table.is_positive[table.first_later :]
        figures = named_metrics.figures(self.of_ranking, is_positive, suspicion)
        figures[PRECISION] = _precision_per_day(table, suspicion)
        figures[SECONDS] = seconds
        if megabytes is not None:
            figures[MEGABYTES] = megabytes
        if "lists" in facts:
            figures[COVERED] = fmean(DailyList(*each).is_covered for each in facts["lists"])
        return TrialOutcome(
            figures,
            parameters,
            {"all": round(seconds, 3)},
            {
                "labelled_rows": table.n_labelled,
                "labelled_positives": int(table.is_positive[: table.n_labelled].sum()),
                "later_rows": is_positive.size,
                "later_positives": int(is_positive.sum()),
                "days": len(table.later_days()),
                "budget": table.budget,
                "ranks": ranks_of(is_positive, suspicion),
                **facts,
            },
        )


Ranked = tuple[NDArray[np.float64], dict[str, Any], dict[str, Any]]
"""The suspicion of the later rows, the parameters, and further facts."""


def _ranked_by_toprank(method: Method, table: TimeTable, seed: int) -> Ranked:
    model = fitted_model(table, seed, method.parameters)
    suspicion = model.ranker_.suspicion(table.features.slice(table.first_later))
    chosen = what_it_chose(model.ranker_)
    lists = daily_lists(model, table)
    facts = {"lists": [[round(value, 3) for value in each] for each in lists], "chosen": chosen}
    return suspicion, dict(method.parameters), facts


def _ranked_by_rival(method: Method, table: TimeTable, seed: int) -> Ranked:
    ranker, parameters = fitted_rival(method, table, seed)
    suspicion = ranker.suspicion(table.features.slice(table.first_later))
    facts = {"candidates": len(method.candidates)}
    return checks.finite_vector(suspicion, "suspicion"), parameters, facts


def _precision_per_day(table: TimeTable, suspicion: NDArray[np.float64]) -> float:
    """Return the mean precision of the lists of a day, of all its rows where there are few."""
    found = []
    for day in table.later_days():
        scores = suspicion[day.start - table.first_later : day.stop - table.first_later]
        listed = np.argsort(-scores, kind="stable")[: table.budget]  # of equals, the earlier
        found.append(float(table.is_positive[day][listed].mean()))
    return fmean(found)


def ranks_of(is_positive: NDArray[np.bool_], suspicion: NDArray[np.float64]) -> list[int]:
    """Return of each positive, in the order of the rows, how many rows score as high or higher."""
    rising = np.sort(suspicion)
    below = np.searchsorted(rising, suspicion[is_positive], side="left")
    return (suspicion.size - below).tolist()
