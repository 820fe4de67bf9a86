"""A summary of races, from their rows alone: a table with met and missed limits, a picture."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from matplotlib.figure import Figure

from toprank.wording import aligned
from toprank_bench.plots.scaling_plots import seconds_by_rows
from toprank_bench.row_file import Row
from toprank_bench.speed.race import Race
from toprank_bench.speed.speed_runner import recorded

_HEAD = ["race", "figure", "rounds", "", "limit", "", "threads"]
_PANEL = (3.6, 3.0)  # inches
_BY_ROWS = {"rows", "our_seconds"}  # facts of a race that doubles the rows
_PANELS_ACROSS = 3


@dataclass(frozen=True)
class RaceSummary:
    """The races and the last row of each that has one: made by `race_summary_of`.

    `earlier` has the figures of races that were run more than once, but for their last.
    """

    races: tuple[Race, ...]
    rows: dict[str, Row]
    is_quick: bool
    n_stale: int
    earlier: dict[str, list[float]]

    def verdict(self, race: Race) -> str:
        """Return met, missed, or nothing where a race has no limit or no row."""
        row = self.rows.get(race.name)
        return "" if row is None else race.verdict(row["figure"])


def race_summary_of(
    races: Sequence[Race], rows: Iterable[Row], quick: bool = False
) -> RaceSummary:
    """Return the summary of these races by these rows."""
    rows = list(rows)
    known = recorded(races, rows, quick)
    if not known:
        raise ValueError(
            "no race is recorded in this folder; run them first with toprank bench speed, or name "
            "another folder with --results."
        )
    current = {race.name: race.definition(quick) for race in races}
    n_stale = sum(
        row.get("race") in current and row.get("definition") != current[row["race"]]
        for row in rows
    )
    earlier = {
        name: [other["figure"] for other in runs if other is not last]
        for name, last in known.items()
        if len(runs := [row for row in rows if _is_run_of(row, last)]) > 1
    }
    return RaceSummary(tuple(races), known, quick, n_stale, earlier)


def _is_run_of(row: Row, last: Row) -> bool:
    """Return whether a row is of the same race, in the same form, as another."""
    return "figure" in row and all(row[key] == last[key] for key in ("race", "definition"))


def text_of(summary: RaceSummary) -> str:
    """Return the table as a terminal shows it."""
    lines = [_HEAD, *(_line(summary, race) for race in summary.races)]
    notes = "\n".join(f"- {note}" for note in _notes(summary))
    return f"{_title(summary)}\n\n{aligned(lines)}\n\n{notes}"


def markdown_of_races(summary: RaceSummary, with_limits_only: bool = False) -> str:
    """Return the table in Markdown, of all races with notes below, or of those with a limit."""
    races = [race for race in summary.races if race.limit or not with_limits_only]
    head = [*_HEAD[:1], "what", *_HEAD[1:]]
    lines = [head, ["---"] * len(head)]
    for race in races:
        name, *others = _line(summary, race)
        lines.append([name, race.what, *others])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if with_limits_only:
        return table
    notes = "\n".join(f"- {note}" for note in _notes(summary))
    return f"{_title(summary)}.\n\n{table}\n\n{notes}"


def facts_of(summary: RaceSummary) -> list[dict[str, Any]]:
    """Return every recorded race in plain values."""
    kept = ("figure", "unit", "rounds", "facts", "shape", "threads", "commit", "machine", "when")
    return [
        {
            "race": race.name,
            "what": race.what,
            "against": race.against,
            "at_most": race.at_most,
            "at_least": race.at_least,
            "verdict": summary.verdict(race) or None,
            **{name: summary.rows[race.name][name] for name in kept},
        }
        for race in summary.races
        if race.name in summary.rows
    ]


def picture_of(summary: RaceSummary) -> Figure:
    """Return the seconds of fits by their rows, a panel for each learner and its rival."""
    races = [race for race in summary.races if _facts(summary, race).keys() >= _BY_ROWS]
    if not races:
        raise ValueError(
            "no race that doubles the rows is recorded in this folder; run them with toprank "
            "bench speed --only scaling."
        )
    n_across = min(len(races), _PANELS_ACROSS)
    n_down = ceil(len(races) / n_across)
    size = n_across * _PANEL[0], n_down * _PANEL[1]
    figure = Figure(figsize=size, layout="constrained")
    for place, race in enumerate(races, start=1):
        facts = _facts(summary, race)
        ours = race.what.split(",")[0]
        lines = {ours: facts["our_seconds"], race.against.split(",")[0]: facts["their_seconds"]}
        ax = figure.add_subplot(n_down, n_across, place)
        seconds_by_rows(facts["rows"], {name: line for name, line in lines.items() if line}, ax)
    return figure


def _facts(summary: RaceSummary, race: Race) -> dict[str, Any]:
    row = summary.rows.get(race.name)
    return {} if row is None else row["facts"]


def _line(summary: RaceSummary, race: Race) -> list[str]:
    row = summary.rows.get(race.name)
    if row is None:
        return [race.name, "not run", "", race.in_words, race.limit, "", ""]
    spread = f"{min(row['rounds']):.3g} to {max(row['rounds']):.3g}"
    return [
        race.name,
        f"{row['figure']:.3g}",
        spread if len(row["rounds"]) > 1 else "",
        race.in_words,
        race.limit,
        summary.verdict(race),
        str(row["threads"]),
    ]


def _run_beside_others(summary: RaceSummary) -> list[str]:
    """Return the races before which more processes wanted a core than races ever do."""
    cores = os.cpu_count() or 1
    return [name for name, row in summary.rows.items() if (row["load"] or 0) > cores + 1]


def _slowest_rows(summary: RaceSummary) -> str:
    """Return the p99 of the races that time single rows, whose figure is the median."""
    facts = ((race, _facts(summary, race)) for race in summary.races)
    return ", ".join(f"{race.name} {each['p99']:.3g}" for race, each in facts if "p99" in each)


def _title(summary: RaceSummary) -> str:
    verdicts = Counter(summary.verdict(race) for race in summary.races)
    n_limits = sum(bool(race.limit) for race in summary.races)
    kind = ", quick and therefore rough" if summary.is_quick else ""
    missed = f", {verdicts['missed']} missed" if verdicts["missed"] else ""
    return f"Speed{kind}: {verdicts['met']} of {n_limits} limits met{missed}"


def _notes(summary: RaceSummary) -> list[str]:
    rows = summary.rows.values()
    commits = Counter(row["commit"] for row in rows)
    machines = sorted({row["machine"] for row in rows})
    made_up = sorted(
        race.name for race in summary.races if _facts(summary, race).get("data") == "made up"
    )
    minutes = sum(row["seconds"] for row in rows) / 60
    notes = [
        "Figures are medians over rounds. Where there is a rival, ours and it run one after the "
        "other in one process, with the same number of threads.",
        f"{len(summary.rows)} of {len(summary.races)} races are recorded, {minutes:,.1f} "
        f"minutes on {'; '.join(machines)}; commit "
        + ", ".join(f"{commit} ({count})" for commit, count in commits.most_common())
        + ".",
    ]
    if busy := _run_beside_others(summary):
        notes.append(f"The machine was busy with other work during: {', '.join(busy)}.")
    if summary.is_quick:
        notes.append("The limits are for whole races; small shapes may miss them, or meet them.")
    if summary.earlier:
        earlier = (
            f"{name} {', '.join(f'{figure:.3g}' for figure in figures)}"
            for name, figures in summary.earlier.items()
        )
        notes.append(f"The last run of a race counts; earlier: {'; '.join(earlier)}.")
    if slowest := _slowest_rows(summary):
        notes.append(f"p99 of single rows, in ms: {slowest}.")
    if made_up:
        notes.append(f"On made-up rows, since the public set was not there: {', '.join(made_up)}.")
    if summary.n_stale:
        notes.append(f"{summary.n_stale} rows of earlier forms of these races are not shown.")
    return notes
