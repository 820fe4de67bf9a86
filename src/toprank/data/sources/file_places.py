"""The files of a path, a folder, a pattern or a URL of an object store, in order."""

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import translate
from glob import glob, has_magic
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa

from toprank.data import checks
from toprank.data.sources.databases import masked
from toprank.data.tables.columns import TableError
from toprank.data.tables.store_file import StoreFile, explained

STORE_SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss")
_TABLE_SUFFIXES = (
    ".parquet", ".pq", ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".xlsx", ".feather",
    ".arrow",
)  # fmt: skip
_MAGIC = re.compile(r"[*?\[]")


class FoundFiles(NamedTuple):
    """Files in the order of their names, and how messages call all of them."""

    files: list[Path | StoreFile]
    name: str


def is_store_url(where: str) -> bool:
    """Return whether this is the URL of an object store.

    >>> is_store_url("s3://payments/2026/"), is_store_url("payments/2026")
    (True, False)
    """
    return where.partition("://")[0].lower() in STORE_SCHEMES and "://" in where


def files_at(where: str | os.PathLike[str]) -> FoundFiles:
    """Return the files of a path, a folder, a pattern or a URL of an object store.

    Of a folder, these are all tables in it and below. Names that begin with a point or an
    underscore are left out, as other tools do: they are not rows.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("day2.csv", "day1.csv", "_SUCCESS"):
    ...         _ = Path(folder, name).write_text("amount\\n1\\n")
    ...     [file.name for file in files_at(f"{folder}/*.csv").files]
    ['day1.csv', 'day2.csv']
    """
    text = os.fspath(where)
    if is_store_url(text):
        return _stored(text)
    if (scheme := text.partition("://")[0]) != text and scheme.isalnum():
        raise TableError(
            f"{masked(text)} must be a path, or a URL that begins with "
            f"{', '.join(f'{each}://' for each in STORE_SCHEMES)}; it begins with {scheme}://; "
            "rows of a database come with a query and its URL (`sql` and `database`)."
        )
    path = Path(text)
    if path.is_dir():
        found = [each for each in sorted(path.rglob("*")) if each.is_file()]
        return _of_folder(found, path, text, path.name or text)
    if has_magic(text) and not path.exists():
        # Path.glob takes no pattern that begins at the root
        matches = sorted(map(Path, glob(text, recursive=True)))  # noqa: PTH207
        found = [each for each in matches if each.is_file()]
        return FoundFiles(_some(_shown(found, path.parent), text), path.name)
    return FoundFiles([path], path.name)


def _of_folder(
    files: Sequence[Path | StoreFile], folder: Path | PurePosixPath, where: str, name: str
) -> FoundFiles:
    """Return the tables of a folder."""
    shown = [each for each in _shown(files, folder) if _is_table(each)]
    return FoundFiles(_some(shown, where, is_folder=True), name)


def _shown(
    files: Sequence[Path | StoreFile], folder: Path | PurePosixPath
) -> list[Path | StoreFile]:
    """Return the files that are not hidden, nor in a hidden folder below `folder`."""
    depth = sum(1 for _ in takewhile(lambda part: not _MAGIC.search(part), folder.parts))
    return [
        each
        for each in files
        if not any(part.startswith(("_", ".")) and part != ".." for part in _parts(each)[depth:])
    ]


def _parts(file: Path | StoreFile) -> tuple[str, ...]:
    return file.parts if isinstance(file, Path) else PurePosixPath(file.path).parts


def _is_table(file: Path | StoreFile) -> bool:
    name = file.name.lower().removesuffix(".gz")
    return PurePosixPath(name).suffix in _TABLE_SUFFIXES


def _some(
    files: Sequence[Path | StoreFile], where: str, is_folder: bool = False
) -> list[Path | StoreFile]:
    if not files and is_folder:
        raise FileNotFoundError(
            f"there is no table in {where}; files of a folder must end in "
            f"{', '.join(_TABLE_SUFFIXES)}, and may be gzipped."
        )
    if not files:
        raise FileNotFoundError(f"no file matches {where}; check the pattern.")
    return list(files)


