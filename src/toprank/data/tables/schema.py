"""The schema of a table: its columns in order, their kinds and their categories.

It is learned once from the rows a model is fitted on and then turns any table with the same
columns into the float32 matrix that learners take.
"""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from toprank.data import checks
from toprank.data.tables import values as column_values
from toprank.data.tables.columns import (
    Frame,
    TableError,
    TableWarning,
    arrow_of_cell,
    as_frame,
    check_columns,
    check_distinct,
    shortened,
)
from toprank.data.tables.id_columns import count_up, may_be_ids
from toprank.data.tables.row_encoder import RowEncoder

MAX_CATEGORIES = 1000

_KINDS = ("number", "boolean", "category")
ID_ROWS = 1000  # with fewer rows, honest columns are often distinct too
_ID_SHARE = 0.95
_DATE_TEXT = re.compile(
    r"(\d{1,2}([/.-])\d{1,2}\2(19|20)\d\d"  # 31.12.2024
    r"|(19|20)\d\d([/.-])\d{1,2}\5\d{1,2}"  # 2024/12/31
    r"|\d{1,2}/\d{1,2}/\d\d)(\D|$)"  # 12/31/24
)
_EXACT_INTEGERS = 2**24  # beyond, float32 skips whole numbers
_EXACT_DOUBLES = 2**53  # beyond, whole numbers lost digits when they were read
_COLLAPSE_SHARE = 0.99  # with more values kept, hardly any two of them meet


