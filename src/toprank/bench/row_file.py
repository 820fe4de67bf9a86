"""The rows of an experiment on disk: one JSON line each, appended whole.

Whatever stops a run, the file stays sound: what a killed process left of a last line is dropped
when the next one goes on.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

Row = dict[str, Any]


def rows_file(folder: Path, name: str) -> Path:
    """Return where the rows of an experiment are.

    >>> rows_file(Path("results"), "sgbap-table3").name
    'sgbap-table3.jsonl'
    """
    return folder / f"{name}.jsonl"


def read_rows(path: Path) -> list[Row]:
    """Return the rows, none when there is no file; a last line without an end is not one."""
    if not path.exists():
        return []
    *whole, _torn = path.read_bytes().split(b"\n")
    rows = []
    for number, line in enumerate(whole, start=1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise ValueError(
                f"line {number} of {path} must be a row in JSON; it is not. Restore the file, or "
                "delete that line to have its row made again."
            )
        rows.append(row)
    return rows


class RowWriter:
    """A file of rows that only one process writes to; made by `writing`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def append(self, row: Row) -> None:
        """Write a row and see it to the disk."""
        line = json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
        self._file.write(line.encode())
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def writing(path: Path) -> Iterator[RowWriter]:
    """Give a writer of rows at the end of the file, alone with it; a torn last line is dropped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        _lock(file, path)
        file.truncate(path.read_bytes().rfind(b"\n") + 1)
        yield RowWriter(file)


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # goes with the process
    except BlockingIOError:
        raise ValueError(
            f"{path} is being written by another toprank bench; wait for it, or name another "
            "folder with --results."
        ) from None
