"""Histories to and from files, which are model files that hold a history."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

from toprank.model_file import archive, arrays, manifest
from toprank.model_file.atomic import atomic_path
from toprank.model_file.faults import BROKEN
from toprank.model_file.learners import Saved

_HISTORY = "History"
_T = TypeVar("_T")


def write(saved: Saved, path: str | os.PathLike[str]) -> None:
    """Write what a history gave to be kept; a file already there is replaced in one step."""
    members = {
        f"{name}.npy": arrays.npy_bytes(name, array) for name, array in saved.arrays.items()
    }
    told = manifest.manifest_bytes(_HISTORY, saved.parameters or {}, saved.state, {}, members)
    with atomic_path(path, mode=0o600) as beside:
        try:
            archive.write_archive(beside, {archive.MANIFEST: told, **members})
        except ValueError as error:  # which speaks of trees
            n_bytes = sum(map(len, members.values()))
            raise ValueError(
                f"the history is too large for a file: it has {n_bytes} bytes; purge it, and "
                "forget keys unseen for long, before it is saved."
            ) from error


def read(path: str | os.PathLike[str], made: Callable[[dict[str, Any], Saved], _T]) -> _T:
    """Return what `made` makes of the parameters and of what was kept."""
    with archive.opened_archive(path) as opened:
        told = manifest.checked_manifest(opened)
        if told["learner"] != _HISTORY:
            raise ValueError(f"it holds a {told['learner']}, not a history; use toprank.load.")
        kept = {
            name.removesuffix(".npy"): arrays.array_of(
                name, manifest.hashed_member(opened, name, told)
            )
            for name in told["members"]
        }
        try:
            return made(told["parameters"], Saved(told["state"], kept, {}))
        except BROKEN as error:
            raise ValueError(f"its contents do not make a history: {error}") from error
