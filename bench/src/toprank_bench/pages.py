"""The results as pages in Markdown, made from recorded rows alone: a page per experiment, one with
every target and whether it is met.
"""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from toprank.data.atomic import atomic_path
from toprank_bench import sampling_section, served_days_section, speed
from toprank_bench.experiment import Experiment
from toprank_bench.experiment_summary import (
    ExperimentSummary,
    markdown,
    notes_of,
    picture_of,
    section_of,
    summary_of,
)
from toprank_bench.in_time import in_time_page
from toprank_bench.in_time.time_results import TimeResults
from toprank_bench.live_load import stage_rows
from toprank_bench.plots.promise_plot import promise_by_day
from toprank_bench.reading import find_experiment, names
from toprank_bench.row_file import Row, read_rows, rows_file
from toprank_bench.runner import cells_of, recorded
from toprank_bench.speed.speed_runner import speed_file
from toprank_bench.targets import TargetResult, target_results

TARGET_HEADINGS = ["target", "published", "asked", "ours", "", "rows", "experiment"]
_EXPERIMENT_HEADINGS = ["page", "source", "rows", "experiment"]
_FEWEST_SETS_TO_DRAW = 3
_MOST_METRICS = 4  # of more, those with published figures are shown
_IN_TIME, _SERVED_DAYS = "in-time", "served-days"


class RecordedRows(NamedTuple):
    """An experiment and all rows that its file has."""

    experiment: Experiment
    rows: list[Row]


def recorded_experiments(results: Path) -> list[RecordedRows]:
    """Return every experiment of the package with its rows, none where nothing is recorded."""
    experiments = map(find_experiment, names())
    return [RecordedRows(each, read_rows(rows_file(results, each.name))) for each in experiments]


