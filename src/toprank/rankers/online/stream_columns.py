"""Rows of a stream as arrays: numbers by column, text by hash bucket.

A column gets the next free place when its name first appears, and keeps it. Its type is decided
value by value: numbers, true (1) and false (0) are numeric; text is hashed together with the
column's name into one of a fixed number of buckets; missing values have a bucket of their own.
So no category is ever unknown, and memory does not grow with their number.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data.tables import values as column_values
from toprank.data.tables.columns import Frame, TableError, check_columns, shortened

MOST_COLUMNS = 10_000

_LARGEST = 1e100
_CELLS_AT_ONCE = 2**18  # three megabytes
_MOST_KEPT = 100_000  # texts whose bucket is remembered
_LONGEST_KEPT = 64  # characters of such a text
_NOTHING = np.empty(0, dtype=np.int64)
_NUMBERS_OR_NONE = frozenset((float, int, bool, type(None)))
_TEXT_OR_NONE = frozenset((str, type(None)))


class EncodedEvent(NamedTuple):
    """Rows ready for the kernel; a cell has a value or a bucket."""

    values: NDArray[np.float64]
    """(row, column): the number, NaN where there is none."""
    buckets: NDArray[np.int32]
    """(row, column): the bucket of text or of a missing value, -1 for a number."""

    def take(self, chosen: Any) -> "EncodedEvent":
        """Return some of the rows, by number, slice or mask."""
        return EncodedEvent(self.values[chosen], self.buckets[chosen])


class CheckedRows(NamedTuple):
    """Valid rows, to be encoded block by block.

    An encoded cell takes 12 bytes, often three times as much as before.
    """

    n_rows: int
    n_columns: int
    encode: Callable[[slice], EncodedEvent]

    def blocks(self) -> Iterator[slice]:
        """Yield the rows of each block."""
        n_at_once = max(_CELLS_AT_ONCE // max(self.n_columns, 1), 1)
        for start in range(0, self.n_rows, n_at_once):
            yield slice(start, min(start + n_at_once, self.n_rows))

    def encode_all(self) -> EncodedEvent:
        """Return all of the rows at once."""
        return self.encode(slice(0, self.n_rows))


class StreamColumns:
    """The columns of a stream, in order of first appearance.

    >>> columns = StreamColumns(n_buckets=16)
    >>> columns.add(["amount", "country"])
    >>> columns.encode_one({"country": "FR", "amount": 9.5})
    EncodedEvent(values=array([[9.5, nan]]), buckets=array([[-1, 14]], dtype=int32))
    """

    def __init__(self, n_buckets: int):
        self.n_buckets = n_buckets
        self.names: list[str] = []
        self._place_of: dict[str, int] = {}
        self._missing: list[int] = []  # the bucket of each column's missing values
        self._buckets_of: dict[int, dict[str | None, int]] = {}  # by place, of frequent texts

    def __len__(self) -> int:
        return len(self.names)

    def new_among(self, names: Iterable[Any]) -> list[str]:
        """Return the names that have no place yet."""
        if self._place_of.keys() >= set(names):
            return []
        own = dict.fromkeys(map(own_name, names))
        return [name for name in own if name not in self._place_of]

    def add(self, names: Iterable[Any]) -> None:
        """Add new names at the next places."""
        new = self.new_among(names)
        if len(self) + len(new) > MOST_COLUMNS:
            raise TableError(
                f"a stream must have at most {MOST_COLUMNS:,} columns; {shortened(new[0])} comes "
                f"after {len(self):,} others; store open-ended values as text in one column."
            )
        for name in new:
            self._place_of[name] = len(self.names)
            self.names.append(name)
            self._missing.append(self._bucket(name, None))

    def check_row(self, row: Mapping[Any, Any]) -> None:
        """Raise for a value that `encode_one` would refuse, whatever its column."""
        for name, value in row.items():
            if value is not None and abs(_size(_cell(value, name))) > _LARGEST:
                self._refuse_size(name)

    def encode_one(self, row: Mapping[Any, Any]) -> EncodedEvent:
        """Return one row; unknown names are skipped."""
        values, buckets = [math.nan] * len(self.names), self._missing.copy()
        place_of = self._place_of
        for name, value in row.items():
            place = place_of.get(name)
            if place is None:
                name = own_name(name)
                place = place_of.get(name)
            if place is None or value is None:
                continue
            if type(value) is not float:  # most are, and the test is fast
                value = _cell(value, name)
            if type(value) is str:
                buckets[place] = self._bucket(name, value)
            elif -_LARGEST <= value <= _LARGEST:
                values[place] = value
                buckets[place] = -1
            elif value == value:
                self._refuse_size(name)
        return EncodedEvent(np.array([values]), np.array([buckets], dtype=np.int32))

    def encode_known(self, rows: Sequence[Mapping[Any, Any]]) -> EncodedEvent:
        """Return the first of many rows, each as `encode_one` returns it.

        They end before a row with an unknown name or a value that `encode_one` would refuse.
        """
        n_known = self._n_known(rows)
        encoded = EncodedEvent(
            np.full((n_known, len(self)), np.nan),
            np.tile(np.array(self._missing, dtype=np.int32), (n_known, 1)),
        )
        n_good = n_known
        try:
            for names, chosen, columns in columns_of_rows(rows[:n_known]):
                own = slice(None) if len(chosen) == n_known else np.array(chosen)
                for name, cells in zip(names, columns, strict=True):
                    place = self._place_of.get(name)
                    place = self._place_of[own_name(name)] if place is None else place
                    refused = self._fill(encoded, own, place, cells)
                    if refused.size:
                        n_good = min(n_good, chosen[refused[0]])
        except (TypeError, TableError, OverflowError):  # of values that no file contains
            n_good = 0
        return encoded if n_good == n_known else encoded.take(slice(0, n_good))

    def _n_known(self, rows: Sequence[Mapping[Any, Any]]) -> int:
        """Return the number of rows before the first that has a name without a place."""
        unknown = {names for names in set(map(tuple, rows)) if self.new_among(names)}
        if not unknown:
            return len(rows)
        return next(number for number, row in enumerate(rows) if tuple(row) in unknown)

    def _fill(
        self, encoded: EncodedEvent, own: Any, place: int, cells: Sequence[Any]
    ) -> NDArray[np.int64]:
        """Fill a column of some rows; return which of them have a number that is refused."""
        kinds = set(map(type, cells))
        if kinds <= _TEXT_OR_NONE:
            self._fill_texts(encoded, own, place, cells)
            return _NOTHING
        if not kinds <= _NUMBERS_OR_NONE:  # numbers and text, or types of another library
            name = self.names[place]
            cells = [None if each is None else _cell(each, name) for each in cells]
            texts = [each if type(each) is str else None for each in cells]
            self._fill_texts(encoded, own, place, texts)
            cells = [None if type(each) is str else each for each in cells]
        numbers = np.array(cells, dtype=np.float64)  # None becomes NaN
        is_missing = np.isnan(numbers)
        encoded.values[own, place] = numbers
        encoded.buckets[own, place] = np.where(is_missing, encoded.buckets[own, place], -1)
        return np.flatnonzero(np.abs(numbers) > _LARGEST)

    def _fill_texts(
        self, encoded: EncodedEvent, own: Any, place: int, texts: Sequence[str | None]
    ) -> None:
        known = self._buckets_of.setdefault(place, {None: self._missing[place]})
        new = set(texts) - known.keys()
        if new:  # hashing a text takes longer than finding it
            found = {each: self._bucket(self.names[place], each) for each in new}
            buckets = [found[each] if each in found else known[each] for each in texts]
            self._keep(place, found)
        else:
            buckets = [known[each] for each in texts]
        encoded.buckets[own, place] = buckets

    def _keep(self, place: int, found: dict[str | None, int]) -> None:
        """Keep the buckets of short texts, up to so many in all columns."""
        if sum(map(len, self._buckets_of.values())) + len(found) > _MOST_KEPT:
            self._buckets_of = {place: {None: self._missing[place]}}
        own = self._buckets_of[place]
        own |= {text: bucket for text, bucket in found.items() if len(text or "") <= _LONGEST_KEPT}

    def widened(self, rows: EncodedEvent, n_columns: NDArray[np.integer]) -> EncodedEvent:
        """Return rows with all columns, of which row i was encoded with the first `n_columns[i]`.

        The later ones are missing in it.
        """
        width, n_now = rows.values.shape[1], len(self)
        values, buckets = rows.values[:, :n_now], rows.buckets[:, :n_now]
        if n_columns.size and (width < n_now or n_columns.min() < n_now):
            missing = np.array(self._missing, dtype=np.int32)
            is_given = np.arange(n_now) < n_columns[:, np.newaxis]
            more = ((0, 0), (0, max(n_now - width, 0)))
            values = np.where(is_given, np.pad(values, more), np.nan)
            buckets = np.where(is_given, np.pad(buckets, more), missing)
        return EncodedEvent(np.ascontiguousarray(values), np.ascontiguousarray(buckets))

    def rows_of_frame(self, frame: Frame) -> CheckedRows:
        """Return the rows of a table, which must have all the columns; others are skipped."""
        given = {own_name(name): name for name in frame.names}
        check_columns(self.names, list(given))
        cells = [self._checked_column(frame.column(given[name]), name) for name in self.names]
        missing = np.array(self._missing, dtype=np.int32)
        return CheckedRows(frame.n_rows, len(self), lambda rows: _stacked(cells, missing, rows))

    def rows_of_array(self, matrix: NDArray[np.floating]) -> CheckedRows:
        """Return the rows of a matrix, its columns in the order of the names."""
        sizes = _largest_sizes(matrix)
        if (sizes > _LARGEST).any():
            self._refuse_size(self.names[int(np.flatnonzero(sizes > _LARGEST)[0])])
        missing = np.array(self._missing, dtype=np.int32)

        def encode(rows: slice) -> EncodedEvent:
            # writeable: numba compiles the kernel anew for read-only arrays
            values = np.require(matrix[rows], np.float64, ["C", "W"])
            return EncodedEvent(values, np.where(np.isnan(values), missing, np.int32(-1)))

        return CheckedRows(len(matrix), len(self), encode)

    def encode_frame(self, frame: Frame) -> EncodedEvent:
        """Return the rows of a table, all at once."""
        return self.rows_of_frame(frame).encode_all()

    def encode_array(self, matrix: NDArray[np.floating]) -> EncodedEvent:
        """Return the rows of a matrix, all at once."""
        return self.rows_of_array(matrix).encode_all()

    def _checked_column(self, column: pa.ChunkedArray, name: str) -> Any:
        """Return numbers as they are, text as buckets, None if all values are missing."""
        kind = column_values.kind_of(column, name)
        if kind == "missing":
            return None
        if kind == "category":
            return self._buckets(column, name)
        if _largest_sizes(_numbers(column)) > _LARGEST:
            self._refuse_size(name)
        return column

    def _buckets(self, column: pa.ChunkedArray, name: str) -> NDArray[np.int32]:
        """Return the bucket of every text."""
        texts = list(column_values.category_counts(column))
        codes = column_values.category_codes(column, texts)
        # the bucket of missing values comes last, at index -1
        own = np.array([self._bucket(name, text) for text in (*texts, None)], dtype=np.int32)
        return own[np.nan_to_num(codes, copy=False, nan=-1).astype(np.int64)]

    def _refuse_size(self, name: str) -> None:
        raise TableError(
            f"column {name!r} must be finite numbers below {_LARGEST:g} in size; got one that "
            "is infinite or larger; leave it empty."
        )

    def _bucket(self, name: str, text: str | None) -> int:
        # a separator, which text cannot contain, between the name and the text
        suffix = "\x00" if text is None else f"\x01{text}"
        return crc32(f"{name}{suffix}".encode("utf-8", "surrogatepass")) % self.n_buckets


def columns_of_rows(
    rows: Sequence[Mapping[Any, Any]],
) -> Iterator[tuple[tuple[Any, ...], Sequence[int], Iterator[tuple[Any, ...]]]]:
    """Yield names, the numbers of the rows that have exactly these, and their cells by column.

    >>> rows = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    >>> [(names, numbers, list(columns)) for names, numbers, columns in columns_of_rows(rows)]
    [(('a', 'b'), range(0, 2), [(1, 3), (2, 4)])]
    """
    names = list(map(tuple, rows))
    kinds = dict.fromkeys(names)
    for kind in kinds:
        chosen: Sequence[int] = range(len(rows))
        if len(kinds) > 1:
            chosen = [number for number, own in enumerate(names) if own == kind]
        yield kind, chosen, zip(*[rows[number].values() for number in chosen], strict=True)


def own_name(name: Any) -> str:
    """Return a column's name; numbered ones become x0, x1, ..., like those of an array.

    >>> own_name(3), own_name("3"), own_name("amount")
    ('x3', 'x3', 'amount')
    """
    if type(name) is not str:
        if not isinstance(name, Integral | str):
            raise TypeError(f"a column's name must be text or a number; got {shortened(name)}.")
        name = str(name)
    return f"x{name}" if name.isdecimal() else name


def checked_names(names: Any) -> list[str]:
    """Return the names of columns in a file; raises ValueError if they are invalid."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("columns must be a list of strings.")
    if len(set(names)) < len(names):
        raise ValueError("columns must be distinct.")
    return names


