"""Rows as arrays, read from tables and from single rows."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.data.tables.columns import check_columns, required_frame
from toprank.data.tables.times import time_column
from toprank.data.tables.values import exact_numbers
from toprank.payments.features import cells
from toprank.payments.features.id_table import RowIds
from toprank.payments.features.key_texts import Codes, entries, text_of
from toprank.payments.features.kinds import columns_of
from toprank.payments.features.questions import Questions

NEVER = int(np.iinfo(np.int64).min)  # the time a label was known at, where none is given


class RowColumns(NamedTuple):
    """The names of the columns that are neither numbers nor keys."""

    time: str
    label: str | None
    known_at: str | None
    row_id: str | None


class PaymentRows(NamedTuple):
    """Rows as arrays, in the order they came."""

    time: NDArray[np.int64]
    keys: list[NDArray[np.int64]]  # for each key its codes, -1 where missing
    numbers: NDArray[np.float64]  # column, row: NaN where missing
    codes: NDArray[np.int32]  # coded column, row
    label: NDArray[np.float64] | None  # NaN where not known; None where no row has one
    known: NDArray[np.int64]  # NEVER where not given
    ids: RowIds | None  # None where no row has one


class RowReader:
    """Reads the columns that the features need, and encodes the values of keys.

    `keys` and `values` are the codes of the keys and of the coded columns; they grow as values
    are seen for the first time.
    """

    def __init__(
        self, questions: Questions, columns: RowColumns, keys: list[Codes], values: list[Codes]
    ) -> None:
        self._named, self._numbers = columns, questions.numbers
        self._coded, self._keys, self._values = questions.coded, keys, values
        self._key_columns = [columns_of(key) for key in questions.keys]
        of_keys = [name for columns in self._key_columns for name in columns]
        self._texts = list(dict.fromkeys([*of_keys, *questions.coded]))
        self.columns = list(dict.fromkeys([columns.time, *questions.numbers, *self._texts]))
        self._needs_known = any(times.assumed == 0 for _, times in questions.of_labels)
        self._only = PaymentRows(  # reused for each single row: new arrays would take longer
            np.zeros(1, dtype=np.int64),
            [np.zeros(1, dtype=np.int64) for _ in keys],
            np.zeros((len(questions.numbers), 1)),
            np.zeros((len(values), 1), dtype=np.int32),
            None,
            np.zeros(1, dtype=np.int64),
            None,
        )
        self._label = np.zeros(1)

    def table(self, table: Any) -> PaymentRows:
        """Return the rows of a table."""
        frame = required_frame(table)
        check_columns(self.columns, frame.names)
        n_rows, named = frame.n_rows, self._named
        time = time_column(table, named.time).view(np.int64).copy()  # Arrow's array is read-only
        numbers = np.empty((len(self._numbers), n_rows))
        for column, name in zip(numbers, self._numbers, strict=True):
            column[:] = exact_numbers(frame.column(name), name)
        label, known, ids = None, np.full(n_rows, NEVER), None
        if named.label in frame.names:
            label = cells.labels(frame.column(named.label), named.label)
        if named.known_at in frame.names:
            known = cells.instants_or(frame.column(named.known_at), named.known_at, NEVER)
        if label is not None:
            self.check_known(label, known)
        if named.row_id in frame.names:
            ids = RowIds.of(cells.id_texts(frame.column(named.row_id), named.row_id))
        found = {name: entries(frame.column(name), name) for name in self._texts}
        keys = [
            codes.many([found[name] for name in columns])
            for columns, codes in zip(self._key_columns, self._keys, strict=True)
        ]
        coded = np.empty((len(self._coded), n_rows), dtype=np.int32)
        for values, name, codes in zip(coded, self._coded, self._values, strict=True):
            values[:] = codes.many([found[name]])
        return PaymentRows(time, keys, numbers, coded, label, known, ids)

    def row(self, row: Mapping[str, Any]) -> PaymentRows:
        """Return one row; its arrays are valid until the next row is read."""
        for name in self.columns:
            if name not in row:
                check_columns([name], [str(each) for each in row], "the row")
        rows, named = self._only, self._named
        rows.time[0] = cells.instant(row[named.time], named.time)
        for v, name in enumerate(self._numbers):
            rows.numbers[v, 0] = cells.number(row[name], name)
        has_label = self._read_label(row)
        ids: RowIds | None = None
        if named.row_id is not None:
            row_id = cells.id_text(row.get(named.row_id), named.row_id)
            ids = RowIds.of_one(row_id) if row_id else None
        texts = {name: text_of(row[name], name) for name in self._texts}
        # all cells are valid: from here on values are remembered
        for found, names, codes in zip(rows.keys, self._key_columns, self._keys, strict=True):
            found[0] = codes.one([texts[name] for name in names])
        for c, name in enumerate(self._coded):
            rows.codes[c, 0] = self._values[c].one([texts[name]])
        if has_label or ids is not None:
            rows = rows._replace(label=self._label if has_label else None, ids=ids)
        return rows

    def check_known(self, label: NDArray[np.float64], known: NDArray[np.int64]) -> None:
        """Raise for labels without a time, if a feature has no delay to use instead."""
        if not self._needs_known:
            return
        n_without = int(np.count_nonzero(~np.isnan(label) & (known == NEVER)))
        if n_without:
            raise ValueError(
                f"known_at must say when each label became known, since a feature has no delay; "
                f"{n_without} of {label.size} labels have no such time; give it or set a delay."
            )

    def _read_label(self, row: Mapping[str, Any]) -> bool:
        """Read the label of a single row and when it was known; return whether it has one."""
        named, rows = self._named, self._only
        label = math.nan if named.label is None else cells.label(row.get(named.label), named.label)
        known = None if named.known_at is None else row.get(named.known_at)
        rows.known[0] = NEVER if known is None else cells.instant(known, str(named.known_at))
        if label != label:
            return False
        self._label[0] = label
        self.check_known(self._label, rows.known)
        return True
