"""Changed model files: each is refused in a sentence, or loads into a model that scores rows.

They are loaded in a process of its own, since a crash would end this one. Half of the changes
leave the hashes wrong; the others correct them, as who wants to do harm would.
"""

import hashlib
import io
import json
import multiprocessing
import resource
import signal
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from toprank import files
from toprank.rankers.online.event_stream import EventStream
from toprank_bench.attack.small_models import rows, small_models

_FILES_PER_PROCESS = 5_000
_LONGEST_SECONDS = 20
_LONGEST_SENTENCE = 1_000
_MOST_BYTES = 1_500_000_000  # of memory, in all
_ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 2, 10**30, -1e308, 1e308, 0.5, "", "x" * 10_000, "\ud800", [], {}),
    *([[]], {"a": 1}, {"$float": "nan"}, {"$float": "inf"}, "MetaAP", "manifest.json"),
)
_ODD_NUMBERS = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308, -1, 0, 2**31 - 1, -(2**31))

Members = dict[str, bytes]


def changed_model_files(n_trials: int, seed: int) -> Counter[str]:
    """Load so many changed files; return the failures by kind."""
    failures: Counter[str] = Counter()
    context = multiprocessing.get_context("spawn")
    for first in range(0, n_trials, _FILES_PER_PROCESS):
        last = min(first + _FILES_PER_PROCESS, n_trials)
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_load_all, args=(theirs, first, last, seed))
        process.start()
        theirs.close()
        try:
            failures += ours.recv()
        except EOFError:
            failures["crash"] += 1
        process.join()
    return failures


def _load_all(answer: Any, first: int, last: int, seed: int) -> None:
    signal.signal(signal.SIGALRM, _hang)
    failures: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        path = Path(folder, "changed.toprank")
        good = [(type(model).__name__, _saved(model, path)) for model in small_models()]
        for number in range(first, last):
            generator = np.random.default_rng([seed, number])
            change = _CHANGES[number % len(_CHANGES)]
            name, raw = good[generator.integers(len(good))]
            path.write_bytes(change(raw, generator))
            signal.alarm(_LONGEST_SECONDS)
            failure = failure_of(path)
            signal.alarm(0)
            if failure:
                failures[f"{name}, {change.__name__}: {failure}"] += 1
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > _MOST_BYTES:
        failures["memory"] += 1
    answer.send(failures)


def failure_of(path: Path) -> str:
    """Return what is wrong with how a file loads and scores; nothing if all is well."""
    try:
        model = files.load(path)
    except (files.ModelFileError, OSError) as error:
        return "long sentence" if len(str(error)) > _LONGEST_SENTENCE else ""
    except Exception as error:
        return f"load raised {type(error).__name__}"
    try:
        return "" if _scores_soundly(model) else "scores are not finite"
    except Exception as error:
        return f"use raised {type(error).__name__}"


def _scores_soundly(model: Any) -> bool:
    if isinstance(model, EventStream):
        scored = [model.score({"x": 1.0, "shop": "s1"}), model.learn({"x": 2.0}, True)]
        return all(np.isfinite([each.suspicion, each.probability]).all() for each in scored)
    X, _ = rows()
    if model.n_features_in_ != X.shape[1]:
        return True  # another model than this, sound as far as one can see
    scores = model.suspicion(X)
    for name in ("to_text", "rules", "contributions"):
        if hasattr(model, name) and not (name == "rules" and model.seen_ is None):
            getattr(model, name)(*([X] if name == "contributions" else []))
    return bool(np.isfinite(scores).all())


def _saved(model: Any, path: Path) -> bytes:
    files.save(model, path, facts={"ap": 0.5})
    return path.read_bytes()


def _hang(*_: Any) -> None:
    raise TimeoutError("the file takes too long")


# Changes that leave the hashes as they are


def flip_bits(raw: bytes, generator: np.random.Generator) -> bytes:
    """Flip one to three bits."""
    changed = bytearray(raw)
    for place in generator.integers(0, len(raw), generator.integers(1, 4)):
        changed[place] ^= 1 << int(generator.integers(8))
    return bytes(changed)


