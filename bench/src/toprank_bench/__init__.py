"""Experiments that anyone can run again: declared in small files, run by one runner.

An experiment names data, seeds, methods and metrics; its protocol says what is done with them. The
runner writes a row for each (data, seed, method), and tables are made from rows alone. Names load
when first used, so that `toprank --help` does not load the protocols.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toprank_bench.experiment import Experiment as Experiment
    from toprank_bench.experiment import Method as Method
    from toprank_bench.experiment import SetOptions as SetOptions
    from toprank_bench.reading import ExperimentError as ExperimentError
    from toprank_bench.reading import find_experiment as find_experiment
    from toprank_bench.reading import names as names
    from toprank_bench.reading import read_experiment as read_experiment
    from toprank_bench.runner import Ran as Ran
    from toprank_bench.runner import run as run

_HOMES = {
    "Experiment": "experiment",
    "ExperimentError": "reading",
    "Method": "experiment",
    "Ran": "runner",
    "SetOptions": "experiment",
    "find_experiment": "reading",
    "names": "reading",
    "read_experiment": "reading",
    "run": "runner",
}

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


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"toprank_bench.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'toprank_bench' has no attribute {name!r}")
