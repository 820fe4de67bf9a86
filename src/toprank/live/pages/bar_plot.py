"""Pictures of counts over time: places in an SVG, computed on the server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_LEFT, _TOP, _BELOW = 34, 8, 18
_GAP = 0.25  # of a bar's place


class Counted(NamedTuple):
    """A bar: its name, its height, the part of it that is filled, and a range expected of that."""

    name: str
    total: float
    part: float = 0.0
    low: float | None = None
    high: float | None = None


class Bar(NamedTuple):
    """A bar in a picture; `part_y` and below it is filled, a range is from `low_y` to `high_y`."""

    x: float
    width: float
    y: float
    height: float
    part_y: float
    part_height: float
    low_y: float | None
    high_y: float | None
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

    @property
    def has_range(self) -> bool:
        """Whether any bar has a range."""
        return any(bar.low_y is not None for bar in self.bars)


def bar_plot(
    counts: Sequence[Counted],
    text: str,
    *,
    width: int = 560,
    height: int = 130,
    n_names: int = 6,
    is_small: bool = False,
) -> BarPlot:
    """Return the picture of counts in their order; a small one has neither levels nor names."""
    left, top = (0, 1) if is_small else (_LEFT, _TOP)
    bottom = height - (1 if is_small else _BELOW)
    heights = (max(each.total, each.part, each.high or 0.0) for each in counts)
    highest = max(heights, default=0.0) or 1.0
    step = (width - left) / max(len(counts), 1)

    def y(value: float) -> float:
        return round(bottom - (bottom - top) * value / highest, 1)

    bars = [
        Bar(
            round(left + step * place + step * _GAP / 2, 1), round(step * (1 - _GAP), 1),
            y(each.total), round(bottom - y(each.total), 1),
            y(each.part), round(bottom - y(each.part), 1),
            None if each.low is None else y(each.low),
            None if each.high is None else y(each.high),
            _title(each),
        )
        for place, each in enumerate(counts)
    ]  # fmt: skip
    every = max(-(-len(counts) // n_names), 1)
    names = [
        PlotText(bar.middle, each.name)
        for place, (bar, each) in enumerate(zip(bars, counts, strict=True))
        if place % every == 0
    ]
    levels = [PlotText(y(each), _number(each)) for each in _levels(highest)]
    if is_small:
        levels, names = [], []
    return BarPlot(bars, levels, names, text, width, height, left, bottom)


def _levels(highest: float) -> list[float]:
    """Return two to four round numbers up to the highest.

    >>> _levels(7), _levels(1200)
    ([2.0, 4.0, 6.0], [500.0, 1000.0])
    """
    step, factors = 10.0 ** len(str(int(highest))) / 100, (2, 2.5, 2)
    place = 0
    while highest / step > 4:
        step *= factors[place % 3]
        place += 1
    return [step * number for number in range(1, int(highest / step) + 1)]


def _title(each: Counted) -> str:
    title = f"{each.name}: {_number(each.total)}"
    return f"{title}, {_number(each.part)}" if each.part else title


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2g}"
