"""The recorded stages as a table, in text and as a page: made from rows alone."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from toprank_bench.live_load.live_figures import LiveFigure
from toprank_bench.row_file import Row, rows_file

HEADINGS = ["stage", "figure", "value", "unit", "target", ""]
_BUSY = 0.2  # cores of others from which times are doubtful
_STOLEN = 0.02  # cores taken away from which the longest times are doubtful

_TITLE = "The live system under load"
_INTRODUCTION = (
    "A server (`toprank serve`) with a model, 44 features, 50 blocking rules, keys, audit and a "
    "log that survives a killed process, asked over loopback by a second process. Requests are "
    "sent at moments that are fixed in advance (a Poisson process), and each is timed from the "
    "moment at which it was due, so a server that stops for a while is charged for all that had "
    "to wait."
)
_LARGE_DESK = (
    "What the server takes for a page of a desk with {n_payments:,} payments and {n_alerts:,} "
    "alerts: session, permission, what is read, the entry in the audit, and the page itself."
)


def live_file(results: Path, quick: bool = False) -> Path:
    """Return where the rows of stages are."""
    return rows_file(results, "live-quick" if quick else "live")


def desk_file(results: Path, quick: bool = False) -> Path:
    """Return where the rows of the timed pages are."""
    return rows_file(results, "desk-quick" if quick else "desk")


def last_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the last row of each stage that has figures, in the order of first appearance."""
    return list({row["stage"]: row for row in rows if "figures" in row}.values())


def figures_of(row: Row) -> list[LiveFigure]:
    """Return the figures of a row."""
    return [LiveFigure.from_json(each) for each in row["figures"]]


def table_lines(rows: Iterable[Row], *, with_targets_only: bool = False) -> list[list[str]]:
    """Return a line for every figure, the stage's name in its first."""
    lines = []
    for row in rows:
        name = row["stage"]
        for each in figures_of(row):
            if each.target or not with_targets_only:
                line = [name, each.name, each.shown, each.unit, each.target, each.verdict]
                lines.append(line)
                name = row["stage"] if with_targets_only else ""
    return lines


def live_page(rows: Sequence[Row], desk_rows: Sequence[Row] = ()) -> str:
    """Return the page of the live system, made from the last row of each stage.

    `desk_rows` is the last row of the timed pages of a large desk, if there is one.
    """
    parts = [f"# {_TITLE}", _INTRODUCTION]
    if rows:
        parts += [
            markdown_table(rows),
            "\n".join(_notes(rows)),
            "Rows: `bench/results/live.jsonl.xz`. Run it again: `toprank bench live`.",
        ]
    for row in desk_rows:
        parts += [
            "## The pages of a large desk",
            _LARGE_DESK.format(**row["options"]),
            markdown_table([row]),
            _measured_on([row]),
            "Rows: `bench/results/desk.jsonl.xz`. Run it again: `toprank bench desk`.",
        ]
    return "\n\n".join(parts) + "\n"


def markdown_table(rows: Iterable[Row], *, with_targets_only: bool = False) -> str:
    """Return the table in Markdown."""
    lines = [HEADINGS, ["---", "---", "---:", "---", "---", "---"]]
    lines += table_lines(rows, with_targets_only=with_targets_only)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _notes(rows: Sequence[Row]) -> list[str]:
    notes = [f"- {row['stage']}: {_switched_on(row)}" for row in rows]
    notes.append(_measured_on(rows))
    busy = [
        f"{row['stage']} ({row['cores_of_others']:g} cores)"
        for row in rows
        if row["cores_of_others"] > _BUSY
    ]
    if busy:
        notes.append(
            "- The machine was busy with other work, which makes times longer, during: "
            f"{', '.join(busy)}."
        )
    stolen = [
        f"{row['stage']} ({row['stolen_cores']:g} cores)"
        for row in rows
        if row.get("stolen_cores", 0.0) > _STOLEN
    ]
    if stolen:
        notes.append(
            "- The host of this virtual machine took cores away while work was ready to run, for "
            "tens of milliseconds at a time; the longest times are then the host's. It did so "
            f"during: {', '.join(stolen)}."
        )
    return notes


def _measured_on(rows: Sequence[Row]) -> str:
    machines = "; ".join(sorted({row["machine"] for row in rows}))
    commits = ", ".join(sorted({row["commit"] for row in rows}))
    return f"- Measured on {machines}; commit {commits}."


def _switched_on(row: Row) -> str:
    """Return how a stage was run, and what else it found."""
    said = {**row["options"], "remembered payments": row["remembered"], **row["facts"]}
    pinned = ["server and load on a core each"] if row["pinned"] else []
    words = [f"{name.replace('_', ' ')} {_plain(value)}" for name, value in said.items()]
    return "; ".join([*words, *pinned])


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name}: {_plain(each)}" for name, each in value.items()) + ")"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(each) for each in value) or "none"
    if isinstance(value, str):
        return f"`{value}`"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
