"""Recorded rows of experiments, for pictures."""

from collections import defaultdict
from pathlib import Path
from statistics import fmean

from toprank_bench.experiment import Experiment
from toprank_bench.row_file import Row, read_rows, rows_file
from toprank_bench.runner import recorded


def rows_of(experiment: Experiment, results: Path) -> list[Row]:
    """Return the rows that count, in the order of the cells."""
    rows = recorded(experiment, read_rows(rows_file(results, experiment.name)))
    if not rows:
        raise ValueError(f"{results} must have rows of {experiment.name}; it has none.")
    return [rows[cell] for cell in sorted(rows)]


def means_of(experiment: Experiment, results: Path, metric: str) -> dict[tuple[str, str], float]:
    """Return the mean over seeds by data set and method, where the metric was measured."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows_of(experiment, results):
        if metric in row["figures"]:
            values[row["data"], row["method"]].append(row["figures"][metric])
    return {place: fmean(of_seeds) for place, of_seeds in values.items()}
