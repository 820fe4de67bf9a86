"""Arrays to and from `.npy` members, read more strictly than NumPy reads them.

`np.lib.format.read_array` makes room for as many values as the header announces before it looks
whether they are there, takes any number of empty strings, and falls back to the tokens of Python 2
where the header is odd. Here nothing is believed beyond the bytes that are there.

The bytes are: magic, length of the header, header | values.
"""

import io
import math
import re
from typing import Literal

import numpy as np

from toprank.model_file.faults import shown

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<>|][biufSU][0-9]{1,6})', 'fortran_order': (True|False), "
    rb"'shape': \(([0-9, ]{0,200})\), \} *\n"
)


def npy_bytes(name: str, array: np.ndarray) -> bytes:
    """Return the array called `name` in the bytes of a `.npy` file.

    >>> array_of("center.npy", npy_bytes("center", np.array([1.5, 2.0])))
    array([1.5, 2. ])
    """
    if array.dtype.kind not in "biufSU":
        raise ValueError(f"array {name!r} must hold numbers or strings; got {array.dtype}.")
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def array_of(name: str, raw: bytes) -> np.ndarray:
    """Return the array in the bytes of the `.npy` member called `name`.

    The header is a Python dict as text; it is matched in the one form `npy_bytes` gives it, since
    evaluating a stranger's text can fail in many ways.

    >>> array_of("center.npy", b"1.5, 2.0")
    Traceback (most recent call last):
        ...
    ValueError: center.npy must be a .npy array of numbers or strings; fit it again.
    """
    start = len(_MAGIC) + 2
    end = start + int.from_bytes(raw[len(_MAGIC) : start], "little")
    header = _HEADER.fullmatch(raw[start:end])
    if not raw.startswith(_MAGIC) or header is None:
        raise ValueError(f"{name} must be a .npy array of numbers or strings; fit it again.")
    descr, is_fortran, sizes = (group.decode("ascii") for group in header.groups())
    dtype = np.dtype(descr)
    shape = tuple(int(size) for size in sizes.split(",") if size.strip())
    values = raw[end:]
    if not dtype.itemsize or math.prod(shape) * dtype.itemsize != len(values):
        raise ValueError(f"{name} must hold {shown(shape)} values; it has {len(values)} bytes.")
    if dtype.kind == "b" and values.strip(b"\x00\x01"):
        raise ValueError(f"{name} must hold booleans; some are neither 0 nor 1.")
    order: Literal["F", "C"] = "F" if is_fortran == "True" else "C"
    return np.frombuffer(values, dtype).reshape(shape, order=order).copy(order)
