"""Tables of methods over data sets, with published numbers next to ours, in Markdown and HTML.

A row per data set, a column per method, the best of each row in bold; then the means and the mean
rank. What a cell says, it says in signs and words, never by colour alone.
"""

import html
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from toprank.data import checks
from toprank_bench.method_comparison import MeanAndSpread, MethodComparison

Published = Mapping[tuple[str, str], float]
"""The value that a paper prints for a data set and a method, by (data, method)."""

MISSING = "–"
BETTER, WORSE, SAME = "▲", "▼", "="

_SIGN_NAMES = {BETTER: "better", WORSE: "worse", SAME: "no difference"}
_MARKDOWN_SIGNS = re.compile(r"([\\`*_\[\]|])")
_MOST_NAMED = 5


class ResultCell(NamedTuple):
    """One cell in plain text; the last three are empty where nothing is published."""

    ours: str
    is_best: bool = False
    published: str = ""
    sign: str = ""
    difference: str = ""


class ResultRow(NamedTuple):
    """One row in plain text: a data set, the mean or the mean rank."""

    name: str
    cells: tuple[ResultCell, ...]


@dataclass(frozen=True)
class ResultTable:
    """A table before it is written down; `notes` are the sentences that belong below it."""

    methods: tuple[str, ...]
    rows: tuple[ResultRow, ...]
    notes: tuple[str, ...]


def result_table(
    comparison: MethodComparison,
    published: Published | None = None,
    *,
    decimals: int = 3,
    tolerance: float = 0.0,
    groups: Mapping[str, Sequence[str]] | None = None,
    ranked: bool = True,
) -> ResultTable:
    """Return the table of comparison, with published values next to ours where there are any.

    A difference from a published value is marked ▲ where ours is better and ▼ where it is worse,
    with ours less the published one as a number. It is = when it is within `tolerance`, when the
    decimals shown do not show it, or when the published value is within the 95 % interval of our
    mean over seeds. All that are shown as the best number of a row are in bold.

    `groups` are further means, each over the data sets named. Where methods are no rivals, or data
    sets nothing to take means of, `ranked=False` leaves a row per data set and no best.

    >>> comparison = MethodComparison.of(
    ...     {"data": data, "seed": 0, "method": method, "value": value}
    ...     for data in "abcde"
    ...     for method, value in (("ours", 0.8), ("theirs", 0.7))
    ... )
    >>> print(markdown_of(result_table(comparison, {("a", "ours"): 0.75})).splitlines()[2])
    | a | **0.800** (0.750 ▲ +0.050) | 0.700 |
    """
    checks.whole_number(decimals, "decimals", 0, 12)
    tolerance = checks.number_from(tolerance, "tolerance", 0)
    known = dict(published or {})
    for place, value in known.items():
        if not math.isfinite(value):
            raise ValueError(f"published values must be finite; got {value} for {place}.")
    writer = _Writer(comparison, known, decimals, tolerance, ranked)
    if not ranked:
        names = list(dict.fromkeys(data for data, _ in comparison.cells))
        rows = tuple(writer.dataset_row(name) for name in names)
        notes = (*_legend(rows, comparison, tolerance, ranked), *_unused(comparison, known))
        return ResultTable(comparison.methods, rows, notes)
    means = {"Mean": comparison.datasets, **_complete(groups or {}, comparison)}
    rows = (
        *(writer.dataset_row(name) for name in (*comparison.datasets, *comparison.incomplete)),
        *(writer.mean_row(name, datasets) for name, datasets in means.items()),
        writer.mean_rank_row(),
    )
    notes = (
        *_legend(rows, comparison, tolerance),
        *_unused(comparison, known),
        *comparison.remarks,
    )
    return ResultTable(comparison.methods, rows, notes)


def markdown_of(table: ResultTable) -> str:
    """Return the table in Markdown, its notes as a list below."""
    lines = [
        _markdown_line(["Data set", *map(_in_markdown, table.methods)]),
        _markdown_line(["---", *["---:"] * len(table.methods)]),
    ]
    lines += [
        _markdown_line([_in_markdown(row.name), *map(_markdown_cell, row.cells)])
        for row in table.rows
    ]
    if table.notes:
        lines += ["", *(f"- {_in_markdown(note)}" for note in table.notes)]
    return "\n".join(lines) + "\n"


def html_parts(table: ResultTable, caption: str) -> tuple[str, list[str], list[list[str]]]:
    """Return caption, headings and rows in HTML, as `report.markup.table` takes them.

    The notes of the table stay plain text, for `report.markup.text`.
    """
    headings = ["Data set", *map(_in_html, table.methods)]
    rows = [[_in_html(row.name), *map(_html_cell, row.cells)] for row in table.rows]
    return _in_html(caption), headings, rows


