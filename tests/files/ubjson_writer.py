"""UBJSON as XGBoost writes it."""

import struct

import numpy as np

MARKERS = {"i1": b"i", "u1": b"U", "i2": b"I", "i4": b"l", "i8": b"L", "f4": b"d", "f8": b"D"}


def written(value):
    """Return `value` as XGBoost would write it."""
    if isinstance(value, dict):
        return b"{" + b"".join(_text(key) + written(value[key]) for key in value) + b"}"
    if isinstance(value, np.ndarray):
        marker = MARKERS[value.dtype.str[1:]]
        big_endian = value.astype(value.dtype.newbyteorder(">")).tobytes()
        return b"[$" + marker + b"#" + _length(value.size) + big_endian
    if isinstance(value, list):
        return b"[#" + _length(len(value)) + b"".join(map(written, value))
    if isinstance(value, str):
        return b"S" + _text(value)
    if isinstance(value, bool) or value is None:
        return {True: b"T", False: b"F", None: b"Z"}[value]
    if isinstance(value, float):
        return b"d" + struct.pack(">f", value)
    return _length(value)


def _length(number):
    return b"L" + struct.pack(">q", number)


def _text(text):
    raw = text.encode()
    return _length(len(raw)) + raw
