"""Experiments from TOML files, with a sentence for every mistake in one.

The keys are described in the guide, in docs/bench.md.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from toprank.data import checks
from toprank_bench.experiment import Experiment, Method, Quick, SetOptions, Target
from toprank_bench.learners.rankers import check_learner
from toprank_bench.protocols import PROTOCOLS

_SUFFIX = ".toml"
_REQUIRED = ("title", "source", "protocol", "data", "seeds", "methods", "metrics")
_KEYS = (
    *_REQUIRED, "options", "lower_is_better", "percent", "published", "sets", "quick", "minutes",
    "notes", "uneven_grids", "ranked", "ours", "each_set_against", "groups",
    "targets",
)  # fmt: skip
_METHOD_KEYS = ("learner", "parameters", "grid", "published_as")
_SET_KEYS = ("seeds", "tuned", "without", "ranges")
_TARGET_KEYS = (
    "what", "method", "metric", "data", "at_least", "at_most", "theirs", "rival", "count",
)  # fmt: skip
_COUNTED = {"sets no worse than published": "published", "sets better than rival": "rival"}
_QUICK_KEYS = ("data", "seeds", "methods", "grids", "parameters", "minutes")
_MOST_SEEDS = 10_000
_LARGEST_SEED = 2**31 - 1  # that learners take
_OF_THE_RUNNER = ("random_state", "n_jobs")


class ExperimentError(ValueError):
    """A file that does not describe an experiment; the message says where and why."""


def names() -> list[str]:
    """Return the names of the experiments that come with the package.

    >>> "sgbap-table3" in names()
    True
    """
    return sorted(
        each.name.removesuffix(_SUFFIX)
        for each in _folder().iterdir()
        if each.name.endswith(_SUFFIX)
    )


def find_experiment(name: str) -> Experiment:
    """Return the experiment of this name, or that of the .toml file at this path."""
    if name.endswith(_SUFFIX):
        try:
            text = Path(name).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ExperimentError(f"{name} must be text in UTF-8; {error}.") from error
        return read_experiment(text, Path(name).stem)
    if name not in names():
        hint = checks.nearest_name(name, names()) or f"; known are {', '.join(names())}."
        raise ExperimentError(f"there is no experiment {name!r}{hint}")
    return read_experiment(_folder().joinpath(f"{name}{_SUFFIX}").read_text("utf-8"), name)


def read_experiment(text: str, name: str) -> Experiment:
    """Return the experiment that a TOML text describes.

    >>> read_experiment("titel = 'Mine'", "mine")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    toprank_bench.reading.ExperimentError: mine.toml: key 'titel' is not known; did you mean ...
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ExperimentError(f"{name}{_SUFFIX} must be TOML; {error}.") from error
    try:
        experiment = _experiment(content, name)
        _check_as_a_whole(experiment, content)
        _check_as_a_whole(experiment.made_quick(), content)
    except (ValueError, TypeError) as error:
        raise ExperimentError(f"{name}{_SUFFIX}: {error}") from error
    return experiment


def _folder() -> Traversable:
    return files("toprank_bench").joinpath("experiments")


def _experiment(content: dict[str, Any], name: str) -> Experiment:
    _check_keys(content, _KEYS, "key")
    for key in _REQUIRED:
        if key not in content:
            raise ValueError(f"key {key!r} must be there; it is not.")
    methods = _methods(_table(content["methods"], "methods"))
    data = _texts(content["data"], "data")
    metrics = _texts(content["metrics"], "metrics")
    return Experiment(
        name=name,
        title=_text(content["title"], "title"),
        source=_text(content["source"], "source"),
        protocol=_protocol(content["protocol"]),
        options=_table(content.get("options", {}), "options"),
        data=data,
        seeds=_seeds(content["seeds"], "seeds"),
        methods=methods,
        metrics=metrics,
        lower_is_better=_texts(content.get("lower_is_better", []), "lower_is_better", least=0),
        published=_published(_table(content.get("published", {}), "published")),
        in_percent=_in_percent(content.get("percent", False), metrics),
        is_ranked=_bool(content.get("ranked", True), "ranked") and len(methods) > 1,
        ours=_text(content["ours"], "ours") if "ours" in content else "",
        each_set_against=_texts(content.get("each_set_against", []), "each_set_against", 0),
        groups=_groups(_table(content.get("groups", {}), "groups")),
        targets=_targets(content.get("targets", []), metrics[0], data),
        sets=_sets(_table(content.get("sets", {}), "sets")),
        quick=_quick(_table(content.get("quick", {}), "quick")),
        minutes=_minutes(content.get("minutes"), "minutes"),
        notes=_notes(content),
    )


