"""Snapshots of a desk's history: each is the history as of one place in the log.

A snapshot is written by a process of its own, which reads the one before and the log after it, so
that payments do not wait. The last two are kept, in case one cannot be read, and the first, from
which all of the log can be replayed.
"""

import re
from pathlib import Path
from typing import NamedTuple

from toprank.payments.features import History

_NAME = re.compile(r"history-(\d+)-(\d+)-(\d+)\.toprank")
_KEPT = 2


class LogPlace(NamedTuple):
    """A place in the log: after this payment, this label and this purge."""

    position: int = 0
    label_number: int = 0
    purge_number: int = 0


class Snapshots:
    """The snapshots in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, snapshot: LogPlace) -> Path:
        """Return the file of a snapshot."""
        position, label_number, purge_number = snapshot
        return self.folder / f"history-{position:012}-{label_number:09}-{purge_number:06}.toprank"

    def all(self) -> list[LogPlace]:
        """Return the snapshots, the oldest first."""
        found = (_NAME.fullmatch(each.name) for each in self.folder.iterdir())
        return sorted(LogPlace(*map(int, each.groups())) for each in found if each)

    def before(self, position: int) -> list[LogPlace]:
        """Return the snapshots at or before a position, the oldest first."""
        return [each for each in self.all() if each.position <= position]

    def write(self, history: History, snapshot: LogPlace) -> None:
        """Write a snapshot, in one step, and remove those that are no longer needed."""
        history.save(self.path(snapshot))
        for each in self.all()[1:-_KEPT]:
            self.path(each).unlink(missing_ok=True)

    def drop_before(self, snapshot: LogPlace) -> None:
        """Remove all older snapshots, the first included."""
        for each in self.all():
            if each < snapshot:
                self.path(each).unlink()
