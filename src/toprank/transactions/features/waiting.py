"""Rows that wait for their labels, by the id they came with."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from toprank.model_file.state import stored_vector
from toprank.transactions.features.keys import text_arrays, texts_of

_LEAST_PLACES = 64


class Found(NamedTuple):
    """Rows whose labels came."""

    which: NDArray[np.int64]  # of the ids asked for
    time: NDArray[np.int64]
    keys: NDArray[np.int64]  # key, row: codes


class WaitingRows:
    """The time and the keys of each row that has no label yet; an id comes once."""

    def __init__(self, n_keys: int) -> None:
        self._place_of: dict[str, int] = {}
        self._time = np.empty(0, dtype=np.int64)
        self._keys = np.empty((n_keys, 0), dtype=np.int64)
        self._used = 0

    def __len__(self) -> int:
        return len(self._place_of)

    @property
    def keys(self) -> NDArray[np.int64]:
        """The codes of the keys of all rows that wait."""
        return self._keys[:, self._places()]

    def add(self, ids: Sequence[str], time: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        """Let rows wait; one with the id of another takes its place."""
        stop = self._used + len(ids)
        if stop > self._time.size:
            self._lay_out(self._places(), more=len(ids))
            stop = self._used + len(ids)
        self._time[self._used : stop] = time
        self._keys[:, self._used : stop] = keys
        self._place_of.update(zip(ids, range(self._used, stop), strict=True))
        self._used = stop

    def take(self, ids: Sequence[str]) -> Found:
        """Return the rows with these ids, which wait no longer; others are passed over."""
        places = [self._place_of.pop(each, -1) for each in ids]
        which = np.flatnonzero(np.array(places, dtype=np.int64) >= 0)
        found = np.array(places, dtype=np.int64)[which]
        return Found(which, self._time[found], self._keys[:, found])

    def forget(self, before: int) -> None:
        """Let go of rows older than this."""
        places = self._places()
        is_kept = self._time[places] >= before
        ids = [each for each, kept in zip(self._place_of, is_kept.tolist(), strict=True) if kept]
        self._place_of = dict(zip(ids, places[is_kept].tolist(), strict=True))
        self._lay_out(self._places())

    def recode(self, k: int, new_code: NDArray[np.int64]) -> None:
        """Give the values of a key their new codes."""
        codes = self._keys[k, : self._used]
        is_used = (codes >= 0) & (codes < new_code.size)
        codes[is_used] = new_code[codes[is_used]]

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the rows, for `from_arrays`."""
        return {
            **text_arrays(list(self._place_of)),
            "time": self._time[self._places()],
            "keys": self.keys,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray], n_codes: Sequence[int]) -> Self:
        """Return the rows that `to_arrays` gave; ValueError where they are not sound."""
        ids = texts_of(arrays)
        time = stored_vector(arrays, "time", np.int64, len(ids))
        keys = arrays.get("keys")
        if keys is None or keys.dtype != np.int64 or keys.shape != (len(n_codes), len(ids)):
            raise ValueError(f"array 'keys' must be int64 of shape {(len(n_codes), len(ids))}.")
        for codes, n_known in zip(keys, n_codes, strict=True):
            if codes.min(initial=0) < -1 or codes.max(initial=-1) >= n_known:
                raise ValueError(f"keys of waiting rows must lie between -1 and {n_known - 1}.")
        rows = cls(len(n_codes))
        rows.add(ids, time, keys)
        if len(rows) < len(ids):
            raise ValueError("ids of waiting rows must differ; some come twice.")
        return rows

    def _places(self) -> NDArray[np.int64]:
        return np.fromiter(self._place_of.values(), dtype=np.int64, count=len(self))

    def _lay_out(self, places: NDArray[np.int64], more: int = 0) -> None:
        """Lay the rows out anew one after the other, with room for as many, and `more`."""
        room = 2 * places.size + more + _LEAST_PLACES
        time, keys = self._time[places], self._keys[:, places]
        self._time = np.zeros(room, dtype=np.int64)
        self._keys = np.full((len(keys), room), -1, dtype=np.int64)
        self._time[: places.size], self._keys[:, : places.size] = time, keys
        self._place_of = dict(zip(self._place_of, range(places.size), strict=True))
        self._used = places.size
