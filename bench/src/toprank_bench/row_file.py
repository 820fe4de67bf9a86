"""The rows of an experiment on disk: one JSON line per row, compressed once a run is over.

    NAME.jsonl.xz   the rows of finished runs
    NAME.jsonl      the rows of the run at work, appended one by one; it is there only meanwhile

Whatever stops a run, no finished row is lost: the next run, or whoever reads, takes the rows of
both files. Half a line that a killed process left is dropped. Equal rows give equal files.
"""

import json
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from toprank.data.atomic import atomic_path, try_lock

Row = dict[str, Any]

_PRESET = 9 | lzma.PRESET_EXTREME


def rows_file(folder: Path, name: str) -> Path:
    """Return where the rows of an experiment are.

    >>> rows_file(Path("results"), "sgbap-table3").name
    'sgbap-table3.jsonl.xz'
    """
    return folder / f"{name}.jsonl.xz"


def read_rows(path: Path) -> list[Row]:
    """Return all rows in the order they were written, none where there is no file."""
    return [_row(line, path) for line in enumerate(_lines(path), start=1)]


class RowWriter:
    """A file of rows that only one process writes to; made by `writing`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def append(self, row: Row) -> None:
        """Write a row and flush it to the disk."""
        line = json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
        self._file.write(line.encode())
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def writing(path: Path) -> Iterator[RowWriter]:
    """Yield a writer that appends rows, the only one; its rows are compressed at the end.

    They are compressed also when the run ends by an error or Ctrl-C. After a crash they stay in
    the open file, and the next writer compresses them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone_with(_open_file(path)) as file:
        file.truncate(_open_file(path).read_bytes().rfind(b"\n") + 1)
        try:
            yield RowWriter(file)
        finally:
            _compress(path)


def _open_file(path: Path) -> Path:
    return path.with_suffix("")


def _lines(path: Path) -> list[bytes]:
    """Return the finished lines of both files.

    A crash between writing the one and deleting the other leaves the same rows in both.
    """
    try:  # first this one: if its run ends now, its rows are in the other
        *added, _half = _open_file(path).read_bytes().split(b"\n")
    except FileNotFoundError:
        added = []
    kept = lzma.decompress(path.read_bytes()).split(b"\n")[:-1] if path.exists() else []
    known = set(kept)
    return [*kept, *(line for line in added if line not in known)]


def _row(numbered: tuple[int, bytes], path: Path) -> Row:
    number, line = numbered
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise ValueError(
            f"row {number} of {path} must be a JSON object; it is not. Restore the file, or "
            f"delete that line of {_open_file(path).name} to have its row made again."
        )
    return row


def _compress(path: Path) -> None:
    lines = _lines(path)
    if _open_file(path).stat().st_size:
        text = b"".join(line + b"\n" for line in lines)
        with atomic_path(path) as temporary:
            temporary.write_bytes(lzma.compress(text, preset=_PRESET))
    _open_file(path).unlink()


@contextmanager
def _alone_with(path: Path) -> Iterator[BinaryIO]:
    """Yield the file, open for appending; another process that wants it gets a sentence."""
    while True:
        with path.open("ab") as file:
            if not try_lock(file.fileno()):
                raise ValueError(
                    f"{path} is being written by another toprank bench; wait until it ends, or "
                    "name another folder with --results."
                )
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                yield file
                return
            # another run has ended, and deleted the file, between our opening and locking it
