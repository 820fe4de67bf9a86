"""The picture of what more checks would find: places in an SVG, computed on the server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

WIDTH, HEIGHT = 360, 96
_LEFT, _RIGHT, _TOP, _BOTTOM = 26, 352, 8, 80


class Level(NamedTuple):
    """A line across a picture, and what it says."""

    y: float
    text: str


@dataclass(frozen=True)
class YieldCurve:
    """Frauds that a number of checks is expected to find, with their interval.

    Attributes
    ----------
    line, band
        Points of the curve, and of the area of the interval.
    worth_x
        Where the next checks stop being worth it; None if that is not on the picture.
    last
        The number of checks at the right end.
    text
        What the picture shows, for those who do not see it.
    """

    line: str
    band: str
    levels: list[Level]
    worth_x: float | None
    last: int
    text: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = _RIGHT
    top: int = _TOP
    bottom: int = _BOTTOM


def yield_curve(
    points: Sequence[tuple[float, float, float, float]], worth_until: int | None
) -> YieldCurve:
    """Return the picture of (checks, expected, low, high) at growing numbers of checks."""
    points = [(0, 0.0, 0.0, 0.0), *points]
    last = max(points[-1][0], 1)
    highest = max(max(high for *_, high in points), 1.0)

    def x(checks: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * checks / last, 1)

    def y(frauds: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * frauds / highest, 1)

    upper = [f"{x(n)},{y(high)}" for n, _, _, high in points]
    lower = [f"{x(n)},{y(low)}" for n, _, low, _ in reversed(points)]
    return YieldCurve(
        line=" ".join(f"{x(n)},{y(expected)}" for n, expected, _, _ in points),
        band=" ".join(upper + lower),
        levels=[Level(y(each), f"{each:g}") for each in _levels(highest)],
        worth_x=x(worth_until) if worth_until is not None and worth_until <= last else None,
        last=int(last),
        text=_text(points),
    )


def _levels(highest: float) -> list[float]:
    """Return two or three round numbers up to the highest."""
    step = 1.0
    while highest / step > 3:
        step *= 2.5 if str(step).startswith("2") else 2
    return [step * number for number in range(1, int(highest / step) + 1)]


def _text(points: Sequence[tuple[float, float, float, float]]) -> str:
    checks, expected, low, high = points[-1]
    return (
        f"The next {checks:,.0f} checks are expected to find {expected:,.1f} frauds "
        f"({low:,.0f} to {high:,.0f})."
    )
