"""The events of all values of one key, in growing arrays."""

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from toprank.files.state import stored_vector
from toprank.payments.features import window_kernel
from toprank.payments.features.questions import Asked
from toprank.payments.features.row_reader import PaymentRows
from toprank.payments.features.window_kernel import Events

_LEAST_KEYS = 16
_N_BY_KEY = Events._fields.index("time")  # the arrays before are by key, the others by place
_LARGEST = float(np.finfo(np.float32).max)
_MOST_WASTE = 0.25  # share of the places that may belong to no key


class Placed:
    """The places of inserted rows among the events of their keys."""

    def __init__(self, keys: NDArray[np.int64], which: NDArray[np.int64]) -> None:
        self.keys, self.which = keys, which
        self.place = np.empty(which.size, dtype=np.int64)
        self.n_before = np.empty(which.size, dtype=np.int64)  # earlier rows of the same moment


class EventStore:
    """Events by key and time, and the features that look back over them.

    `columns` and `coded` are the columns of numbers and of codes that rows come with; of these,
    the store keeps those it is asked about.
    """

    def __init__(self, asked: Sequence[Asked], columns: list[str], coded: list[str]) -> None:
        # equal windows are adjacent: the kernel finds their bounds once
        asked = sorted(asked, key=lambda each: (each.window, each.delay, each.is_own))
        is_coded = [each.what == window_kernel.DISTINCT for each in asked]
        pairs = list(zip(asked, is_coded, strict=True))
        self.numbers = sorted(
            {each.column for each, is_code in pairs if each.column and not is_code}
        )
        self.coded = sorted({each.column for each, is_code in pairs if each.column and is_code})
        self.longest = max((max(each.window, 0) + each.delay for each in asked), default=0)
        self._number_columns = np.array([columns.index(name) for name in self.numbers], np.int64)
        self._code_columns = np.array([coded.index(name) for name in self.coded], np.int64)
        queries = [(*each._replace(column=self._place(each.column)),) for each in asked]
        self._query = np.array(queries, np.int64).reshape(-1, window_kernel.N_QUERY_FIELDS)
        self._events = _empty(0, 0, len(self.numbers), len(self.coded))
        self._used = 0
        self._held = np.zeros(0, dtype=np.int32)

    @property
    def has_events(self) -> NDArray[np.bool_]:
        """Whether each key has events."""
        return self._events.size > 0

    @property
    def n_events(self) -> int:
        """The number of events kept."""
        return int(self._events.size.sum())

    def learn(
        self,
        rows: PaymentRows,
        k: int,
        which: NDArray[np.int64],
        n_codes: int,
        out: NDArray[np.float64],
        is_kept: bool = True,
    ) -> Placed:
        """Insert some rows, grouped by key and in order of time; fill their features.

        `k` is the number of the key, `n_codes` the largest number of values of a coded column.
        Rows that are not to be kept are removed again at once.
        """
        self._hold(n_codes)
        placed = Placed(rows.keys[k], which)
        used = -1
        while used < 0:
            used = window_kernel.learn(
                self._used,
                self._query,
                which,
                rows.keys[k],
                rows.time,
                rows.numbers,
                rows.codes,
                self._number_columns,
                self._code_columns,
                self._held,
                out,
                is_kept,
                placed.place,
                placed.n_before,
                *self._events,
            )
            if used < 0:
                self._repack(more=-used)
        self._used = used
        return placed

    def insert(
        self,
        keys: NDArray[np.int64],
        time: NDArray[np.int64],
        numbers: NDArray[np.float64],
        codes: NDArray[np.int32],
        which: NDArray[np.int64],
    ) -> Placed:
        """Insert some rows, grouped by key and in order of time."""
        placed = Placed(keys, which)
        used = -1
        while used < 0:
            used = window_kernel.insert(
                self._used,
                which,
                keys,
                time,
                numbers,
                codes,
                self._number_columns,
                self._code_columns,
                placed.place,
                placed.n_before,
                *self._events,
            )
            if used < 0:
                self._repack(more=-used)
        self._used = used
        return placed

    def take_out(self, placed: Placed) -> None:
        """Remove the rows that were inserted last."""
        window_kernel.take_out(placed.which, placed.keys, placed.place, *self._events)

    def look_again(
        self,
        rows: PaymentRows,
        k: int,
        which: NDArray[np.int64],
        n_before: NDArray[np.int64],
        n_codes: int,
        out: NDArray[np.float64],
    ) -> None:
        """Fill the features of rows that are among the events already.

        They are grouped by key, in order of time and of `n_before`: the number of rows of the
        same moment that came before each.
        """
        self._hold(n_codes)
        window_kernel.look_again(
            self._query,
            which,
            rows.keys[k],
            rows.time,
            rows.numbers,
            rows.codes,
            self._number_columns,
            self._held,
            out,
            n_before,
            *self._events,
        )

    def look_back(
        self, rows: PaymentRows, k: int, which: NDArray[np.int64], out: NDArray[np.float64]
    ) -> None:
        """Fill the features of rows that are not among the events; windows end by time alone."""
        window_kernel.look_back(
            self._query,
            which,
            rows.keys[k],
            rows.time,
            rows.numbers,
            rows.codes,
            self._number_columns,
            self._held,
            out,
            *self._events,
        )

    def grow(self, n_keys: int) -> None:
        """Make room for this many keys."""
        n_now = self._events.size.size
        if n_keys <= n_now:
            return
        grown = _empty(max(2 * n_now, n_keys, _LEAST_KEYS), 0, len(self.numbers), len(self.coded))
        for old, new in zip(self._events[:_N_BY_KEY], grown[:_N_BY_KEY], strict=True):
            new[..., :n_now] = old
        self._events = Events._make([*grown[:_N_BY_KEY], *self._events[_N_BY_KEY:]])

    def purge(self, before: int) -> None:
        """Forget what no row from this moment on can need."""
        window_kernel.purge(self._events, before - self.longest)
        self._repack_if_wasteful()

    def last_seen(self) -> NDArray[np.int64]:
        """Return the time of each key's last event; the earliest possible if it has none."""
        events, last = self._events, np.full(self._events.size.size, np.iinfo(np.int64).min)
        seen = self.has_events
        last[seen] = events.time[(events.start + events.size - 1)[seen]]
        return last

    def keep(self, new_code: NDArray[np.int64]) -> None:
        """Give each key its new code, and forget those whose code is -1."""
        old = np.flatnonzero(new_code[: self._events.size.size] >= 0)
        kept = [array[..., old].copy() for array in self._events[:_N_BY_KEY]]
        self._events = Events._make([*kept, *self._events[_N_BY_KEY:]])
        self._repack_if_wasteful()

    def note_codes(self, column: str, is_used: NDArray[np.bool_]) -> None:
        """Set which codes occur in a coded column, by their codes."""
        window_kernel.note_codes(self._events, self.coded.index(column), is_used)

    def recode(self, column: str, new_code: NDArray[np.int64]) -> None:
        """Give the values of a coded column their new codes."""
        codes = self._events.codes[self.coded.index(column)]
        # places that belong to no key may still have a code that was forgotten before
        is_known = (codes >= 0) & (codes < new_code.size)
        codes[is_known] = new_code[codes[is_known]]

    def _hold(self, n_codes: int) -> None:
        """Make room for counting this many codes."""
        if self._held.size < n_codes:
            self._held = np.zeros(2 * n_codes, dtype=np.int32)

    def _place(self, column: str | None) -> int:
        if column is None:
            return 0
        return (self.numbers if column in self.numbers else self.coded).index(column)

    def _repack_if_wasteful(self) -> None:
        """Copy the events to a new pool if much of this one belongs to no key any more.

        To copy all of them takes long, and forgetting a day's events frees but little.
        """
        n_wasted = self._used - int(self._events.room.sum())
        if n_wasted > _MOST_WASTE * self._used:
            self._repack()

    def _repack(self, more: int = 0, *, has_totals: bool = True) -> None:
        """Copy the events to a new pool with `more` room at its end, and half as much again."""
        sizes = self._events.size
        n_needed = int((sizes + sizes // 2 + 2)[sizes > 0].sum()) + more
        pool = _empty(0, n_needed + n_needed // 2, len(self.numbers), len(self.coded))
        packed = Events._make([*self._events[:_N_BY_KEY], *pool[_N_BY_KEY:]])
        self._used = window_kernel.repack(self._events, packed, has_totals)
        self._events = packed

    # To and from files

    def to_arrays(self, n_keys: int) -> dict[str, NDArray]:
        """Return the events of the first `n_keys` keys, for `restore`."""
        self.grow(n_keys)
        events = self._events
        size = events.size[:n_keys]
        ends = np.cumsum(size)
        places = np.arange(size.sum()) + np.repeat(events.start[:n_keys] - ends + size, size)
        return {
            "size": size.copy(),
            "purged": events.purged[:n_keys].copy(),
            "base_total": events.base_total[:, :n_keys].copy(),
            "base_rest": events.base_rest[:, :n_keys].copy(),
            "base_known": events.base_known[:, :n_keys].copy(),
            "time": events.time[places],
            "values": events.values[:, places],
            "codes": events.codes[:, places],
        }

    def restore(self, arrays: Mapping[str, NDArray], n_keys: int, n_codes: dict[str, int]) -> Self:
        """Restore the events that `to_arrays` returned; ValueError where they are not valid."""
        size = stored_vector(arrays, "size", np.int64, n_keys)
        time = stored_vector(arrays, "time", np.int64)
        if size.min(initial=0) < 0 or size.max(initial=0) > time.size or size.sum() != time.size:
            raise ValueError(f"array 'size' must split {time.size} events among keys.")
        start = np.cumsum(size) - size
        is_first = np.zeros(time.size + 1, dtype=bool)
        is_first[start] = True
        if (np.diff(time)[~is_first[1:-1]] < 0).any():
            raise ValueError("the events of a key must be in order of time; some are not.")
        by_key, by_place = (len(self.numbers), n_keys), (len(self.numbers), time.size)
        purged = stored_vector(arrays, "purged", np.int64, n_keys).copy()
        if purged.min(initial=0) < 0:
            raise ValueError("array 'purged' must not be negative.")
        self._events = Events(
            start,
            size.copy(),
            size.copy(),
            purged,
            _stored(arrays, "base_total", np.float64, by_key),
            _stored(arrays, "base_rest", np.float64, by_key),
            _stored(arrays, "base_known", np.int64, by_key),
            time,
            _stored_values(arrays, by_place),
            np.zeros((len(self.numbers), 0)),  # totals are added below
            np.zeros((len(self.numbers), 0)),
            np.zeros((len(self.numbers), 0), dtype=np.int64),
            _stored(arrays, "codes", np.int32, (len(self.coded), time.size)),
        )
        for name, codes in zip(self.coded, self._events.codes, strict=True):
            if codes.min(initial=0) < -1 or codes.max(initial=-1) >= n_codes[name]:
                raise ValueError(f"codes of {name!r} must be between -1 and {n_codes[name] - 1}.")
        self._repack(has_totals=False)
        window_kernel.accumulate(self._events)
        return self


def _empty(n_keys: int, n_places: int, n_numbers: int, n_coded: int) -> Events:
    return Events(
        np.zeros(n_keys, dtype=np.int64),
        np.zeros(n_keys, dtype=np.int64),
        np.zeros(n_keys, dtype=np.int64),
        np.zeros(n_keys, dtype=np.int64),
        np.zeros((n_numbers, n_keys)),
        np.zeros((n_numbers, n_keys)),
        np.zeros((n_numbers, n_keys), dtype=np.int64),
        np.zeros(n_places, dtype=np.int64),
        np.zeros((n_numbers, n_places)),
        np.zeros((n_numbers, n_places)),
        np.zeros((n_numbers, n_places)),
        np.zeros((n_numbers, n_places), dtype=np.int64),
        np.full((n_coded, n_places), -1, dtype=np.int32),
    )


def _stored(
    arrays: Mapping[str, NDArray], name: str, kind: type, shape: tuple[int, int]
) -> NDArray:
    array = arrays.get(name)
    if array is None or array.dtype != kind or array.shape != shape:
        raise ValueError(f"array {name!r} must be {np.dtype(kind)} of shape {shape}.")
    if kind is np.float64 and name != "values" and not np.isfinite(array).all():
        raise ValueError(f"array {name!r} must contain finite numbers.")
    return np.ascontiguousarray(array)


def _stored_values(arrays: Mapping[str, NDArray], shape: tuple[int, int]) -> NDArray:
    values = _stored(arrays, "values", np.float64, shape)
    if (np.abs(values) > _LARGEST).any():
        raise ValueError("array 'values' must contain numbers below 3.4e38 in size, or NaN.")
    return values
