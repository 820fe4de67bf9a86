"""The picture of a card's payments over time: amounts on a logarithmic scale, places in an SVG."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from toprank.live.pages import shown_values
from toprank.live.pages.yield_curve import Level

WIDTH, HEIGHT = 760, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 748, 12, 156
_MOST_LEVELS = 4
_SMALLEST, _LARGEST = 1e-3, 1e15


class PlottedPayment(Protocol):
    """What the picture needs of a payment."""

    @property
    def position(self) -> int:
        """Its place in the log."""

    @property
    def paid_at(self) -> int:
        """When it was paid."""

    @property
    def amount(self) -> float | None:
        """How much."""

    @property
    def label(self) -> str | None:
        """What is known of it: "fraud", "genuine" or nothing."""


class Dot(NamedTuple):
    """A payment in the picture."""

    x: float
    y: float
    radius: float
    kind: str
    text: str


class Band(NamedTuple):
    """The area of the amounts that are usual."""

    y: float
    height: float


class Tick(NamedTuple):
    """A time under the picture."""

    x: float
    text: str
    anchor: str


@dataclass(frozen=True)
class TimeLine:
    """Dots, the band of the usual, and what is written at the sides."""

    dots: list[Dot]
    usual: Band | None
    levels: list[Level]
    days: list[Tick]
    text: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = _RIGHT


def time_line(
    rows: Sequence[PlottedPayment],
    suspicious: Collection[int],
    usual: tuple[float, float] | None,
    since: int,
    now: int,
    only: Collection[int] | None = None,
) -> TimeLine:
    """Return the picture of payments from a moment until now.

    `suspicious` are the positions of those to stress, `usual` is the range of the card's other
    amounts, and payments that are not in `only` are shown faintly.
    """
    rows = [each for each in rows if each.amount is not None and math.isfinite(each.amount)]
    ends = () if usual is None else (_drawn(usual[0]), _drawn(usual[1]))
    low, high = _range([*(_drawn(each.amount or 0.0) for each in rows), *ends])
    scale = _Scale(since, now, low, high)
    dots = [scale.dot(each, suspicious, only) for each in rows]
    return TimeLine(
        sorted(dots, key=lambda dot: dot.radius),  # the suspicious ones on top
        scale.band(*ends) if ends else None,
        [Level(scale.y(each), f"{each:,.10g}") for each in _levels(low, high)],
        [
            Tick(_LEFT, shown_values.day(since), "start"),
            Tick(_RIGHT, shown_values.when(now, now), "end"),
        ],
        _text(rows, suspicious, usual),
    )


class _Scale(NamedTuple):
    """Where times and amounts are in the picture."""

    since: int
    now: int
    low: float
    high: float

    def x(self, at: int) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * _share(at, self.since, self.now), 1)

    def y(self, amount: float) -> float:
        low, at, high = (math.log10(each) for each in (self.low, amount, self.high))
        return round(_BOTTOM - (_BOTTOM - _TOP) * _share(at, low, high), 1)

    def band(self, low: float, high: float) -> Band:
        top, bottom = sorted((self.y(low), self.y(high)))
        return Band(top, round(max(bottom - top, 2.0), 1))

    def dot(
        self, row: PlottedPayment, suspicious: Collection[int], only: Collection[int] | None
    ) -> Dot:
        is_suspicious = row.position in suspicious
        kinds = ["suspicious"] if is_suspicious else ["fraud"] if row.label == "fraud" else []
        if only is not None and row.position not in only:
            kinds.append("dim")
        text = f"{shown_values.when(row.paid_at, self.now)}: {shown_values.amount(row.amount)}"
        y = self.y(_drawn(row.amount or 0.0))
        return Dot(self.x(row.paid_at), y, 5 if is_suspicious else 3.5, " ".join(kinds), text)


def usual_range(
    rows: Sequence[PlottedPayment], suspicious: Collection[int]
) -> tuple[float, float] | None:
    """Return the range of nine in ten amounts of a card's other payments; None of fewer than 5."""
    amounts = sorted(
        each.amount
        for each in rows
        if each.position not in suspicious
        and each.label != "fraud"
        and each.amount is not None
        and math.isfinite(each.amount)
    )
    if len(amounts) < 5:
        return None
    rest = round(0.05 * (len(amounts) - 1))
    return amounts[rest], amounts[-1 - rest]


def _drawn(amount: float) -> float:
    """Return an amount as it is drawn: credits as payments, within what a scale can show."""
    return min(max(abs(amount), _SMALLEST), _LARGEST)


def _range(amounts: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the scale: a little beyond the smallest and the largest amount."""
    positive = [each for each in amounts if each > _SMALLEST] or [1.0, 10.0]
    low, high = min(positive), max(positive)
    return (low / 1.6, high * 1.4) if high > low else (low / 3, high * 3)


def _levels(low: float, high: float) -> list[float]:
    """Return round amounts within the scale, at most four."""
    found = [
        digit * 10.0**power
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for digit in (1, 2, 5)
        if low <= digit * 10.0**power <= high
    ]
    for digits in ((1, 2, 5), (1, 5), (1,)):
        kept = [each for each in found if int(f"{each:e}"[0]) in digits]
        if len(kept) <= _MOST_LEVELS:
            return kept
    return kept[:: math.ceil(len(kept) / _MOST_LEVELS)]


def _share(value: float, low: float, high: float) -> float:
    return min(max((value - low) / (high - low), 0.0), 1.0) if high > low else 1.0


def _text(
    rows: Sequence[PlottedPayment],
    suspicious: Collection[int],
    usual: tuple[float, float] | None,
) -> str:
    n_suspicious = sum(each.position in suspicious for each in rows)
    text = f"{len(rows)} payments by time and amount, {n_suspicious} of them suspicious."
    if usual is not None:
        low, high = (shown_values.amount(each) for each in usual)
        text += f" Usual for this card: {low} to {high}."
    return text + " The table below has all of them."
