"""A picture of counts that fits into a cell of a table: two paths, since a board has many of them.

Rectangles of their own, as in `bar_plot`, would take a page of 50 rules longer than its figures.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 110, 24

_GAP = 0.25  # of a bar's place


class SparkBars(NamedTuple):
    """Bars side by side, and the filled parts of them, as paths of an SVG.

    `text` is what the picture shows, for those who do not see it.
    """

    totals: str
    parts: str
    text: str
    width: int = WIDTH
    height: int = HEIGHT


def spark_bars(counts: Sequence[tuple[int, int]], text: str) -> SparkBars:
    """Return the picture of counts and of a part of each, in their order.

    >>> spark_bars([(4, 1), (2, 2)], "4 and 2").parts
    'M6.9 24v-6h41.2v6z M61.9 24v-12h41.2v12z'
    """
    highest = max((total for total, _ in counts), default=0) or 1
    step = WIDTH / max(len(counts), 1)
    return SparkBars(
        _path((total for total, _ in counts), highest, step),
        _path((part for _, part in counts), highest, step),
        text,
    )


def _path(values: Iterable[int], highest: int, step: float) -> str:
    width = step * (1 - _GAP)
    return " ".join(
        f"M{step * (place + _GAP / 2):.1f} {HEIGHT}v-{high:g}h{width:.1f}v{high:g}z"
        for place, value in enumerate(values)
        if (high := round(HEIGHT * value / highest, 1))
    )
