"""Tables of payments with what each card did before, as further columns."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from toprank.data import tables
from toprank.data.tables import WrittenBatch, time_column
from toprank.data.tables.columns import arrow_table
from toprank.payments.far_times import check_file, without_wrong
from toprank.payments.join_watch import JoinWatch
from toprank.payments.known_rows import n_known_rows
from toprank.payments.payment_state import PaymentState
from toprank.payments.roles import rows_of, with_columns


def tables_of(payments: Any) -> Iterator[Any]:
    """Yield the given tables: one, or several one after the other."""
    if isinstance(payments, Iterator | list | tuple) and not isinstance(payments, WrittenBatch):
        for each in payments:
            yield each if isinstance(each, WrittenBatch) else arrow_table(each)
    else:
        yield arrow_table(payments)


def with_past(
    state: PaymentState | None,
    classes: tuple[Any, Any],
    batches: Iterable[WrittenBatch],
    *,
    remember: bool,
    sets_aside: bool,
    labels: tables.Labels | None = None,
) -> Iterator[WrittenBatch]:
    """Yield each batch with the features of its rows, and its rows as they came.

    With `remember`, all of the rows are in the history at the end, or none after an error. With
    `sets_aside`, rows whose time cannot be right are left out, with a warning.
    """
    if state is None:
        yield from batches
        return
    history = state.history
    with state.remembering() if remember else state.looking() as features_of:
        watch, until = JoinWatch(history, partial(n_known_rows, state)), history.until
        n_before = 0
        for each in batches:
            batch = each
            if sets_aside:
                batch = at_right_times(each, history.time, until, n_before, remember)
            n_before += each.table.num_rows
            rows = rows_of(history, batch.table, classes, labels)
            watch.see(rows)
            yield batch._replace(table=with_columns(batch.table, features_of(rows)))
        watch.end(is_remembered=remember)


def at_right_times(
    batch: WrittenBatch,
    time: str,
    until: np.datetime64 | None = None,
    n_before: int = 0,
    is_remembered: bool = False,
) -> WrittenBatch:
    """Return a batch without rows whose time cannot be right, and the numbers of the others."""
    tables.check_columns([time], batch.table.column_names)
    numbers = np.arange(batch.table.num_rows) + n_before + 1
    times = time_column(batch.table, time)
    if is_remembered:
        check_file(times, time, until)
    kept = without_wrong(times, time, until, n_before)
    if kept is None:
        return batch._replace(numbers=numbers)
    is_kept = pa.array(kept)
    return WrittenBatch(batch.table.filter(is_kept), batch.written.filter(is_kept), numbers[kept])


def columns_without_values(table: pa.Table, names: Iterable[str]) -> list[str]:
    """Return which of these columns are missing in every row."""
    n_rows = table.num_rows
    return [
        name
        for name in names
        if pc.sum(pc.is_null(table[name], nan_is_null=True)).as_py() == n_rows
    ]
