"""Ids of rows as bytes in one array, found again by a hash table.

    raw   = b"tx-1" b"tx-2" b"77" ...       one id after the other
    ends  = [0, 4, 8, 10, ...]              where each begins and ends
    slots = [-1, 2, -1, 0, 1, ...]          the number of an id at the place of its hash, or after

Ids are numbered in the order they came. The last ones can be removed: no older id was put after
them in the table, so their slots are simply free again.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from numpy.typing import NDArray

from toprank.files.state import stored_vector

_LEAST = 64
_LOW_32_BITS = 0xFFFF_FFFF


class RowIds(NamedTuple):
    """The ids of some rows; an empty one is missing."""

    raw: NDArray[np.uint8]  # read-only, so that kernels are compiled for one kind of array
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str | None] | pa.Array | pa.ChunkedArray) -> "RowIds":
        """Return ids that are texts, None or empty where missing."""
        if isinstance(texts, pa.Array | pa.ChunkedArray):
            return cls._of_arrow(texts)
        encoded = [(text or "").encode("utf-8", "surrogatepass") for text in texts]
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        return cls.of_bytes(b"".join(encoded), lengths)

    @classmethod
    def of_bytes(cls, raw: bytes, lengths: NDArray[np.int64]) -> "RowIds":
        """Return ids that are bytes, one after the other."""
        return cls(np.frombuffer(raw, np.uint8), np.concatenate([[0], np.cumsum(lengths)]))

    @classmethod
    def of_one(cls, text: str) -> "RowIds":
        """Return the id of a single row."""
        raw = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
        return cls(raw, np.array([0, raw.size]))

    @classmethod
    def _of_arrow(cls, texts: pa.Array | pa.ChunkedArray) -> "RowIds":
        if not len(texts):
            return cls.of_bytes(b"", np.empty(0, dtype=np.int64))
        filled = pc.fill_null(texts.cast(pa.large_string()), "")
        if isinstance(filled, pa.ChunkedArray):
            filled = pa.concat_arrays(filled.chunks)
        _, offsets, data = filled.buffers()
        ends = np.frombuffer(offsets, np.int64)[filled.offset : filled.offset + len(filled) + 1]
        raw = np.frombuffer(b"" if data is None else data, np.uint8)
        return cls(raw, ends.copy())

    def __len__(self) -> int:
        return self.ends.size - 1


class IdTable:
    """The ids of all remembered rows, numbered from 0 in the order they came."""

    def __init__(self) -> None:
        self._size = 0
        self._raw = np.empty(0, dtype=np.uint8)
        self._ends = np.zeros(1, dtype=np.int64)
        self._slots = np.full(_LEAST, -1, dtype=np.int32)

    def __len__(self) -> int:
        return self._size

    @property
    def n_bytes(self) -> int:
        """The memory of the table."""
        return self._raw.nbytes + self._ends.nbytes + self._slots.nbytes

    def find(self, ids: RowIds) -> NDArray[np.int64]:
        """Return the number of each id, -1 where it is missing or unknown."""
        number = np.full(len(ids), -1)
        _find(*ids, *self._arrays(), number)
        return number

    def enter(
        self, ids: RowIds, rows: NDArray[np.int64], may_add: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the number of each row's id, and whether it was there when its turn came.

        `rows` says whose ids to enter and in which order. Those that are new are added where
        `may_add` allows it; else, and where an id is missing, the number is -1.
        """
        self._make_room(rows.size, int(ids.ends[-1] - ids.ends[0]))
        number, was_there = np.empty(len(ids), np.int64), np.zeros(len(ids), dtype=bool)
        number.fill(-1)  # `np.full` takes longer than this for a single row
        self._size = _enter(*ids, rows, may_add, self._size, *self._arrays(), number, was_there)
        return number, was_there

    def take_back(self, size: int) -> None:
        """Forget all but the first `size` ids."""
        _free(size, self._size, *self._arrays())
        self._size = size

    def keep(self, is_kept: NDArray[np.bool_]) -> None:
        """Forget the other ids; those kept are renumbered in the same order."""
        kept = IdTable()
        kept._add(self._ids(), np.flatnonzero(is_kept))
        vars(self).update(vars(kept))

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the ids in order, for `restore`."""
        ids = self._ids()
        return {"bytes": ids.raw.copy(), "lengths": np.diff(ids.ends)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        """Return the table that `to_arrays` returned; ValueError where it is not valid."""
        raw = stored_vector(arrays, "bytes", np.uint8)
        lengths = stored_vector(arrays, "lengths", np.int64)
        if not 1 <= lengths.min(initial=1) <= lengths.max(initial=1) <= max(raw.size, 1) or (
            int(lengths.sum()) != raw.size
        ):
            raise ValueError(f"array 'lengths' must split {raw.size} bytes into ids.")
        table = cls()
        table._add(RowIds.of_bytes(raw.tobytes(), lengths), np.arange(lengths.size))
        if len(table) < lengths.size:
            raise ValueError("ids of remembered rows must differ; some come twice.")
        return table

    def _ids(self) -> RowIds:
        raw = self._raw[: self._ends[self._size]]
        raw.flags.writeable = False
        return RowIds(raw, self._ends[: self._size + 1])

    def _add(self, ids: RowIds, rows: NDArray[np.int64]) -> None:
        self.enter(ids, rows, np.ones(len(ids), dtype=bool))

    def _arrays(self) -> tuple[NDArray, NDArray, NDArray]:
        return self._raw, self._ends, self._slots

    def _make_room(self, n_ids: int, n_bytes: int) -> None:
        n_ids, n_bytes = self._size + n_ids, int(self._ends[self._size]) + n_bytes
        if n_bytes > self._raw.size:
            self._raw = enlarged(self._raw, n_bytes)
        if n_ids + 1 > self._ends.size:
            self._ends = enlarged(self._ends, n_ids + 1)
        n_slots = self._slots.size
        while 3 * n_ids > 2 * n_slots:
            n_slots *= 2
        if n_slots > self._slots.size:
            self._slots = np.full(n_slots, -1, dtype=np.int32)
            _fill_slots(self._size, *self._arrays())


def enlarged(array: NDArray, n_needed: int) -> NDArray:
    """Return an array with room for `n_needed` along its last axis, and an eighth more."""
    grown = np.zeros((*array.shape[:-1], n_needed + n_needed // 8 + _LEAST), dtype=array.dtype)
    grown[..., : array.shape[-1]] = array
    return grown


@njit(cache=True)
def _hashed(raw, begin, end):
    """Return 32 bits that depend on every byte: FNV-1a, mixed once more.

    Products stay below 2^63, so that results are the same with and without compiling.
    """
    mixed = np.int64(2_166_136_261)
    for i in range(begin, end):
        mixed = ((mixed ^ np.int64(raw[i])) * 16_777_619) & _LOW_32_BITS
    mixed = ((mixed ^ (mixed >> 15)) * 739_982_445) & _LOW_32_BITS
    mixed = ((mixed ^ (mixed >> 12)) * 695_872_825) & _LOW_32_BITS
    return mixed ^ (mixed >> 15)


@njit(cache=True)
def _slot_of(ids, begin, end, raw, ends, slots):
    """Return the slot that holds an id, or the free one where it would go."""
    last = slots.size - 1  # a power of two less one
    slot = _hashed(ids, begin, end) & last
    while slots[slot] >= 0:
        at = ends[slots[slot]]
        if ends[slots[slot] + 1] - at == end - begin:
            i = 0
            while i < end - begin and raw[at + i] == ids[begin + i]:
                i += 1
            if i == end - begin:
                return slot
        slot = (slot + 1) & last
    return slot


@njit(cache=True)
def _find(ids, id_ends, raw, ends, slots, number):
    for row in range(number.size):
        if id_ends[row] < id_ends[row + 1]:
            number[row] = slots[_slot_of(ids, id_ends[row], id_ends[row + 1], raw, ends, slots)]


@njit(cache=True)
def _enter(ids, id_ends, rows, may_add, size, raw, ends, slots, number, was_there):
    """Fill the numbers of ids, add new ones, and return how many ids there are now."""
    for row in rows:
        begin, end = id_ends[row], id_ends[row + 1]
        if begin == end:
            continue
        slot = _slot_of(ids, begin, end, raw, ends, slots)
        was_there[row] = slots[slot] >= 0
        if not was_there[row] and may_add[row]:
            slots[slot] = size
            at = ends[size]
            for i in range(begin, end):
                raw[at + i - begin] = ids[i]
            size += 1
            ends[size] = at + end - begin
        number[row] = slots[slot]
    return size


@njit(cache=True)
def _free(begin, end, raw, ends, slots):
    """Free the slots of the ids from `begin` to `end`, the last of all first."""
    for number in range(end - 1, begin - 1, -1):
        slots[_slot_of(raw, ends[number], ends[number + 1], raw, ends, slots)] = -1


@njit(cache=True)
def _fill_slots(size, raw, ends, slots):
    """Fill empty slots with all ids, in their order."""
    for number in range(size):
        slots[_slot_of(raw, ends[number], ends[number + 1], raw, ends, slots)] = number