def write_pages(results: Path, folder: Path) -> list[Path]:
    """Write all pages and their pictures to a folder, and return the paths in order."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    experiments = recorded_experiments(results)
    in_time = _time_results(experiments)
    shown = []
    for each in experiments:
        if in_time is not None and each.experiment is in_time.experiment:
            page = _write_in_time(in_time, each, folder)
        else:
            page = _write_page(each, folder)
        if page:
            written += page
            shown.append(each.experiment.name)
    races = _races(results)
    if races is not None:
        written += _write_races(races, folder)
    stages = stage_rows.last_rows(read_rows(stage_rows.live_file(results)))
    large_desk = stage_rows.last_rows(read_rows(stage_rows.desk_file(results)))
    live = [*stages, *large_desk]
    if live:
        written.append(_write(folder / "live.md", stage_rows.live_page(stages, large_desk)))
    written.append(_write(folder / "targets.md", targets_page(experiments, shown, races, live)))
    index = index_page(
        experiments, shown, in_time, has_speed=races is not None, has_live=bool(live)
    )
    written.append(_write(folder / "index.md", index))
    return written


def index_page(
    experiments: Sequence[RecordedRows],
    shown: Collection[str],
    in_time: TimeResults | None,
    *,
    has_speed: bool,
    has_live: bool = False,
) -> str:
    """Return the first page: toprank beside other libraries, then the list of all other pages.

    `shown` are the experiments with a page of their own.
    """
    parts = ["# Results"]
    if in_time is not None:
        parts.append(in_time_page.summary(in_time))
    parts += [
        "## All results",
        "- [Targets](targets.md): what the papers reach, what was asked, what was met and missed",
        *(["- [Speed and memory](speed.md)"] if has_speed else []),
        *(["- [The live system under load](live.md)"] if has_live else []),
        "- [What the results say](../results.md): conclusions, experiment by experiment",
        _markdown_table(
            _EXPERIMENT_HEADINGS, [_experiment_line(each, shown) for each in experiments]
        ),
        "Every figure on these pages is made from recorded rows by `toprank bench pages`, none by "
        "hand. A row is one method on one data set with one random seed; it names the commit, the "
        "parameters and the machine. Each experiment runs again with `toprank bench run NAME`, "
        "within minutes with `--quick`: [experiments](../bench.md).",
    ]
    return (
        "\n\n".join(parts)
        .replace("\n\n- [", "\n- [")
        .replace("## All results\n- [", "## All results\n\n- [")
        + "\n"
    )


def targets_page(
    experiments: Sequence[RecordedRows],
    shown: Collection[str],
    races: speed.RaceSummary | None,
    stages: Sequence[Row] = (),
) -> str:
    """Return the page of every target: what is published, asked and measured."""
    parts = [
        "# Targets",
        "Figures that were to be reached, most of them published ones, and whether they are. "
        "Missed targets stay in the table.",
        "## Quality",
        _markdown_table(TARGET_HEADINGS, target_lines(experiments, shown)),
    ]
    if races is not None:
        parts += [
            "## Speed and memory",
            speed.markdown_of_races(races, with_limits_only=True),
            "All races, with their rounds and pictures: [speed and memory](speed.md).",
        ]
    if stages:
        parts += [
            "## The live system",
            stage_rows.markdown_table(stages, with_targets_only=True),
            "All figures, and how they were measured: [the live system under load](live.md).",
        ]
    return "\n\n".join(parts) + "\n"


def target_lines(
    experiments: Iterable[RecordedRows], linked: Collection[str] = ()
) -> list[list[str]]:
    """Return a line for every target: theirs, asked, ours, met or missed, and from which rows."""
    return [
        _target_line(result, _named(each.experiment.name, linked))
        for each in experiments
        for result in target_results(*each)
    ]


def target_facts(experiments: Iterable[RecordedRows]) -> list[dict[str, Any]]:
    """Return every target in plain values."""
    return [
        {
            "experiment": each.experiment.name,
            "what": result.target.what,
            "method": result.target.method,
            "metric": result.target.metric,
            "theirs": result.target.theirs,
            "at_least": result.target.at_least,
            "at_most": result.target.at_most,
            "figure": result.figure,
            "verdict": result.verdict,
            "rows": result.n_rows,
        }
        for each in experiments
        for result in target_results(*each)
    ]


def _target_line(result: TargetResult, experiment: str) -> list[str]:
    target = result.target
    return [
        target.what,
        "" if target.theirs is None else f"{target.theirs:g}",
        result.asked,
        "–" if result.figure is None else f"{result.figure:.4g}",
        result.verdict,
        f"{result.n_rows:,}",
        experiment,
    ]


def _experiment_line(each: RecordedRows, linked: Collection[str]) -> list[str]:
    experiment, rows = each
    n_rows, n_cells = len(recorded(experiment, rows)), len(cells_of(experiment))
    title, name = experiment.title, experiment.name
    return [
        f"[{title}]({name}.md)" if name in linked else title,
        experiment.source,
        f"{n_rows:,} of {n_cells:,}",
        f"`{name}`",
    ]


def _named(name: str, linked: Collection[str]) -> str:
    return f"[{name}]({name}.md)" if name in linked else name


def _summary(each: RecordedRows, metric: str | None = None) -> ExperimentSummary | None:
    """Return the summary of an experiment, None while there is nothing to show or compare."""
    try:
        return summary_of(*each, metric)
    except ValueError:
        return None


def _time_results(experiments: Iterable[RecordedRows]) -> TimeResults | None:
    """Return what toprank and other libraries make of later rows; None without rows of toprank."""
    (each,) = (each for each in experiments if each.experiment.name == _IN_TIME)
    try:
        return TimeResults(*each)
    except ValueError:
        return None


def _write_in_time(results: TimeResults, each: RecordedRows, folder: Path) -> list[Path]:
    """Write the page that compares toprank with other libraries, and its picture."""
    picture = folder / f"{_IN_TIME}.png"
    with atomic_path(picture) as temporary:
        _save(promise_by_day({data: results.lists(data) for data in results.tables}), temporary)
    page = in_time_page.page(results, picture.name, notes_of(*each))
    return [_write(folder / f"{_IN_TIME}.md", page), picture]


def _write_page(each: RecordedRows, folder: Path) -> list[Path]:
    summary, (experiment, rows) = _summary(each), each
    if summary is None:
        return []
    name = experiment.name
    parts, written = [markdown(summary)], []
    if experiment.is_ranked and len(summary.comparison.datasets) >= _FEWEST_SETS_TO_DRAW:
        picture = folder / f"{name}.png"
        with atomic_path(picture) as temporary:
            _save(picture_of(summary), temporary)
        written.append(picture)
        parts.append(f"![Mean ranks of the methods, the best on the right]({name}.png)\n")
    further = (
        _summary(RecordedRows(experiment, rows), m) for m in _further_metrics(experiment, rows)
    )
    parts += [section_of(each) for each in further if each is not None]
    if experiment.protocol == "sampled":
        parts.append(sampling_section.sampling_section(experiment, rows))
    if name == _SERVED_DAYS:
        parts.insert(1, served_days_section.served_days_section(experiment, rows))
    parts.append(
        f"Rows: `bench/results/{name}.jsonl.xz`. Run it again: `toprank bench run {name}`. Other "
        f"metrics: `toprank bench show {name} --metric NAME` ({', '.join(experiment.metrics)}).\n"
    )
    return [_write(folder / f"{name}.md", "\n".join(parts)), *written]


def _further_metrics(experiment: Experiment, rows: list[Row]) -> list[str]:
    """Return the metrics after the first that have a table of their own."""
    measured = {name for row in recorded(experiment, rows).values() for name in row["figures"]}
    few = len(experiment.metrics) <= _MOST_METRICS
    return [
        metric
        for metric in experiment.metrics[1:]
        if metric in measured and (few or metric in experiment.published)
    ]


def _races(results: Path) -> speed.RaceSummary | None:
    try:
        return speed.race_summary_of(
            speed.chosen_races(), read_rows(speed_file(results, quick=False))
        )
    except ValueError:  # nothing is recorded yet that counts
        return None


def _write_races(races: speed.RaceSummary, folder: Path) -> list[Path]:
    parts, written = ["# Speed and memory\n", speed.markdown_of_races(races)], []
    if any("rows" in row["facts"] for row in races.rows.values()):
        picture = folder / "speed.png"
        with atomic_path(picture) as temporary:
            _save(speed.picture_of(races), temporary)
        written.append(picture)
        parts.append("\n![Seconds of a fit by its rows, both axes logarithmic](speed.png)\n")
    parts.append("\nRows: `bench/results/speed.jsonl.xz`. Run it again: `toprank bench speed`.\n")
    return [_write(folder / "speed.md", "\n".join(parts)), *written]


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, format="png", dpi=110, metadata={"Software": None})


def _write(path: Path, page: str) -> Path:
    with atomic_path(path) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    return path


def _markdown_table(headings: list[str], lines: Iterable[list[str]]) -> str:
    rows = [headings, ["---"] * len(headings), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in rows)
