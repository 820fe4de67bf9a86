"""Pictures of counts over time: places in an SVG, computed on the server."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

_LEFT, _TOP, _BELOW = 40, 8, 18
_HALF_NAME = 20  # of the longest name
_GAP = 0.25  # of a bar's place


PlotStyle = Literal["filled", "line", "range", "interval"]
"""How parts are drawn: as a filled part of the bar, a line across it, a dot beside a range.

Of an interval, the range and a dot are drawn at the bar's height, and nothing where it is 0.
"""


class BarCount(NamedTuple):
    """A bar: its name, its height, a part of it, and the range in which that was expected."""

    name: str
    total: float
    part: float = 0.0
    low: float = 0.0
    high: float = 0.0


class Bar(NamedTuple):
    """A bar in a picture, its part and its range."""

    x: float
    width: float
    y: float
    height: float
    part_y: float
    part_height: float
    high_y: float
    range_height: float
    title: str

    @property
    def middle(self) -> float:
        """The middle of the bar."""
        return round(self.x + self.width / 2, 1)


class PlotText(NamedTuple):
    """A text, and the place that it is about."""

    place: float
    text: str


@dataclass(frozen=True)
class BarPlot:
    """Bars side by side.

    Attributes
    ----------
    levels, names
        Lines across, and some of the bars' names below them.
    text
        What the picture shows, for those who do not see it.
    """

    bars: list[Bar]
    levels: list[PlotText]
    names: list[PlotText]
    text: str
    width: int
    height: int
    left: int
    bottom: int
    style: PlotStyle


def bar_plot(
    counts: Sequence[BarCount],
    text: str,
    *,
    width: int = 440,
    height: int = 130,
    n_names: int = 6,
    style: PlotStyle = "filled",
) -> BarPlot:
    """Return the picture of counts in their order."""
    left, top = _LEFT, _TOP
    bottom = height - _BELOW
    heights = (max(each.total, each.part, each.high) for each in counts)
    highest = max(heights, default=0.0) or 1.0
    step = (width - left) / max(len(counts), 1)

    def y(value: float) -> float:
        return round(bottom - (bottom - top) * value / highest, 1)

    bars = [
        Bar(
            round(left + step * place + step * _GAP / 2, 1), round(step * (1 - _GAP), 1),
            y(each.total), round(bottom - y(each.total), 1),
            y(each.part), round(bottom - y(each.part), 1),
            y(each.high), round(y(each.low) - y(each.high), 1),
            _title(each),
        )
        for place, each in enumerate(counts)
    ]  # fmt: skip
    every = max(-(-len(counts) // n_names), 1)
    names = [
        PlotText(min(bar.middle, width - _HALF_NAME), each.name)
        for place, (bar, each) in enumerate(zip(bars, counts, strict=True))
        if place % every == 0
    ]
    levels = [PlotText(y(each), _number(each)) for each in _levels(highest)]
    return BarPlot(bars, levels, names, text, width, height, left, bottom, style)


def _levels(highest: float) -> list[float]:
    """Return two to four round numbers up to the highest.

    >>> _levels(7), _levels(1200), _levels(0.025)
    ([2.0, 4.0, 6.0], [500.0, 1000.0], [0.01, 0.02])
    """
    step, factors = 10.0 ** math.floor(math.log10(highest)) / 10, (2, 2.5, 2)
    place = 0
    while highest / step > 4:
        step *= factors[place % 3]
        place += 1
    return [step * number for number in range(1, int(highest / step) + 1)]


def _title(each: BarCount) -> str:
    title = f"{each.name}: {_number(each.total)}"
    return f"{title}, {_number(each.part)}" if each.part else title


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2g}"
