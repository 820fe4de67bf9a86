"""The summary of an experiment, made from its rows alone: as text, Markdown, HTML or plain values.

A table of one metric with published figures next to ours, then how the methods rank over all data
sets: mean ranks, the best against each other, the critical difference. Methods that are no rivals
have the table alone.
"""

import math
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from matplotlib.figure import Figure

from toprank import __version__
from toprank.data import checks
from toprank.present.report import figures as report_figures
from toprank.present.report.contents import ListReport
from toprank.present.report.markup import section, table, text
from toprank.present.report.page import whole_page
from toprank.wording import aligned
from toprank_bench.each_set import each_set_sentences
from toprank_bench.experiment import Experiment
from toprank_bench.method_comparison import MethodComparison, Versus
from toprank_bench.plots.critical_difference import critical_difference
from toprank_bench.protocols import Cell
from toprank_bench.result_tables import (
    ResultCell,
    ResultTable,
    html_parts,
    markdown_of,
    result_table,
)
from toprank_bench.row_file import Row
from toprank_bench.runner import cells_of, recorded

_HEADINGS = ["against", "wins, ties, losses", "lead (95 %)", "p", "p of all pairs"]


@dataclass(frozen=True)
class ExperimentSummary:
    """One metric of one experiment: made by `summary_of`."""

    experiment: Experiment
    metric: str
    comparison: MethodComparison
    table: ResultTable
    notes: tuple[str, ...]

    @property
    def best(self) -> str:
        """The method with the best mean rank."""
        return next(iter(self.comparison.mean_ranks))

    @property
    def compared(self) -> str:
        """The method that the others are compared with."""
        ours = self.experiment.ours
        return ours if ours in self.comparison.methods else self.best

    @property
    def pairs_title(self) -> str:
        """What the table of pairs is called."""
        why = "" if self.experiment.ours else ", the best mean rank,"
        return f"{self.compared}{why} against the others"

    @cached_property
    def pairs(self) -> list[Versus]:
        """The compared method against each other, in order of rank."""
        others = [name for name in self.comparison.mean_ranks if name != self.compared]
        return [self.comparison.versus(self.compared, other) for other in others]


def summary_of(
    experiment: Experiment, rows: Iterable[Row], metric: str | None = None
) -> ExperimentSummary:
    """Return the summary of a metric, the first unless another is named, from these rows."""
    metric = _metric(experiment, metric)
    rows = list(rows)
    known = recorded(experiment, rows)
    if not known:
        failed = next((row["failed"] for row in rows if "failed" in row), None)
        raise ValueError(
            f"nothing is recorded of {experiment.name} in this folder; run it first with toprank "
            "bench run, or name another folder with --results."
            if failed is None
            else f"all cells of {experiment.name} that were run failed, the first: {failed}"
        )
    with_metric = {cell: row for cell, row in known.items() if metric in row["figures"]}
    comparison, left_out = _comparison(experiment, with_metric, metric)
    shown = result_table(
        comparison,
        _published(experiment, metric, comparison),
        decimals=_decimals(experiment, metric, comparison),
        groups=experiment.groups,
        ranked=experiment.is_ranked,
    )
    if len(with_metric) < len(known):
        left_out.append(f"{len(known) - len(with_metric):,} rows were recorded without {metric}.")
    left_out += _published_alone(experiment, metric)
    left_out += each_set_sentences(experiment, with_metric, metric)
    notes = (*left_out, *notes_of(experiment, rows))
    return ExperimentSummary(experiment, metric, comparison, shown, notes)


def notes_of(experiment: Experiment, rows: Iterable[Row]) -> tuple[str, ...]:
    """Return what is to be known of an experiment, and where its figures come from."""
    rows = list(rows)
    return (*experiment.notes, *_about_rows(experiment, rows, recorded(experiment, rows)))


