"""Fitted models to and from disk: one `.toprank` file, never pickle.

The file is a zip of `manifest.json`, which says what the model is and holds the sha256 of every
other member; `.npy` arrays; and XGBoost models as `.ubj`. A file that reaches `load` may come from
anyone: sizes, names, hashes and the structure of every member are checked before any is used.
"""

import hashlib
import io
import json
import math
import os
import platform
import re
import reprlib
import secrets
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np

from toprank import __version__
from toprank.boosting.booster_check import check_booster

FORMAT_VERSION = 1

_LEARNERS = {"BoostedRanker": "toprank.boosting.ranker"}

_MANIFEST = "manifest.json"
_MEMBER_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\.(npy|ubj)", re.ASCII)
_NPY_MAGIC = b"\x93NUMPY\x01\x00"
_NPY_HEADER = re.compile(
    rb"\{'descr': '([<>|][biufSU][0-9]{1,6})', 'fortran_order': (True|False), "
    rb"'shape': \(([0-9, ]{0,200})\), \} *\n"
)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MANIFEST_TYPES = {
    "learner": str,
    "parameters": dict,
    "state": dict,
    "created": str,
    "versions": dict,
    "facts": dict,
    "members": dict,
}

_MOST_FILE_BYTES = 2 * 2**30
_MOST_WRITTEN_BYTES = 2_000_000_000  # deflated, it stays a zip without 64-bit extensions
_MOST_MEMBERS = 1_000
_MOST_MEMBER_BYTES = 4 * 2**30  # all members together, once inflated
_MOST_MANIFEST_BYTES = 16 * 2**20
_MOST_DIRECTORY_BYTES = 2**20
_DEEPEST_JSON = 64
_CHUNK = 2**20

_END_RECORD_BYTES = 22
_END_RECORD = b"PK\x05\x06"
_ZIP64_LOCATOR_BYTES = 20
_ZIP64_LOCATOR = b"PK\x06\x07"
_ENCRYPTED = 0x41  # the plain and the strong flag

# JSON has no NaN and no infinity: they are written as {"$float": "nan"}.
_FLOAT_TAG = "$float"
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

_BROKEN = (
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


class Saved(NamedTuple):
    """What a fitted learner gives to be kept, beside its parameters."""

    state: dict[str, Any]
    """JSON: numbers, strings, booleans, None, lists and dicts of them."""
    arrays: dict[str, np.ndarray]
    boosters: dict[str, bytes]
    """XGBoost models in UBJSON: `booster.save_raw("ubj")`."""


def save(model: Any, path: str | os.PathLike[str], facts: dict[str, Any] | None = None) -> None:
    """Write a fitted model to `path`; a file already there is replaced in one step.

    `facts` is kept with the model and shown by `read_manifest`: its training window, its
    metrics, whatever JSON can hold. Tuples come back as lists.

    >>> save("a model", "payments.toprank")
    Traceback (most recent call last):
        ...
    TypeError: save takes a fitted BoostedRanker; got str.
    """
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    name = type(model).__name__
    if name not in _LEARNERS or type(model) is not _learner_class(name):
        raise TypeError(f"save takes a fitted {' or '.join(sorted(_LEARNERS))}; got {name}.")
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise NotFittedError(
            f"this {name} has learned nothing yet; call fit before save."
        ) from error
    target = Path(path).resolve()  # a link stays, the file it names is replaced
    saved = model._to_saved()
    members = _member_bytes(saved)
    manifest = _manifest_bytes(
        name, model.get_params(deep=False), saved.state, facts or {}, members
    )
    _write_in_one_step(target, {_MANIFEST: manifest, **members})


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted model that `save` wrote to `path`.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder, "payments.csv")
    ...     _ = table.write_text("card,amount")
    ...     load(table)
    Traceback (most recent call last):
        ...
    toprank.model_file.ModelFileError: payments.csv cannot be loaded: it is not a zip archive.
    """
    with _archive(path) as archive:
        manifest = _checked_manifest(archive)
        learner = _learner_class(manifest["learner"])
        members = {name: _member(archive, name, manifest) for name in sorted(manifest["members"])}
        saved = Saved(
            manifest["state"],
            {_stem(name): _array(name, raw) for name, raw in members.items() if _is_array(name)},
            {_stem(name): raw for name, raw in members.items() if not _is_array(name)},
        )
        _check_boosters(saved.boosters)
        try:
            return learner._from_saved(manifest["parameters"], saved)
        except _BROKEN as error:
            raise ValueError(
                f"its contents do not make a {manifest['learner']}: {error}"
            ) from error


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what the file says of its model: learner, parameters, facts, versions, members.

    The manifest is checked against the list of members; their bytes are left unread.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from toprank import BoostedRanker
    >>> amounts, is_fraud = [[9.0], [12.0], [15.0], [980.0]], [0, 0, 0, 1]
    >>> ranker = BoostedRanker(n_estimators=2, n_jobs=1).fit(amounts, is_fraud)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "payments.toprank")
    ...     save(ranker, path, facts={"until": "2024-02-01"})
    ...     read_manifest(path)["facts"]
    {'until': '2024-02-01'}
    """
    with _archive(path) as archive:
        return _checked_manifest(archive)


