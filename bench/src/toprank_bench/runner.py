"""Running the cells of an experiment, in several processes; each row is written once it is known.

What is recorded already is not run again; what failed is. Rows depend on nothing but their cell:
not on the number of processes, the order, or how often a run was stopped.
"""

import json
import math
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from toprank.data import checks
from toprank.rankers.progress import Progress
from toprank_bench.experiment import Experiment
from toprank_bench.protocols import PROTOCOLS, Cell, Protocol, TrialOutcome
from toprank_bench.provenance import provenance
from toprank_bench.row_file import Row, read_rows, rows_file, writing


class Ran(NamedTuple):
    """What came of a run: rows that were there, new rows, cells that failed with their sentence.

    `left_out` are sentences on data sets and methods that are not available here.
    """

    path: Path
    n_cells: int
    n_before: int
    n_new: int
    failed: dict[Cell, str]
    left_out: list[str]


def run(
    experiment: Experiment,
    results: Path,
    *,
    resume: bool = False,
    n_jobs: int = 1,
    folder: Path | None = None,
    progress: Progress | None = None,
    report: Callable[[str], None] | None = None,
) -> Ran:
    """Run all cells that are not recorded yet, and append their rows to the experiment's file.

    Rows that are there are refused unless `resume`. `folder` is where data sets are looked for
    first, `n_jobs` the number of processes, each on one thread. `report` gets a sentence
    on every data set and method that is not available; the others run.
    """
    checks.whole_number(n_jobs, "n_jobs", 1)
    path = rows_file(results, experiment.name)
    cells = cells_of(experiment)
    if not resume and (rows := read_rows(path)):
        raise ValueError(
            f"{path} holds {len(recorded(experiment, rows))} of {len(cells)} rows already; resume "
            "with --resume, or name another folder with --results."
        )
    with writing(path) as writer:
        done = recorded(experiment, read_rows(path))
        left = [cell for cell in cells if cell not in done]
        can_run, left_out = _that_can_run(experiment, left, folder, report)
        failed, n_new = {}, 0
        if progress is not None:
            progress(experiment.name, len(done), len(done) + len(can_run))
        for number, row in enumerate(_rows(experiment, can_run, folder, n_jobs), start=1):
            writer.append(row)
            if "failed" in row:
                failed[_cell_of(row)] = row["failed"]
            else:
                n_new += 1
            if progress is not None:
                progress(experiment.name, len(done) + number, len(done) + len(can_run))
    return Ran(path, len(cells), len(done), n_new, failed, left_out)


def cells_of(experiment: Experiment) -> list[Cell]:
    """Return all cells of an experiment."""
    return PROTOCOLS[experiment.protocol](experiment).cells()


def recorded(experiment: Experiment, rows: Iterable[Row]) -> dict[Cell, Row]:
    """Return the rows that have figures of this experiment as it is declared now, by cell."""
    cells = set(cells_of(experiment))
    definitions = {  # the same for every seed
        place: experiment.definition(*place)
        for place in {(each.data, each.method) for each in cells}
    }
    return {
        cell: row
        for row in rows
        if experiment.metrics[0] in row.get("figures", ())
        and (cell := _cell_of(row)) in cells
        and definitions[cell.data, cell.method] == row.get("definition")
    }


def _cell_of(row: Row) -> Cell:
    return Cell(row.get("data", ""), row.get("seed", -1), row.get("method", ""))


def _that_can_run(
    experiment: Experiment,
    cells: list[Cell],
    folder: Path | None,
    report: Callable[[str], None] | None,
) -> tuple[list[Cell], list[str]]:
    """Return the cells whose data and methods are available, and sentences on what is not."""
    protocol: Protocol = PROTOCOLS[experiment.protocol](experiment)
    why_not: dict[str, str | None] = {}
    for name in dict.fromkeys(cell.method for cell in cells):
        why_not[f"method {name}"] = protocol.why_not_method(name)
    for name in dict.fromkeys(cell.data for cell in cells):
        why_not[f"data {name}"] = protocol.why_not_data(name, folder)
    sentences = [sentence for sentence in why_not.values() if sentence is not None]
    if report is not None:
        for sentence in sentences:
            report(sentence)
    can_run = [
        cell
        for cell in cells
        if why_not[f"method {cell.method}"] is None and why_not[f"data {cell.data}"] is None
    ]
    return can_run, sentences


def _rows(
    experiment: Experiment, cells: list[Cell], folder: Path | None, n_jobs: int
) -> Iterator[Row]:
    """Yield the row of each cell as soon as it is known, in any order."""
    if n_jobs == 1:
        yield from (_row(experiment, cell, folder) for cell in cells)
        return
    in_parallel = Parallel(
        n_jobs, backend="loky", return_as="generator_unordered", batch_size=1, pre_dispatch=n_jobs
    )
    yield from in_parallel(
        delayed(_row_in_worker)(experiment, cell, folder, os.getpid()) for cell in cells
    )


def _row_in_worker(experiment: Experiment, cell: Cell, folder: Path | None, writer: int) -> Row:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that writes
    _leave_with(writer)
    return _row(experiment, cell, folder)


@cache
def _leave_with(writer: int) -> None:
    """End this process soon after the one that writes was killed: its row would be lost."""

    def watch() -> None:
        while os.getppid() == writer:
            time.sleep(1)
        os._exit(1)

    if os.getppid() == writer:
        threading.Thread(target=watch, daemon=True).start()


def _row(experiment: Experiment, cell: Cell, folder: Path | None) -> Row:
    """Return the whole row of one cell: its figures or, where it failed, a sentence."""
    about = {
        "experiment": experiment.name,
        **cell._asdict(),
        "definition": experiment.definition(cell.data, cell.method),
    }
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = PROTOCOLS[experiment.protocol](experiment).run(cell, folder)
        found = _checked(outcome)
    except Exception as error:  # hours of other cells must not go down with one
        from toprank.workflow.comparison.differences import (
            error_sentence,  # loads all learners, plots too
        )

        found = {"failed": error_sentence(error)}
    return {**about, **found, **provenance()}


def _checked(outcome: TrialOutcome) -> Row:
    """Return the outcome as plain values that JSON takes."""
    for name, value in outcome.figures.items():
        if not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number; got {value}.")
    found = {name: dict(value) for name, value in outcome._asdict().items()}
    json.dumps(found, allow_nan=False)
    return found
