"""The results as pages in Markdown, made from recorded rows alone: a page an experiment, and one
that says how we stand to every figure that is to be reached.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toprank.bench import speed
from toprank.bench.account import Account, account_of, markdown, picture_of, section_of
from toprank.bench.experiment import Experiment
from toprank.bench.reading import find_experiment, names
from toprank.bench.row_file import Row, read_rows, rows_file
from toprank.bench.runner import cells_of, recorded
from toprank.bench.speed.runner import speed_file
from toprank.bench.targets import Standing, standings_of_targets
from toprank.tables.write import atomic_path

TARGET_HEADINGS = ["what", "theirs", "asked", "ours", "", "rows", "experiment"]
_EXPERIMENT_HEADINGS = ["experiment", "what", "source", "rows"]
_RACE_HEADINGS = ["race", "against", "asked", "ours", "rounds", "", "threads"]
_FEWEST_SETS_TO_DRAW = 3


class Recorded(NamedTuple):
    """An experiment and all rows that its file has."""

    experiment: Experiment
    rows: list[Row]


def recorded_experiments(results: Path) -> list[Recorded]:
    """Return every experiment of the package with its rows, none where nothing is recorded."""
    experiments = map(find_experiment, names())
    return [Recorded(each, read_rows(rows_file(results, each.name))) for each in experiments]


def write_pages(results: Path, folder: Path) -> list[Path]:
    """Write all pages and their pictures to a folder, and return the paths in order."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    experiments = recorded_experiments(results)
    for experiment, rows in experiments:
        if recorded(experiment, rows):
            account = account_of(experiment, rows)
            written += _write_page(account, rows, folder)
    races = _races(results)
    if races is not None:
        written += _write_races(races, folder)
    written.append(_write(folder / "index.md", index_page(experiments, races)))
    return written


def index_page(experiments: Sequence[Recorded], races: speed.Standing | None) -> str:
    """Return the page that says how we stand."""
    parts = [
        "# How we stand",
        "Every figure on these pages is made from recorded rows by `toprank bench pages`, none "
        "by hand; a row says with which commit, seed, parameters and machine it was measured.",
        "## Figures to reach",
        _markdown_table(TARGET_HEADINGS, target_lines(experiments)),
    ]
    if races is not None:
        parts += [
            "## Speed and memory to keep",
            _markdown_table(_RACE_HEADINGS, _race_lines(races, only_limited=True)),
            "All races, with their rounds and pictures: [speed](speed.md).",
        ]
    parts += [
        "## Experiments",
        _markdown_table(_EXPERIMENT_HEADINGS, map(_experiment_line, experiments)),
        "A row is one method on one data set with one seed. Any of these runs again with `toprank "
        "bench run NAME`, within minutes with `--quick`: [experiments](../bench.md).",
    ]
    return "\n\n".join(parts) + "\n"


def target_lines(experiments: Iterable[Recorded], link: bool = True) -> list[list[str]]:
    """Return a line for every target: theirs, asked, ours, met or missed, and from which rows."""
    return [
        _target_line(standing, each.experiment, link)
        for each in experiments
        for standing in standings_of_targets(*each)
    ]


def target_facts(experiments: Iterable[Recorded]) -> list[dict[str, Any]]:
    """Return every target in plain values."""
    return [
        {
            "experiment": each.experiment.name,
            "what": standing.target.what,
            "method": standing.target.method,
            "metric": standing.target.metric,
            "theirs": standing.target.theirs,
            "at_least": standing.target.at_least,
            "at_most": standing.target.at_most,
            "figure": standing.figure,
            "verdict": standing.verdict,
            "rows": standing.n_rows,
        }
        for each in experiments
        for standing in standings_of_targets(*each)
    ]


def _target_line(standing: Standing, experiment: Experiment, link: bool) -> list[str]:
    target = standing.target
    name = experiment.name
    return [
        target.what,
        "" if target.theirs is None else f"{target.theirs:g}",
        standing.asked,
        "–" if standing.figure is None else f"{standing.figure:.4g}",
        standing.verdict,
        f"{standing.n_rows:,}",
        f"[{name}]({name}.md)" if link and standing.n_rows else name,
    ]


def _experiment_line(each: Recorded) -> list[str]:
    experiment, rows = each
    n_rows, n_cells = len(recorded(experiment, rows)), len(cells_of(experiment))
    name = experiment.name
    return [
        f"[{name}]({name}.md)" if n_rows else name,
        experiment.title,
        experiment.source,
        f"{n_rows:,} of {n_cells:,}",
    ]


def _write_page(account: Account, rows: list[Row], folder: Path) -> list[Path]:
    experiment = account.experiment
    name = experiment.name
    parts, written = [markdown(account)], []
    if experiment.is_ranked and len(account.standings.datasets) >= _FEWEST_SETS_TO_DRAW:
        picture = folder / f"{name}.png"
        with atomic_path(picture) as beside:
            picture_of(account).savefig(beside, format="png", dpi=110, metadata={"Software": None})
        written.append(picture)
        parts.append(f"![Mean ranks of the methods, the best on the right]({name}.png)\n")
    parts += [
        section_of(account_of(experiment, rows, metric))
        for metric in experiment.metrics[1:]
        if metric in experiment.published
    ]
    parts.append(
        f"Rows: `{name}.jsonl`. Again: `toprank bench run {name}`; other metrics: `toprank bench "
        f"show {name} --metric NAME` ({', '.join(experiment.metrics)}).\n"
    )
    return [_write(folder / f"{name}.md", "\n".join(parts)), *written]


def _races(results: Path) -> speed.Standing | None:
    rows = read_rows(speed_file(results, quick=False))
    return speed.standing_of(speed.chosen_races(), rows) if rows else None


def _write_races(races: speed.Standing, folder: Path) -> list[Path]:
    table = _markdown_table(_RACE_HEADINGS, _race_lines(races))
    notes = "\n".join(f"- {note}" for note in speed.notes_of(races))
    parts, written = ["# Speed and memory\n", table, "", notes], []
    if any("rows" in row["facts"] for row in races.rows.values()):
        picture = folder / "speed.png"
        with atomic_path(picture) as beside:
            speed.picture_of(races).savefig(
                beside, format="png", dpi=110, metadata={"Software": None}
            )
        written.append(picture)
        parts.append("\n![Seconds of a fit by its rows, both axes logarithmic](speed.png)\n")
    parts.append("\nRows: `speed.jsonl`. Again: `toprank bench speed`.\n")
    return [_write(folder / "speed.md", "\n".join(parts)), *written]


def _race_lines(races: speed.Standing, only_limited: bool = False) -> list[list[str]]:
    """Return a line for every race, or for those that have a limit to keep."""
    kept = [race for race in races.races if race.limit or not only_limited]
    return [_race_line(races, race) for race in kept]


def _race_line(races: speed.Standing, race: speed.Race) -> list[str]:
    row = races.rows.get(race.name)
    if row is None:
        return [race.what, race.against, race.limit, "–", "", "not recorded", ""]
    spread = f"{min(row['rounds']):.3g} to {max(row['rounds']):.3g}"
    return [
        race.what,
        race.against,
        race.limit,
        f"{row['figure']:.3g} {race.unit}",
        spread if len(row["rounds"]) > 1 else "",
        races.verdict(race),
        str(row["threads"]),
    ]


def _write(path: Path, page: str) -> Path:
    with atomic_path(path) as beside:
        beside.write_text(page, encoding="utf-8", newline="\n")
    return path


def _markdown_table(headings: list[str], lines: Iterable[list[str]]) -> str:
    rows = [headings, ["---"] * len(headings), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in rows)
