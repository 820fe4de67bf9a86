"""What goes wrong with a model file, and how it is reported."""

import reprlib
import struct
import zipfile
import zlib
from typing import Any

# What reading untrusted bytes can raise.
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
    """A file that is not a model, is damaged, or is not safe to load."""


def shown(value: Any) -> str:
    """Return the repr of a value from a file, short however large the value is.

    >>> shown([0] * 1_000_000)
    '[0, 0, 0, 0, 0, 0, ...]'
    """
    return reprlib.repr(value)