def _cell(value: Any, name: str) -> float | str:
    """Return a value as plain text or as a float, NaN where it is missing."""
    if isinstance(value, str):
        return str(value)
    if type(value) not in (int, bool) and not isinstance(value, Real | np.bool_):
        if _is_missing(value):
            return math.nan
        raise TableError(
            f"column {name!r} must be numbers, true or false, or text; got {shortened(value)}."
        )
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _size(cell: float | str) -> float:
    return 0.0 if isinstance(cell, str) else cell


def _is_missing(value: Any) -> bool:
    """Return whether a value is NaN, NA or NaT: not certainly equal to itself."""
    try:
        return bool(value != value)
    except TypeError:
        return True
    except ValueError:
        return False  # an array


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    return column.cast(pa.float64(), safe=False).to_numpy()


def _stacked(cells: list[Any], missing: NDArray[np.int32], rows: slice) -> EncodedEvent:
    """Return some rows of the columns that `_checked_column` gave, side by side."""
    n_rows = rows.stop - rows.start
    values = np.full((n_rows, len(cells)), np.nan)
    buckets = np.tile(missing, (n_rows, 1))
    for place, column in enumerate(cells):
        if isinstance(column, np.ndarray):
            buckets[:, place] = column[rows]
        elif column is not None:
            values[:, place] = _numbers(column.slice(rows.start, n_rows))
            buckets[~np.isnan(values[:, place]), place] = -1
    return EncodedEvent(values, buckets)


def _largest_sizes(numbers: NDArray[np.floating]) -> Any:
    """Return the largest size in each column, or of all values if there is only one column."""
    # fmax and fmin skip NaN, and neither needs a copy
    highest = np.fmax.reduce(numbers, axis=0, initial=0.0)
    lowest = np.fmin.reduce(numbers, axis=0, initial=0.0)
    return np.maximum(highest, -lowest, dtype=np.float64)
