"""Histories to and from files, which are model files that hold a history, of any size."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

from toprank.data.atomic import atomic_path
from toprank.files import archive, manifest, stored
from toprank.files.faults import BROKEN
from toprank.files.saved_learners import Saved

_HISTORY = "History"
_T = TypeVar("_T")


def write(
    saved: Saved,
    path: str | os.PathLike[str],
    facts: dict[str, Any] | None = None,
    mode: int = 0o600,
) -> None:
    """Write what a history gave to be kept; a file already there is replaced in one step.

    It holds card numbers: a new file is readable by its owner only, one that is replaced keeps
    its mode.
    """
    with atomic_path(path, mode=mode) as beside:
        stored.write_stored(beside, _HISTORY, saved, facts)


def read(path: str | os.PathLike[str], made: Callable[[dict[str, Any], Saved], _T]) -> _T:
    """Return what `made` makes of the parameters and of what was kept."""
    return read_with_facts(path, made)[0]


def read_with_facts(
    path: str | os.PathLike[str], made: Callable[[dict[str, Any], Saved], _T]
) -> tuple[_T, dict[str, Any]]:
    """Return what `made` makes of the file, and the facts in it."""
    with archive.opened_archive(path) as opened:
        told = manifest.checked_manifest(opened)
        if told["learner"] != _HISTORY:
            raise ValueError(f"it holds a {told['learner']}, not a history; use toprank.load.")
        kept = {
            name.removesuffix(".npy"): stored.stored_array(opened, name, told)
            for name in told["members"]
        }
        try:
            return made(told["parameters"], Saved(told["state"], kept, {})), told["facts"]
        except BROKEN as error:
            raise ValueError(f"its contents do not make a history: {error}") from error
