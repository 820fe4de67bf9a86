"""What the commands show: progress and remarks on stderr, rows on stdout."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Give a function `(what, done, total)` that draws bars with the time left.

    Bars appear only on a terminal; elsewhere, nothing is drawn.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bars: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = progress.add_task(what, total=total)
            progress.update(bars[what], completed=done, total=total)

        yield show


def remark(text: str) -> None:
    """Say something beside the results."""
    click.echo(text, err=True)


def alert_lines(alerts: Any, most: int | None = None) -> str:
    """Return the top of a list as people read it: one line an alert, its reasons below."""
    lines = []
    for i, reasons in enumerate(alerts.reasons[:most]):
        head = (
            f"{i + 1:>4}  row {alerts.row_numbers[i]:,}  probability {alerts.probability[i]:.0%}"
        )
        lines += [head, *(f"        {reason}" for reason in reasons)]
    return "\n".join(lines)


def print_csv(table: Any) -> None:
    """Print a pyarrow table as CSV."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    sink = pa.BufferOutputStream()
    pacsv.write_csv(table, sink)
    click.echo(sink.getvalue().to_pybytes().decode(), nl=False)


def print_json(value: Any) -> None:
    """Print one JSON document; numbers that JSON lacks become null."""
    click.echo(json.dumps(_finite(value), ensure_ascii=False, default=str, indent=2))


def is_terminal() -> bool:
    """Return whether stdout is read by a person rather than by a program."""
    return sys.stdout.isatty()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
