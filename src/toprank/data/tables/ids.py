"""What an id is: of a row, a card, a terminal or an event, in a table or one at a time.

1. Inside, an id is its text. A whole number and its digits are one id: 7, 7.0 and "7".
2. Text is taken as it is: "007" is another id than "7", and "a" another than "A".
3. None, NaN, NA and NaT are missing. So is an empty text: it identifies nothing, and rows that
   have one must not be taken for rows of the same card.
4. Everything else is refused: true and false, fractions, dates, lists.

A key of a feature may be any plain value, such as a country or whether a payment was online; it
follows the same rules, and `key_text` has a text for truth values and fractions as well.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from toprank.data.tables.columns import TableError, plain_type, shortened
from toprank.data.tables.values import decoded, is_text

_NO_VALUE = ("NAType", "NaTType")  # of pandas, which need not be there


def id_text(value: Any, name: str) -> str | None:
    """Return the text of an id; None where it is missing.

    >>> id_text(7.0, "card"), id_text("007", "card"), id_text("", "card"), id_text(None, "card")
    ('7', '007', None, None)
    """
    if type(value) is str:  # by far the most frequent
        return value or None
    if type(value) is int:
        return str(value)
    text, is_id = _text(value)
    if is_id:
        return text
    raise TableError(
        f"{name} must hold ids, text or whole numbers; got {shortened(value)}; turn such values "
        "into text or name another column."
    )


def key_text(value: Any, name: str) -> str | None:
    """Return the text that a value has as a key: that of an id, or of another plain value.

    >>> key_text(7.0, "card"), key_text(True, "online"), key_text(9.5, "amount")
    ('7', 'True', '9.5')
    """
    if type(value) is str:  # by far the most frequent
        return value or None
    text, is_id = _text(value)
    if is_id or text is not None:
        return text
    raise TableError(
        f"column {name!r} must hold text or numbers to be a key; got {shortened(value)}; turn "
        "such values into text."
    )


def id_texts(values: Any, name: str) -> pa.Array:
    """Return a column of ids, or any sequence of them, as texts; null where they are missing.

    >>> id_texts(pa.array([7.0, None]), "card").to_pylist(), id_texts([7, "x", ""], "card")[1]
    (['7', None], <pyarrow.LargeStringScalar: 'x'>)
    """
    return comparable_ids(values, name).cast(pa.large_string())


def comparable_ids(values: Any, name: str) -> pa.Array:
    """Return ids as whole numbers if they all are, else as texts; null where they are missing.

    Of one column, equal ids are equal values: where only that counts, numbers are faster.

    >>> comparable_ids(pa.array([7.0, None]), "card").to_pylist()
    [7, None]
    """
    column = _column(values, name)
    if is_text(column.type):
        return _without_empty(column.cast(pa.large_string()))
    if pt.is_integer(column.type):
        return _numbers(column)
    if pt.is_floating(column.type):
        return _whole_numbers(plain_type(column), name)
    if column.null_count == len(column):
        return pa.nulls(len(column), pa.large_string())
    return _one_by_one(column.to_pylist(), name)


def id_numbers(texts: pa.Array) -> pa.Array:
    """Return as a number each text that is the id of one, null for the others.

    >>> id_numbers(pa.array(["7", "007", "x"])).to_pylist()
    [7, None, None]
    """
    is_number = pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]{0,17})$")
    return pc.if_else(is_number, texts, pa.scalar(None, texts.type)).cast(pa.int64())


def _text(value: Any) -> tuple[str | None, bool]:
    """Return the text of a plain value, None for missing and others, and whether it is an id."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None, bool(np.isnat(value))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str(value) or None, True
    if value is None or type(value).__name__ in _NO_VALUE:
        return None, True
    if isinstance(value, bool):
        return str(value), False
    if isinstance(value, int):
        return str(int(value)), True
    if isinstance(value, float | Decimal):
        if value.is_nan() if isinstance(value, Decimal) else math.isnan(value):
            return None, True
        is_whole = math.isfinite(value) and value == int(value)
        return str(int(value) if is_whole else value), is_whole
    return None, False


def _column(values: Any, name: str) -> pa.Array:
    """Return values of any kind as one Arrow array without a dictionary."""
    if isinstance(values, pa.Array):
        values = pa.chunked_array([values])
    if isinstance(values, pa.ChunkedArray):
        if not len(values):
            return pa.array([], pa.large_string())
        return decoded(values).combine_chunks()
    if not isinstance(values, list | tuple):
        values = np.asarray(values)
        if values.ndim != 1:
            raise ValueError(f"{name} must have one dimension; got shape {values.shape}.")
        if values.dtype.kind in "iuf":
            return pa.array(values)
        values = values.tolist()
    return _of_list(values, name)


def _of_list(values: Sequence[Any], name: str) -> pa.Array:
    kinds = set(map(type, values))
    if kinds <= {str, type(None)}:
        return _texts(values, name)
    if kinds <= {int, type(None)}:
        try:
            return pa.array(values, pa.int64())
        except OverflowError:  # beyond 2^63
            pass
    return _one_by_one(values, name)


def _one_by_one(values: Sequence[Any], name: str) -> pa.Array:
    return _texts([id_text(value, name) for value in values], name)


def _texts(values: Sequence[str | None], name: str) -> pa.Array:
    try:
        return pa.array(values, pa.large_string())
    except UnicodeError:
        raise TableError(
            f"{name} must hold valid text; some of it cannot be written as UTF-8; clean it first."
        ) from None


def _without_empty(texts: pa.Array) -> pa.Array:
    is_empty = pc.equal(texts, "")
    if not pc.any(is_empty).as_py():
        return texts
    return pc.if_else(is_empty, pa.scalar(None, texts.type), texts)


def _numbers(column: pa.Array) -> pa.Array:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:  # beyond 2^63
        return column.cast(pa.large_string())


def _whole_numbers(column: pa.Array, name: str) -> pa.Array:
    is_missing = pc.is_null(column, nan_is_null=True).to_numpy(zero_copy_only=False)
    numbers: NDArray[np.float64] = column.cast(pa.float64()).fill_null(0).to_numpy()
    numbers = np.where(is_missing, 0, numbers)
    is_fraction = ~np.isfinite(numbers) | (np.floor(numbers) != numbers)
    if is_fraction.any():
        id_text(numbers[is_fraction].tolist()[0], name)  # which says what is wrong with it
    if np.abs(numbers).max(initial=0) >= 2**63:
        texts = [None if missing else str(int(number)) for number, missing in
                 zip(numbers.tolist(), is_missing.tolist(), strict=True)]  # fmt: skip
        return pa.array(texts, pa.large_string())
    return pa.array(numbers.astype(np.int64), mask=is_missing)
