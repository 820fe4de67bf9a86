"""Histories to and from files: model files that contain a history, of any size."""

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
    """Write the saved state of a history; an existing file is replaced in one step.

    It contains card numbers: only its owner can read a new file, and a file that is replaced
    keeps its mode.
    """
    with atomic_path(path, mode=mode) as unfinished:
        stored.write_stored(unfinished, _HISTORY, saved, facts)


def read(path: str | os.PathLike[str], made: Callable[[dict[str, Any], Saved], _T]) -> _T:
    """Return what `made` makes of the parameters and of what was kept."""
    return read_with_facts(path, made)[0]


def read_with_facts(
    path: str | os.PathLike[str], made: Callable[[dict[str, Any], Saved], _T]
) -> tuple[_T, dict[str, Any]]:
    """Return what `made` makes of the file, and the facts in it."""
    with archive.opened_archive(path) as opened:
        manifest_read = manifest.checked_manifest(opened)
        if manifest_read["learner"] != _HISTORY:
            raise ValueError(
                f"it contains a {manifest_read['learner']}, not a history; use toprank.load."
            )
        kept = {
            name.removesuffix(".npy"): stored.stored_array(opened, name, manifest_read)
            for name in manifest_read["members"]
        }
        try:
            return made(
                manifest_read["parameters"], Saved(manifest_read["state"], kept, {})
            ), manifest_read["facts"]
        except BROKEN as error:
            raise ValueError(f"its contents do not make a history: {error}") from error
