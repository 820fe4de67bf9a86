"""What goes wrong with a model file, and how it is reported."""

import reprlib
import struct
import zipfile
import zlib
from typing import Any

_LONGEST_TEXT = 500
_LEFT_OUT = " [..] "

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


def cut(text: str) -> str:
    """Return a text of a bounded length, its middle left out: names in a file may be long.

    >>> cut("abc"), len(cut("x" * 10_000))
    ('abc', 500)
    """
    if len(text) <= _LONGEST_TEXT:
        return text
    half = (_LONGEST_TEXT - len(_LEFT_OUT)) // 2
    return f"{text[:half]}{_LEFT_OUT}{text[-half:]}"
