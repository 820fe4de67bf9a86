"""The numbered files of a folder: a snapshot, and the log of what came after it.

Snapshot n is the history as log n begins. The next log is made before the next snapshot, so a
snapshot is never without its log, and the rename of the snapshot is the moment that counts. The
previous generation is kept: if the last snapshot is damaged, the one before it and both logs give
the same history.
"""

import re
import stat
from pathlib import Path

from toprank.data.atomic import remove_leftovers
from toprank.files.faults import ModelFileError

LOCK, LEDGER, ROWS = "lock", "labels.db", "rows"

_NUMBERED = re.compile(r"(snapshot|log)-([0-9]{6,})")


class Generations:
    """The snapshots and logs in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def snapshot(self, number: int) -> Path:
        """Return where the snapshot of this number is."""
        return self._folder / f"snapshot-{number:06d}"

    def log(self, number: int) -> Path:
        """Return where the log of this number is."""
        return self._folder / f"log-{number:06d}"

    def are_there(self) -> bool:
        """Return whether the folder contains any snapshot."""
        return any(kind == "snapshot" for kind, _, _ in self._files())

    def numbers(self) -> list[int]:
        """Return the numbers of all snapshots, the last one first; there must be one."""
        found = [number for kind, number, _ in self._files() if kind == "snapshot"]
        if not found:
            raise ModelFileError(
                f"{self._folder} must contain a history's snapshots and logs; it contains none."
            )
        return sorted(found, reverse=True)

    def drop_all_but(self, last: int) -> None:
        """Remove what killed writers left, and all but the last two generations."""
        remove_leftovers(self._folder)
        remove_leftovers(self._folder / ROWS)
        for _, number, path in sorted(self._files(), key=lambda each: each[1]):
            if number > last or number < last - 1:
                path.unlink()

    def mode_of(self, number: int) -> int:
        """Return the mode of a snapshot, which later files inherit."""
        return stat.S_IMODE(self.snapshot(number).stat().st_mode)

    def _files(self) -> list[tuple[str, int, Path]]:
        found = ((_NUMBERED.fullmatch(path.name), path) for path in self._folder.iterdir())
        return [(match[1], int(match[2]), path) for match, path in found if match]