def _notes(content: dict[str, Any]) -> tuple[str, ...]:
    """Return the notes and, last, why methods do not have equally many candidates."""
    notes = _texts(content.get("notes", []), "notes", least=0)
    if "uneven_grids" not in content:
        return notes
    return (*notes, _text(content["uneven_grids"], "uneven_grids"))


def _methods(tables: dict[str, Any]) -> tuple[Method, ...]:
    if not tables:
        raise ValueError("methods must hold at least one method; got none.")
    methods = []
    for name, given in tables.items():
        where = f"methods.{name}"
        table = _table(given, where)
        _check_keys(table, _METHOD_KEYS, f"key of {where}")
        if "learner" not in table:
            raise ValueError(f"{where} must have a learner; it has none.")
        method = Method(
            name,
            _text(table["learner"], f"{where}.learner"),
            _table(table.get("parameters", {}), f"{where}.parameters"),
            _grid(table.get("grid", {}), f"{where}.grid"),
            _text(table.get("published_as", name), f"{where}.published_as"),
        )
        _check_parameters(method, where)
        methods.append(method)
    return tuple(methods)


def _check_parameters(method: Method, where: str) -> None:
    """Raise where the settings of a method contradict each other, the runner, or JSON."""
    for name in method.grid:
        if name in method.parameters:
            raise ValueError(f"{where} must have {name!r} in parameters or in its grid; got both.")
    for name in _OF_THE_RUNNER:
        if name in method.parameters or name in method.grid:
            raise ValueError(f"{where} must leave out {name!r}: the runner sets it.")
    for name, value in {**method.parameters, **method.grid}.items():
        try:
            json.dumps(value)
        except TypeError:
            raise ValueError(
                f"{where}: {name!r} must be a text, a number, true or false, or lists and tables "
                f"of them; got {value!r}."
            ) from None


def _grid(given: Any, where: str) -> dict[str, tuple[Any, ...]]:
    grid = _table(given, where)
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"{where}.{name} must be a list of values to try; got {values!r}.")
    return {name: tuple(values) for name, values in grid.items()}


def _sets(tables: dict[str, Any]) -> dict[str, SetOptions]:
    sets = {}
    for name, given in tables.items():
        where = f"sets.{name}"
        table = _table(given, where)
        _check_keys(table, _SET_KEYS, f"key of {where}")
        sets[name] = SetOptions(
            _seeds(table["seeds"], f"{where}.seeds") if "seeds" in table else None,
            _bool(table.get("tuned", True), f"{where}.tuned"),
            _texts(table.get("without", []), f"{where}.without", least=0),
            _texts(table.get("ranges", []), f"{where}.ranges", least=0),
        )
    return sets


