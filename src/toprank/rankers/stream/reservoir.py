"""Labelled rows in bounded memory: all positives while there is room, a sample of the negatives.

Each class has a pool with room for a few more rows than it keeps, so that rows are dropped many
at a time:

    pool = [rows that were kept before | rows since then | free]
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.files.state import stored_vector
from toprank.rankers.stream.memory import Memory, chances

_LEAST_ROOM = 64
_LARGEST_WEIGHT = 1e12
_LARGEST_FAVOUR = 1e16
_LEAST_COUNTED = 0.5  # of the positives, where all of them are beyond the memory


class StoredRows(NamedTuple):
    """Rows as they are kept: a cell is a number, the bucket of a text, or missing.

    Missing cells have neither a value nor a bucket.
    """

    values: NDArray[np.float32]
    """(row, column): the number, NaN where there is none."""
    buckets: NDArray[np.int16]
    """(row, column): the bucket of a text, -1 where there is none."""
    weight: NDArray[np.float64]
    favour: NDArray[np.float64]
    """How many times as often as others such a row is kept, from 1."""
    number: NDArray[np.int64]
    """Which label of the stream it came with, from 1."""

    def take(self, chosen: Any) -> "StoredRows":
        """Return some of the rows, by number, slice or mask."""
        return StoredRows(*(array[chosen] for array in self))

    def put(self, places: slice, rows: "StoredRows") -> None:
        """Overwrite some of the rows."""
        self.values[places], self.buckets[places] = rows.values, rows.buckets
        self.weight[places], self.favour[places] = rows.weight, rows.favour
        self.number[places] = rows.number

    def followed_by(self, more: "StoredRows") -> "StoredRows":
        """Return these rows and more after them, which may have more columns."""
        wide = self.with_columns(more.values.shape[1])
        pairs = zip(wide, more, strict=True)
        return StoredRows(*(np.concatenate(pair) for pair in pairs))  # type: ignore[arg-type]

    def with_columns(self, n_columns: int) -> "StoredRows":
        """Return the rows with further columns, missing in all of them."""
        n_rows, n_before = self.values.shape
        if n_columns == n_before:
            return self
        values = np.full((n_rows, n_columns), np.nan, dtype=np.float32)
        buckets = np.full((n_rows, n_columns), -1, dtype=np.int16)
        values[:, :n_before], buckets[:, :n_before] = self.values, self.buckets
        return self._replace(values=values, buckets=buckets)


def no_rows(n_columns: int, n_rows: int = 0) -> StoredRows:
    """Return `n_rows` places for rows, which are not filled."""
    return StoredRows(
        np.empty((n_rows, n_columns), dtype=np.float32),
        np.empty((n_rows, n_columns), dtype=np.int16),
        np.empty(n_rows),
        np.empty(n_rows),
        np.empty(n_rows, dtype=np.int64),
    )


class ReservoirSample(NamedTuple):
    """Rows to learn from, with weights by which they stand for all rows that count."""

    rows: StoredRows
    is_positive: NDArray[np.bool_]
    weight: NDArray[np.float64]


class Pool:
    """At most `most` rows of one class, and room for an eighth more."""

    def __init__(self, most: int, memory: Memory, seed: int) -> None:
        self.most, self.memory, self.seed = most, memory, seed
        self.room = most + max(most // 8, _LEAST_ROOM)
        self.limit = np.inf
        self.n_rows = 0
        self._stored = no_rows(0)

    @property
    def rows(self) -> StoredRows:
        """The rows that are kept, in the order of their numbers."""
        return self._stored.take(slice(self.n_rows))

    def add(self, rows: StoredRows) -> None:
        """Keep those of the rows whose keys are below the limit; their numbers must rise."""
        while True:
            rows = rows.take(self._keys(rows, 1) < self.limit)
            n_now = min(rows.number.size, self.room - self.n_rows)
            if not n_now:
                return
            self._put(rows.take(slice(n_now)))
            if self.n_rows == self.room:
                self._shrink(int(rows.number[n_now - 1]))
            rows = rows.take(slice(n_now, None))

    def drop_old(self, now: int) -> None:
        """Drop rows whose keys have risen to the limit by the label number `now`."""
        self._keep(self._keys_of_all(now) < self.limit)

    def weights(self, now: int) -> NDArray[np.float64]:
        """Return the weights of the rows in a fit at the label number `now`."""
        age = _ages(self.rows.number, now)
        share = self.memory.kept_share(age, self.limit, self.rows.favour)
        return self.rows.weight * self.memory.importance(age) / share

    def clear(self) -> None:
        """Forget all rows."""
        self.limit, self.n_rows = np.inf, 0

    def to_arrays(self) -> dict[str, NDArray]:
        """Return what a file keeps."""
        return {**self.rows._asdict(), "limit": np.array([self.limit])}

    def restore(self, arrays: Mapping[str, NDArray], n_columns: int, n_buckets: int) -> None:
        """Take back what `to_arrays` gave; raises ValueError if it does not fit."""
        rows = stored_rows(arrays, n_columns, n_buckets)
        if rows.number.size >= self.room:
            raise ValueError(f"a pool must have fewer than {self.room} rows; got {len(rows[0])}.")
        limit = stored_vector(arrays, "limit", np.float64, 1)[0]
        if np.isnan(limit):
            raise ValueError("limit must be a number; got nan.")
        self._stored, self.n_rows, self.limit = rows, rows.number.size, float(limit)

    def _put(self, rows: StoredRows) -> None:
        stop = self.n_rows + rows.number.size
        n_places, n_before = self._stored.values.shape
        n_columns = max(rows.values.shape[1], n_before)  # a late label may be of a narrower row
        if stop > n_places or n_columns > n_before:
            places = no_rows(n_columns, min(max(2 * stop, _LEAST_ROOM), self.room))
            places.put(slice(self.n_rows), self.rows.with_columns(n_columns))
            self._stored = places
        self._stored.put(slice(self.n_rows, stop), rows.with_columns(n_columns))
        self.n_rows = stop

    def _shrink(self, now: int) -> None:
        """Keep the `most` rows with the lowest keys."""
        keys = self._keys_of_all(now)
        self.limit = min(self.limit, float(np.partition(keys, self.most)[self.most]))
        self._keep(keys < self.limit)

    def _keep(self, is_kept: NDArray[np.bool_]) -> None:
        n_kept = int(np.count_nonzero(is_kept))
        if n_kept == self.n_rows:
            return
        kept = np.flatnonzero(is_kept)
        self._stored.put(slice(n_kept), self._stored.take(kept))
        self.n_rows = n_kept

    def _keys_of_all(self, now: int) -> NDArray[np.float64]:
        return self._keys(self.rows, _ages(self.rows.number, now))

    def _keys(self, rows: StoredRows, age: Any) -> NDArray[np.float64]:
        ages = np.broadcast_to(np.asarray(age, dtype=np.int64), rows.number.shape)
        return self.memory.keys(chances(rows.number, self.seed) / rows.favour, ages)


class Reservoir:
    """The labelled rows that a ranker of streams is refitted on.

    Parameters
    ----------
    most_positives, most_negatives
        Most rows of either class.
    memory
        Which rows are kept, and how much they count.
    keeps_positives
        Whether positives are kept whatever their age. All of them then have the same weight, and
        together as much as they count by the memory: what fraud looks like is learned from all
        of it, how frequent it is from the rows that count.
    seed
        Seed of the sampling.
    """

    def __init__(
        self,
        most_positives: int,
        most_negatives: int,
        memory: Memory,
        keeps_positives: bool,
        seed: int,
    ) -> None:
        self.memory, self.keeps_positives = memory, keeps_positives
        of_positives = Memory("all", memory.span) if keeps_positives else memory
        self.negatives = Pool(most_negatives, memory, seed)
        self.positives = Pool(most_positives, of_positives, seed)

    @property
    def n_rows(self) -> int:
        """How many rows are kept."""
        return self.positives.n_rows + self.negatives.n_rows

    @property
    def is_full(self) -> bool:
        """Whether rows have been dropped."""
        return min(self.positives.limit, self.negatives.limit) < np.inf

    def n_positives_counted(self, now: int) -> float:
        """Return how many positives there were, each as much as it counts at a label number."""
        pool = self.positives
        ages = _ages(pool.rows.number, now)
        share = pool.memory.kept_share(ages, pool.limit, pool.rows.favour)
        return float((self.memory.importance(ages) / share).sum())

    def clear(self) -> None:
        """Forget all rows."""
        self.positives.clear()
        self.negatives.clear()

    def add(self, rows: StoredRows, is_positive: NDArray[np.bool_]) -> None:
        """Add labelled rows, whose numbers must rise."""
        if is_positive.any():
            self.positives.add(rows.take(is_positive))
        if not is_positive.all():
            self.negatives.add(rows.take(~is_positive))

    def sample(self, now: int, n_columns: int) -> ReservoirSample:
        """Return the rows to learn from at the label number `now`, as a copy."""
        for pool in (self.negatives, self.positives):
            pool.drop_old(now)
        positives = self.positives.weights(now)
        if self.keeps_positives and positives.size:
            ages = _ages(self.positives.rows.number, now)
            counted = float(positives @ self.memory.importance(ages))
            positives *= max(counted, _LEAST_COUNTED) / positives.sum()
        negatives = self.negatives.rows.with_columns(n_columns)
        rows = negatives.followed_by(self.positives.rows.with_columns(n_columns))
        is_positive = np.arange(rows.number.size) >= self.negatives.n_rows
        return ReservoirSample(
            rows, is_positive, np.concatenate([self.negatives.weights(now), positives])
        )


def stored_rows(arrays: Mapping[str, NDArray], n_columns: int, n_buckets: int) -> StoredRows:
    """Return the rows in arrays of a file; raises ValueError if they are invalid."""
    number = stored_vector(arrays, "number", np.int64)
    weight = stored_vector(arrays, "weight", np.float64, number.size)
    favour = stored_vector(arrays, "favour", np.float64, number.size)
    cells = [arrays["values"], arrays["buckets"]]
    for array, dtype, name in zip(cells, (np.float32, np.int16), StoredRows._fields, strict=False):
        if array.dtype != dtype or array.ndim != 2 or len(array) != number.size:
            raise ValueError(f"array {name!r} must be {np.dtype(dtype)}, {number.size} rows.")
    values, buckets = map(np.ascontiguousarray, cells)
    if values.shape != buckets.shape or values.shape[1] > n_columns:
        raise ValueError(
            f"arrays 'values' and 'buckets' must have the same columns, at most {n_columns}; "
            f"got {values.shape[1]} and {buckets.shape[1]}."
        )
    if buckets.min(initial=-1) < -1 or buckets.max(initial=-1) >= n_buckets:
        raise ValueError(f"array 'buckets' must be between -1 and {n_buckets - 1}.")
    if np.isinf(values).any() or ((buckets >= 0) & ~np.isnan(values)).any():
        raise ValueError("array 'values' must contain finite numbers, and NaN beside buckets.")
    if not ((weight > 0) & (weight <= _LARGEST_WEIGHT)).all():
        raise ValueError(
            f"array 'weight' must contain numbers above 0, up to {_LARGEST_WEIGHT:g}."
        )
    if not ((favour >= 1) & (favour <= _LARGEST_FAVOUR)).all():
        raise ValueError(f"array 'favour' must contain numbers from 1 to {_LARGEST_FAVOUR:g}.")
    if number.size and (number[0] < 1 or (number[1:] <= number[:-1]).any()):
        raise ValueError("array 'number' must rise from 1 on.")
    return StoredRows(values, buckets, weight, favour, number)


def _ages(numbers: NDArray[np.int64], now: int) -> NDArray[np.int64]:
    """Return the ages of rows in labelled rows; the newest has 1."""
    return now - numbers + 1
