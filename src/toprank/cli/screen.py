"""What the commands show: progress and remarks on stderr, rows on stdout."""

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from toprank.cli import compile_note, log_lines

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What may move the cursor of a terminal, or turn text round; not tabs and new lines."""


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Give a function `(what, done, total)` that draws bars with the time left.

    Bars appear only on a terminal; elsewhere, nothing is drawn.
    """
    from toprank.present.progress_bars import progress_bar as bars

    compile_note.watch()
    steps = log_lines.StepTimes()
    with bars() as draw:

        def show(what: str, done: int, total: int) -> None:
            draw(what, done, total)
            steps.saw(what, done, total)

        yield show


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Draw a bar that keeps moving, for work whose progress is not known."""
    from toprank.present.progress_bars import terminal_bars

    compile_note.watch()
    with terminal_bars() as bars:
        bars.add_task(what, total=None)
        yield


def show(text: str) -> None:
    """Print results for people."""
    click.echo(without_controls(text))


def remark(text: str, *, is_secret: bool = False) -> None:
    """Print a remark, apart from the results; nobody may be left to read it.

    One that lets its reader in somewhere `is_secret`: no log keeps it.
    """
    log = log_lines.current()
    if log is not None:
        log.remark("a secret is printed without --log json only." if is_secret else text)
        return
    with suppress(OSError):
        # not click.echo: it would write through a bar, not above it
        print(without_controls(text), file=sys.stderr)


def without_controls(text: str) -> str:
    r"""Return text with what a terminal would obey as escapes; data may contain it.

    >>> without_controls("shop \x1b[31mred")
    'shop \\u001b[31mred'
    """
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def alert_lines(alerts: Any, most: int | None = None) -> str:
    """Return the top of a list as people read it: one line per alert, its reasons below."""
    from toprank.present.summary import alert_heading

    lines = []
    for i in range(len(alerts.suspicion[:most])):
        rule = [] if alerts.rules is None else [alerts.rules[i]]
        lines.append(f"{i + 1:>4}  {alert_heading(alerts, i)}")
        lines += [_wrapped(each) for each in (*alerts.reason_texts(i), *rule)]
        against = [] if alerts.less_suspicious is None else alerts.less_suspicious[i]
        lines += [_wrapped(f"less suspicious: {each}") for each in against]
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    """Return a reason set in from its alert, in lines that fit the terminal."""
    width = max(shutil.get_terminal_size().columns, 60)
    return textwrap.fill(
        text, width, initial_indent=" " * 8, subsequent_indent=" " * 10,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def print_csv(table: Any) -> None:
    """Print a pyarrow table as CSV."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    from toprank.data.tables.spreadsheet import without_formulas

    sink = pa.BufferOutputStream()
    try:
        pacsv.write_csv(without_formulas(table), sink)
    except pa.ArrowInvalid as error:
        raise ValueError(
            "a CSV holds plain values only; a column of the data holds lists or the like; "
            "print it with --json or write it with -o to a .parquet file."
        ) from error
    text = sink.getvalue().to_pybytes().decode()
    # as if with colours: else click would take escape codes out of the data
    click.echo(without_controls(text) if is_terminal() else text, nl=False, color=True)


def print_json(value: Any) -> None:
    """Print one JSON document; numbers that JSON lacks become null."""
    is_unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(
        _finite(value), ensure_ascii=not is_unicode, allow_nan=False, default=str, indent=2
    )
    click.echo(without_controls(text))  # JSON means the same by these escapes


def is_terminal() -> bool:
    """Return whether stdout is read by a person rather than by a program."""
    return sys.stdout.isatty()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
