"""Rows that a history without ids has already: equal in every column that it reads."""

from typing import Any

import numpy as np
import pyarrow as pa

from toprank.data.tables import time_column
from toprank.data.tables.ids import id_texts
from toprank.payments.features import History
from toprank.payments.features.kinds import key_columns
from toprank.payments.payment_state import PaymentState


def n_known_rows(state: PaymentState, rows: pa.Table) -> int:
    """Return how many rows are remembered already; 0 where the history does not keep its rows."""
    history = state.history
    keys = key_columns(history.features)
    until = history.until
    if until is None or not keys or not rows.num_rows:
        return 0
    times = time_column(rows, history.time)
    late = rows.filter(pa.array(times <= until))
    if not late.num_rows:
        return 0
    texts = sorted(set(filter(None, id_texts(late[keys[0]], keys[0]).to_pylist())))
    known = state.rows_of(keys[0], texts, since=times.min())
    if not {*history.columns} <= {*known.column_names}:
        return 0
    seen = set(_contents(known, history, keys))
    return sum(each in seen for each in _contents(late, history, keys))


def _contents(rows: pa.Table, history: History, keys: list[str]) -> list[tuple[Any, ...]]:
    """Return what each row says to the history, the same however it is written."""
    columns: list[list[Any]] = []
    for name in history.columns:
        if name == history.time:
            columns.append(time_column(rows, name).view(np.int64).tolist())
        elif name in keys:
            columns.append(id_texts(rows[name], name).to_pylist())
        else:
            columns.append([str(value) for value in rows[name].cast(pa.float64()).to_pylist()])
    return list(zip(*columns, strict=True))