def _groups(tables: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {name: _texts(each, f"groups.{name}") for name, each in tables.items()}


def _targets(given: Any, metric: str, data: tuple[str, ...]) -> tuple[Target, ...]:
    """Return the figures to reach; without `metric` and `data`, of the first and of all."""
    if not isinstance(given, list):
        raise ValueError(f"targets must be tables headed [[targets]]; got {given!r}.")
    return tuple(_target(each, f"targets[{n}]", metric, data) for n, each in enumerate(given))


def _target(given: Any, where: str, metric: str, data: tuple[str, ...]) -> Target:
    table = _table(given, where)
    _check_keys(table, _TARGET_KEYS, f"key of {where}")
    for key in ("what", "method"):
        if key not in table:
            raise ValueError(f"{where} must have {key}; it has none.")
    bounds = {
        name: checks.number_from(table[name], f"{where}.{name}", float("-inf"))
        for name in ("at_least", "at_most", "theirs")
        if name in table
    }
    counted = table.get("count")
    if "rival" in table and counted is None and bounds.keys() & {"at_least", "at_most"}:
        raise ValueError(
            f"{where} must have bounds or a rival, whose mean is the bound; it has both."
        )
    if counted is not None:
        checks.one_of(counted, f"{where}.count", tuple(_COUNTED))
    is_bound = "at_least" in bounds or "at_most" in bounds
    if not is_bound and ("rival" not in table or counted is not None):
        raise ValueError(f"{where} must have at_least, at_most or a rival; it has none.")
    if counted is not None and _COUNTED[counted] == "rival" and "rival" not in table:
        raise ValueError(f"{where} must have a rival to count {counted!r}; it has none.")
    return Target(
        what=_text(table["what"], f"{where}.what"),
        method=_text(table["method"], f"{where}.method"),
        metric=_text(table.get("metric", metric), f"{where}.metric"),
        data=_texts(table["data"], f"{where}.data") if "data" in table else data,
        rival=_text(table["rival"], f"{where}.rival") if "rival" in table else "",
        counts="" if counted is None else _COUNTED[counted],
        **bounds,
    )


def _quick(table: dict[str, Any]) -> Quick:
    _check_keys(table, _QUICK_KEYS, "key of quick")
    grids = _table(table.get("grids", {}), "quick.grids")
    parameters = _table(table.get("parameters", {}), "quick.parameters")
    return Quick(
        _texts(table["data"], "quick.data") if "data" in table else None,
        _seeds(table["seeds"], "quick.seeds") if "seeds" in table else None,
        _texts(table["methods"], "quick.methods") if "methods" in table else None,
        {name: _grid(grid, f"quick.grids.{name}") for name, grid in grids.items()},
        {name: _table(each, f"quick.parameters.{name}") for name, each in parameters.items()},
        _minutes(table.get("minutes"), "quick.minutes"),
    )


def _published(tables: dict[str, Any]) -> dict[str, dict[tuple[str, str], float]]:
    """Return published figures by metric, then by (data, method)."""
    published: dict[str, dict[tuple[str, str], float]] = {}
    for metric, by_data in tables.items():
        published[metric] = {}
        for data, given in _table(by_data, f"published.{metric}").items():
            where = f"published.{metric}.{data}"
            for method, value in _table(given, where).items():
                figure = checks.number_from(value, f"{where}.{method}", float("-inf"))
                published[metric][data, method] = figure
    return published


def _check_as_a_whole(experiment: Experiment, content: dict[str, Any]) -> None:
    """Raise where one part names what another does not have."""
    protocol = PROTOCOLS[experiment.protocol]
    for method in experiment.methods:
        try:
            check_learner(method.learner, protocol.learners)
        except ValueError as error:
            raise ValueError(f"methods.{method.name}: {error}") from error
    protocol(experiment)
    all_methods, all_data = list(content["methods"]), content["data"]
    _check_known([experiment.ours] if experiment.ours else [], all_methods, "ours", "methods")
    _check_known(experiment.each_set_against, all_methods, "each_set_against", "methods")
    if experiment.each_set_against and not experiment.ours:
        raise ValueError("key 'ours' must be there if 'each_set_against' is; it is not.")
    _check_known(experiment.sets, all_data, "sets", "data")
    for name, options in experiment.sets.items():
        _check_known(options.without, all_methods, f"sets.{name}.without", "methods")
    quick = experiment.quick
    _check_known(quick.data or (), all_data, "quick.data", "data")
    _check_known(quick.methods or (), all_methods, "quick.methods", "methods")
    _check_known(quick.grids, all_methods, "quick.grids", "methods")
    _check_known(quick.parameters, all_methods, "quick.parameters", "methods")
    for metrics, where in (
        (experiment.published, "published"),
        (experiment.lower_is_better, "lower_is_better"),
    ):
        _check_known(metrics, list(experiment.metrics), where, "metrics")
    for name, group in experiment.groups.items():
        _check_known(group, all_data, f"groups.{name}", "data")
    for number, target in enumerate(experiment.targets):
        _check_known([target.method], all_methods, f"targets[{number}].method", "methods")
        rivals = [target.rival] if target.rival else []
        _check_known(rivals, all_methods, f"targets[{number}].rival", "methods")
        known_metrics = list(experiment.metrics)
        _check_known([target.metric], known_metrics, f"targets[{number}].metric", "metrics")
        _check_known(target.data, all_data, f"targets[{number}].data", "data")
    for by_place in experiment.published.values():
        _check_known((data for data, _ in by_place), all_data, "published", "data")
    if "uneven_grids" not in content:
        _check_even(experiment)


def _check_even(experiment: Experiment) -> None:
    """Raise unless all methods that are tuned have as many candidates to choose from."""
    counts = {each.name: len(each.candidates) for each in experiment.methods if each.grid}
    if len(set(counts.values())) > 1:
        counted = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise ValueError(
            "methods must have equally many candidates in their grids, or uneven_grids must say "
            f"why not; got {counted}."
        )


def _check_known(given: Iterable[str], known: list[str], where: str, part: str) -> None:
    for name in given:
        if name not in known:
            hint = checks.nearest_name(name, known) or "."
            raise ValueError(f"{where} names {name!r}, which is not in {part}{hint}")


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in table:
        if key not in known:
            hint = checks.nearest_name(key, list(known)) or f"; known are {', '.join(known)}."
            raise ValueError(f"{what} {key!r} is not known{hint}")


def _protocol(value: Any) -> str:
    if value not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise ValueError(f"protocol must be one of {known}; got {value!r}.")
    return value


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be a table; got {value!r}.")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{where} must be a text; got {value!r}.")
    return value.strip()