@dataclass(frozen=True)
class Column:
    """One column: its name, its kind and, for a category, the texts that its codes mean.

    >>> Column("country", "category", ("DE", "FR"))
    Column(name='country', kind='category', categories=('DE', 'FR'))
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ValueError(f"name of a column must be text; got {shortened(self.name)}.")
        checks.one_of(self.kind, f"kind of column {self.name!r}", _KINDS)
        if bool(self.categories) != (self.kind == "category"):
            raise ValueError(
                f"categories of column {self.name!r} must be given for kind 'category' only; "
                f"got {len(self.categories)} with kind {self.kind!r}."
            )
        texts = all(isinstance(category, str) for category in self.categories)
        if not texts or len(set(self.categories)) < len(self.categories):
            raise ValueError(f"categories of column {self.name!r} must be distinct texts.")


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in the order of the encoded matrix.

    >>> table = pa.table({"amount": [9.5, None], "country": ["FR", "DE"]})
    >>> schema = Schema.of(table)
    >>> schema.feature_types
    ['q', 'c']
    >>> schema.encode(table)
    array([[9.5, 1. ],
           [nan, 0. ]], dtype=float32)
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("a schema must have at least one column; got none.")
        check_distinct(self.names, "the schema")

    @property
    def names(self) -> list[str]:
        """The column names."""
        return [column.name for column in self.columns]

    @property
    def feature_types(self) -> list[str]:
        """XGBoost's letter for each column: "q" for a quantity, "c" for a category."""
        return ["c" if column.kind == "category" else "q" for column in self.columns]

    @property
    def n_categories(self) -> NDArray[np.int64]:
        """How many categories each column has; 0 for a quantity."""
        return np.array([len(column.categories) for column in self.columns], dtype=np.int64)

    @classmethod
    def of(cls, X: Any) -> Self:
        """Return the schema of a data frame, or of a 2-D array with columns named x0, x1, ..."""
        frame = as_frame(X)
        if frame is None:
            matrix = _float32_matrix(X)
            names = [f"x{j}" for j in range(matrix.shape[1])]
            _check_columns_of_array(matrix, names)
            return cls(tuple(Column(name, "number") for name in names))
        _check_shape(frame.n_rows, len(frame.names))
        return cls(tuple(_learned_column(name, frame.column(name)) for name in frame.names))

    def encode(self, X: Any) -> NDArray[np.float32]:
        """Return `X` as a C-contiguous float32 matrix, NaN where missing.

        A data frame's columns are found by name and others are ignored. An array must have one
        column per column of the schema, categories as codes; if it is C-contiguous float32
        already, it comes back itself.
        """
        frame = as_frame(X)
        if frame is None:
            return self._encode_array(X)
        _check_shape(frame.n_rows, len(frame.names))
        check_columns(self.names, frame.names)
        return self._encode_frame(frame)

    def encode_row(self, row: Mapping[str, Any]) -> NDArray[np.float32]:
        """Return one row as a float32 vector: what `encode` makes of a table with this row.

        Names that are no columns of the schema are ignored. It takes microseconds, since no
        table is made.

        >>> schema = Schema((Column("amount", "number"), Column("country", "category", ("DE",))))
        >>> schema.encode_row({"amount": 9.5, "country": "DE", "note": "by phone"})
        array([9.5, 0. ], dtype=float32)
        """
        return self._row_encoder.encoded(np.array([self._row_encoder.read(row)], np.float64))[0]

    def row_encoder(self, made: Sequence[str] = ()) -> RowEncoder:
        """Return what encodes single rows; columns of numbers in `made` are not read from them."""
        return RowEncoder(self.columns, self._cell_as_in_a_table, made)

    def to_json(self) -> dict[str, Any]:
        """Return the schema as plain dicts and lists."""
        return {
            "columns": [
                {"name": column.name, "kind": column.kind, "categories": list(column.categories)}
                for column in self.columns
            ]
        }

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return the schema that `to_json` gave, or say how `data` differs from one.

        >>> Schema.from_json({"columns": [{"name": "a", "kind": "number", "categories": []}]})
        Schema(columns=(Column(name='a', kind='number', categories=()),))
        """
        if not isinstance(data, dict) or not isinstance(data.get("columns"), list):
            raise ValueError(
                f"a schema must be a dict with a list of columns; got {shortened(data)}."
            )
        return cls(tuple(_column_from_json(entry) for entry in data["columns"]))

    @cached_property
    def _row_encoder(self) -> RowEncoder:
        return self.row_encoder()

    def _cell_as_in_a_table(self, cell: Any, place: int) -> float:
        column = self.columns[place]
        return float(_encoded(column, arrow_of_cell(cell, column.name))[0])

    def __getstate__(self) -> dict[str, Any]:
        return {"columns": self.columns}  # what is made at the first row is made again

    def _encode_array(self, X: Any) -> NDArray[np.float32]:
        matrix = _float32_matrix(X)
        if matrix.shape[1] != len(self.columns):
            raise TableError(
                f"X must have {len(self.columns)} columns, as the schema has; "
                f"got {matrix.shape[1]}."
            )
        _columns_with_numbers(matrix, self.names)
        for j, column in enumerate(self.columns):
            if column.categories:
                _check_codes(matrix[:, j], column)
        return matrix

    def _encode_frame(self, frame: Frame) -> NDArray[np.float32]:
        matrix = np.empty((frame.n_rows, len(self.columns)), dtype=np.float32)
        for j, column in enumerate(self.columns):
            matrix[:, j] = _encoded(column, frame.column(column.name))
        return matrix


def _check_codes(codes: NDArray[np.float32], column: Column) -> None:
    """Raise for a code that is that of no category; learners look things up by it."""
    last = len(column.categories) - 1
    is_code = np.isnan(codes) | ((codes >= 0) & (codes <= last) & (codes == np.rint(codes)))
    if not is_code.all():
        raise TableError(
            f"column {column.name!r} of an array must hold codes from 0 to {last}, or be missing; "
            f"got {codes[~is_code][0]:g}. Bring a table with the categories themselves."
        )


def category_column(name: str, counts: dict[str, int], n_rows: int) -> Column:
    """Return the column in which so many rows hold each text; refuse dates, warn of an id."""
    _check_present(len(counts), name, n_rows)
    _check_no_dates(counts, name)
    _warn_of_id(name, len(counts), n_rows)
    return Column(name, "category", _most_frequent(name, counts))


def number_column(
    name: str,
    kind: str,
    n_rows: int,
    n_present: int,
    largest: float | None,
    n_distinct: int | None,
    collapse: tuple[int, int] | None = None,
) -> Column:
    """Return a column of numbers or booleans; warn of an id and of digits that will be lost.

    `largest` is that of whole numbers, None for others; `n_distinct` counts the different values
    of integers that may be ids.
    `collapse` is how many different values there are, and how many of them 32 bits can hold; None
    where they were not counted.
    """
    _check_present(n_present, name, n_rows)
    if collapse is not None or largest is not None:
        _warn_of_lost_digits(name, largest, collapse)
    if n_distinct is not None:
        _warn_of_id(name, n_distinct, n_rows)
    return Column(name, kind)


def largest_whole(arrow_type: pa.DataType, numbers: NDArray[np.float32]) -> float | None:
    """Return the size of the largest of whole numbers, None for others.

    Whole numbers that are too long for integers are read as floats.
    """
    present = np.abs(numbers[~np.isnan(numbers)])
    if pt.is_integer(arrow_type) or (present > 2**53).all():
        return float(present.max(initial=0))
    return None


def collapsing(values: pa.ChunkedArray, numbers: NDArray[np.float32]) -> tuple[int, int] | None:
    """Return how many different values a column has, and how many of them float32 can hold.

    None where none is too large. `numbers` are the values in 32 bits.
    """
    present = ~np.isnan(numbers)
    if not present.any() or np.abs(numbers[present]).max() <= _EXACT_INTEGERS:
        return None
    return column_values.n_distinct(values), np.unique(numbers[present]).size


def n_distinct_ids(values: pa.ChunkedArray) -> int | None:
    """Return how many different integers a column holds if they may be ids; None if not.

    >>> n_distinct_ids(pa.chunked_array([range(1000)]))
    1000
    """
    n_rows = len(values)
    if not pt.is_integer(values.type) or n_rows < ID_ROWS:
        return None
    n_distinct = column_values.n_distinct(values)
    extremes = pc.min_max(values).as_py()
    if not n_distinct or extremes["min"] is None:
        return None
    is_id = may_be_ids(extremes["min"], extremes["max"], n_distinct, n_rows) or count_up(values)
    return n_distinct if is_id else None


def _learned_column(name: str, values: pa.ChunkedArray) -> Column:
    kind = column_values.kind_of(values, name)
    if kind == "category":
        return category_column(name, column_values.category_counts(values), len(values))
    numbers = column_values.finite_numbers(values, name)
    return number_column(
        name,
        kind,
        len(values),
        int(np.count_nonzero(~np.isnan(numbers))),
        largest_whole(values.type, numbers),
        n_distinct_ids(values),
    )


def _encoded(column: Column, values: pa.ChunkedArray) -> NDArray[np.float32]:
    column_values.check_kind(values, column.name, column.kind)
    if column.kind == "category":
        return column_values.category_codes(values, column.categories)
    if column.kind == "boolean":
        return column_values.true_or_false(values, column.name)
    return column_values.finite_numbers(values, column.name)


def _most_frequent(name: str, counts: dict[str, int]) -> tuple[str, ...]:
    if len(counts) <= MAX_CATEGORIES:
        return tuple(sorted(counts))
    kept = sorted(counts, key=lambda text: (-counts[text], text))[:MAX_CATEGORIES]
    n_rows = sum(counts.values())
    n_lost = n_rows - sum(counts[text] for text in kept)
    warnings.warn(
        f"column {name!r} holds {len(counts):,} categories; the {MAX_CATEGORIES:,} most frequent "
        f"are kept, and the others, in {n_lost:,} of {n_rows:,} rows, count as missing.",
        TableWarning,
        stacklevel=6,
    )
    return tuple(sorted(kept))


def _warn_of_id(name: str, n_distinct: int, n_rows: int) -> None:
    if n_rows >= ID_ROWS and n_distinct >= _ID_SHARE * n_rows:
        warnings.warn(
            f"column {name!r} looks like an id: {n_distinct:,} different values in {n_rows:,} "
            f"rows; unless they are quantities, leave it out with `drop={[name]!r}`.",
            TableWarning,
            stacklevel=6,
        )


def _check_no_dates(texts: Iterable[str], name: str) -> None:
    """Raise when texts are dates that are not in ISO form, which the readers would have seen."""
    looked_at = list(islice(texts, 50))
    if all(_DATE_TEXT.match(text) for text in looked_at):
        raise TableError(
            f"column {name!r} holds dates as text, such as {shortened(looked_at[0])}; name it "
            f"with `time={name!r}`, leave it out with `drop={[name]!r}`, or turn it into numbers."
        )


def _warn_of_lost_digits(
    name: str, largest: float | None, collapse: tuple[int, int] | None
) -> None:
    way_out = (
        f"leave it out with `drop={[name]!r}`, or turn it into a smaller number such as the "
        "difference to its lowest value."
    )
    exact, kept = collapse or (0, 0)
    largest_exact = _EXACT_INTEGERS if collapse is None else _EXACT_DOUBLES
    if kept < _COLLAPSE_SHARE * exact:
        said = f"{exact:,} different values become {kept:,}"
    elif largest is not None and largest > largest_exact:
        said = f"whole numbers up to {largest:.3g} lose their last digits"
    else:
        return
    warnings.warn(
        f"column {name!r} holds numbers too large for learners, which keep about 7 digits: "
        f"{said}; {way_out}",
        TableWarning,
        stacklevel=6,
    )


def _check_present(n_present: int, name: str, n_rows: int) -> None:
    if not n_present:
        raise TableError(
            f"column {name!r} must hold some values; all {n_rows:,} of the rows to learn from are "
            f"without one; leave it out with `drop={[name]!r}`."
        )


def _check_shape(n_rows: int, n_columns: int) -> None:
    # The words in the middle are those scikit-learn's own checks look for.
    for count, word, unit in ((n_columns, "feature", "column"), (n_rows, "sample", "row")):
        if not count:
            raise TableError(
                f"the table holds 0 {word}(s) (shape=({n_rows}, {n_columns})) while a minimum of "
                f"1 is required; pass at least one {unit}."
            )


def _float32_matrix(X: Any) -> NDArray[np.float32]:
    if type(X).__module__.startswith("scipy.sparse"):
        raise TypeError("X must be dense; got a sparse matrix; pass X.toarray().")
    if not isinstance(X, Sequence) and not hasattr(X, "__array__"):
        raise TypeError(
            "X must be a pandas, polars or pyarrow data frame or a 2-D array; "
            f"got {type(X).__name__}; collect a lazy frame first."
        )
    array = _plain_array(X)
    if array.ndim != 2:
        raise TableError(
            f"X must have two dimensions; got shape {array.shape}. Reshape your data with "
            "X.reshape(-1, 1) if it is one column or X.reshape(1, -1) if it is one row."
        )
    _check_shape(*array.shape)
    with np.errstate(over="ignore"):  # what float32 cannot hold is refused as infinite
        return np.ascontiguousarray(_numeric(array), dtype=np.float32)


def _plain_array(X: Any) -> NDArray[Any]:
    try:
        return np.asarray(X)
    except ValueError as error:
        raise TableError("X must be a 2-D array; its rows differ in length.") from error


def _numeric(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind == "c":
        raise TableError("Complex data not supported: X must hold real numbers; pass X.real.")
    if array.dtype.kind not in "biufO":
        raise TableError(
            f"X must hold numbers; got an array of type {array.dtype}; pass text as a data frame."
        )
    try:
        return array.astype(np.float64) if array.dtype.kind == "O" else array
    except TypeError as error:
        raise TypeError(f"X must hold numbers only; {error}.") from error
    except (ValueError, OverflowError) as error:
        raise TableError(
            f"X must hold numbers only; {error}; pass text as a data frame."
        ) from error


def _check_columns_of_array(matrix: NDArray[np.float32], names: list[str]) -> None:
    for name, is_present in zip(names, _columns_with_numbers(matrix, names), strict=True):
        _check_present(int(is_present), name, len(matrix))


def _columns_with_numbers(matrix: NDArray[np.float32], names: list[str]) -> NDArray[np.bool_]:
    """Return which columns hold a number at all; raise for infinite ones."""
    # fmax and fmin ignore NaN, so one look at the extremes finds both without a copy.
    highest = np.fmax.reduce(matrix, axis=0)
    lowest = np.fmin.reduce(matrix, axis=0)
    for j in np.flatnonzero(np.isinf(highest) | np.isinf(lowest)):
        n_infinite = int(np.count_nonzero(np.isinf(matrix[:, j])))
        column_values.check_finite(n_infinite, matrix.shape[0], names[j])
    return ~np.isnan(highest)


def _column_from_json(entry: Any) -> Column:
    if not isinstance(entry, dict) or set(entry) != {"name", "kind", "categories"}:
        raise ValueError(
            "a column of a schema must be a dict of name, kind and categories; "
            f"got {shortened(entry)}."
        )
    if not isinstance(entry["categories"], list):
        raise ValueError(
            f"categories of column {shortened(entry['name'])} must be a list; "
            f"got {shortened(entry['categories'])}."
        )
    return Column(entry["name"], entry["kind"], tuple(entry["categories"]))
