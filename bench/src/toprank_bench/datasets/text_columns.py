"""Columns that come as text: numbers where all of a column are, categories otherwise."""

import pyarrow as pa
import pyarrow.compute as pc

_MISSING = ("", "?", "<null>")  # of ARFF and of KEEL


def plain_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts without spaces and single quotes around them, null where missing.

    >>> plain_text(pa.chunked_array([[" a", "'b c'", "?"]])).to_pylist()
    ['a', 'b c', None]
    """
    text = pc.utf8_trim(pc.utf8_trim_whitespace(values.cast(pa.string())), "'")
    is_missing = pc.is_in(text, pa.array(_MISSING))
    return pc.if_else(is_missing, pa.scalar(None, pa.string()), text)


def number_or_category(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return plain texts as float64, or as categories when one of them is no number.

    >>> number_or_category(pa.chunked_array([["1", None, "2.5"]])).to_pylist()
    [1.0, None, 2.5]
    """
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        return text.dictionary_encode()
