"""One Arrow column as the float32 numbers that learners take.

Numbers stay as they are, true is 1 and false 0, a category is its code, and whatever is
missing is NaN.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from toprank.data.tables.columns import TableError, plain_type, shortened

_WORDS = {"number": "numbers", "boolean": "true or false", "category": "text or categories"}


def kind_of(values: pa.ChunkedArray, name: str) -> str:
    """Return "number", "boolean", "category" or "missing"; raise for what cannot be learned from.

    >>> kind_of(pa.chunked_array([[True, None]]), "is_night")
    'boolean'
    """
    arrow_type = values.type
    if pt.is_dictionary(arrow_type):
        _scalar_kind(arrow_type.value_type, name)
        return "category"
    return _scalar_kind(arrow_type, name)


def check_kind(values: pa.ChunkedArray, name: str, kind: str) -> None:
    """Raise unless `values` fit a column that was of `kind` when the schema was made."""
    got = kind_of(values, name)
    if got in {kind, "missing"} or kind == "category" or (kind, got) == ("number", "boolean"):
        return
    if (kind, got) != ("boolean", "number"):
        example = next((value.as_py() for value in values if value.is_valid), None)
        raise TableError(
            f"column {name!r} must hold {_WORDS[kind]}, as in the table the schema was made from; "
            f"got {_WORDS[got]} such as {shortened(example)}; turn the column into {_WORDS[kind]}."
        )


def finite_numbers(values: pa.ChunkedArray, name: str) -> NDArray[np.float32]:
    """Return numbers or booleans as float32, NaN where missing; raise for infinite ones."""
    if values.num_chunks == 0:
        return np.empty(0, dtype=np.float32)
    parts = [
        chunk.cast(pa.float32(), safe=False).to_numpy(zero_copy_only=False)
        for chunk in values.chunks
    ]
    numbers = parts[0] if len(parts) == 1 else np.concatenate(parts)
    check_finite(int(np.count_nonzero(np.isinf(numbers))), numbers.size, name)
    return numbers


def exact_numbers(values: pa.ChunkedArray, name: str) -> NDArray[np.float64]:
    """Return a column of numbers or booleans as float64, NaN where missing.

    >>> exact_numbers(pa.chunked_array([[9.5, None]]), "amount")
    array([9.5, nan])
    """
    values = decoded(values)
    if pt.is_null(values.type):
        return np.full(len(values), np.nan)
    if not (is_number(values.type) or pt.is_boolean(values.type)):
        raise TableError(
            f"column {name!r} must hold numbers; it holds values of type {values.type}; turn them "
            "into numbers."
        )
    numbers = values.cast(pa.float64(), safe=False).to_numpy()
    largest = float(np.finfo(np.float32).max)  # learners hold numbers in 32 bits
    check_finite(int(np.count_nonzero(np.abs(numbers) > largest)), numbers.size, name)
    return numbers


def check_finite_columns(table: pa.Table) -> None:
    """Raise for the first column of numbers that holds an infinite one."""
    for name in table.column_names:
        if is_number(table[name].type):
            finite_numbers(table[name], name)


def check_finite(n_infinite: int, n_rows: int, name: str) -> None:
    """Raise when a column holds numbers that float32 sees as infinite."""
    if n_infinite:
        raise TableError(
            f"column {name!r} must hold finite numbers below 3.4e38 in size; {n_infinite} of "
            f"{n_rows} are infinite or larger; replace them or leave them missing."
        )


def true_or_false(values: pa.ChunkedArray, name: str) -> NDArray[np.float32]:
    """Return booleans as 0 and 1, NaN where missing; other numbers raise."""
    numbers = finite_numbers(values, name)
    strange = numbers[~(np.isnan(numbers) | (numbers == 0) | (numbers == 1))]
    if strange.size:
        raise TableError(
            f"column {name!r} must hold true or false, or 1 or 0; got {strange[0]:g} "
            f"and {strange.size - 1} more such numbers; turn them into one of the two."
        )
    return numbers


def category_counts(values: pa.ChunkedArray) -> Counter[str]:
    """Return how many rows hold each category, by its text; missing rows are not counted."""
    counts: Counter[str] = Counter()
    for chunk in values.chunks:
        encoded = _with_dictionary(chunk)
        indices = encoded.indices.drop_null().to_numpy()
        per_entry = np.bincount(indices, minlength=len(encoded.dictionary)).tolist()
        for text, count in zip(_texts(encoded.dictionary), per_entry, strict=True):
            if text is not None and count:
                counts[text] += count
    return counts


def category_codes(values: pa.ChunkedArray, categories: Sequence[str]) -> NDArray[np.float32]:
    """Return the place of each value in `categories`; NaN for missing and unknown ones.

    >>> category_codes(pa.chunked_array([["b", None, "z", "a"]]), ["a", "b"])
    array([ 1., nan, nan,  0.], dtype=float32)
    """
    parts = [np.empty(0, dtype=np.float32)]
    for chunk in values.chunks:
        encoded = _with_dictionary(chunk)
        parts.append(codes_of(_texts(encoded.dictionary), categories)[_places(encoded)])
    return np.concatenate(parts)


def codes_of(texts: Sequence[str | None], categories: Sequence[str]) -> NDArray[np.float32]:
    """Return the place of each text in `categories`, NaN for others, and one more NaN at the end.

    A missing value, put at -1, so reads NaN.
    """
    code_of: dict[str | None, float] = {text: code for code, text in enumerate(categories)}
    return np.array([*(code_of.get(text, np.nan) for text in texts), np.nan], dtype=np.float32)


def text_codes(values: pa.ChunkedArray) -> tuple[NDArray[np.int32], list[str]]:
    """Return a number for each value, -1 where it is missing, and the texts that these mean.

    >>> text_codes(pa.chunked_array([["b", None, "a", "b"]]))
    (array([ 0, -1,  1,  0], dtype=int32), ['b', 'a'])
    """
    code_of: dict[str, int] = {}
    parts = [np.empty(0, dtype=np.int32)]
    for chunk in values.chunks:
        encoded = _with_dictionary(chunk)
        codes = [
            -1 if text is None else code_of.setdefault(text, len(code_of))
            for text in _texts(encoded.dictionary)
        ]
        # codes = [entry 0, entry 1, ... | -1], so that a missing value, put at -1, reads -1
        parts.append(np.array([*codes, -1], dtype=np.int32)[_places(encoded)])
    return np.concatenate(parts), list(code_of)


def decoded(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return `values` without a dictionary: the entries themselves, row by row."""
    if not pt.is_dictionary(values.type) or not values.num_chunks:
        return values
    return pa.chunked_array(
        [plain_type(chunk.dictionary).take(chunk.indices) for chunk in values.chunks]
    )


