"""Scored rows pending their labels, in bounded memory.

Cells are stored in arrays with one place per row; each id maps to its place, and the places of
rows that have left are reused:

    places = [row | free | row | row | free | ...]
"""

import reprlib
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.files.state import stored_vector
from toprank.rankers.online.stream_columns import MOST_COLUMNS, EncodedEvent

LONGEST_ID = 256  # characters

_SETTINGS = ("most", "n_dropped", "n_replaced")
_MOST_CELLS = 64_000_000  # 12 bytes each: a model file must be able to hold them
_LEAST_PLACES = 64


class Scored(NamedTuple):
    """The result of scoring a row."""

    suspicion: float
    probability: float
    is_alert: bool
    reasons: dict[str, float] | None = None
    """For an alert: the columns that raise its score most, and by how much; not saved."""


class ArrivedRows(NamedTuple):
    """Rows as encoded at arrival, and their scores."""

    rows: EncodedEvent
    suspicion: NDArray[np.float64]
    probability: NDArray[np.float64]
    is_alert: NDArray[np.bool_]

    def take(self, chosen: Any) -> "ArrivedRows":
        """Return some of the rows, by number."""
        return ArrivedRows(self.rows.take(chosen), *(each[chosen] for each in self[1:]))


class PendingRows:
    """Rows by id, first in, first out: at most `most` of them, then the oldest is dropped.

    With very many columns, rows are dropped earlier: at 64 million cells.

    Rows come in batches, and are known by their number within the batch until it is stored:
    so it can be decided what is pending, in the order of the events, before anything is scored.

    >>> pending = PendingRows(most=2)
    >>> for number, event_id in enumerate(["a", "b", "c"]):
    ...     pending.enter(event_id, number, n_columns=1)
    >>> len(pending), "a" in pending, pending.n_dropped
    (2, False, 1)
    >>> rows = EncodedEvent(np.array([[9.5], [2.0], [3.0]]), np.full((3, 1), -1, dtype=np.int32))
    >>> pending.store(ArrivedRows(rows, np.zeros(3), np.array([0.1, 0.2, 0.3]), np.zeros(3, bool)))
    >>> where = pending.leave("b")
    >>> pending.stored(np.array([where])).probability
    array([0.2])
    """

    def __init__(self, most: int) -> None:
        self.most = checks.whole_number(most, "most", 1, 2**31 - 1)
        self.n_dropped = 0
        self.n_replaced = 0
        self.n_columns = 0
        self._room = _room(self.most, 0)
        # not a dict: finding its first key is slow after many deletions
        self._place_of: OrderedDict[str, int] = OrderedDict()  # ~number within the batch
        self._entered: list[str] = []
        self._free: list[int] = []
        self._cells = _CellPool.empty(0, 0)

    def __len__(self) -> int:
        return len(self._place_of)

    def __contains__(self, event_id: str) -> bool:
        return event_id in self._place_of

    def enter(self, event_id: str, number: int, n_columns: int) -> None:
        """Keep row `number` of the batch until its label arrives; it replaces one with its id."""
        if n_columns > self.n_columns:
            self.n_columns, self._room = n_columns, _room(self.most, n_columns)
        place_of = self._place_of
        if event_id in place_of:
            self.leave(event_id)
            self.n_replaced += 1
        while len(place_of) >= self._room:
            self._free_place(place_of.popitem(last=False)[1])
            self.n_dropped += 1
        place_of[event_id] = ~number
        self._entered.append(event_id)

    def leave(self, event_id: str) -> int | None:
        """Remove the row with this id and return where it is; None if there is none.

        That is its place, until the batch is stored, or ~number if it came with the batch.
        """
        place = self._place_of.pop(event_id, None)
        if place is not None:
            self._free_place(place)
        return place

    def stored(self, places: NDArray[np.int64]) -> "_CellPool":
        """Return copies of the rows at some places."""
        cells: list[Any] = [array[places] for array in self._cells]
        return _CellPool(*cells)

    def store(self, batch: ArrivedRows) -> None:
        """Store the rows of a batch that are still pending."""
        new = {name: ~self._place_of[name] for name in self._entered if self._is_new(name)}
        self._entered = []
        if not new:
            return
        width = batch.rows.values.shape[1]
        if len(self._free) < len(new) or self._cells.values.shape[1] < width:
            self._make_places(new)
        places = [self._free.pop() for _ in new]
        self._place_of.update(zip(new, places, strict=True))
        self._cells.put(places, batch.take(list(new.values())))

    def to_state(self) -> tuple[dict[str, int], dict[str, NDArray]]:
        """Return the settings, which are JSON, and the arrays that `from_state` restores."""
        cells = self._cells.taken(self._places_in_order(), len(self), self.n_columns)
        cells.clear_unused()
        raw = [event_id.encode("utf-8", "surrogatepass") for event_id in self._place_of]
        arrays = {
            "ids": np.frombuffer(b"".join(raw), dtype=np.uint8),
            "id_bytes": np.array([len(each) for each in raw], dtype=np.int64),
            **cells._asdict(),
        }
        return {name: getattr(self, name) for name in _SETTINGS}, arrays

    @classmethod
    def from_state(
        cls, settings: dict[str, Any], arrays: Mapping[str, NDArray], n_buckets: int
    ) -> Self:
        """Return the rows that `to_state` gave; raises ValueError if the state is invalid.

        `n_buckets` is the number of hash buckets of the learner.
        """
        if not isinstance(settings, dict) or set(settings) != set(_SETTINGS):
            names = ", ".join(_SETTINGS)
            raise ValueError(
                f"settings of pending rows must be {names}; got {reprlib.repr(settings)}."
            )
        pending = cls(settings["most"])
        pending.n_dropped = checks.whole_number(settings["n_dropped"], "n_dropped", 0)
        pending.n_replaced = checks.whole_number(settings["n_replaced"], "n_replaced", 0)
        ids = _stored_ids(arrays)
        pending._cells = _stored_cells(arrays, len(ids), n_buckets)
        pending.n_columns = pending._cells.values.shape[1]
        pending._room = _room(pending.most, pending.n_columns)
        if len(ids) > pending._room:
            raise ValueError(f"pending rows must be at most {pending._room}; got {len(ids)}.")
        pending._place_of = OrderedDict(zip(ids, range(len(ids)), strict=True))
        if len(pending) < len(ids):
            raise ValueError("ids of pending rows must be distinct; some occur twice.")
        return pending

    def _places_in_order(self) -> NDArray[np.int64]:
        return np.fromiter(self._place_of.values(), dtype=np.int64, count=len(self))

    def _is_new(self, name: str) -> bool:
        return self._place_of.get(name, 0) < 0

    def _free_place(self, place: int) -> None:
        if place >= 0:
            self._free.append(place)

    def _make_places(self, new: Collection[str]) -> None:
        """Reallocate, with room for as many rows again and for all columns."""
        n_rows = len(self)
        n_places = min(max(2 * n_rows, _LEAST_PLACES), self._room)
        width = self._cells.values.shape[1]
        if width < self.n_columns:  # a quarter more, since new columns seldom come alone
            width = min(self.n_columns + self.n_columns // 4, MOST_COLUMNS)
        old = [name for name in self._place_of if name not in new]
        places = np.array([self._place_of[name] for name in old], dtype=np.int64)
        self._cells = self._cells.taken(places, n_places, width)
        self._place_of.update(zip(old, range(len(old)), strict=True))
        self._free = list(range(n_places - 1, len(old) - 1, -1))


class _CellPool(NamedTuple):
    """The stored rows by place; only the first `n_columns` cells of a row are in use."""

    values: NDArray[np.float64]
    buckets: NDArray[np.int32]
    n_columns: NDArray[np.int32]
    suspicion: NDArray[np.float64]
    probability: NDArray[np.float64]
    is_alert: NDArray[np.bool_]

    @classmethod
    def empty(cls, n_places: int, width: int) -> "_CellPool":
        return cls(
            np.empty((n_places, width)),
            np.empty((n_places, width), dtype=np.int32),
            np.empty(n_places, dtype=np.int32),
            np.empty(n_places),
            np.empty(n_places),
            np.empty(n_places, dtype=bool),
        )

    def put(self, places: list[int], batch: ArrivedRows) -> None:
        width = batch.rows.values.shape[1]
        self.values[places, :width] = batch.rows.values
        self.buckets[places, :width] = batch.rows.buckets
        self.n_columns[places] = width
        self.suspicion[places] = batch.suspicion
        self.probability[places] = batch.probability
        self.is_alert[places] = batch.is_alert

    def taken(self, places: NDArray[np.int64], n_places: int, width: int) -> "_CellPool":
        """Return the rows at these places, then free places, each `width` columns wide."""
        new = _CellPool.empty(n_places, width)
        both = min(width, self.values.shape[1])
        pairs: list[tuple[NDArray, NDArray]] = list(zip(new, self, strict=True))
        for own, old in pairs:
            if own.ndim == 2:
                own[: places.size, :both] = old[places, :both]
            else:
                own[: places.size] = old[places]
        return new

    def clear_unused(self) -> None:
        """Reset unused cells, so that the same rows give the same bytes."""
        is_unused = np.arange(self.values.shape[1]) >= self.n_columns[:, np.newaxis]
        self.values[is_unused] = np.nan
        self.buckets[is_unused] = 0


def _room(most: int, n_columns: int) -> int:
    """Return how many rows of so many columns may be pending."""
    return max(min(most, _MOST_CELLS // max(n_columns, 1)), 1)


def check_id(event_id: str) -> None:
    if not isinstance(event_id, str):
        raise TypeError(f"id must be text; got {reprlib.repr(event_id)}.")
    if len(event_id) > LONGEST_ID:
        raise ValueError(
            f"id must have at most {LONGEST_ID} characters; got {len(event_id)}; "
            "use a number or a hash."
        )


def _stored_ids(arrays: Mapping[str, NDArray]) -> list[str]:
    raw = stored_vector(arrays, "ids", np.uint8).tobytes()
    n_bytes = stored_vector(arrays, "id_bytes", np.int64)
    longest = 4 * LONGEST_ID
    if ((n_bytes < 0) | (n_bytes > longest)).any() or n_bytes.sum() != len(raw):
        raise ValueError(
            f"array 'id_bytes' must split {len(raw)} bytes into ids of 0 to {longest} bytes."
        )
    stops = np.cumsum(n_bytes).tolist()
    ids = [
        raw[start:stop].decode("utf-8", "surrogatepass")
        for start, stop in zip([0, *stops], stops, strict=False)
    ]
    for event_id in ids:
        check_id(event_id)
    return ids


def _stored_cells(arrays: Mapping[str, NDArray], n_rows: int, n_buckets: int) -> _CellPool:
    values = _stored_matrix(arrays, "values", np.float64, n_rows)
    buckets = _stored_matrix(arrays, "buckets", np.int32, n_rows)
    if values.shape != buckets.shape or values.shape[1] > MOST_COLUMNS:
        raise ValueError(
            f"arrays 'values' and 'buckets' must have the same columns, at most {MOST_COLUMNS}; "
            f"got {values.shape[1]} and {buckets.shape[1]}."
        )
    if not -1 <= buckets.min(initial=0) <= buckets.max(initial=0) < n_buckets:
        raise ValueError(f"array 'buckets' must be between -1 and {n_buckets - 1}.")
    if np.isinf(values).any() or (np.isnan(values) != (buckets >= 0)).any():
        raise ValueError(
            "array 'values' must be a finite number where there is no bucket, else NaN."
        )
    n_columns = stored_vector(arrays, "n_columns", np.int32, n_rows)
    if not 0 <= n_columns.min(initial=0) <= n_columns.max(initial=0) <= values.shape[1]:
        raise ValueError(f"array 'n_columns' must be between 0 and {values.shape[1]}.")
    suspicion = stored_vector(arrays, "suspicion", np.float64, n_rows)
    probability = stored_vector(arrays, "probability", np.float64, n_rows)
    if not (np.isfinite(suspicion).all() and ((probability >= 0) & (probability <= 1)).all()):
        raise ValueError("suspicion must be finite and probability between 0 and 1.")
    is_alert = stored_vector(arrays, "is_alert", np.bool_, n_rows)
    return _CellPool(values, buckets, n_columns, suspicion, probability, is_alert)


def _stored_matrix(arrays: Mapping[str, NDArray], name: str, kind: Any, n_rows: int) -> NDArray:
    matrix = arrays.get(name)
    if matrix is None or matrix.dtype != kind or matrix.ndim != 2 or len(matrix) != n_rows:
        raise ValueError(f"array {name!r} must be {np.dtype(kind)} with {n_rows} rows.")
    return np.ascontiguousarray(matrix)
