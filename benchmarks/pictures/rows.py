"""Recorded rows of experiments, for pictures."""

from collections import defaultdict
from pathlib import Path
from statistics import fmean

from toprank_bench import Experiment
from toprank_bench.row_file import Row, read_rows, rows_file
from toprank_bench.runner import recorded

ROOT = Path(__file__).parents[2]
RESULTS, IMAGES = ROOT / "benchmarks" / "results", ROOT / "docs" / "images"


def rows_of(experiment: Experiment) -> list[Row]:
    """Return the rows that count, in the order of the cells."""
    rows = recorded(experiment, read_rows(rows_file(RESULTS, experiment.name)))
    return [rows[cell] for cell in sorted(rows)]


def means_of(experiment: Experiment, metric: str) -> dict[tuple[str, str], float]:
    """Return the mean over seeds by data set and method, where the metric was measured."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows_of(experiment):
        if metric in row["figures"]:
            values[row["data"], row["method"]].append(row["figures"][metric])
    return {place: fmean(of_seeds) for place, of_seeds in values.items()}
