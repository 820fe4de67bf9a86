"""A reader of UBJSON, the binary JSON in which XGBoost writes its models.

It is made for untrusted bytes: no length is trusted beyond the bytes that exist, nesting and the
number of values are bounded, and anything malformed is a ValueError.
"""

import struct
from typing import Any

import numpy as np

_DEEPEST = 64
_MOST_VALUES = 10_000_000  # outside typed arrays, where one byte may become a whole object

_NUMBERS: dict[bytes, tuple[struct.Struct, np.dtype]] = {
    b"i": (struct.Struct(">b"), np.dtype("i1")),
    b"U": (struct.Struct(">B"), np.dtype("u1")),
    b"I": (struct.Struct(">h"), np.dtype("i2")),
    b"l": (struct.Struct(">i"), np.dtype("i4")),
    b"L": (struct.Struct(">q"), np.dtype("i8")),
    b"d": (struct.Struct(">f"), np.dtype("f4")),
    b"D": (struct.Struct(">d"), np.dtype("f8")),
}
_LENGTHS = frozenset(b"iUIlL")
_CONSTANTS = {b"Z": None, b"T": True, b"F": False}


def read(raw: bytes) -> Any:
    """Return what `raw` contains: dict, list, str, int, float, bool, None; typed arrays as NumPy.

    >>> read(b"{i\\x05depthU\\x06i\\x05gains[$d#i\\x02\\x3f\\x80\\x00\\x00\\x40\\x00\\x00\\x00}")
    {'depth': 6, 'gains': array([1., 2.], dtype=float32)}
    """
    reader = _Reader(bytes(raw))
    value = reader.value(depth=0)
    if reader.at != len(raw):
        raise ValueError(f"UBJSON must end at byte {reader.at}; got {len(raw)} bytes.")
    return value


class _Reader:
    """The bytes and the position of the reader."""

    def __init__(self, raw: bytes):
        self.raw = raw
        self.n_bytes = len(raw)
        self.at = 0
        self.n_values = 0

    def value(self, depth: int) -> Any:
        return self.value_of(self.take(1), depth)

    def value_of(self, marker: bytes, depth: int) -> Any:
        self.n_values += 1
        if self.n_values > _MOST_VALUES:
            raise ValueError(f"UBJSON must have at most {_MOST_VALUES} values.")
        if marker in _NUMBERS:
            return self.number(marker)
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker == b"S":
            return self.text(self.length())
        if marker == b"C":
            return self.text(1)
        if marker not in (b"[", b"{"):
            raise self.odd(f"a value cannot start with {marker!r}")
        if depth == _DEEPEST:
            raise self.odd(f"values must nest at most {_DEEPEST} deep")
        return self.array(depth + 1) if marker == b"[" else self.object(depth + 1)

    def array(self, depth: int) -> list[Any] | np.ndarray:
        kind, count = self.kind_and_count()
        if kind is not None:
            return self.typed_array(kind, count)
        if count is not None:
            return [self.value(depth) for _ in range(count)]
        values = []
        while not self.skips(b"]"):
            values.append(self.value(depth))
        return values

    def object(self, depth: int) -> dict[str, Any]:
        kind, count = self.kind_and_count()
        members: dict[str, Any] = {}
        n_read = 0
        while n_read < count if count is not None else not self.skips(b"}"):
            key = self.text(self.length())
            if key in members:  # readers differ on which of the two counts
                raise self.odd(f"the key {key[:40]!r} comes twice")
            members[key] = self.value(depth) if kind is None else self.value_of(kind, depth)
            n_read += 1
        return members

    def kind_and_count(self) -> tuple[bytes | None, int | None]:
        """Read the optional `$type` and `#count` that may open an array or an object."""
        kind = count = None
        if self.skips(b"$"):
            kind = self.take(1)
            # Any other type would let a few bytes announce billions of values.
            if kind not in _NUMBERS:
                raise self.odd(f"a container's type must be a number; got {kind!r}")
        if self.skips(b"#"):
            count = self.length()
            if count > self.n_bytes - self.at:
                raise self.odd(f"there is no room for the {count} values announced")
        elif kind is not None:
            raise self.odd("a typed container must announce its length")
        return kind, count

    def typed_array(self, kind: bytes, count: int | None) -> np.ndarray:
        dtype = _NUMBERS[kind][1]
        big_endian = np.frombuffer(
            self.take((count or 0) * dtype.itemsize), dtype.newbyteorder(">")
        )
        return big_endian.astype(dtype)

    def number(self, marker: bytes) -> int | float:
        layout = _NUMBERS[marker][0]
        return layout.unpack(self.take(layout.size))[0]

    def length(self) -> int:
        marker = self.take(1)
        if marker[0] not in _LENGTHS:
            raise self.odd(f"a length must be an integer; got the marker {marker!r}")
        length = int(self.number(marker))
        if length < 0:
            raise self.odd(f"a length must be 0 or more; got {length}")
        return length

    def text(self, n_bytes: int) -> str:
        try:
            return self.take(n_bytes).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.odd("a string must be UTF-8") from error

    def take(self, n_bytes: int) -> bytes:
        start, end = self.at, self.at + n_bytes
        if end > self.n_bytes:
            raise self.odd(f"{n_bytes} bytes are needed and {self.n_bytes - start} are left")
        self.at = end
        return self.raw[start:end]

    def skips(self, marker: bytes) -> bool:
        """Skip `marker` if it comes next, and return whether it did."""
        found = self.raw[self.at : self.at + 1] == marker
        self.at += found
        return found

    def odd(self, reason: str) -> ValueError:
        return ValueError(f"UBJSON is broken near byte {self.at}: {reason}.")