# Writing


def _member_bytes(saved: Saved) -> dict[str, bytes]:
    """Return the members by name, in one order whatever the order they were given in."""
    members = {f"{name}.npy": _npy_bytes(name, saved.arrays[name]) for name in saved.arrays}
    members |= {f"{name}.ubj": bytes(saved.boosters[name]) for name in saved.boosters}
    for name in members:
        if not _MEMBER_NAME.fullmatch(name):
            raise ValueError(f"a member's name must be letters, digits, _ and -; got {name!r}.")
    _check_boosters(saved.boosters)  # what load would refuse is not written
    return dict(sorted(members.items()))


def _npy_bytes(name: str, array: np.ndarray) -> bytes:
    if array.dtype.kind not in "biufSU":
        raise ValueError(f"array {name!r} must hold numbers or strings; got {array.dtype}.")
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def _manifest_bytes(
    learner: str,
    parameters: dict[str, Any],
    state: dict[str, Any],
    facts: dict[str, Any],
    members: dict[str, bytes],
) -> bytes:
    manifest = {
        "format": "toprank",
        "format_version": FORMAT_VERSION,
        "learner": learner,
        "parameters": _as_json(parameters, "parameters"),
        "state": _as_json(state, "state"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "facts": _as_json(facts, "facts"),
        "members": {
            name: {"sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)}
            for name, raw in members.items()
        },
    }
    return json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False).encode("utf-8")


def _versions() -> dict[str, str | None]:
    return {
        "toprank": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": _installed_version("scikit-learn"),
        "xgboost": _installed_version("xgboost") or _installed_version("xgboost-cpu"),
    }


def _installed_version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _as_json(value: Any, where: str, depth: int = 0) -> Any:
    """Return `value` in what JSON can hold, so that reading it gives the same value."""
    if depth > _DEEPEST_JSON:
        raise ValueError(f"{where[:60]}... must nest at most {_DEEPEST_JSON} deep.")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {_FLOAT_TAG: str(float(value))}
    if isinstance(value, list | tuple):
        return [_as_json(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, dict):
        if not all(isinstance(key, str) and key != _FLOAT_TAG for key in value):
            raise TypeError(f"keys of {where} must be strings other than {_FLOAT_TAG!r}.")
        return {key: _as_json(item, f"{where}.{key}", depth + 1) for key, item in value.items()}
    raise TypeError(
        f"{where} must be a number, a string, a boolean, None, or a list or dict of them, to be "
        f"kept in a model file; got {type(value).__name__}."
    )


def _write_in_one_step(target: Path, members: dict[str, bytes]) -> None:
    """Write beside the target, then rename: a crash leaves the old file whole."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to save in; make it first.")
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with beside.open("xb") as stream:
            _write_archive(stream, members)
            stream.flush()
            os.fsync(stream.fileno())
        with _archive(beside, shown_as=target.name) as archive:
            _checked_manifest(archive)  # a model beyond the limits is refused now, not later
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _write_archive(stream: BinaryIO, members: dict[str, bytes]) -> None:
    if sum(map(len, members.values())) > _MOST_WRITTEN_BYTES:
        raise ValueError(f"a model must be at most {_MOST_WRITTEN_BYTES} bytes; use fewer trees.")
    with zipfile.ZipFile(stream, "w", allowZip64=False) as archive:
        for name, raw in members.items():
            # A fixed date: the same model gives the same bytes.
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, raw)


# Reading


@contextmanager
def _archive(
    path: str | os.PathLike[str], shown_as: str | None = None
) -> Iterator[zipfile.ZipFile]:
    """Open the file as a zip whose directory is within limits; its faults name the file."""
    path = Path(path)
    with _opened(path) as stream:
        try:
            _check_ends(stream)
            with zipfile.ZipFile(stream) as archive:
                _check_directory(archive)
                yield archive
        except _BROKEN as error:
            reason = str(error) or f"{type(error).__name__} while reading it"
            raise ModelFileError(f"{shown_as or path.name} cannot be loaded: {reason}") from error


def _opened(path: Path) -> BinaryIO:
    if path.exists() and not path.is_file():  # opening a pipe would wait for ever
        raise ModelFileError(f"{path.name} cannot be loaded: it is not a file.")
    return path.open("rb")


def _check_ends(stream: BinaryIO) -> None:
    """Check size and first and last bytes, before the zip library reads the whole directory.

    A file ends as: members | directory, an entry per member | end record of 22 bytes.
    """
    n_bytes = stream.seek(0, os.SEEK_END)
    if n_bytes > _MOST_FILE_BYTES:
        raise ValueError(f"it must be at most {_MOST_FILE_BYTES} bytes long; it has {n_bytes}.")
    stream.seek(0)
    if stream.read(2) != b"PK":
        raise ValueError("it is not a zip archive.")
    tail_bytes = min(n_bytes, _END_RECORD_BYTES + _ZIP64_LOCATOR_BYTES)
    stream.seek(n_bytes - tail_bytes)
    tail = stream.read(tail_bytes)
    end = tail[-_END_RECORD_BYTES:]
    if not end.startswith(_END_RECORD):
        raise ValueError(
            "the end of the zip archive is missing; the file is cut short, copy it again."
        )
    n_members = int.from_bytes(end[10:12], "little")
    directory_bytes = int.from_bytes(end[12:16], "little")
    directory_start = int.from_bytes(end[16:20], "little")
    if n_members > _MOST_MEMBERS or directory_bytes > _MOST_DIRECTORY_BYTES:
        raise ValueError(f"it must have at most {_MOST_MEMBERS} members; it has {n_members}.")
    if tail.startswith(_ZIP64_LOCATOR) or (
        directory_start + directory_bytes + _END_RECORD_BYTES != n_bytes
    ):
        raise ValueError("bytes were lost or added to its zip archive; copy or fit it again.")


def _check_directory(archive: zipfile.ZipFile) -> None:
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if len(set(names)) != len(names):
        raise ValueError("a member comes twice; the file was not written by toprank.save.")
    for info in infos:
        if info.filename != _MANIFEST and not _MEMBER_NAME.fullmatch(info.filename):
            raise ValueError(
                f"members must be arrays (.npy) or boosters (.ubj); got {_shown(info.filename)}."
            )
        if info.flag_bits & _ENCRYPTED:
            raise ValueError(f"{info.filename} is encrypted; decrypt the archive first.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{info.filename} must be deflated or stored; pack it again so.")
    n_bytes = sum(info.file_size for info in infos)
    if n_bytes > _MOST_MEMBER_BYTES:
        raise ValueError(f"it must inflate to at most {_MOST_MEMBER_BYTES} bytes; got {n_bytes}.")


def _checked_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    if _MANIFEST not in archive.namelist():
        raise ValueError(f"{_MANIFEST} is missing; the file was not written by toprank.save.")
    if archive.getinfo(_MANIFEST).file_size > _MOST_MANIFEST_BYTES:
        raise ValueError(f"{_MANIFEST} must be at most {_MOST_MANIFEST_BYTES} bytes long.")
    manifest = _parsed_json(_inflated(archive, _MANIFEST))
    if not isinstance(manifest, dict) or manifest.get("format") != "toprank":
        raise ValueError(f"{_MANIFEST} does not say that this is a toprank model.")
    _check_format_version(manifest.get("format_version"))
    for key, kind in _MANIFEST_TYPES.items():
        if not isinstance(manifest.get(key), kind):
            raise ValueError(
                f"{key!r} of {_MANIFEST} must be a {kind.__name__}; the file is damaged."
            )
    _check_members(archive, manifest["members"])
    return manifest


def _parsed_json(raw: bytes) -> Any:
    try:
        return json.loads(
            raw.decode("utf-8"), object_pairs_hook=_dict_of, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{_MANIFEST} is not sound JSON ({error}); the file is damaged."
        ) from error


def _dict_of(pairs: list[tuple[str, Any]]) -> Any:
    """Return the object of these pairs, or the float that a tagged object stands for."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key comes twice")
    if _FLOAT_TAG not in members:
        return members
    if len(members) != 1 or members[_FLOAT_TAG] not in _NOT_FINITE:
        raise ValueError(f"{_FLOAT_TAG} must be one of {', '.join(_NOT_FINITE)}")
    return _NOT_FINITE[members[_FLOAT_TAG]]


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _check_format_version(version: Any) -> None:
    if type(version) is not int or version < 1:
        raise ValueError(
            f"format_version must be a whole number from 1; got {_shown(version)}; "
            "the file is damaged."
        )
    if version > FORMAT_VERSION:
        raise ValueError(
            f"it was written by a newer toprank (format {_shown(version)}, this one reads "
            f"{FORMAT_VERSION}); upgrade toprank."
        )


def _check_members(archive: zipfile.ZipFile, listed: dict[str, Any]) -> None:
    """The archive holds exactly the members the manifest lists, each as long as it says."""
    present = {info.filename: info.file_size for info in archive.infolist()}
    del present[_MANIFEST]
    if present.keys() != listed.keys():
        odd = min(present.keys() ^ listed.keys())
        where = f"in {_MANIFEST} only" if odd in listed else f"not in {_MANIFEST}"
        raise ValueError(
            f"member {_shown(odd)} is {where}; the file is damaged, copy or fit it again."
        )
    for name, entry in listed.items():
        if not isinstance(entry, dict) or type(entry.get("bytes")) is not int:
            raise ValueError(f"{_MANIFEST} must give sha256 and bytes of {name}; it is damaged.")
        if not isinstance(entry.get("sha256"), str) or not _SHA256.fullmatch(entry["sha256"]):
            raise ValueError(f"{_MANIFEST} must give the sha256 of {name} as 64 hex digits.")
        if entry["bytes"] != present[name]:
            raise ValueError(
                f"{_MANIFEST} says {_shown(entry['bytes'])} bytes of {name} but the member has "
                f"{present[name]}: the file is damaged, fit or copy it again."
            )


def _member(archive: zipfile.ZipFile, name: str, manifest: dict[str, Any]) -> bytes:
    """Return the bytes of a member whose hash is the one in the manifest."""
    raw = _inflated(archive, name)
    said, found = manifest["members"][name]["sha256"], hashlib.sha256(raw).hexdigest()
    if said != found:
        raise ValueError(
            f"{_MANIFEST} says sha256 {said[:12]}... of {name} but the member has "
            f"{found[:12]}...: the file is damaged, fit or copy it again."
        )
    return raw


def _inflated(archive: zipfile.ZipFile, name: str) -> bytes:
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


def _array(name: str, raw: bytes) -> np.ndarray:
    """Return the array of a `.npy` member: magic, length of the header, header | values.

    The header is a Python dict as text; it is matched in the one form `save` gives it, since
    evaluating a stranger's text can fail in many ways.
    """
    start = len(_NPY_MAGIC) + 2
    end = start + int.from_bytes(raw[len(_NPY_MAGIC) : start], "little")
    header = _NPY_HEADER.fullmatch(raw[start:end])
    if not raw.startswith(_NPY_MAGIC) or header is None:
        raise ValueError(f"{name} must be a .npy array of numbers or strings; fit it again.")
    descr, is_fortran, sizes = (group.decode("ascii") for group in header.groups())
    dtype = np.dtype(descr)
    shape = tuple(int(size) for size in sizes.split(",") if size.strip())
    values = raw[end:]
    if not dtype.itemsize or math.prod(shape) * dtype.itemsize != len(values):
        raise ValueError(f"{name} must hold {_shown(shape)} values; it has {len(values)} bytes.")
    if dtype.kind == "b" and values.strip(b"\x00\x01"):
        raise ValueError(f"{name} must hold booleans; some are neither 0 nor 1.")
    order: Literal["F", "C"] = "F" if is_fortran == "True" else "C"
    return np.frombuffer(values, dtype).reshape(shape, order=order).copy(order)


def _check_boosters(boosters: dict[str, bytes]) -> None:
    for name, raw in boosters.items():
        try:
            check_booster(raw, n_features=None)
        except _BROKEN as error:
            raise ValueError(f"booster {name!r} is not sound: {error}") from error


def _learner_class(name: str) -> Any:
    if name not in _LEARNERS:
        known = ", ".join(sorted(_LEARNERS))
        raise ValueError(f"its learner {_shown(name)} is unknown; this toprank knows {known}.")
    return getattr(import_module(_LEARNERS[name]), name)


def _is_array(name: str) -> bool:
    return name.endswith(".npy")


def _stem(name: str) -> str:
    return name.rpartition(".")[0]


def _shown(value: Any) -> str:
    return reprlib.repr(value)
