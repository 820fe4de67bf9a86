"""Single rows, or a few, as the float32 numbers that learners take, cell by cell.

A table of one row becomes Arrow columns first, which takes 0.6 ms for 30 cells. Here plain Python
and NumPy values are read as they are, a cell in a tenth of a microsecond, and give what the table
gives, to the last bit. Whatever else a cell holds is made an Arrow column of one value and read
as the table's columns are, so that it is understood or refused in the same words.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.data.tables.columns import check_columns, check_distinct
from toprank.data.tables.values import category_text

Cell = Callable[[Any, int], float]
"""The number of a cell that is not read here, in the column of this place."""

_EXACT = 2**53  # whole numbers beyond are rounded twice on their way through float64
_LARGEST = float(np.finfo(np.float32).max)
_LONGEST = 2**63  # whole numbers beyond are no Arrow integers
_SCALARS = frozenset(
    (np.float16, np.float32, np.float64, np.bool_, np.int8, np.int16, np.int32, np.int64,
     np.uint8, np.uint16, np.uint32, np.uint64)
)  # fmt: skip


class RowEncoder:
    """Encodes rows by the names, kinds and categories of columns; `other` reads unusual cells.

    Numbers that are not in the rows, such as features that a history computes, have their names in
    `made`; they come as a matrix, in this order.
    """

    def __init__(self, columns: Sequence[Any], other: Cell, made: Sequence[str] = ()):
        self._kinds = [column.kind for column in columns]
        self._code_of = [
            {text: float(code) for code, text in enumerate(column.categories)}
            for column in columns
        ]
        self._other = other
        source = {name: number for number, name in enumerate(made)}
        is_made = [column.kind == "number" and column.name in source for column in columns]
        self._places = [place for place, is_so in enumerate(is_made) if not is_so]
        self._names = [columns[place].name for place in self._places]
        self.n_read = len(self._names)
        # memory of a row: [cells read from it | numbers made]
        self._order = np.zeros(len(columns), dtype=np.intp)
        self._order[self._places] = np.arange(self.n_read)
        for place, column in enumerate(columns):
            if is_made[place]:
                self._order[place] = self.n_read + source[column.name]

    def read(self, row: Mapping[str, Any]) -> list[float]:
        """Return the cells of a row as numbers, NaN where missing, without those that are made."""
        if not isinstance(row, Mapping):
            raise TypeError(
                "a row must map the names of columns to values, as a dict does; got "
                f"{type(row).__name__}; pass several rows as a table."
            )
        try:
            cells = [row[name] for name in self._names]
        except KeyError:
            cells = self._cells_by_text(row)
        return list(map(self._number, cells, self._places))

    def encoded(self, numbers: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return rows as learners take them: what was read from each, followed by what was made.

        A number that was made and is not finite in 32 bits is refused.
        """
        numbers = numbers[:, self._order]
        too_large = np.abs(numbers) > _LARGEST
        if too_large.any():
            row, place = np.argwhere(too_large)[0].tolist()
            self._other(float(numbers[row, place]), place)
        return numbers.astype(np.float32)

    def _number(self, cell: Any, place: int) -> float:
        if cell is None:
            return np.nan
        kind = type(cell)
        if kind in _SCALARS:
            cell = cell.item()
            kind = type(cell)
        if self._kinds[place] == "category":
            return self._code(cell, kind, place)
        if kind is float and cell != cell:
            return np.nan  # whatever its sign
        most = _LARGEST if kind is float else _EXACT
        is_plain = (kind is float or kind is int or kind is bool) and -most <= cell <= most
        if is_plain and (self._kinds[place] == "number" or cell in (0, 1)):
            return cell
        return self._other(cell, place)

    def _code(self, cell: Any, kind: type, place: int) -> float:
        if kind is float or kind is bool or (kind is int and -_LONGEST <= cell < _LONGEST):
            cell, kind = category_text(cell), str
        code = self._code_of[place].get(cell) if kind is str else None
        if code is not None:
            return code
        if cell is None or (kind is str and cell.isascii()):
            return np.nan  # missing or unknown
        return self._other(cell, place)

    def _cells_by_text(self, row: Mapping[Any, Any]) -> list[Any]:
        """Return the cells where names of columns may be numbers, as in some tables."""
        by_text = {str(name): cell for name, cell in row.items()}
        check_distinct([str(name) for name in row], "the row")
        check_columns(self._names, list(by_text), "the row")
        return [by_text[name] for name in self._names]
