"""The lines of an event stream: read as they come, many at once, and found again later."""

from typing import Any, BinaryIO, NamedTuple, Self
from zlib import crc32

LONGEST_LINE = 1_000_000  # bytes

_CHUNK = 2**20
_TAIL = 2**16  # bytes by which a file is recognised
_NOT_KNOWN = -1


class Position(NamedTuple):
    """How far a file or a pipe has been read or written, known by its bytes, not its name."""

    n_bytes: int = 0
    n_lines: int = 0
    checksum: int = 0
    """CRC-32 of all the bytes."""
    tail: int = _NOT_KNOWN
    """CRC-32 of the last 64 kB of them, by which a file is recognised without reading it all."""

    def after(self, raw: bytes, n_lines: int = 1) -> "Position":
        """Return the position after some more bytes."""
        checksum = crc32(raw, self.checksum)
        return Position(self.n_bytes + len(raw), self.n_lines + n_lines, checksum)

    @classmethod
    def from_note(cls, note: Any) -> Self | None:
        """Return the position that a checkpoint contains as a list; None if it is not valid.

        A checkpoint may come from anyone, and one of an earlier version has no tail.
        """
        if not isinstance(note, list) or len(note) not in (3, 4):
            return None
        if not all(type(each) is int and _NOT_KNOWN <= each < 2**62 for each in note):
            return None
        return cls(*note) if min(note[:3]) >= 0 else None

    def in_file(self, file: BinaryIO) -> "Position":
        """Return the position with the tail of a file; where it is read or written is kept."""
        before = file.tell()
        file.seek(max(self.n_bytes - _TAIL, 0))
        tail = crc32(file.read(min(self.n_bytes, _TAIL)))
        file.seek(before)
        return self._replace(tail=tail)

    def is_in(self, file: BinaryIO) -> bool:
        """Return whether a file has these bytes; if so, reading continues after them."""
        if self.tail != _NOT_KNOWN:
            is_long_enough = file.seek(0, 2) >= self.n_bytes
            is_same = is_long_enough and self.in_file(file).tail == self.tail
        else:
            is_same = self._begins(file)
        if is_same:
            file.seek(self.n_bytes)
        return is_same

    def _begins(self, file: BinaryIO) -> bool:
        file.seek(0)
        found = Position()
        while found.n_bytes < self.n_bytes:
            raw = file.read(min(_CHUNK, self.n_bytes - found.n_bytes))
            if not raw:
                return False
            found = found.after(raw)
        return found.checksum == self.checksum


class LineBatch(NamedTuple):
    """Consecutive lines without their ends, and the positions before and after them.

    Of a line that is too long, only the start is here.
    """

    lines: list[bytes]
    start: Position
    end: Position
    is_whole: bool = True
    """Whether the last line has its end."""

    def after(self, n_lines: int) -> Position:
        """Return the position after the first lines."""
        if n_lines == len(self.lines):
            return self.end
        if n_lines == 0:
            return self.start
        return self.start.after(b"\n".join(self.lines[:n_lines]) + b"\n", n_lines)


class Lines:
    """The lines of a file or a pipe from a position on, as many as have come."""

    def __init__(self, stream: BinaryIO, position: Position) -> None:
        self.position = position
        self._stream = stream
        self._rest = b""  # read, and not yet returned
        self._is_end = False

    def is_ready(self) -> bool:
        """Return whether `take` need not wait: there is a line, or the end."""
        return self._is_end or b"\n" in self._rest or len(self._rest) >= LONGEST_LINE

    def read(self) -> None:
        """Read what has come; wait if nothing has."""
        raw = self._stream.read1(_CHUNK)  # type: ignore[attr-defined]
        self._rest += raw
        self._is_end = not raw

    def take(self, most: int) -> LineBatch | None:
        """Return the lines that have come, at most so many; None at the end."""
        while not self.is_ready():
            self.read()
        *lines, rest = self._rest.split(b"\n", most)
        if lines:
            raw = self._rest[: len(self._rest) - len(rest)]
            return self._batch(lines, rest, self.position.after(raw, len(lines)))
        if len(rest) >= LONGEST_LINE:
            return self._too_long()
        if not rest:
            return None
        return self._batch([rest], b"", self.position.after(rest), is_whole=False)

    def skip_to(self, seen: Position) -> None:
        """Read to the end of what was seen before; raise if the bytes differ."""
        while self.position.n_bytes < seen.n_bytes:
            if not self._rest:
                self.read()
            raw = self._rest[: seen.n_bytes - self.position.n_bytes]
            if not raw:
                break
            self._rest = self._rest[len(raw) :]
            self.position = self.position.after(raw)
        if (self.position.n_bytes, self.position.checksum) != (seen.n_bytes, seen.checksum):
            raise ValueError(
                "with --skip-seen the input must begin with what was read before; it does not; "
                "leave out --skip-seen if only new events are sent."
            )
        self.position = seen

    def _too_long(self) -> LineBatch:
        """Return the start of a line that is too long, and skip the rest of it."""
        start, end = self._rest[: LONGEST_LINE + 1], self.position.after(b"")
        while b"\n" not in self._rest:
            end = end.after(self._rest, n_lines=0)
            self._rest = b""
            self.read()
            if self._is_end:
                return self._batch([start], b"", end)
        raw, _, rest = self._rest.partition(b"\n")
        return self._batch([start], rest, end.after(raw + b"\n", n_lines=0))

    def _batch(
        self, lines: list[bytes], rest: bytes, end: Position, is_whole: bool = True
    ) -> LineBatch:
        batch = LineBatch(lines, self.position, end, is_whole)
        self.position, self._rest = end, rest
        return batch
