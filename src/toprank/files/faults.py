"""What goes wrong with a model file, and how it is told."""

import reprlib
import struct
import zipfile
import zlib
from typing import Any

# What reading bytes nobody vouches for can raise.
BROKEN = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


class ModelFileError(ValueError):
    """A file that is no model, is damaged, or would not be safe to load."""


def shown(value: Any) -> str:
    """Return the repr of a value out of a file, short however large the value is.

    >>> shown([0] * 1_000_000)
    '[0, 0, 0, 0, 0, 0, ...]'
    """
    return reprlib.repr(value)