def _texts(value: Any, where: str, least: int = 1) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) < least:
        raise ValueError(f"{where} must be a list of texts; got {value!r}.")
    texts = tuple(_text(each, where) for each in value)
    _check_distinct(texts, where)
    return texts


def _seeds(value: Any, where: str) -> tuple[int, ...]:
    """Return the seeds of a list, or those of a table such as {from = 1, to = 30}."""
    if isinstance(value, dict) and set(value) == {"from", "to"}:
        first = checks.whole_number(value["from"], f"{where}.from", 0)
        last = checks.whole_number(value["to"], f"{where}.to", first, first + _MOST_SEEDS)
        return tuple(range(first, last + 1))
    if not isinstance(value, list) or not value:
        raise ValueError(
            f"{where} must be a list of whole numbers or {{from = 1, to = 30}}; got {value!r}."
        )
    seeds = tuple(checks.whole_number(each, where, 0, _LARGEST_SEED) for each in value)
    _check_distinct(seeds, where)
    return seeds


def _check_distinct(values: tuple[Any, ...], where: str) -> None:
    for place, value in enumerate(values):
        if value in values[:place]:
            raise ValueError(f"{where} must name each once; got {value!r} twice.")


def _bool(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{where} must be true or false; got {value!r}.")
    return value


def _in_percent(value: Any, metrics: tuple[str, ...]) -> frozenset[str]:
    """Return the metrics shown in per cent: all, none, or those of a list."""
    if isinstance(value, list):
        named = _texts(value, "percent")
        _check_known(named, list(metrics), "percent", "metrics")
        return frozenset(named)
    return frozenset(metrics if _bool(value, "percent") else ())


def _minutes(value: Any, where: str) -> float | None:
    return None if value is None else checks.number_above(value, where, 0)