class _Writer(NamedTuple):
    """What all cells of one table are written with."""

    comparison: MethodComparison
    published: dict[tuple[str, str], float]
    decimals: int
    tolerance: float
    ranked: bool

    def dataset_row(self, data: str) -> ResultRow:
        comparison = self.comparison
        found = [comparison.cells.get((data, method)) for method in comparison.methods]
        theirs = [self.published.get((data, method)) for method in comparison.methods]
        if not self.ranked:
            return ResultRow(data, self._cells(found, theirs, best=None))
        if data in comparison.incomplete:  # the best of some is not the best of all
            return ResultRow(f"{data} *", self._cells(found, theirs, best=None))
        return ResultRow(data, self._cells(found, theirs, best=self._best(found)))

    def mean_row(self, name: str, datasets: Sequence[str]) -> ResultRow:
        """Return the means over complete data sets; published ones where none is lacking."""
        comparison = self.comparison
        means: list[MeanAndSpread | None] = []
        theirs: list[float | None] = []
        for method in comparison.methods:
            places = [(data, method) for data in datasets]
            means.append(_mean([comparison.cells[place] for place in places]))
            values = [self.published[place] for place in places if place in self.published]
            theirs.append(fmean(values) if len(values) == len(places) else None)
        return ResultRow(name, self._cells(means, theirs, best=self._best(means)))

    def mean_rank_row(self) -> ResultRow:
        ranks = self.comparison.mean_ranks
        best = f"{min(ranks.values()):.2f}"
        shown = [f"{ranks[method]:.2f}" for method in self.comparison.methods]
        return ResultRow("Mean rank", tuple(ResultCell(each, each == best) for each in shown))

    def _best(self, cells: Sequence[MeanAndSpread | None]) -> str:
        values = [cell.mean for cell in cells if cell is not None]
        return self._written(max(values) if self.comparison.higher_is_better else min(values))

    def _cells(
        self,
        cells: Sequence[MeanAndSpread | None],
        theirs: Sequence[float | None],
        best: str | None,
    ) -> tuple[ResultCell, ...]:
        written = []
        for cell, value in zip(cells, theirs, strict=True):
            ours = MISSING if cell is None else self._written(cell.mean)
            published = ["" if value is None else self._written(value), "", ""]
            if cell is not None and value is not None:
                published[1:] = self._compared(cell, value)
            written.append(ResultCell(ours, ours == best, *published))
        return tuple(written)

    def _compared(self, cell: MeanAndSpread, theirs: float) -> list[str]:
        """Return the sign and the signed difference; none next to a = ."""
        difference = cell.mean - theirs
        unseen = 0.5 * 10.0**-self.decimals
        # a hair more than the tolerance: .713 - .700 is not quite .013
        least = max(self.tolerance, unseen) * (1 + 1e-9)
        if abs(difference) <= least or abs(difference) <= cell.half_width:
            return [SAME, ""]
        is_better = (difference > 0) == self.comparison.higher_is_better
        sign = "+" if difference > 0 else "−"
        return [BETTER if is_better else WORSE, f"{sign}{self._written(abs(difference))}"]

    def _written(self, value: float) -> str:
        # adding 0 makes a -0.0 that rounding leaves a plain 0
        return f"{round(value, self.decimals) + 0.0:.{self.decimals}f}"


def _mean(cells: list[MeanAndSpread]) -> MeanAndSpread:
    """Return the mean over data sets; its interval takes their seeds as independent."""
    half_width = math.hypot(*(cell.half_width for cell in cells)) / len(cells)
    return MeanAndSpread(
        fmean(cell.mean for cell in cells), min(c.n_seeds for c in cells), half_width
    )


def _complete(
    groups: Mapping[str, Sequence[str]], comparison: MethodComparison
) -> dict[str, list[str]]:
    """Return groups as rows are called: those of their data sets that every method has."""
    kept = {
        f"Mean, {name}": [data for data in datasets if data in comparison.datasets]
        for name, datasets in groups.items()
    }
    return {name: datasets for name, datasets in kept.items() if datasets}


def _legend(
    rows: Sequence[ResultRow], comparison: MethodComparison, tolerance: float, ranked: bool = True
) -> list[str]:
    """Return what the signs in these rows mean."""
    notes = []
    if not comparison.higher_is_better:
        notes.append("Lower is better.")
    if any(cell.published for row in rows for cell in row.cells):
        within = f"within {tolerance:g}, " if tolerance else ""
        notes.append(
            f"In brackets the published value, and ours less it: {BETTER} ours is better, {WORSE} "
            f"ours is worse, {SAME} no difference ({within}not seen in these decimals or within "
            "the 95 % interval of our seeds)."
        )
    if comparison.incomplete and ranked:
        notes.append("* Not every method has a value: not part of the last rows.")
    return notes


def _unused(comparison: MethodComparison, published: Published) -> list[str]:
    """Return a sentence on published values that have no place in the table."""
    datasets = {*comparison.datasets, *comparison.incomplete}
    lost = [
        f"{method} on {data}"
        for data, method in published
        if data not in datasets or method not in comparison.methods
    ]
    if not lost:
        return []
    more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
    return [f"Published, but not run by us: {', '.join(lost[:_MOST_NAMED])}{more}."]


def _markdown_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: ResultCell) -> str:
    ours = f"**{cell.ours}**" if cell.is_best else cell.ours
    if not cell.published:
        return ours
    return f"{ours} ({' '.join(part for part in cell[2:] if part)})"


def _html_cell(cell: ResultCell) -> str:
    ours = f"<strong>{cell.ours}</strong>" if cell.is_best else cell.ours
    if not cell.published:
        return ours
    published = [cell.published]
    if cell.sign:
        name = _SIGN_NAMES[cell.sign]
        published.append(f'<span role="img" aria-label="{name}">{cell.sign}</span>')
    published += [cell.difference] if cell.difference else []
    return f'{ours} <span class="bounds">({" ".join(published)})</span>'


def _in_markdown(value: str) -> str:
    """Return text that Markdown shows as it is, in a cell of a table too."""
    plain = html.escape(_on_one_line(value), quote=False)
    # no backslash keeps these from being formulas or struck through in every dialect
    plain = plain.replace("$", "&#36;").replace("~", "&#126;")
    return _MARKDOWN_SIGNS.sub(r"\\\1", plain)


def _in_html(value: str) -> str:
    return html.escape(_on_one_line(value))


def _on_one_line(value: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in value)
