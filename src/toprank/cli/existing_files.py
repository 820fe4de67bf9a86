"""Files that exist already: those that toprank wrote are replaced, others only with --force."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_FORCE = "toprank.force"
_HEAD_BYTES = _END_BYTES = 2_000


def force_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --force to a command; `check_replaceable` looks at it."""
    return click.option(
        "--force", is_flag=True, expose_value=False,
        callback=lambda context, _, is_given: context.meta.__setitem__(_FORCE, is_given),
        help="Replace existing files even if toprank did not write them.",
    )(command)  # fmt: skip


def check_replaceable(path: Path, kind: str) -> None:
    """Raise where `path` exists and is no file of this kind that toprank wrote, unless --force."""
    if is_forced() or not path.is_file():
        return
    if path.stat().st_size and not _IS_OURS[kind](path):
        raise ValueError(
            f"{path} exists and is not a {kind} that toprank wrote; name another file, or add "
            "--force to replace it."
        )


def is_forced() -> bool:
    """Return whether the command was called with --force."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_FORCE))


def no_file(path: Path) -> FileNotFoundError:
    """Return the error of a file that is not there, with the nearest name."""
    from toprank.data.checks import nearest_name

    folder = path.parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return FileNotFoundError(f"there is no file {path}{nearest_name(path.name, names) or '.'}")


def is_model(path: Path) -> bool:
    """Return whether a file is a model that `fit` or another command wrote."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "manifest.json" in archive.namelist()


def _is_page(path: Path) -> bool:
    return b"<p>Made with toprank " in path.read_bytes()[-_END_BYTES:]


def _is_list(path: Path) -> bool:
    """Return whether a table has the first columns of a list of alerts."""
    from toprank.data import tables

    try:
        names = tables.column_names(path)
    except ValueError:  # it is no table at all
        return False
    return names[:3] == ["rank", "row", "suspicion"]


def _is_picture(path: Path) -> bool:
    head = _head(path).lstrip()
    return head.startswith((b"<svg", b"<?xml", b"digraph", b"\x89PNG", b"%PDF"))


def _is_scores(path: Path) -> bool:
    return _head(path).startswith(b'{"id": ') and b'"suspicion": ' in _head(path)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)


def _is_onnx(path: Path) -> bool:
    return b"toprank" in _head(path)[:100]


_IS_OURS: dict[str, Callable[[Path], bool]] = {
    "model": is_model,
    "page": _is_page,
    "list": _is_list,
    "picture": _is_picture,
    "file of scores": _is_scores,
    "file of ONNX": _is_onnx,
}
