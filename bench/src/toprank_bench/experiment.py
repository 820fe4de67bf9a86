"""What an experiment is: data, seeds, methods with what is tuned, metrics, figures to reach."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

Parameters = dict[str, Any]


@dataclass(frozen=True)
class Method:
    """One method: the id of its learner, fixed parameters, and a grid to choose from.

    `published_as` is the published method it is compared with.
    """

    name: str
    learner: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    published_as: str = ""

    @property
    def candidates(self) -> list[Parameters]:
        """All settings to choose from, the last parameter of the grid moving fastest.

        >>> method = Method("mine", "boosted", {"loss": "log"}, {"max_depth": (2, 4)})
        >>> method.candidates
        [{'loss': 'log', 'max_depth': 2}, {'loss': 'log', 'max_depth': 4}]
        """
        return [
            {**self.parameters, **dict(zip(self.grid, values, strict=True))}
            for values in product(*self.grid.values())
        ]

    @property
    def untuned(self) -> Parameters:
        """The setting of sets that are too large to tune on: the last of every list."""
        return {**self.parameters, **{name: values[-1] for name, values in self.grid.items()}}


@dataclass(frozen=True)
class SetOptions:
    """What is different on one data set.

    `ranges` are columns with texts such as 30-34, which become numbers: their lower ends.
    """

    seeds: tuple[int, ...] | None = None
    is_tuned: bool = True
    without: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """A figure to reach: the mean of a method over data sets, at least or at most so much.

    With a `rival`, another method, that mean is to be reached. Where it `counts`, the figure is a
    number of data sets: those on which the method is no worse than "published", or better than
    the "rival". `theirs` is the published figure, None where there is none.
    """

    what: str
    method: str
    metric: str
    data: tuple[str, ...]
    at_least: float | None = None
    at_most: float | None = None
    theirs: float | None = None
    rival: str = ""
    counts: str = ""


@dataclass(frozen=True)
class Quick:
    """The smaller experiment that ends within minutes; None leaves a part as it is."""

    data: tuple[str, ...] | None = None
    seeds: tuple[int, ...] | None = None
    methods: tuple[str, ...] | None = None
    grids: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    minutes: float | None = None


@dataclass(frozen=True)
class Experiment:
    """One experiment; made by `read_experiment`.

    `published` has the papers' figures by metric, then by (data, published method). Tables,
    published figures and targets of the metrics `in_percent` are in per cent. The first metric is
    the one shown. `groups` are further means of the table, each over the data sets named. Where
    methods are no rivals over data sets, it is not `is_ranked`: figures are shown, none tested.
    `ours` is the method that the others are compared with; without one, the best mean rank is.
    It is compared with the methods `each_set_against` on each data set by itself, too.
    """

    name: str
    title: str
    source: str
    protocol: str
    options: Mapping[str, Any]
    data: tuple[str, ...]
    seeds: tuple[int, ...]
    methods: tuple[Method, ...]
    metrics: tuple[str, ...]
    lower_is_better: tuple[str, ...] = ()
    published: Mapping[str, Mapping[tuple[str, str], float]] = field(default_factory=dict)
    in_percent: frozenset[str] = frozenset()
    is_ranked: bool = True
    ours: str = ""
    each_set_against: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    targets: tuple[Target, ...] = ()
    sets: Mapping[str, SetOptions] = field(default_factory=dict)
    quick: Quick = field(default_factory=Quick)
    minutes: float | None = None
    notes: tuple[str, ...] = ()

    def method(self, name: str) -> Method:
        """Return the method of this name."""
        return next(each for each in self.methods if each.name == name)

    def scale(self, metric: str) -> int:
        """Return by how much a figure is multiplied to be shown: 100 where it is in per cent."""
        return 100 if metric in self.in_percent else 1

    def set_options(self, data: str) -> SetOptions:
        """Return what is different on a data set."""
        return self.sets.get(data, SetOptions())

    def made_quick(self) -> "Experiment":
        """Return the smaller experiment, whose rows go to a file of their own."""
        quick = self.quick
        kept = quick.methods or tuple(method.name for method in self.methods)
        seeds = {  # a set that has fewer seeds keeps to those
            name: replace(options, seeds=_first(options.seeds, quick.seeds))
            for name, options in self.sets.items()
        }
        return replace(
            self,
            name=f"{self.name}-quick",
            title=f"{self.title} (quick)",
            data=quick.data or self.data,
            seeds=quick.seeds or self.seeds,
            methods=tuple(_quick(each, quick) for each in self.methods if each.name in kept),
            sets=seeds,
            is_ranked=self.is_ranked and len(kept) > 1,
            targets=(),
            minutes=quick.minutes,
        )

    def definition(self, data: str, method: str) -> str:
        """Return a short digest of all that decides the figures of a method on a data set.

        A row with another digest was made by another experiment of the same name.
        """
        how, options = self.method(method), self.set_options(data)
        parts = {
            "protocol": self.protocol,
            "options": dict(self.options),
            "learner": how.learner,
            "parameters": dict(how.parameters),
            "grid": dict(how.grid),
            "is_tuned": options.is_tuned,
            "ranges": sorted(options.ranges),
        }
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def _quick(method: Method, quick: Quick) -> Method:
    return replace(
        method,
        grid=quick.grids.get(method.name, method.grid),
        parameters={**method.parameters, **quick.parameters.get(method.name, {})},
    )


def _first(
    of_set: tuple[int, ...] | None, of_quick: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    if of_set is None or of_quick is None:
        return of_set
    return of_set[: len(of_quick)]
