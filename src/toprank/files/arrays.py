"""Arrays to and from `.npy` members, read more strictly than NumPy reads them.

`np.lib.format.read_array` allocates as many values as the header announces before it checks that
they exist, accepts any number of empty strings, and falls back to the tokens of Python 2 if the
header is malformed. Here no length is trusted beyond the bytes that exist.

The bytes are: magic, length of the header, header | values.
"""

import io
import math
import re
from typing import IO, Literal

import numpy as np

from toprank.files.faults import shown

_CHUNK = 2**20
_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<>|][biufSU][0-9]{1,6})', 'fortran_order': (True|False), "
    rb"'shape': \(([0-9, ]{0,200})\), \} *\n"
)


def npy_bytes(name: str, array: np.ndarray) -> bytes:
    """Return the array called `name` in the bytes of a `.npy` file.

    >>> raw = npy_bytes("center", np.array([1.5, 2.0]))
    >>> array_from("center.npy", io.BytesIO(raw), len(raw))
    array([1.5, 2. ])
    """
    if array.dtype.kind not in "biufSU":
        raise ValueError(f"array {name!r} must contain numbers or strings; got {array.dtype}.")
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def array_from(name: str, stream: IO[bytes], n_bytes: int) -> np.ndarray:
    """Return the array in a `.npy` stream of `n_bytes` bytes, read piece by piece.

    The header is a Python dict as text; only the form that `npy_bytes` writes is accepted, since
    evaluating untrusted text can fail in many ways.

    >>> array_from("center.npy", io.BytesIO(b"1.5, 2.0"), 8)
    Traceback (most recent call last):
        ...
    ValueError: center.npy must be a .npy array of numbers or strings; fit it again.
    """
    start = len(_MAGIC) + 2
    opening = stream.read(start)
    header_bytes = int.from_bytes(opening[len(_MAGIC) :], "little")
    header = _HEADER.fullmatch(stream.read(header_bytes))
    if not opening.startswith(_MAGIC) or header is None:
        raise ValueError(f"{name} must be a .npy array of numbers or strings; fit it again.")
    descr, is_fortran, sizes = (group.decode("ascii") for group in header.groups())
    dtype = np.dtype(descr)
    shape = tuple(int(size) for size in sizes.split(",") if size.strip())
    left = n_bytes - start - header_bytes
    if not dtype.itemsize or math.prod(shape) * dtype.itemsize != left:
        raise ValueError(f"{name} must contain {shown(shape)} values; it has {left} bytes.")
    values = np.empty(left, dtype=np.uint8)
    _fill(values, stream, name)
    if dtype.kind == "b" and (values > 1).any():
        raise ValueError(f"{name} must contain booleans; some are neither 0 nor 1.")
    order: Literal["F", "C"] = "F" if is_fortran == "True" else "C"
    return values.view(dtype).reshape(shape, order=order)


def _fill(values: np.ndarray, stream: IO[bytes], name: str) -> None:
    at = 0
    while piece := stream.read(_CHUNK):
        if at + len(piece) > values.size:
            break  # more than it declared: reported below
        values[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
        at += len(piece)
    if at != values.size or piece:
        raise ValueError(f"{name} does not have the size it declares; the file is damaged.")
