"""Arrays of any size to and from archives whose members are stored uncompressed.

Histories grow with the payments they remember. Their files have the form of a model file without
its limit of 2 GB: no member can be larger than the file on disk, so none can be a zip bomb.
Arrays are written, read and hashed piece by piece, one array at a time.
"""

import hashlib
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from toprank.files.archive import MANIFEST, is_member_name
from toprank.files.arrays import array_from
from toprank.files.manifest import check_hash, listing_manifest
from toprank.files.saved_learners import Saved

_LONGEST_HEADER = 2**16  # of a .npy array


def write_stored(
    path: Path, learner: str, saved: Saved, facts: dict[str, Any] | None = None
) -> None:
    """Write the arrays and the state of a learner that has no boosters."""
    with zipfile.ZipFile(path, "w") as archive:
        listed = {
            f"{name}.npy": _written(archive, f"{name}.npy", array)
            for name, array in saved.arrays.items()
        }
        manifest = listing_manifest(
            learner, saved.parameters or {}, saved.state, facts or {}, listed
        )
        archive.writestr(_plain(MANIFEST), manifest)


def stored_array(archive: zipfile.ZipFile, name: str, manifest: dict[str, Any]) -> np.ndarray:
    """Return the array in a member, deflated or not, whose hash is the one in the manifest."""
    with archive.open(name) as stream:
        hashed = _Hashed(stream)
        array = array_from(name, hashed, archive.getinfo(name).file_size)  # type: ignore[arg-type]
    check_hash(name, hashed.sha256.hexdigest(), manifest)
    return array


class _Hashed:
    """A stream that is hashed and counted as it is read or written."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.sha256, self.n_bytes = hashlib.sha256(), 0

    def read(self, n_bytes: int) -> bytes:
        return self._seen(self._stream.read(n_bytes))

    def write(self, raw: bytes) -> int:
        return self._stream.write(self._seen(raw))

    def _seen(self, raw: bytes) -> bytes:
        self.sha256.update(raw)
        self.n_bytes += len(raw)
        return raw


def _written(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> dict[str, Any]:
    """Write an array; return its entry for the manifest."""
    if not is_member_name(name):
        raise ValueError(f"a member's name must be letters, digits, _ and -; got {name!r}.")
    if array.dtype.kind not in "biufSU":
        raise ValueError(f"array {name!r} must contain numbers or strings; got {array.dtype}.")
    info = _plain(name)
    info.file_size = array.nbytes + _LONGEST_HEADER  # decides whether its size takes 64 bits
    with archive.open(info, "w") as stream:
        hashed = _Hashed(stream)
        np.lib.format.write_array(hashed, array, version=(1, 0), allow_pickle=False)
    return {"sha256": hashed.sha256.hexdigest(), "bytes": hashed.n_bytes}


def _plain(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))  # stored by default
