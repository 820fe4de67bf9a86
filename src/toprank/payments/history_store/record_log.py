"""An append-only file of records in which cuts and damage are detected.

    file   = b"toprank log 1\\n" | generation, 8 bytes | salt, 8 bytes | crc | record | record ...
    record = b"TRec" | bytes of the payload, 8 | crc of the payload | crc of this header | payload

A writer that is killed leaves part of its last record: a *torn tail*, which was never
acknowledged and is cut off. Anything else that is wrong was damaged later and is an error. The
salt is part of every header's crc, so that nothing inside a payload can be taken for a record.
"""

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from toprank.data.atomic import atomic_path
from toprank.files.faults import ModelFileError

_OPENING = b"toprank log 1\n"
_FILE_HEAD = struct.Struct("<14sQ8sI")
_MAGIC = b"TRec"
_HEAD = struct.Struct("<4sQII")

_SHORT = 2**16  # bytes

Buffers = Sequence[bytes | memoryview]


class Record(NamedTuple):
    """A payload, and where its record starts and stops in the file."""

    payload: memoryview
    start: int
    stop: int


class RecordLog:
    """A log open for adding records.

    `size` is where the next record begins. With `is_synced`, a record has reached the disk when
    `append` returns; without, the system has it, and it survives the end of the process only.
    """

    HEAD_BYTES = _FILE_HEAD.size  # of a log without records

    def __init__(self, path: Path, size: int, is_synced: bool) -> None:
        self.path, self.size, self._is_synced = path, size, is_synced
        self._descriptor = os.open(path, os.O_RDWR)
        self._salt = _checked_salt(os.pread(self._descriptor, _FILE_HEAD.size, 0), path)
        if os.fstat(self._descriptor).st_size > size:
            self.cut(size)

    @classmethod
    def create(cls, path: Path, generation: int, is_synced: bool, mode: int = 0o600) -> Self:
        """Create a log without records, which is on disk when this returns."""
        head = _FILE_HEAD.pack(_OPENING, generation, os.urandom(8), 0)
        with atomic_path(path, mode=mode) as unfinished:
            unfinished.write_bytes(head[:-4] + zlib.crc32(head[:-4]).to_bytes(4, "little"))
        return cls(path, _FILE_HEAD.size, is_synced)

    def append(self, *parts: bytes | memoryview) -> int:
        """Add a record of these parts, one after the other; return where it starts.

        If it cannot be written completely, nothing of it is kept.
        """
        start = self.size
        try:
            self.size += _write_all(self._descriptor, [_head(parts, self._salt), *parts], start)
            if self._is_synced:
                os.fsync(self._descriptor)
        except BaseException:
            self.cut(start)
            raise
        return start

    def cut(self, size: int) -> None:
        """Cut the file to this many bytes."""
        os.ftruncate(self._descriptor, size)
        os.fsync(self._descriptor)
        self.size = size

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def records(path: Path) -> Iterator[Record]:
    """Yield the records that were complete when this was called, without a torn tail.

    Raises ModelFileError where a record before the last is damaged.
    """
    with path.open("rb") as stream:  # not mapped: a writer may cut its last record
        salt = _checked_salt(stream.read(_FILE_HEAD.size), path)
        n_bytes, start = os.fstat(stream.fileno()).st_size, _FILE_HEAD.size
        while (head := _valid_head(stream.read(_HEAD.size), salt)) is not None:
            stop = start + _HEAD.size + head.n_bytes
            if stop > n_bytes:
                return  # torn
            payload = stream.read(head.n_bytes)
            if zlib.crc32(payload) != head.crc:
                if stop < n_bytes:
                    raise _damaged(path, start)
                return  # the last: its bytes were lost in a power failure, or cut off
            yield Record(memoryview(payload), start, stop)
            start = stop
        stream.seek(start)
        if _has_head_after_first(stream.read(), salt):
            raise _damaged(path, start)


class _Head(NamedTuple):
    n_bytes: int
    crc: int


def _head(parts: Buffers, salt: bytes) -> bytes:
    crc, n_bytes = 0, 0
    for part in parts:
        crc = zlib.crc32(part, crc)
        n_bytes += len(part)
    head = _HEAD.pack(_MAGIC, n_bytes, crc, 0)[:-4]
    return head + zlib.crc32(head + salt).to_bytes(4, "little")


def _valid_head(raw: bytes, salt: bytes) -> _Head | None:
    if len(raw) < _HEAD.size:
        return None
    magic, n_bytes, crc, own_crc = _HEAD.unpack(raw)
    if magic != _MAGIC or zlib.crc32(raw[:-4] + salt) != own_crc:
        return None
    return _Head(n_bytes, crc)


def _has_head_after_first(raw: bytes, salt: bytes) -> bool:
    """Return whether a valid header comes later: then the bytes before it were damaged."""
    at = raw.find(_MAGIC, 1)
    while at >= 0:
        if _valid_head(raw[at : at + _HEAD.size], salt) is not None:
            return True
        at = raw.find(_MAGIC, at + 1)
    return False


def _checked_salt(raw: bytes, path: Path) -> bytes:
    if len(raw) < _FILE_HEAD.size or not raw.startswith(_OPENING):
        raise ModelFileError(f"{path} must be a log of a history's folder; it is not one.")
    if zlib.crc32(raw[:-4]).to_bytes(4, "little") != raw[-4:]:
        raise ModelFileError(f"{path} is damaged in its first bytes; restore it from a copy.")
    return _FILE_HEAD.unpack(raw)[2]


def _damaged(path: Path, start: int) -> ModelFileError:
    return ModelFileError(
        f"{path} is damaged at byte {start}, before valid records; restore the folder from a "
        "copy: without this record the history would be wrong."
    )


def _write_all(descriptor: int, parts: Buffers, start: int) -> int:
    """Write the parts one after the other from `start` on; return the number of bytes."""
    at = start
    if sum(map(len, parts)) <= _SHORT:
        parts = [b"".join(parts)]  # one call to the system
    for part in parts:
        left = memoryview(part)
        while left:
            n_written = os.pwrite(descriptor, left, at)
            left, at = left[n_written:], at + n_written
    return at - start
