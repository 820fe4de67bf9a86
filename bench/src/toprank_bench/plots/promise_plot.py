"""What lists of later days were to find, and what they found, a panel per table."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toprank.plots.canvas import ACCENT, FONT_SIZE, INK, MODEL_STYLES, calm
from toprank_bench.in_time.daily_lists import DailyList

_COLUMNS = 3
_MISSED = MODEL_STYLES[1]["color"]


def promise_by_day(lists: Mapping[str, Sequence[DailyList]]) -> Figure:
    """Return a figure of the range printed for each day and a point for what was found.

    >>> days = [DailyList(3.1, 1, 5, found=4), DailyList(3.2, 1, 5, found=9)]
    >>> figure = promise_by_day({"mine": days})
    >>> figure.axes[0].get_title()
    'mine: 1 of 2 days'
    """
    n_lines = -(-len(lists) // _COLUMNS)
    figure = Figure(figsize=(3.4 * _COLUMNS, 2.3 * n_lines), layout="constrained")
    panels = figure.subplots(n_lines, _COLUMNS, squeeze=False).ravel()
    for ax, (name, days) in zip(panels, lists.items(), strict=False):
        _panel(calm(ax), name, days)
    for ax in panels[len(lists) :]:
        ax.set_axis_off()
    figure.supxlabel("Days after the labelled rows", size=FONT_SIZE, color=INK)
    figure.supylabel("Positives in the list", size=FONT_SIZE, color=INK)
    return figure


def _panel(ax: Axes, name: str, days: Sequence[DailyList]) -> None:
    number = np.arange(1, len(days) + 1)
    low, high, found = (
        np.array([getattr(day, part) for day in days]) for part in ("low", "high", "found")
    )
    is_covered = np.array([day.is_covered for day in days])
    # a whole number is in the middle of its stretch
    ax.bar(number, high - low + 1, bottom=low - 0.5, width=1, color=ACCENT, alpha=0.2, linewidth=0)
    # dots and crosses, for readers and printers without colour
    ax.plot(number[is_covered], found[is_covered], ".", color=ACCENT, markersize=4)
    ax.plot(number[~is_covered], found[~is_covered], "x", color=_MISSED, markersize=4)
    ax.set_ylim(bottom=-0.5)
    ax.set_title(f"{name}: {is_covered.sum()} of {len(days)} days", size=FONT_SIZE, color=INK)
