"""Bars for long work, where somebody is watching: on a terminal, or in a notebook."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from toprank.rankers.progress import Progress

_BETWEEN = 0.15  # seconds between two drawings in a notebook, so that no browser lags behind


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Give a function for `fit(progress=...)` that draws a bar with the time left.

    In a notebook, one bar shows the step under way; on a terminal there is one per step. At the
    end they disappear. Where nobody is watching, nothing is drawn: in a pipe or a log file, or
    when a notebook is run as a whole by nbconvert, papermill or a documentation build.

    >>> from toprank import BoostedRanker
    >>> hours = [[hour % 24] for hour in range(240)]
    >>> is_fraud = [hour % 24 < 3 for hour in range(240)]
    >>> with progress_bar() as progress:
    ...     ranker = BoostedRanker(n_estimators=20).fit(hours, is_fraud, progress=progress)
    """
    shell = _notebook()
    if shell is None:
        with terminal_bars() as bars:
            yield _on_terminal(bars)
    else:
        bar = _NotebookBar(_is_watched(shell))
        try:
            yield bar.show
        finally:
            bar.remove()


@contextmanager
def terminal_bars() -> Iterator[Any]:
    """Give the bars of rich, which are drawn only if stderr is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bars
    from rich.progress import TimeRemainingColumn as TimeLeft

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn("{task.percentage:>3.0f} %"),
        TimeLeft(),
    )
    # rich may be set to take a pipe for a terminal; a bar in a log file helps nobody
    is_shown = sys.stderr.isatty() and console.is_interactive
    with Bars(*columns, console=console, transient=True, disable=not is_shown) as bars:
        yield bars


def _on_terminal(bars: Any) -> Progress:
    tasks: dict[str, Any] = {}

    def show(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done, total=total)

    return show


class _NotebookBar:
    """One output of a cell, which shows the step under way and is empty in the end."""

    def __init__(self, is_watched: bool) -> None:
        self._is_watched = is_watched
        self._output: Any = None
        self._what, self._begin, self._next = "", 0.0, 0.0

    def show(self, what: str, done: int, total: int) -> None:
        """Draw progress, if the last drawing is not too recent."""
        now = time.monotonic()
        if what != self._what:
            self._what, self._begin, self._next = what, now, 0.0
        if not self._is_watched or now < self._next:
            return
        self._next = now + _BETWEEN
        self._draw(_bar(what, done, total, now - self._begin), f"{what}: {done} of {total}")

    def remove(self) -> None:
        """Leave an empty output where the bar was."""
        if self._output is not None:
            self._draw("", "")

    def _draw(self, html: str, words: str) -> None:
        from IPython.display import display

        bundle = {"text/html": html, "text/plain": words}
        if self._output is None:
            self._output = display(bundle, raw=True, display_id=True)
        else:
            self._output.update(bundle, raw=True)


def _bar(what: str, done: int, total: int, seconds: float) -> str:
    share = min(done / total, 1.0) if total else 0.0
    left = "" if not 0 < share < 1 else f", {_duration(seconds * (1 - share) / share)} left"
    return (
        '<div style="display: flex; gap: 12px; align-items: center; font-size: 13px">'
        f"<span>{escape(what)}</span>"
        f'<progress max="1" value="{share:.3f}" aria-label="{escape(what)}"></progress>'
        f"<span>{100 * share:.0f} %{left}</span></div>"
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _notebook() -> Any:
    """Return the shell of the notebook that this runs in; None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


def _is_watched(shell: Any) -> bool:
    """Return whether somebody could answer a question: not if the notebook is run as a whole."""
    return bool(getattr(shell.kernel, "_allow_stdin", True))