def _stored(url: str) -> FoundFiles:
    """Return the files in an object store."""
    shown = masked(url)
    filesystem, path = _filesystem(url)
    name = PurePosixPath(path).name or shown
    if found := _MAGIC.search(path):
        folder = path[: path.rfind("/", 0, found.start())]
        matches = re.compile(_pattern_of(path)).match
        listed = [each for each in _listed(filesystem, folder, url) if matches(each.path)]
        return FoundFiles(_some(_shown(listed, PurePosixPath(folder)), shown), name)
    from pyarrow import fs

    with explained(shown):
        info = filesystem.get_file_info(path)
        if info.type == fs.FileType.File and not path.endswith("/"):
            return FoundFiles([_store_file(filesystem, info, url)], name)
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(_not_found(filesystem, path, url))
    listed = list(_listed(filesystem, path.rstrip("/"), url))
    return _of_folder(listed, PurePosixPath(path), shown, name)


def _not_found(filesystem: Any, path: str, url: str) -> str:
    """Return what is not there: the bucket or the file, and the nearest name."""
    from pyarrow import fs

    bucket = path.partition("/")[0]
    if filesystem.get_file_info(bucket).type == fs.FileType.NotFound:
        return f"there is no bucket {bucket!r} for {masked(url)}; check its name."
    folder = path.rpartition("/")[0]
    selector = fs.FileSelector(folder, allow_not_found=True)
    names = [each.base_name for each in filesystem.get_file_info(selector)]
    hint = checks.nearest_name(path.rpartition("/")[2], names) or "; check the name."
    return f"there is no file {masked(url)}{hint}"


def _listed(filesystem: Any, folder: str, url: str) -> Iterator[StoreFile]:
    """Yield the files in a folder and below, in the order of their paths."""
    from pyarrow import fs

    with explained(masked(url)):
        infos = filesystem.get_file_info(fs.FileSelector(folder, recursive=True))
    for info in sorted(infos, key=lambda each: each.path):
        if info.type == fs.FileType.File:
            yield _store_file(filesystem, info, url)


def _store_file(filesystem: Any, info: Any, url: str) -> StoreFile:
    scheme = url.partition("://")[0]
    return StoreFile(filesystem, info.path, f"{scheme}://{info.path}", info.size)


def _pattern_of(path: str) -> str:
    """Return a regular expression: ** is any number of folders, * and ? end at a slash.

    >>> [bool(re.match(_pattern_of(p), "b/a/x.csv")) for p in ("b/*.csv", "b/**/*.csv", "b/*/x.*")]
    [False, True, True]
    """
    parts = []
    for part in path.split("/"):
        if part == "**":
            parts.append("(?:[^/]+/)*")
            continue
        inner = translate(part).removeprefix("(?s:").rpartition(")")[0]
        parts.append(inner.replace(".*", "[^/]*").replace("(?>", "(?:") + "/")
    return "^" + "".join(parts).removesuffix("/") + "$"


def _filesystem(url: str) -> tuple[Any, str]:
    """Return Arrow's file system for a URL, and the path in it."""
    from pyarrow import fs

    scheme, _, rest = url.partition("://")
    place, question, query = (
        rest.partition("?") if "=" in rest.partition("?")[2] else (rest, "", "")
    )
    # characters such as spaces and stars are no part of a URI as Arrow reads it
    parsed = f"{scheme.lower()}://{quote(unquote(place), safe='/:@=+,;~!$&()')}{question}{query}"
    if scheme.lower() == "s3" and not place.rpartition("@")[2].strip("/"):
        raise TableError(f"{masked(url)} must name a bucket, such as s3://payments/today.parquet.")
    try:
        with explained(masked(url)):
            filesystem, path = fs.FileSystem.from_uri(parsed)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(f"{masked(url)} cannot be read: {_said(error, url)}.") from error
    return filesystem, unquote(path)


def _said(error: Exception, url: str) -> str:
    """Return why Arrow refuses a URL, and what to write in its place."""
    if "account name" in str(error):
        return (
            "the storage account is missing; write abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/"
            f"{urlsplit(url).path.strip('/') or 'today.parquet'}"
        )
    return str(error).replace(url, masked(url)).rstrip(".")
