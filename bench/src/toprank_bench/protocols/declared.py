"""What several protocols read from an experiment alike: its options, its cells."""

from collections.abc import Mapping
from typing import Any

from toprank.data import checks
from toprank_bench.experiment import Experiment
from toprank_bench.protocols.protocol import Cell


def options_of(experiment: Experiment, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the experiment's options over the defaults; a name that has none is refused."""
    for name in experiment.options:
        if name not in defaults:
            known = list(defaults)
            hint = checks.nearest_name(name, known) or f"; known are {', '.join(known)}."
            raise ValueError(
                f"option {name!r} is not one of the protocol {experiment.protocol}{hint}"
            )
    return {**defaults, **experiment.options}


def check_untuned(experiment: Experiment) -> None:
    """Raise where a method has a grid: without labels there is nothing to choose by."""
    for method in experiment.methods:
        if method.grid:
            raise ValueError(
                f"methods.{method.name} must have no grid, since the protocol "
                f"{experiment.protocol} has no labels to choose by; got one of "
                f"{', '.join(method.grid)}. Name the values in parameters."
            )


def check_sets_alike(experiment: Experiment) -> None:
    """Raise where a set has options that only splits of tables know."""
    for name, options in experiment.sets.items():
        if options.ranges or not options.is_tuned:
            raise ValueError(
                f"sets.{name} must have neither ranges nor tuned with the protocol "
                f"{experiment.protocol}, which reads neither."
            )


def seed_by_seed(experiment: Experiment) -> list[Cell]:
    """Return all cells: every method on every set with the first seed, then the next."""
    seeds = {data: _seeds(experiment, data) for data in experiment.data}
    return [
        Cell(data, seed, method.name)
        for seed in sorted(set().union(*seeds.values()))
        for data in experiment.data
        if seed in seeds[data]
        for method in experiment.methods
        if method.name not in experiment.set_options(data).without
    ]


def _seeds(experiment: Experiment, data: str) -> tuple[int, ...]:
    return experiment.set_options(data).seeds or experiment.seeds
