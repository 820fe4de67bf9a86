"""Experiments that anyone can run again: declared in small files, run by one runner.

An experiment names data, seeds, methods and metrics; its protocol says what is done with them. The
runner writes a row for each (data, seed, method), and tables are made from rows alone.
"""

from toprank_bench.experiment import Experiment, Method, SetOptions
from toprank_bench.reading import ExperimentError, find_experiment, names, read_experiment
from toprank_bench.runner import Ran, run

__all__ = [
    "Experiment",
    "ExperimentError",
    "Method",
    "Ran",
    "SetOptions",
    "find_experiment",
    "names",
    "read_experiment",
    "run",
]
