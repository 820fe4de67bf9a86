"""The zip archive of a model file, read within limits.

A file ends as: members | directory, an entry per member | end record of 22 bytes. Before the end
record of a file with sizes beyond 2 GB come a larger one of 56 bytes and its locator of 20.

Deflated members may inflate to half a gigabyte, or to a hundred times the size of the file. If
all are stored uncompressed, nothing can be larger than the file itself.
"""

import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from toprank.files.faults import BROKEN, ModelFileError, cut, shown

MANIFEST = "manifest.json"

_MEMBER_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\.(npy|ubj)", re.ASCII)

_MOST_FILE_BYTES = 2 * 2**30
_MOST_WRITTEN_BYTES = 2_000_000_000  # deflated, it stays a zip without 64-bit extensions
_MOST_MEMBERS = 1_000
_MOST_MEMBER_BYTES = 4 * 2**30  # all members together, once inflated
_ALWAYS_INFLATED_BYTES = 512 * 2**20  # an online learner that has seen little is mostly zeros
_MOST_INFLATION = 100
_MOST_DIRECTORY_BYTES = 2**20
_CHUNK = 2**20
_LARGE = 2**20  # for larger members (bytes), speed matters more than a tenth of the size
_LEVEL_OF_LARGE = 1

_END_RECORD_BYTES = 22
_END_RECORD = b"PK\x05\x06"
_ZIP64_LOCATOR_BYTES = 20
_ZIP64_LOCATOR = b"PK\x06\x07"
_ZIP64_END_BYTES = 56
_ZIP64_END = b"PK\x06\x06"
_ENCRYPTED = 0x41  # the plain and the strong flag


def is_member_name(name: str) -> bool:
    """Return whether a member other than the manifest may have this name.

    >>> is_member_name("trees.ubj"), is_member_name("../trees.ubj"), is_member_name("trees.pkl")
    (True, False, False)
    """
    return _MEMBER_NAME.fullmatch(name) is not None


def write_archive(path: Path, members: dict[str, bytes]) -> None:
    """Write members by name to a file, and flush it to the disk."""
    if sum(map(len, members.values())) > _MOST_WRITTEN_BYTES:
        raise ValueError(f"a model must be at most {_MOST_WRITTEN_BYTES} bytes; use fewer trees.")
    with path.open("wb") as stream:
        with zipfile.ZipFile(stream, "w", allowZip64=False) as archive:
            for name, raw in members.items():
                # A fixed date: the same model gives the same bytes.
                info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                level = _LEVEL_OF_LARGE if len(raw) > _LARGE else None
                archive.writestr(info, raw, compresslevel=level)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def opened_archive(
    path: str | os.PathLike[str], shown_as: str | None = None
) -> Iterator[zipfile.ZipFile]:
    """Open the file as a zip whose directory is within limits; errors name the file.

    Errors of the contents inside the `with` block become a ModelFileError, too.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.toprank")
    ...     write_archive(path, {"manifest.json": b"{}"})
    ...     with opened_archive(path) as archive:
    ...         inflated(archive, "manifest.json")
    b'{}'
    """
    path = Path(path)
    with _opened(path) as stream:
        try:
            n_bytes = _checked_ends(stream)
            with zipfile.ZipFile(stream) as archive:
                _check_directory(archive, n_bytes)
                yield archive
        except BROKEN as error:
            reason = cut(str(error)) or f"{type(error).__name__} while reading it"
            raise ModelFileError(f"{shown_as or path.name} cannot be loaded: {reason}") from error