def is_text(arrow_type: pa.DataType) -> bool:
    """Return whether a column of this type holds text."""
    return (
        pt.is_string(arrow_type) or pt.is_large_string(arrow_type) or pt.is_string_view(arrow_type)
    )


def is_number(arrow_type: pa.DataType) -> bool:
    """Return whether a column of this type holds numbers; booleans are none."""
    return pt.is_integer(arrow_type) or pt.is_floating(arrow_type) or pt.is_decimal(arrow_type)


def n_distinct(values: pa.ChunkedArray) -> int:
    """Return how many different values a column of whole numbers holds, missing ones aside."""
    return pc.count_distinct(values, mode="only_valid").as_py()


def _scalar_kind(arrow_type: pa.DataType, name: str) -> str:
    if pt.is_boolean(arrow_type):
        return "boolean"
    if is_number(arrow_type):
        return "number"
    if is_text(arrow_type):
        return "category"
    if pt.is_null(arrow_type):
        return "missing"
    dates = _word_for_dates(arrow_type)
    if dates:
        raise TableError(
            f"column {name!r} holds {dates}; name it with `time={name!r}`, leave it out with "
            f"`drop={[name]!r}`, or turn it into numbers such as hours since the last payment."
        )
    raise TableError(
        f"column {name!r} must hold numbers, true or false, or text; it holds values of type "
        f"{shortened(str(arrow_type))}; leave it out with `drop={[name]!r}`, or spread it over "
        "plain columns."
    )


def _word_for_dates(arrow_type: pa.DataType) -> str:
    if pt.is_date(arrow_type) or pt.is_timestamp(arrow_type) or "period" in str(arrow_type):
        return "dates"
    if pt.is_time(arrow_type):
        return "times of day"
    return "lengths of time" if pt.is_temporal(arrow_type) else ""


def _with_dictionary(chunk: pa.Array) -> pa.DictionaryArray:
    return chunk if pt.is_dictionary(chunk.type) else chunk.dictionary_encode()


def _places(encoded: pa.DictionaryArray) -> NDArray[np.int64]:
    """Return the entry of the dictionary that each value is, -1 where it is missing."""
    return encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy()


def _texts(dictionary: pa.Array) -> list[str | None]:
    return [category_text(value) for value in dictionary.to_pylist()]


def category_text(value: Any) -> str | None:
    """Return the text by which a category is known; None where it is missing."""
    # pandas turns whole numbers into floats when one is missing: 7 and 7.0 are one category.
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
