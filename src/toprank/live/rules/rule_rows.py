"""Payments and tables as the frames that rules are evaluated on: right types, one kind of missing.

Values that are not of their field's type, undefined numbers and those beyond `LARGEST` are null: a
rule never fails because of a payment.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from toprank.live.rules.rule_fields import DTYPES, LARGEST, FieldType, RuleFields

_FIRST_MOMENT = datetime(1970, 1, 1, tzinfo=UTC)


class RuleRows:
    """Makes the rows that rules are evaluated on of payments and their features.

    Parameters
    ----------
    names
        The features, in the order of their columns.
    fields
        The fields of payments and their types; the features are among them.
    only
        The fields and features that are needed; None for all.

    >>> fields = RuleFields({"amount": "number", "country": "text", "card_count_1h": "number"})
    >>> rows = RuleRows(["card_count_1h"], fields)
    >>> payments = [{"amount": 12, "country": "FR"}, {"amount": "odd"}]
    >>> rows.frame(rows.records(payments, np.array([[3.0], [np.nan]]))).rows()
    [(12.0, 'FR', 3.0), (None, None, None)]
    """

    def __init__(
        self, names: Sequence[str], fields: RuleFields, only: Collection[str] | None = None
    ) -> None:
        types = {name: kind for name, kind in fields.types.items() if only is None or name in only}
        self._dtypes = {name: DTYPES[kind] for name, kind in types.items()}
        self._own = [(name, _VALUE[kind]) for name, kind in types.items() if name not in names]
        self._places = [place for place, name in enumerate(names) if name in types]
        self._features = [names[place] for place in self._places]

    def records(
        self, payments: Sequence[Mapping[str, Any]], features: NDArray[np.float64]
    ) -> list[dict[str, Any]]:
        """Return a row per payment; `features` has a row for each, a column per name."""
        found = []
        for payment, values in zip(payments, features[:, self._places].tolist(), strict=True):
            row: dict[str, Any] = {
                name: value if -LARGEST < value < LARGEST else None  # neither is NaN
                for name, value in zip(self._features, values, strict=True)
            }
            for name, value_of in self._own:
                row[name] = value_of(payment.get(name))
            found.append(row)
        return found

    def table(
        self, payments: Sequence[Mapping[str, Any]], features: NDArray[np.float64]
    ) -> pl.DataFrame:
        """Return the frame of `records`, column by column: much faster for many payments."""
        columns = [
            pl.Series(name, [value_of(each.get(name)) for each in payments], self._dtypes[name])
            for name, value_of in self._own
        ]
        for name, place in zip(self._features, self._places, strict=True):
            numbers = features[:, place]
            known = np.where(np.abs(numbers) < LARGEST, numbers, np.nan)
            columns.append(pl.Series(name, known, nan_to_null=True))
        # without a column, a frame would have no rows
        return pl.DataFrame(columns) if columns else self.frame([{}] * len(payments))

    def frame(self, records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
        """Return rows as a frame."""
        return pl.from_dicts(records, schema=self._dtypes)


def typed_columns(fields: RuleFields, only: Collection[str]) -> list[pl.Expr]:
    """Return the columns of a stored table as rules take them: what `frame_of` does with rows."""
    return [
        _COLUMN[kind](pl.col(name)).alias(name)
        for name, kind in fields.of_kind("alert").items()
        if name in only
    ]


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < LARGEST else None


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    # categories that look like numbers, such as merchant codes
    is_code = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_code else None


def _boolean(value: Any) -> bool | None:
    return bool(value) if isinstance(value, bool | int | float) and value in (0, 1) else None


def _moment(value: Any) -> datetime | None:
    """Return a time given as such, as ISO text, or in microseconds; without a zone it is UTC."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        elif isinstance(value, int):
            value = _FIRST_MOMENT + timedelta(microseconds=value)
    except (ValueError, OverflowError):
        return None
    if not isinstance(value, datetime):
        return None
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _number_column(column: pl.Expr) -> pl.Expr:
    number = column.cast(DTYPES["number"], strict=False)
    return pl.when(number.abs() < LARGEST).then(number)


def _time_column(column: pl.Expr) -> pl.Expr:
    return column.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")


_VALUE: dict[FieldType, Callable[[Any], Any]] = {
    "number": _number,
    "text": _text,
    "boolean": _boolean,
    "time": _moment,
}
_COLUMN: dict[FieldType, Callable[[pl.Expr], pl.Expr]] = {
    "number": _number_column,
    "text": lambda column: column.cast(pl.String),
    "boolean": lambda column: column.cast(pl.Boolean),
    "time": _time_column,
}
