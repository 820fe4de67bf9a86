"""The latest payments of listed cards, to be shown alongside their alerts."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from toprank.data.tables.ids import id_texts
from toprank.data.tables.values import decoded
from toprank.payments.features import cells
from toprank.payments.history_store.key_rows import rows_of_keys
from toprank.payments.ledger.holding import LAST_KNOWN
from toprank.payments.payment_state import PaymentState
from toprank.payments.roles import Roles, rows_of

_NO_TIME = int(np.iinfo(np.int64).min)
_DAY = 86_400_000_000  # microseconds


def recent_payments(
    state: PaymentState,
    roles: Roles,
    facts: pa.Table,
    classes: tuple[Any, Any],
    days: int,
    today: Iterable[pa.Table] = (),
) -> list[pa.Table]:
    """Return for each listed row the payments of its card since `days` before it, in time order.

    `facts` has the columns card and time of the listed rows. `today` are tables of payments that
    the history does not have. Times are timestamps; labels are true, false or missing, a label of
    the ledger before one that came with its row.
    """
    cards = id_texts(facts["card"], roles.card).to_pylist()
    times = cells.instants_or(facts["time"], roles.time, _NO_TIME)
    known = sorted({card for card in cards if card is not None})
    since = np.datetime64(int(times.min()) - days * _DAY, "us")
    rows = _timed(state.rows_of(roles.card, known, since), roles)
    for table in today:
        more = rows_of(state.history, table, classes)
        rows = _joined(rows, _timed(rows_of_keys(more, roles.card, known, roles.time), roles))
    rows = _labelled(rows.sort_by(roles.time), state)
    return [_of_card(rows, roles, *each, days) for each in zip(cards, times.tolist(), strict=True)]


def _of_card(rows: pa.Table, roles: Roles, card: str | None, time: int, days: int) -> pa.Table:
    is_own = pc.equal(id_texts(rows[roles.card], roles.card), pa.scalar(card, pa.string()))
    is_recent = _moments(rows, roles) > time - days * _DAY
    return rows.filter(pc.and_(pc.fill_null(is_own, False), pa.array(is_recent)))


def _timed(rows: pa.Table, roles: Roles) -> pa.Table:
    """Return rows with their times as timestamps, without dictionaries and ids as text."""
    columns = {name: decoded(rows[name]) for name in rows.column_names}
    for name in (roles.card, roles.terminal, roles.row_id):
        if name is not None and name in columns:
            columns[name] = id_texts(columns[name], name).cast(pa.string())
    if roles.time in columns:
        columns[roles.time] = pa.array(_moments(rows, roles), pa.timestamp("us"))
    return pa.table(columns)


def _moments(rows: pa.Table, roles: Roles) -> NDArray[np.int64]:
    return cells.instants_or(rows[roles.time], roles.time, _NO_TIME)


def _joined(rows: pa.Table, more: pa.Table) -> pa.Table:
    """Return the rows of both; a column whose types do not fit together becomes text."""
    if not more.num_rows or not rows.num_columns:
        return more if more.num_rows else rows
    try:
        return pa.concat_tables([rows, more], promote_options="permissive")
    except pa.ArrowException:
        both = [each.cast(_as_text(each.schema)) for each in (rows, more)]
        return pa.concat_tables(both, promote_options="permissive")


def _as_text(schema: pa.Schema) -> pa.Schema:
    kept = (pa.timestamp("us"), pa.bool_())
    return pa.schema(
        [field if field.type in kept else field.with_type(pa.string()) for field in schema]
    )


def _labelled(rows: pa.Table, state: PaymentState) -> pa.Table:
    """Return rows with the label that holds of each by now."""
    label, row_id = state.history.label_column, state.history.row_id
    if label is None or not rows.num_rows:
        return rows
    said = [None] * rows.num_rows
    if label in rows.column_names:
        said = rows[label].to_pylist()
    if row_id is not None and row_id in rows.column_names and len(state.ledger):
        known = state.ledger.as_known(LAST_KNOWN)
        held = dict(zip(known.ids.tolist(), known.is_positive.tolist(), strict=True))
        said = [
            held.get(each, before)
            for each, before in zip(rows[row_id].to_pylist(), said, strict=True)
        ]
    others = rows.drop_columns([label]) if label in rows.column_names else rows
    return others.append_column(label, pa.array(said, pa.bool_()))
