"""What a stage of the measurement is given, and what it returns."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toprank_bench.live_load.live_world import LiveWorld
from toprank_bench.live_load.served_process import ServedProcess

SERVER_CORE, LOAD_CORE = 0, 1


class StageSetting(NamedTuple):
    """The world, a folder for desks that is removed afterwards, and the options of the stage.

    With `is_pinned`, the server and the load each run on a core of their own.
    """

    world: LiveWorld
    folder: Path
    seed: int
    options: Mapping[str, Any]
    is_pinned: bool = False

    def new_desk(self, name: str = "desk", **settings: Any) -> Path:
        """Return a new copy of the world's desk."""
        return self.world.new_desk(self.folder / name, **settings)

    def served(self, desk: Path) -> ServedProcess:
        """Return a server of a desk, started."""
        return ServedProcess(desk, SERVER_CORE if self.is_pinned else None)

    @property
    def load_core(self) -> int | None:
        """The core of the process that sends requests."""
        return LOAD_CORE if self.is_pinned else None


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
        return " ".join(f"{sign} {limit:,g}" for sign, limit in limits.items() if limit is not None)

    @property
    def verdict(self) -> str:
        """Whether the limit is kept to."""
        if not self.target:
            return ""
        is_met = (self.at_most is None or self.value <= self.at_most) and (
            self.at_least is None or self.value >= self.at_least
        )
        return "met" if is_met else "missed"


class StageOutcome(NamedTuple):
    """The figures of a stage, and further plain values worth a place in its row."""

    figures: list[LiveFigure]
    facts: dict[str, Any]


class LiveStage(NamedTuple):
    """One stage: what it measures, with its options and those of the quick variant."""

    name: str
    what: str
    measure: Callable[[StageSetting], StageOutcome]
    options: Mapping[str, Any]
    quick: Mapping[str, Any]
    minutes: float


def none_of(name: str, count: float, unit: str = "") -> LiveFigure:
    """Return a count that must be 0."""
    return LiveFigure(name, count, unit, at_most=0)
