"""Tables of payments: the roles of their columns, and features as further columns."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from toprank.data import tables
from toprank.data.tables import Column, Schema
from toprank.data.tables.delimited import MISSING
from toprank.data.tables.values import decoded, is_text
from toprank.payments.features import Feature, History, default_features
from toprank.payments.features.kinds import OF_LABELS, microseconds, number_columns


class Roles(NamedTuple):
    """The columns of the time, the card, the terminal or shop, the amount and the id."""

    time: str
    card: str
    terminal: str
    amount: str
    row_id: str | None = None

    @property
    def names(self) -> list[str]:
        """The columns that are given, in this order."""
        return [name for name in self if name is not None]


def new_history(
    roles: Roles, label: str, delay: str = "7d", features: Iterable[Feature] | None = None
) -> History:
    """Return an empty history with `features`, or with `default_features` of these columns.

    >>> history = new_history(Roles("paid_at", "card", "shop", "amount"), "is_fraud")
    >>> history.names[3:5]
    ['card_count_1h', 'card_sum_amount_1h']
    """
    if len(set(roles.names)) < len(roles.names):
        raise ValueError(f"each role must have a column of its own; got {', '.join(roles.names)}.")
    if features is None:
        features = default_features(roles.card, roles.terminal, roles.amount, delay=delay)
    history = History(
        features, time=roles.time, label=label, row_id=roles.row_id, counts_silence=True
    )
    for each in history.features:
        if isinstance(each, OF_LABELS) and _length(each.delay) < _length(delay):
            raise ValueError(
                f"feature {each.name!r} must have a delay of at least {delay!r}, after which "
                f"labels are known; got {each.delay!r}."
            )
    return history


def rows_of(
    history: History,
    table: pa.Table,
    classes: tuple[Any, Any],
    labels: tables.Labels | None = None,
) -> pa.Table:
    """Return a table as a history takes it: keys without empty texts, labels as true or false.

    Labels, if the table has any, are of these `classes`, the positive first; a caller that has
    parsed them passes `labels`. A key that is empty text, NA or the like is missing.

    >>> history = new_history(Roles("at", "card", "shop", "amount"), "is_fraud")
    >>> row = {"at": ["2025-03-01"], "card": ["NA"], "shop": ["S"], "amount": [9.5]}
    >>> rows_of(history, pa.table(row), classes=(1, 0))["card"].to_pylist()
    [None]
    """
    own = set(table.column_names)
    taken = [name for name in history.names if name in own and name not in _values(history)]
    if taken:
        raise tables.TableError(
            f"the table must not have a column with the name of a feature; it has {taken[0]!r}; "
            "rename or drop it."
        )
    tables.check_columns(history.columns, table.column_names)
    rows = table
    for name in history.key_columns:
        rows = _replaced(rows, name, _without_empty(table[name]))
    label = history.label_column
    if label is not None and label in own:
        rows = _replaced(rows, label, _truths(table, label, classes, labels))
    return rows


def row_of(
    history: History, payment: Mapping[str, Any], classes: tuple[Any, Any]
) -> dict[str, Any]:
    """Return one payment as a history takes it: what `rows_of` does with a table of one row.

    >>> history = new_history(Roles("at", "card", "shop", "amount"), "is_fraud")
    >>> row_of(history, {"card": "NA", "is_fraud": 1, "note": "x"}, classes=(1, 0))
    {'card': None, 'is_fraud': True, 'note': 'x'}
    """
    row = dict(payment)
    for name in history.key_columns:
        value = row.get(name)
        if isinstance(value, str) and value in MISSING:
            row[name] = None
    label = history.label_column
    if label is not None and row.get(label) is not None:
        row[label] = tables.truths(pa.table({label: [row[label]]}), label, *classes)[0].as_py()
    return row


def with_columns(table: pa.Table, features: pa.Table) -> pa.Table:
    """Return the table with the features as further columns; existing columns are kept."""
    own = set(table.column_names)
    for name in features.column_names:
        if name not in own:
            table = table.append_column(name, features[name])
    return table


def columns_to_read(history: History, features: Schema) -> Schema | None:
    """Return the columns of a file that a ranker of these features uses as they are.

    Numbers that the history reads are numbers in the file, too, whatever its first rows contain.
    """
    numbers = number_columns(history.features)
    made = {*history.names, *numbers}
    own = [column for column in features.columns if column.name not in made]
    columns = (*own, *(Column(name, "number") for name in numbers))
    return Schema(columns) if columns else None


def _truths(
    table: pa.Table, label: str, classes: tuple[Any, Any], labels: tables.Labels | None
) -> pa.Array:
    """Return whether each row is positive, missing where it has no label."""
    if labels is None:
        return tables.truths(table, label, *classes)
    return pa.array(labels.is_positive, mask=~labels.known)


def _length(delay: str) -> int:
    return microseconds(delay, "delay")


def _values(history: History) -> set[str]:
    """Return the features that are columns of the table itself."""
    return {each.name for each in history.features if each.name == _column_of(each)}


def _column_of(feature: Feature) -> str | None:
    return getattr(feature, "of", None)


def _replaced(table: pa.Table, name: str, values: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


def _without_empty(values: pa.ChunkedArray) -> pa.ChunkedArray:
    values = decoded(values)
    if not is_text(values.type):
        return values
    is_empty = pc.is_in(values, pa.array(MISSING, values.type))
    return pc.if_else(is_empty, pa.scalar(None, values.type), values)
