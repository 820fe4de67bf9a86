"""Codes of a CSV that a reader of numbers and missing values would spoil.

A postcode 01234 is not the number 1234, and among country codes NA is Namibia. Whether a column
holds such codes can only be seen from its text, so that columns which may hold them are read once
more, as text.
"""

import warnings

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from toprank.data.tables.columns import TableWarning, quoted
from toprank.data.tables.number_formats import MISSING
from toprank.data.tables.values import is_text

_NAMIBIA = "NA"
_LETTERS = r"^[A-Z]{2}$"
_LONGEST_INTEGER = 2.0**63  # whole numbers beyond are read as floats


def may_be_codes(values: pa.ChunkedArray) -> bool:
    """Return whether a column, as a CSV reader has it, must be looked at again as text.

    >>> may_be_codes(pa.chunked_array([[75, 13]])), may_be_codes(pa.chunked_array([["FR", "DE"]]))
    (True, False)
    """
    if is_text(values.type):
        return values.null_count > 0 and _are_two_letters(values.unique())
    if pt.is_floating(values.type):
        return (pc.max(values).as_py() or 0.0) >= _LONGEST_INTEGER
    return pt.is_integer(values.type)


def with_codes(table: pa.Table, written: pa.Table) -> pa.Table:
    """Return the table with columns of codes as they are `written`."""
    for name in written.column_names:
        if is_text(table[name].type):
            found = _with_namibia(name, written[name])
        else:
            found = _with_zeros(written[name])
        if found is not None:
            table = table.set_column(table.column_names.index(name), name, found)
    return table


def _with_zeros(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return the texts of whole numbers if some of them start with a zero."""
    texts = pc.utf8_trim_whitespace(texts)
    is_code = pc.and_(pc.starts_with(texts, "0"), pc.greater(pc.binary_length(texts), 1))
    return _without(texts, MISSING) if pc.any(is_code).as_py() else None


def _with_namibia(name: str, texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return the texts with NA as a value if there is any."""
    n_rows = pc.sum(pc.equal(texts, _NAMIBIA)).as_py()
    if not n_rows:
        return None
    found = _without(texts, [word for word in MISSING if word != _NAMIBIA])
    others = [each for each in found.unique().to_pylist() if each not in (None, _NAMIBIA)]
    warnings.warn(
        f"column {name!r} has {_NAMIBIA!r} in {n_rows:,} {'row' if n_rows == 1 else 'rows'}, read "
        f"as a value like its other codes of two letters ({quoted(sorted(others), 2)}); if it "
        "means missing, leave those cells empty.",
        TableWarning,
        stacklevel=5,
    )
    return found


def _are_two_letters(texts: pa.Array) -> bool:
    """Return whether most of the different texts are two capital letters."""
    present = texts.drop_null()
    n_codes = pc.sum(pc.match_substring_regex(present, _LETTERS)).as_py() or 0
    return 2 * n_codes > len(present)


def _without(texts: pa.ChunkedArray, missing: object) -> pa.ChunkedArray:
    is_missing = pc.is_in(texts, pa.array(missing, texts.type))
    return pc.if_else(is_missing, pa.scalar(None, texts.type), texts)
