"""The arrays of a learner in a file, by name and checked, those of its parts under prefixes.

The arrays of a part called `window` are saved with the learner's own as `window-scores`,
`window-is_positive` and so on, since a model file has no folders.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks

_T = TypeVar("_T")


def stored_vector(
    arrays: Mapping[str, NDArray],
    name: str,
    dtype: type[np.generic] | type,
    size: int | None = None,
) -> NDArray:
    """Return the array called `name`; ValueError unless it is one row of `dtype`, `size` long.

    >>> stored_vector({"sizes": np.array([3, 1])}, "sizes", np.int64, 2)
    array([3, 1])
    """
    if name not in arrays:
        raise ValueError(f"array {name!r} is missing.")
    return checks.typed_vector(arrays[name], name, dtype, size)


def parts_together(parts: Mapping[Any, Mapping[str, _T]]) -> dict[str, _T]:
    """Return the members of all parts in one dict, each with the name of its part in front.

    >>> parts_together({"window": {"scores": 1}, 0: {"scores": 2}})
    {'window-scores': 1, '0-scores': 2}
    """
    return {
        f"{part}-{name}": member for part, own in parts.items() for name, member in own.items()
    }


def part_of(members: Mapping[str, _T], part: Any) -> Mapping[str, _T]:
    """Return the members of one part under their own names; each is read when it is asked for.

    >>> dict(part_of({"window-scores": 1, "0-scores": 2}, "window"))
    {'scores': 1}
    """
    return _Part(members, f"{part}-")


class _Part(Mapping[str, _T]):
    def __init__(self, members: Mapping[str, _T], prefix: str) -> None:
        self._members, self._prefix = members, prefix

    def __getitem__(self, name: str) -> _T:
        return self._members[self._prefix + name]

    def __iter__(self) -> Iterator[str]:
        size = len(self._prefix)
        return (name[size:] for name in self._members if name.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)