def inflated(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a member, read in pieces and never beyond its declared size."""
    declared = archive.getinfo(name).file_size
    pieces, n_bytes = [], 0
    try:
        with archive.open(name) as stream:
            while piece := stream.read(_CHUNK):
                n_bytes += len(piece)
                if n_bytes > declared:
                    break
                pieces.append(piece)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"{name} cannot be read ({error}); the file is damaged.") from error
    if n_bytes != declared:
        raise ValueError(f"{name} is not the {declared} bytes it declares; the file is damaged.")
    return b"".join(pieces)


def _opened(path: Path) -> BinaryIO:
    if path.exists() and not path.is_file():  # opening a pipe would block
        raise ModelFileError(f"{path.name} cannot be loaded: it is not a file.")
    return path.open("rb")


def _checked_ends(stream: BinaryIO) -> int:
    """Return the size, after checks of the first and last bytes that precede the zip library."""
    n_bytes = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    if stream.read(2) != b"PK":
        raise ValueError("it is not a model of toprank.")
    tail_bytes = min(n_bytes, _END_RECORD_BYTES + _ZIP64_LOCATOR_BYTES + _ZIP64_END_BYTES)
    stream.seek(n_bytes - tail_bytes)
    tail = stream.read(tail_bytes)
    if not tail[-_END_RECORD_BYTES:].startswith(_END_RECORD):
        raise ValueError(
            "the end of the zip archive is missing; the file is truncated, copy it again."
        )
    end = _end_of(tail)
    if end.n_members > _MOST_MEMBERS or end.directory_bytes > _MOST_DIRECTORY_BYTES:
        raise ValueError(f"it must have at most {_MOST_MEMBERS} members; it has {end.n_members}.")
    if end.directory_start + end.directory_bytes + end.own_bytes != n_bytes:
        raise ValueError(
            "bytes of its zip archive were lost or added; copy the file or fit the model again."
        )
    return n_bytes


class _End(NamedTuple):
    """What the end of an archive says, and its own length in bytes."""

    n_members: int
    directory_bytes: int
    directory_start: int
    own_bytes: int


def _end_of(tail: bytes) -> _End:
    end, locator = tail[-_END_RECORD_BYTES:], tail[-_END_RECORD_BYTES - _ZIP64_LOCATOR_BYTES :]
    if not locator.startswith(_ZIP64_LOCATOR):
        fields = [end[10:12], end[12:16], end[16:20]]
        own_bytes = _END_RECORD_BYTES
    elif tail.startswith(_ZIP64_END):
        fields = [tail[32:40], tail[40:48], tail[48:56]]
        own_bytes = len(tail)
    else:
        raise ValueError(
            "bytes of its zip archive were lost or added; copy the file or fit the model again."
        )
    n_members, directory_bytes, directory_start = (
        int.from_bytes(field, "little") for field in fields
    )
    return _End(n_members, directory_bytes, directory_start, own_bytes)


def _check_directory(archive: zipfile.ZipFile, file_bytes: int) -> None:
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if len(set(names)) != len(names):
        raise ValueError("a member occurs twice; the file was not written by toprank.save.")
    for info in infos:
        if info.filename != MANIFEST and not is_member_name(info.filename):
            raise ValueError(
                f"members must be arrays (.npy) or boosters (.ubj); got {shown(info.filename)}."
            )
        if info.flag_bits & _ENCRYPTED:
            raise ValueError(f"{info.filename} is encrypted; decrypt the archive first.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(
                f"{info.filename} must be deflated or stored; pack the archive again."
            )
    _check_sizes(infos, file_bytes)


def _check_sizes(infos: list[zipfile.ZipInfo], file_bytes: int) -> None:
    n_bytes = sum(info.file_size for info in infos)
    if all(info.compress_type == zipfile.ZIP_STORED for info in infos):
        if n_bytes > file_bytes:
            raise ValueError(
                f"its members claim {n_bytes} bytes and the file has {file_bytes}; it is damaged."
            )
        return
    if file_bytes > _MOST_FILE_BYTES:
        raise ValueError(f"it must be at most {_MOST_FILE_BYTES} bytes long; it has {file_bytes}.")
    most = min(max(_MOST_INFLATION * file_bytes, _ALWAYS_INFLATED_BYTES), _MOST_MEMBER_BYTES)
    if n_bytes > most:
        raise ValueError(f"it must inflate to at most {most} bytes; got {n_bytes}.")
