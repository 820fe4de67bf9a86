"""Distinct ids of rows, each with a place of its own, counted from 0.

Ids that are whole numbers are kept as such, the others as texts, so that a million numbers are
found without a text being made of any.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from toprank.data.tables.ids import id_numbers

_NUMBER_ENDS = 10**18  # longer ones are kept as texts, however they are given


class DistinctIds:
    """The ids added so far.

    >>> ids = DistinctIds()
    >>> ids.take_in(pa.array(["b", "7", "b"])).tolist(), ids.places(pa.array([7, 8])).tolist()
    ([1, 0, 1], [0, -1])
    """

    def __init__(self) -> None:
        self._numbers = _Kind(pa.int64())
        self._texts = _Kind(pa.large_string())

    def __len__(self) -> int:
        return len(self._numbers.ids) + len(self._texts.ids)

    def places(self, ids: pa.Array) -> NDArray[np.int64]:
        """Return the place of each id, -1 for unknown ones; ids are numbers or texts."""
        numbers, texts = _by_kind(ids, has_numbers=len(self._numbers.ids) > 0)
        if numbers is None:
            return self._texts.places(texts)
        if texts is None:
            return self._numbers.places(numbers)
        return np.maximum(self._numbers.places(numbers), self._texts.places(texts))

    def take_in(self, ids: pa.Array) -> NDArray[np.int64]:
        """Return the place of each id; a new id gets the next place."""
        numbers, texts = _by_kind(ids, has_numbers=True)
        place = np.full(len(ids), -1)
        for kind, each in ((self._numbers, numbers), (self._texts, texts)):
            if each is not None:
                place = np.maximum(place, kind.take_in(each, len(self)))
        return place

    def texts(self, places: NDArray[np.int64]) -> NDArray:
        """Return the ids at some places as texts."""
        found = np.empty(len(self), dtype=object)
        for kind in (self._numbers, self._texts):
            found[kind.place] = kind.ids.cast(pa.large_string()).to_numpy(zero_copy_only=False)
        return found[places]


class _Kind:
    """The ids that are numbers, or those that are not, and the place of each."""

    def __init__(self, arrow_type: pa.DataType) -> None:
        self.ids = pa.array([], arrow_type)
        self.place = np.empty(0, dtype=np.int64)

    def places(self, ids: pa.Array) -> NDArray[np.int64]:
        if not len(self.ids):
            return np.full(len(ids), -1)
        found = pc.index_in(ids, value_set=self.ids).fill_null(-1).to_numpy()
        return np.append(self.place, -1)[found]

    def take_in(self, ids: pa.Array, n_places: int) -> NDArray[np.int64]:
        place = self.places(ids)
        is_new = (place < 0) & ids.is_valid().to_numpy(zero_copy_only=False)
        if is_new.any():
            encoded = ids.filter(pa.array(is_new)).dictionary_encode()
            added = np.arange(n_places, n_places + len(encoded.dictionary))
            place[is_new] = added[encoded.indices.to_numpy()]
            self.ids = pa.concat_arrays([self.ids, encoded.dictionary])
            self.place = np.append(self.place, added)
        return place


def _by_kind(ids: pa.Array, has_numbers: bool) -> tuple[pa.Array | None, pa.Array | None]:
    """Return the ids that are numbers, and those that are not, each null where the other is not.

    None means a column that is all null.
    """
    if pa.types.is_integer(ids.type) and _are_short(ids.to_numpy()):
        return ids, None
    ids = ids.cast(pa.large_string())
    if not has_numbers:
        return None, ids
    numbers = id_numbers(ids)
    if numbers.null_count == len(ids):
        return None, ids
    if not numbers.null_count:
        return numbers, None
    return numbers, pc.if_else(numbers.is_valid(), pa.scalar(None, ids.type), ids)


def _are_short(numbers: NDArray[np.int64]) -> bool:
    return bool(-_NUMBER_ENDS < numbers.min(initial=0) <= numbers.max(initial=0) < _NUMBER_ENDS)
