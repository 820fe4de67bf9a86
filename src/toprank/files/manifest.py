"""The manifest of a model file: JSON that says what the model is and lists the other members."""

import hashlib
import json
import math
import platform
import re
import zipfile
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import numpy as np

from toprank import __version__
from toprank.files.archive import MANIFEST, inflated
from toprank.files.faults import shown

FORMAT_VERSION = 1

_TYPES = {
    "learner": str,
    "parameters": dict,
    "state": dict,
    "created": str,
    "versions": dict,
    "facts": dict,
    "members": dict,
}
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MOST_BYTES = 16 * 2**20
_DEEPEST_JSON = 64

# JSON has no NaN and no infinity: they are written as {"$float": "nan"}.
_FLOAT_TAG = "$float"
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def manifest_bytes(
    learner: str,
    parameters: dict[str, Any],
    state: dict[str, Any],
    facts: dict[str, Any],
    members: dict[str, bytes],
) -> bytes:
    """Return the manifest of a model whose other members are `members`.

    >>> manifest = manifest_bytes("BoostedRanker", {}, {}, {"best": math.nan}, {})
    >>> json.loads(manifest)["facts"]
    {'best': {'$float': 'nan'}}
    """
    listed = {
        name: {"sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)}
        for name, raw in members.items()
    }
    return listing_manifest(learner, parameters, state, facts, listed)


def listing_manifest(
    learner: str,
    parameters: dict[str, Any],
    state: dict[str, Any],
    facts: dict[str, Any],
    listed: dict[str, dict[str, Any]],
) -> bytes:
    """Return the manifest of a model, given hash and size of its other members."""
    manifest = {
        "format": "toprank",
        "format_version": FORMAT_VERSION,
        "learner": learner,
        "parameters": _as_json(parameters, "parameters"),
        "state": _as_json(state, "state"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "facts": _as_json(facts, "facts"),
        "members": listed,
    }
    return json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False).encode("utf-8")


def checked_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the archive's manifest, which must list exactly the members of the archive.

    >>> from io import BytesIO
    >>> with zipfile.ZipFile(BytesIO(), "w") as archive:
    ...     archive.writestr("manifest.json", b"{}")
    ...     checked_manifest(archive)
    Traceback (most recent call last):
        ...
    ValueError: manifest.json does not say that this is a toprank model.
    """
    if MANIFEST not in archive.namelist():
        raise ValueError(f"{MANIFEST} is missing; the file was not written by toprank.save.")
    if archive.getinfo(MANIFEST).file_size > _MOST_BYTES:
        raise ValueError(f"{MANIFEST} must be at most {_MOST_BYTES} bytes long.")
    manifest = _parsed_json(inflated(archive, MANIFEST))
    if not isinstance(manifest, dict) or manifest.get("format") != "toprank":
        raise ValueError(f"{MANIFEST} does not say that this is a toprank model.")
    _check_format_version(manifest.get("format_version"))
    for key, kind in _TYPES.items():
        if not isinstance(manifest.get(key), kind):
            raise ValueError(
                f"{key!r} of {MANIFEST} must be a {kind.__name__}; the file is damaged."
            )
    _check_members(archive, manifest["members"])
    return manifest


def hashed_member(archive: zipfile.ZipFile, name: str, manifest: dict[str, Any]) -> bytes:
    """Return the bytes of a member whose hash is the one in the manifest.

    >>> from io import BytesIO
    >>> manifest = json.loads(manifest_bytes("BoostedRanker", {}, {}, {}, {"trees.ubj": b"{}"}))
    >>> with zipfile.ZipFile(BytesIO(), "w") as archive:
    ...     archive.writestr("trees.ubj", b"{}")
    ...     hashed_member(archive, "trees.ubj", manifest)
    b'{}'
    """
    raw = inflated(archive, name)
    check_hash(name, hashlib.sha256(raw).hexdigest(), manifest)
    return raw


def check_hash(name: str, found: str, manifest: dict[str, Any]) -> None:
    """Raise unless the sha256 of a member is the one in the manifest."""
    listed = manifest["members"][name]["sha256"]
    if listed != found:
        raise ValueError(
            f"{MANIFEST} says sha256 {listed[:12]}... of {name} but the member has "
            f"{found[:12]}...: the file is damaged; copy it or fit the model again."
        )


# Writing


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
    """Return `value` as JSON can express it, so that reading it gives the same value."""
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
        f"saved in a model file; got {type(value).__name__}."
    )


# Reading


def _parsed_json(raw: bytes) -> Any:
    try:
        return json.loads(
            raw.decode("utf-8"), object_pairs_hook=_dict_of, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{MANIFEST} is not valid JSON ({error}); the file is damaged."
        ) from error


def _dict_of(pairs: list[tuple[str, Any]]) -> Any:
    """Return the object of these pairs, or the float that a tagged object encodes."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key occurs twice")
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
            f"format_version must be a whole number from 1; got {shown(version)}; "
            "the file is damaged."
        )
    if version > FORMAT_VERSION:
        raise ValueError(
            f"it was written by a newer toprank (format {shown(version)}, this one reads "
            f"{FORMAT_VERSION}); upgrade toprank."
        )


def _check_members(archive: zipfile.ZipFile, listed: dict[str, Any]) -> None:
    """Raise unless the archive has exactly the listed members, each of the listed size."""
    present = {info.filename: info.file_size for info in archive.infolist()}
    del present[MANIFEST]
    if present.keys() != listed.keys():
        odd = min(present.keys() ^ listed.keys())
        where = f"in {MANIFEST} only" if odd in listed else f"not in {MANIFEST}"
        raise ValueError(
            f"member {shown(odd)} is {where}; the file is damaged; copy it or fit the model again."
        )
    for name, entry in listed.items():
        if not isinstance(entry, dict) or type(entry.get("bytes")) is not int:
            raise ValueError(f"{MANIFEST} must give sha256 and bytes of {name}; it is damaged.")
        if not isinstance(entry.get("sha256"), str) or not _SHA256.fullmatch(entry["sha256"]):
            raise ValueError(f"{MANIFEST} must give the sha256 of {name} as 64 hex digits.")
        if entry["bytes"] != present[name]:
            raise ValueError(
                f"{MANIFEST} says {shown(entry['bytes'])} bytes of {name} but the member has "
                f"{present[name]}: the file is damaged; copy it or fit the model again."
            )