def text_of(summary: ExperimentSummary) -> str:
    """Return the summary as a terminal shows it: a block per data set, a line per method."""
    experiment, shown = summary.experiment, summary.table
    blocks = [f"{experiment.title}\n{experiment.source}", _what(summary)]
    for row in shown.rows:
        lines = [
            [method, cell.ours + "*" * cell.is_best, _published_part(cell)]
            for method, cell in zip(shown.methods, row.cells, strict=True)
        ]
        blocks.append(f"{row.name}\n{_indented(aligned(lines))}")
    notes = (*shown.notes, *summary.notes)
    if experiment.is_ranked:
        blocks += [
            f"{summary.pairs_title}\n" + _indented(aligned([_HEADINGS, *_pair_rows(summary)])),
            "\n".join(_verdicts(summary)),
        ]
        notes = ("* is the best.", *notes)
    blocks.append("\n".join(f"- {note}" for note in notes))
    return "\n\n".join(blocks)


def markdown(summary: ExperimentSummary) -> str:
    """Return the summary as a Markdown page."""
    experiment = summary.experiment
    parts = [
        f"# {experiment.title}",
        experiment.source + ".",
        _what(summary),
        markdown_of(summary.table).rstrip(),
    ]
    if experiment.is_ranked:
        parts += [
            f"## {summary.pairs_title}",
            _pairs_markdown(summary),
            "\n".join(f"- {line}" for line in _verdicts(summary)),
            "## About the rows",
        ]
    parts.append("\n".join(f"- {line}" for line in summary.notes))
    return "\n\n".join(parts) + "\n"


def section_of(summary: ExperimentSummary) -> str:
    """Return the tables of a further metric as a section of a Markdown page."""
    section = f"## {summary.metric}\n\n{markdown_of(summary.table)}"
    if not (summary.experiment.is_ranked and summary.experiment.ours):
        return section
    return f"{section}\n### {summary.pairs_title}\n\n{_pairs_markdown(summary)}\n"


def html_page(summary: ExperimentSummary) -> str:
    """Return the summary as one HTML page with the picture in it."""
    experiment = summary.experiment
    report = ListReport(
        title=experiment.title,
        headline=experiment.source,
        alerts=[],
        importance=[],
        columns=[],
        parameters={},
        remarks=[],
        made_with=f"toprank {__version__}: toprank bench show",
    )
    return whole_page(
        report,
        (
            f"<h1>{text(experiment.title)}</h1>\n<p>{text(experiment.source)}.</p>",
            section(
                "figures",
                "Figures",
                table(*html_parts(summary.table, _what(summary))),
                _list(summary.table.notes),
            ),
            *(_rank_sections(summary) if experiment.is_ranked else ()),
            section("rows", "About the rows", _list(summary.notes)),
        ),
    )


def facts_of(summary: ExperimentSummary) -> dict[str, Any]:
    """Return the summary in plain values."""
    comparison, experiment = summary.comparison, summary.experiment
    return {
        "experiment": experiment.name,
        "metric": summary.metric,
        "methods": list(comparison.methods),
        "figures": [
            {"data": data, "method": method, **_plain(cell)}
            for (data, method), cell in comparison.cells.items()
        ],
        "published": [
            {"data": data, "method": method, "value": value}
            for (data, method), value in experiment.published.get(summary.metric, {}).items()
        ],
        **(_rank_facts(comparison) if experiment.is_ranked else {}),
        "notes": [*summary.table.notes, *summary.notes],
    }


def picture_of(summary: ExperimentSummary) -> Figure:
    """Return the figure of mean ranks with the critical difference."""
    if not summary.experiment.is_ranked:
        raise ValueError(
            f"the methods of {summary.experiment.name} are not ranked, so there is no picture of "
            "mean ranks; write .md, .html, .txt or .json."
        )
    figure = critical_difference(summary.comparison).figure
    assert isinstance(figure, Figure)
    return figure


