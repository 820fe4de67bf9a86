"""What a stage of the measurement is, and what it is given."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toprank_bench.live_load.live_figures import StageOutcome
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
        return ServedProcess(desk, self.server_core)

    @property
    def server_core(self) -> int | None:
        """The core of the server."""
        return SERVER_CORE if self.is_pinned else None

    @property
    def load_core(self) -> int | None:
        """The core of the process that sends requests."""
        return LOAD_CORE if self.is_pinned else None


class LiveStage(NamedTuple):
    """One stage: what it measures, with its options and those of the quick variant."""

    name: str
    what: str
    measure: Callable[[StageSetting], StageOutcome]
    options: Mapping[str, Any]
    quick: Mapping[str, Any]
    minutes: float
