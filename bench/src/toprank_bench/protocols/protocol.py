"""What the runner asks of a protocol, whatever it measures."""

import typing
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toprank_bench.experiment import Experiment


class Cell(NamedTuple):
    """One piece of work and one row: a method on one data set with one seed."""

    data: str
    seed: int
    method: str

    def __str__(self) -> str:
        return f"{self.method} on {self.data}, seed {self.seed}"


class TrialOutcome(NamedTuple):
    """The result of a cell: one figure per metric, the parameters used, seconds per step.

    `facts` are further plain values worth a place in the row.
    """

    figures: Mapping[str, float]
    parameters: Mapping[str, Any]
    seconds: Mapping[str, float]
    facts: Mapping[str, Any]


class Protocol(typing.Protocol):
    """One experiment under one protocol.

    The constructor checks the experiment's options and metrics and raises a ValueError whose
    sentence names what is wrong. `run` is called in other processes, for cells in any order: a
    cell's figures must follow from the cell alone.
    """

    learners: typing.ClassVar[Collection[str]]
    """The ids that its methods may name."""

    def __init__(self, experiment: Experiment) -> None: ...

    def cells(self) -> list[Cell]:
        """Return all cells, in the order in which a half-done run says most."""
        ...

    def why_not_data(self, data: str, folder: Path | None) -> str | None:
        """Return a sentence on why a data set is not available; None if it is."""
        ...

    def why_not_method(self, method: str) -> str | None:
        """Return a sentence on why a method cannot be run here; None if it can."""
        ...

    def run(self, cell: Cell, folder: Path | None) -> TrialOutcome:
        """Return the figures of one cell; test labels never reach a method."""
        ...