def _comparison(
    experiment: Experiment, known: dict[Cell, Row], metric: str
) -> tuple[MethodComparison, list[str]]:
    """Return the comparison by one metric, and sentences on methods that are not in them."""
    if not known:
        raise ValueError(
            f"no row of {experiment.name} has {metric}: all were recorded before it was added. "
            "Run into another folder with --results, or delete those rows to have them made again."
        )
    scale = experiment.scale(metric)
    values = [
        {**cell._asdict(), "value": scale * row["figures"][metric]}
        for cell, row in _in_order(experiment, known)
    ]
    higher_is_better = metric not in experiment.lower_is_better
    if not experiment.is_ranked:
        return MethodComparison.side_by_side(values, higher_is_better=higher_is_better), []
    methods, left_out = _comparable(experiment, known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same sentences are notes of the table
        comparison = MethodComparison.of(
            [value for value in values if value["method"] in methods],
            higher_is_better=higher_is_better,
        )
    return comparison, left_out


def _pairs_markdown(summary: ExperimentSummary) -> str:
    lines = [_HEADINGS, ["---"] * len(_HEADINGS), *_pair_rows(summary)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _rank_sections(summary: ExperimentSummary) -> tuple[str, str]:
    with report_figures.settings():
        picture = report_figures.inline_svg(
            critical_difference(summary.comparison), "mean-ranks", "Mean ranks of the methods"
        )
    pairs = [[text(cell) for cell in line] for line in _pair_rows(summary)]
    caption = text(summary.pairs_title)
    return (
        section("ranks", "Mean ranks", picture, _list(_verdicts(summary))),
        section("pairs", "Pairs", table(caption, _HEADINGS, pairs)),
    )


def _rank_facts(comparison: MethodComparison) -> dict[str, Any]:
    return {
        "mean_ranks": comparison.mean_ranks,
        "friedman": _plain(comparison.friedman),
        "critical_difference": comparison.critical_difference(),
        "pairs": [{**_plain(pair), "lead": _plain(pair.lead)} for pair in comparison.pairs],
    }


def _metric(experiment: Experiment, metric: str | None) -> str:
    if metric is None:
        return experiment.metrics[0]
    if metric not in experiment.metrics:
        known = list(experiment.metrics)
        hint = checks.nearest_name(metric, known) or f"; it has {', '.join(known)}."
        raise ValueError(f"{experiment.name} has no metric {metric!r}{hint}")
    return metric


def _in_order(experiment: Experiment, known: dict[Cell, Row]) -> list[tuple[Cell, Row]]:
    """Return the rows in the order of the experiment, in whichever they were recorded."""
    data = {name: number for number, name in enumerate(experiment.data)}
    methods = {each.name: number for number, each in enumerate(experiment.methods)}
    cells = sorted(known, key=lambda cell: (data[cell.data], methods[cell.method], cell.seed))
    return [(cell, known[cell]) for cell in cells]


def _comparable(experiment: Experiment, known: dict[Cell, Row]) -> tuple[list[str], list[str]]:
    """Return methods that share at least one data set, and a sentence on those left out."""
    covered: dict[str, set[str]] = {each.name: set() for each in experiment.methods}
    for cell in known:
        covered[cell.method].add(cell.data)
    kept = [name for name in covered if covered[name]]
    while kept and not set.intersection(*(covered[name] for name in kept)):
        kept.remove(min(reversed(kept), key=lambda name: len(covered[name])))
    if len(kept) < 2:
        raise ValueError(
            "at least two methods must have rows of the same data set to be compared; "
            f"{experiment.name} has {len(known)} rows, none such; run more of it with --resume."
        )
    lost = [name for name in covered if name not in kept]
    return kept, [f"Not shown, since there are no rows: {', '.join(lost)}."] if lost else []


def _published(
    experiment: Experiment, metric: str, comparison: MethodComparison
) -> dict[tuple[str, str], float]:
    """Return the published figure that each of our methods is compared with."""
    places = experiment.published.get(metric, {})
    return {
        (data, method.name): places[data, method.published_as]
        for data in (*comparison.datasets, *comparison.incomplete)
        for method in experiment.methods
        if method.name in comparison.methods and (data, method.published_as) in places
    }


def _published_alone(experiment: Experiment, metric: str) -> list[str]:
    """Return a sentence on published methods that none of ours is compared with."""
    columns = dict.fromkeys(method for _, method in experiment.published.get(metric, {}))
    held = {method.published_as for method in experiment.methods}
    alone = [column for column in columns if column not in held]
    return [f"Published, but not run here: {', '.join(alone)}."] if alone else []


def _about_rows(experiment: Experiment, rows: list[Row], known: dict[Cell, Row]) -> list[str]:
    """Return where the figures come from, and what is not among them."""
    cells = set(cells_of(experiment))
    seconds = sum(sum(row["seconds"].values()) for row in known.values())
    commits = Counter(row["commit"] for row in known.values())
    machines = sorted({row["machine"] for row in known.values()})
    notes = [
        f"{len(known):,} of {len(cells):,} rows are recorded{_minutes(seconds)} on "
        f"{'; '.join(machines)}; commit "
        + ", ".join(f"{commit} ({count})" for commit, count in commits.most_common())
        + "."
    ]
    origins = Counter(row["origin"] for row in known.values() if "origin" in row)
    if origins:
        scripts = ", ".join(f"{name} ({count:,})" for name, count in origins.most_common())
        notes.append(
            f"Measured by scripts of those commits that this experiment replaced: {scripts}."
        )
    stale = sum(
        "figures" in row
        and known.get(Cell(row["data"], row["seed"], row["method"]), {}).get("definition")
        != row.get("definition")
        for row in rows
    )
    if stale:
        notes.append(f"{stale:,} rows of an earlier form of this experiment are not shown.")
    failed = {
        cell: row["failed"]
        for row in rows
        if "failed" in row
        and (cell := Cell(row["data"], row["seed"], row["method"])) in cells
        and cell not in known
    }
    if failed:
        cell, sentence = next(iter(failed.items()))
        notes.append(f"{len(failed):,} cells failed, the first {cell}: {sentence}")
    return notes


def _minutes(seconds: float) -> str:
    return f", {seconds / 60:,.1f} minutes of work" if seconds else ""


def _decimals(experiment: Experiment, metric: str, comparison: MethodComparison) -> int:
    """Return the decimals of a table: fewer where its largest figure has many digits."""
    if metric in experiment.in_percent:
        return 2
    largest = max(abs(cell.mean) for cell in comparison.cells.values())
    return next((n for most, n in ((10, 4), (100, 2), (1000, 1)) if largest < most), 0)


def _what(summary: ExperimentSummary) -> str:
    unit = ", in per cent" if summary.metric in summary.experiment.in_percent else ""
    has_published = any(cell.published for row in summary.table.rows for cell in row.cells)
    published = ", published figures in brackets" if has_published else ""
    return f"{summary.metric}{unit}: means over seeds{published}"


def _published_part(cell: ResultCell) -> str:
    if not cell.published:
        return ""
    return f"({' '.join(part for part in cell[2:] if part)})"


def _pair_rows(summary: ExperimentSummary) -> list[list[str]]:
    decimals = _decimals(summary.experiment, summary.metric, summary.comparison)
    return [
        [
            pair.against,
            f"{pair.wins}, {pair.ties}, {pair.losses}",
            f"{pair.lead.value:+.{decimals}f} "
            f"({pair.lead.low:+.{decimals}f} to {pair.lead.high:+.{decimals}f})",
            f"{pair.p_value:.2g}",
            f"{pair.holm_p_value:.2g}",
        ]
        for pair in summary.pairs
    ]


def _verdicts(summary: ExperimentSummary) -> list[str]:
    """Return the tests over all methods in sentences."""
    comparison = summary.comparison
    friedman, apart = comparison.friedman, comparison.critical_difference()
    n_sets = len(comparison.datasets)
    lines = [
        "Leads are in means over data sets; p is of Wilcoxon's signed-rank test, for the pair "
        "alone and, by Holm, for all pairs.",
        f"All methods alike over {n_sets} data set{'' if n_sets == 1 else 's'}: Friedman p "
        f"{friedman.p_value:.2g}, Iman-Davenport p {friedman.f_p_value:.2g}.",
        f"Mean ranks differ significantly when they are {apart:.2f} apart (Nemenyi, 5 %).",
    ]
    lines += [f"No significant difference: {', '.join(group)}." for group in comparison.groups()]
    return lines


def _plain(named: Any) -> dict[str, Any]:
    """Return a named tuple as a dict, None for what is not known: JSON has no NaN."""
    values = named._asdict()
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }


def _list(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{text(line)}</li>\n" for line in lines)
    return f"<ul>\n{items}</ul>" if items else ""


def _indented(lines: str) -> str:
    return "\n".join(f"  {line}" for line in lines.splitlines())
