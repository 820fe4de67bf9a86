"""The versions of a model side by side, and which of them is the current one.

    payments.toprank       the current version, which `rank` and the others use
    payments.v1.toprank    an earlier version, or one that can be made current
    payments.v2.toprank

A version's number is saved in its file. Making another version current first copies the present
one to a file with its number, then replaces the file in one step: there is always a model.
"""

import re
import shutil
from pathlib import Path
from typing import NamedTuple

from toprank import files
from toprank.data.atomic import atomic_path
from toprank.payments.model_lock import writing_model

FIRST = 1


class Promoted(NamedTuple):
    """The version that became current, and the one that was current before."""

    version: int
    before: int


def version_of(facts: dict) -> int:
    """Return the number of a version; models written before there were versions are the first.

    >>> version_of({"version": 3}), version_of({})
    (3, 1)
    """
    number = facts.get("version")
    return number if type(number) is int and number >= FIRST else FIRST


def version_path(model: Path, version: int) -> Path:
    """Return the path of a version that is not the current one.

    >>> version_path(Path("payments.toprank"), 2).name
    'payments.v2.toprank'
    """
    return model.with_name(f"{model.stem}.v{version}{model.suffix}")


def other_versions(model: Path) -> list[int]:
    """Return the numbers of the versions other than the current one, in ascending order."""
    name = re.compile(re.escape(model.stem) + r"\.v([0-9]+)" + re.escape(model.suffix))
    found = (name.fullmatch(path.name) for path in model.parent.iterdir())
    return sorted(int(match[1]) for match in found if match)


def next_version(model: Path) -> int:
    """Return a number that no version has yet."""
    return max([_current(model), *other_versions(model)]) + 1


def promote(model: Path, version: int | None = None) -> Promoted:
    """Make a version the current one: the newest, unless one is named."""
    with writing_model(model):
        return _promoted(model, version)


def rollback(model: Path) -> Promoted:
    """Make the version before the current one current again."""
    with writing_model(model):
        current = _current(model)
        older = [number for number in other_versions(model) if number < current]
        if not older:
            raise ValueError(
                f"there is no version before {current}, which is the current one of {model.name}."
            )
        return _promoted(model, older[-1])


def _promoted(model: Path, version: int | None) -> Promoted:
    current, others = _current(model), other_versions(model)
    if version is None:
        newer = [number for number in others if number > current]
        if not newer:
            raise ValueError(
                f"there is no version newer than {current}, which is the current one of "
                f"{model.name}; make one with: toprank refit {model.name}"
            )
        version = newer[-1]
    if version == current:
        raise ValueError(f"version {version} of {model.name} is the current one already.")
    if version not in others:
        known = ", ".join(map(str, others)) or "none"
        raise ValueError(
            f"version must be one of those next to {model.name}: {known}; got {version}."
        )
    _put(model, version_path(model, current))
    _put(version_path(model, version), model)
    return Promoted(version, current)


def _current(model: Path) -> int:
    return version_of(files.read_manifest(model)["facts"])


def _put(source: Path, target: Path) -> None:
    """Copy a file over another or to a new place, in one step."""
    with atomic_path(target) as unfinished:
        shutil.copyfile(source, unfinished)