def cut_short(raw: bytes, generator: np.random.Generator) -> bytes:
    """Lose the end."""
    return raw[: generator.integers(len(raw))]


def insert_bytes(raw: bytes, generator: np.random.Generator) -> bytes:
    """Add bytes somewhere."""
    place = generator.integers(len(raw))
    return raw[:place] + generator.bytes(int(generator.integers(1, 50))) + raw[place:]


# Changes of the contents, hashes corrected


def change_numbers(raw: bytes, generator: np.random.Generator) -> bytes:
    """Set some numbers of an array to odd ones."""

    def change(members: Members, _: dict[str, Any]) -> None:
        name = _chosen(list(members), generator)
        if not name.endswith(".npy"):
            members[name] = flip_bits(members[name], generator)
            return
        array = np.load(io.BytesIO(members[name])).copy()
        if array.size and array.dtype.kind in "biuf":
            with np.errstate(all="ignore"):
                odd = np.array(_ODD_NUMBERS[generator.integers(len(_ODD_NUMBERS))])
                places = generator.integers(0, array.size, generator.integers(1, 4))
                array.flat[places] = odd.astype(array.dtype)
        members[name] = _npy(array)

    return _rehashed(raw, change)


def change_shapes(raw: bytes, generator: np.random.Generator) -> bytes:
    """Give an array other sizes, or values of another type."""

    def change(members: Members, _: dict[str, Any]) -> None:
        name = _chosen(list(members), generator)
        if not name.endswith(".npy"):
            members[name] = cut_short(members[name], generator)
            return
        array = np.load(io.BytesIO(members[name]))
        other = array.astype(">f8") if array.dtype.kind in "biuf" else array.astype("S1")
        twice = np.repeat(array.reshape(-1, 1), 2, axis=0)
        kinds = (array.ravel()[:0], array.ravel()[:1], twice, array.reshape(-1, 1), other)
        members[name] = _npy(kinds[generator.integers(len(kinds))])

    return _rehashed(raw, change)


def change_members(raw: bytes, generator: np.random.Generator) -> bytes:
    """Drop, rename, add or swap members; what is added may be large."""

    def change(members: Members, _: dict[str, Any]) -> None:
        name, other = (_chosen(list(members), generator) for _ in range(2))
        choice = generator.integers(5)
        if choice == 0:
            del members[name]
        elif choice == 1:
            members[f"more-{name}"] = members[name]
        elif choice == 2:
            members[name] = members[other]
        elif choice == 3:
            members[name] = generator.bytes(200)
        else:
            members["big.npy"] = _npy(np.zeros(generator.integers(1, 2_000_000)))

    return _rehashed(raw, change)


def change_manifest(raw: bytes, generator: np.random.Generator) -> bytes:
    """Set a value of the manifest to an odd one, or drop it."""

    def change(_: Members, manifest: dict[str, Any]) -> None:
        outer = manifest
        while True:
            key = list(outer)[generator.integers(len(outer))]
            inner = outer[key]
            if not (isinstance(inner, dict) and inner and generator.random() < 0.8):
                break
            outer = inner
        if generator.random() < 0.2:
            del outer[key]
        else:
            outer[key] = _ODD[generator.integers(len(_ODD))]

    return _rehashed(raw, change)


def _chosen(names: list[str], generator: np.random.Generator) -> str:
    return names[generator.integers(len(names))]


def _rehashed(raw: bytes, change: Callable[[Members, dict[str, Any]], None]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    manifest.pop("members")
    change(members, manifest)
    manifest["members"] = {
        name: {"sha256": hashlib.sha256(each).hexdigest(), "bytes": len(each)}
        for name, each in members.items()
    }
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for name, each in members.items():
            archive.writestr(name, each)
    return changed.getvalue()


def _npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


# the changes of contents find most: they get most of the files
_CHANGES = (
    flip_bits, change_numbers, change_manifest, change_members, change_numbers, change_shapes,
    cut_short, change_numbers, change_manifest, insert_bytes,
)  # fmt: skip
