"""The members of a model file, each read when the learner asks for it.

What no learner asks for is never inflated, and makes the file a wrong one: whoever added it may
want to fill the memory.
"""

import zipfile
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from toprank.files.booster_check import check_booster
from toprank.files.faults import BROKEN, shown
from toprank.files.manifest import hashed_member
from toprank.files.stored import stored_array

_T = TypeVar("_T")


class _Members(Mapping[str, _T]):
    """The members with one suffix, by their names without it."""

    suffix = ""

    def __init__(self, archive: zipfile.ZipFile, manifest: dict[str, Any]) -> None:
        self._archive, self._manifest = archive, manifest
        self._read: dict[str, _T] = {}

    def __getitem__(self, name: str) -> _T:
        if name not in self._read:
            if name not in self:
                raise KeyError(name)
            self._read[name] = self._member(name + self.suffix)
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return f"{name}{self.suffix}" in self._manifest["members"]

    def __iter__(self) -> Iterator[str]:
        names = sorted(self._manifest["members"])
        return (name.removesuffix(self.suffix) for name in names if name.endswith(self.suffix))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def unread(self) -> list[str]:
        """Return the names, with the suffix, of what was not asked for."""
        return [name + self.suffix for name in self if name not in self._read]

    def _member(self, name: str) -> _T:
        raise NotImplementedError


class ArrayMembers(_Members[np.ndarray]):
    """The arrays of a model file."""

    suffix = ".npy"

    def _member(self, name: str) -> np.ndarray:
        return stored_array(self._archive, name, self._manifest)


class BoosterMembers(_Members[bytes]):
    """The XGBoost models of a model file, each checked before XGBoost sees it."""

    suffix = ".ubj"

    def _member(self, name: str) -> bytes:
        raw = hashed_member(self._archive, name, self._manifest)
        check_valid(name.removesuffix(self.suffix), raw)
        return raw


def check_valid(name: str, raw: bytes) -> None:
    """Raise a ValueError unless the bytes are an XGBoost model that is safe to load."""
    try:
        check_booster(raw, n_features=None)
    except BROKEN as error:
        raise ValueError(f"booster {name!r} is not valid: {error}") from error


def check_all_read(arrays: ArrayMembers, boosters: BoosterMembers, learner: str) -> None:
    """Raise a ValueError if the learner had no use for a member."""
    unread = [*arrays.unread(), *boosters.unread()]
    if unread:
        raise ValueError(
            f"member {shown(unread[0])} is no part of a {learner}; the file was changed; copy it "
            "or fit the model again."
        )
