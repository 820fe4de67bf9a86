"""What a stage of the measurement returns: figures, and the limits they must keep to."""

import math
from typing import Any, NamedTuple


class LiveFigure(NamedTuple):
    """A figure and, where there is one, the limit it must keep to.

    >>> LiveFigure("p99", 4.2, "ms", at_most=5).verdict
    'met'
    """

    name: str
    value: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None

    @property
    def target(self) -> str:
        """The limit in signs."""
        limits = {"≤": self.at_most, "≥": self.at_least}
        return " ".join(
            f"{sign} {limit:,g}" for sign, limit in limits.items() if limit is not None
        )

    @property
    def verdict(self) -> str:
        """Whether the limit is kept to."""
        if not self.target:
            return ""
        is_met = (self.at_most is None or self.value <= self.at_most) and (
            self.at_least is None or self.value >= self.at_least
        )
        return "met" if is_met else "missed"

    @property
    def shown(self) -> str:
        """The value in words."""
        if not math.isfinite(self.value):
            return "never"
        if self.value == round(self.value):
            return f"{self.value:,.0f}"
        return f"{self.value:,.0f}" if self.value >= 1000 else f"{self.value:.3g}"

    def to_json(self) -> dict[str, Any]:
        """Return it in plain values; None is a value without end."""
        return self._asdict() | {"value": self.value if math.isfinite(self.value) else None}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "LiveFigure":
        """Return what `to_json` was made of."""
        value = math.inf if stored["value"] is None else stored["value"]
        return cls(**(stored | {"value": value}))


class StageOutcome(NamedTuple):
    """The figures of a stage, and further plain values worth a place in its row."""

    figures: list[LiveFigure]
    facts: dict[str, Any]


def none_of(name: str, count: float, unit: str = "") -> LiveFigure:
    """Return a count that must be 0."""
    return LiveFigure(name, count, unit, at_most=0)
