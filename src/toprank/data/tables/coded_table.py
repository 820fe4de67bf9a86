"""A whole table read once, from which any of its rows can be learned from and encoded.

Which categories a model knows depends on the rows it learned from. Those rows differ (train, then
train and validation), and the table does not: so each text gets a number once, and the schema of
some rows, and all rows encoded by it, are worked out from these numbers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data.tables import schema as schemas
from toprank.data.tables import values as column_values
from toprank.data.tables.columns import required_frame
from toprank.data.tables.row_numbers import as_slice, rows_of
from toprank.data.tables.schema import Column, Schema


@dataclass(frozen=True)
class _Numbers:
    """A column of numbers or booleans; `encoded` is its column of the matrix."""

    name: str
    kind: str
    values: pa.ChunkedArray
    encoded: NDArray[np.float32]

    def learned(self, rows: NDArray[np.intp] | slice) -> Column:
        numbers = self.encoded[rows]
        values = rows_of(self.values, rows)
        return schemas.number_column(
            self.name,
            self.kind,
            numbers.size,
            int(np.count_nonzero(~np.isnan(numbers))),
            schemas.largest_whole(values.type, numbers),
            schemas.n_distinct_ids(values),
            schemas.collapsing(values, numbers),
        )


@dataclass(frozen=True)
class _Texts:
    """A column of categories: which of `texts` each row holds, -1 where missing."""

    name: str
    codes: NDArray[np.int32]
    texts: list[str]

    def learned(self, rows: NDArray[np.intp] | slice) -> Column:
        codes = self.codes[rows]
        per_text = np.bincount(codes + 1, minlength=len(self.texts) + 1)[1:].tolist()
        counts = {text: n for text, n in zip(self.texts, per_text, strict=True) if n}
        return schemas.category_column(self.name, counts, codes.size)

    def encoded(self, categories: tuple[str, ...]) -> NDArray[np.float32]:
        return column_values.codes_of(self.texts, categories)[self.codes]


class CodedTable:
    """The columns of a table as numbers.

    `schema(rows)` is `Schema.of` of these rows, and `encoded(schema)` is `schema.encode` of all
    rows, without reading the table again.

    >>> table = pa.table({"amount": [9.5, None, 3.0], "country": ["FR", "DE", "IT"]})
    >>> coded = CodedTable(table)
    >>> first_two = coded.schema(np.array([0, 1]))
    >>> first_two.columns[1].categories
    ('DE', 'FR')
    >>> coded.encoded(first_two)
    array([[9.5, 1. ],
           [nan, 0. ],
           [3. , nan]], dtype=float32)
    """

    def __init__(self, table: Any) -> None:
        frame = required_frame(table)
        self._matrix = np.empty((frame.n_rows, len(frame.names)), dtype=np.float32)
        self._schema: Schema | None = None
        self._columns = [
            _read(name, frame.column(name), self._matrix[:, j])
            for j, name in enumerate(frame.names)
        ]

    def schema(self, rows: NDArray[np.intp]) -> Schema:
        """Return the schema that these rows alone would have."""
        chosen = as_slice(rows)
        return Schema(tuple(column.learned(chosen) for column in self._columns))

    def encoded(self, schema: Schema) -> NDArray[np.float32]:
        """Return all rows, encoded by a schema that `schema` gave; not to be written to."""
        if self._schema is not None and self._schema != schema:
            self._matrix = self._matrix.copy()  # others may hold the rows as they were
        if self._schema != schema:
            self._fill_categories(schema)
            self._schema = schema
        return self._matrix

    def _fill_categories(self, schema: Schema) -> None:
        for j, (own, column) in enumerate(zip(self._columns, schema.columns, strict=True)):
            if isinstance(own, _Texts):
                self._matrix[:, j] = own.encoded(column.categories)


def _read(name: str, values: pa.ChunkedArray, out: NDArray[np.float32]) -> _Numbers | _Texts:
    kind = column_values.kind_of(values, name)
    if kind == "category":
        return _Texts(name, *column_values.text_codes(values))
    out[:] = column_values.finite_numbers(values, name)
    return _Numbers(name, kind, values, out)
