"""The label of a table as a bool array, whatever its two values are called."""

import math
from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from toprank.data import checks
from toprank.data.tables.columns import TableError, required_frame, shortened
from toprank.data.tables.delimited import MISSING
from toprank.data.tables.positive_class import named_by_itself, positive_of_table
from toprank.data.tables.values import decoded, kind_of


class Labels(NamedTuple):
    """Which rows are positive, what the two values are called and which rows have a label."""

    is_positive: NDArray[np.bool_]
    positive: Any
    negative: Any
    known: NDArray[np.bool_]


def fitted_label(
    table: Any, label: str, positive: Any, classes: Collection[Any] | None = None
) -> Labels:
    """Return the labels in column `label`, one of which must be the positive one of a model.

    `classes` are both labels of the model. Another negative one is refused unless the two say by
    themselves which is which, as 1 and -1 do: of 2 and 1, the 1 may well be the negative one.

    >>> fitted_label(pa.table({"fraud": ["no", "yes"]}), "fraud", "yes").is_positive.tolist()
    [False, True]
    """
    counts = _value_counts(_plain_values(table, label))
    if len(counts) == 2 and not _are_labels_of(counts, positive, classes):
        others = [each for each in classes or () if not _is_named(each, positive)]
        negative = f"{shortened(others[0])}, the negative one" if others else "another value"
        raise TableError(
            f"label column {label!r} must hold {shortened(positive)}, the positive label of the "
            f"model, and {negative}; it holds {' and '.join(map(shortened, counts))}; write the "
            "labels as in the table the model was fitted on, or name another column with `label`."
        )
    return split_label(table, label, positive)


def split_label(table: Any, label: str, positive_label: Any = None) -> Labels:
    """Return the labels in column `label`, the positive one as `tables.positive_class` has it.

    `positive_label` may be given as text: "1" names 1, "true" names True and "yes" names "Yes".

    >>> table = pa.table({"fraud": ["no", "yes", None, "no"]})
    >>> split_label(table, "fraud").is_positive.tolist()
    [False, True, False, False]
    """
    values = _plain_values(table, label)
    positive, negative = positive_and_negative(label, _value_counts(values), positive_label)
    is_positive = _equal_to(positive, values)
    return Labels(is_positive, positive, negative, is_positive | _equal_to(negative, values))


def positive_and_negative(
    label: str, counts: Counter[Any], positive_label: Any = None
) -> tuple[Any, Any]:
    """Return the two values that so many rows hold, the positive one first.

    >>> positive_and_negative("fraud", Counter({"no": 990, "yes": 10}))
    ('yes', 'no')
    """
    _check_two(label, counts)
    if positive_label is None:
        positive = positive_of_table(counts)
    else:
        positive = _named(label, counts, positive_label)
    (negative,) = (value for value in counts if value != positive)
    return positive, negative


def rows_by_value(table: Any, label: str) -> dict[Any, NDArray[np.intp]]:
    """Return which rows hold each value of a label; a part of a table may lack one or both.

    >>> rows_by_value(pa.table({"fraud": ["no", "yes", None, "no"]}), "fraud")
    {'no': array([0, 3]), 'yes': array([1])}
    """
    values = _plain_values(table, label)
    counts = _value_counts(values)
    if len(counts) > 2:
        _check_two(label, counts)
    return {value: np.flatnonzero(_equal_to(value, values)) for value in sorted(counts)}


def truths(table: Any, label: str, positive: Any, negative: Any) -> pa.Array:
    """Return whether each row of a label is the positive; missing where it has none.

    A part of a table will do: its two values are given, not looked for.

    >>> truths(pa.table({"fraud": ["no", None, "yes"]}), "fraud", "yes", "no").to_pylist()
    [False, None, True]
    """
    values = _plain_values(table, label)
    counts = _value_counts(values)
    is_positive, is_known = (np.zeros(len(values), dtype=bool) for _ in range(2))
    for value in counts:
        holds = _equal_to(value, values)
        is_known |= holds
        if _is_named(value, positive):
            is_positive |= holds
        elif not _is_named(value, negative):
            raise TableError(
                f"label column {label!r} must hold {shortened(positive)} and "
                f"{shortened(negative)}; it holds {shortened(value)} in {counts[value]:,} rows; "
                "rename or leave out such labels."
            )
    return pa.array(is_positive, mask=~is_known)


def _plain_values(table: Any, label: str) -> pa.ChunkedArray:
    values = required_frame(table).column(label)
    kind_of(values, label)
    return decoded(values)


def _value_counts(values: pa.ChunkedArray) -> Counter[Any]:
    counts: Counter[Any] = Counter()
    for entry in pc.value_counts(values):
        value = entry["values"].as_py()
        if value is None or value in MISSING or (isinstance(value, float) and math.isnan(value)):
            continue
        counts[value] += entry["counts"].as_py()
    return counts


def _check_two(label: str, counts: Counter[Any]) -> None:
    if not counts:
        raise TableError(
            f"label column {label!r} must hold two classes; all its values are missing; "
            "name another column with `label`."
        )
    if len(counts) == 1:
        (value,) = counts
        raise TableError(
            f"label column {label!r} must hold two classes; it holds one class only, "
            f"{shortened(value)} in {counts[value]:,} rows; add rows of the other class."
        )
    if len(counts) > 2:
        shown = ", ".join(f"{shortened(v)} ({n:,} rows)" for v, n in counts.most_common(4))
        raise TableError(
            f"label column {label!r} must hold two classes; it holds {len(counts):,} different "
            f"values, such as {shown}; join them into two, or name another column with `label`."
        )


def _named(label: str, counts: Counter[Any], positive_label: Any) -> Any:
    for matches in (_same_value, _same_text, _same_word):
        found = [value for value in counts if matches(value, positive_label)]
        if len(found) == 1:
            return found[0]
    texts = [str(value) for value in counts]
    hint = checks.nearest_name(str(positive_label), texts)
    raise TableError(
        f"`positive_label` must be one of the values of label column {label!r}, "
        f"{' or '.join(map(shortened, counts))}; got {shortened(positive_label)}{hint or '.'}"
    )


def _are_labels_of(counts: Counter[Any], positive: Any, classes: Collection[Any] | None) -> bool:
    """Return whether two values are the labels of a model, or say themselves what they are."""
    if not any(_is_named(value, positive) for value in counts):
        return False
    if classes is None or all(any(_is_named(v, each) for each in classes) for v in counts):
        return True
    return _is_named(named_by_itself(counts), positive)


def _is_named(value: Any, wanted: Any) -> bool:
    return _same_value(value, wanted) or _same_text(value, wanted)


def _same_value(value: Any, wanted: Any) -> bool:
    return bool(value == wanted)


def _same_text(value: Any, wanted: Any) -> bool:
    if str(value) == str(wanted):
        return True
    if isinstance(value, bool) or isinstance(wanted, bool):
        return str(value).lower() == str(wanted).lower()
    try:  # "1" and "1.0" both name the number 1, and 1 names the text "1"
        return float(value) == float(wanted)
    except (TypeError, ValueError):
        return False


def _same_word(value: Any, wanted: Any) -> bool:
    return str(value).strip().casefold() == str(wanted).strip().casefold()


def _equal_to(value: Any, values: pa.ChunkedArray) -> NDArray[np.bool_]:
    equal = pc.equal(values, pa.scalar(value, values.type)).fill_null(False)
    return equal.to_numpy().astype(bool, copy=False)
