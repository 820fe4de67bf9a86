"""A file in an object store, and what goes wrong with one, in sentences."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

_COPIED = 8 << 20  # bytes copied at a time
_MOST_OF_AN_ANSWER = 200  # characters, of an answer without a sentence of ours
_SENTENCES = (FileNotFoundError, PermissionError, ConnectionError)


@dataclass(frozen=True)
class StoreFile:
    """A file that one of Arrow's file systems reads; `url` is how messages call it."""

    filesystem: Any
    path: str
    url: str
    n_bytes: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name

    @property
    def suffix(self) -> str:
        """The end of the name from its last point."""
        return PurePosixPath(self.path).suffix

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Give the file, to be read at any place."""
        with explained(self.url), self.filesystem.open_input_file(self.path) as file:
            yield file

    def start(self, n_bytes: int) -> bytes:
        """Return the first bytes."""
        with self.opened() as file:
            return file.read(n_bytes)

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """Give a copy on disk, for files that are read more than once; it is deleted after."""
        with TemporaryDirectory(prefix="toprank-") as folder:
            copy = Path(folder, self.name)
            with self.opened() as file, copy.open("wb") as target:
                while part := file.read(_COPIED):
                    target.write(part)
            yield copy


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn what a store answers into one sentence that names the URL and the way out."""
    try:
        yield
    except OSError as error:
        raise store_error(url, error) from error


def store_error(url: str, error: OSError) -> OSError:
    """Return the error of a store as a sentence; one that is a sentence already as it is.

    >>> answer = OSError("AWS Error NO_SUCH_BUCKET during ListObjectsV2 operation: ...")
    >>> store_error("s3://paymnets/today.parquet", answer)
    FileNotFoundError('there is no bucket for s3://paymnets/today.parquet; check its name.')
    """
    if error.errno is None and isinstance(error, _SENTENCES):
        return error
    for pattern, kind, sentence in _ANSWERS:
        if re.search(pattern, str(error), re.IGNORECASE):
            return kind(sentence.format(url=url))
    reason = re.sub(r"\s+", " ", str(error)).strip()[:_MOST_OF_AN_ANSWER]
    return ConnectionError(f"{url} cannot be read: {reason}")


_CREDENTIALS = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the means of your store "
    "(see docs/integrations/object-stores.md)"
)
_ANSWERS: list[tuple[str, type[OSError], str]] = [
    (
        "NO_SUCH_BUCKET|NoSuchBucket|bucket does not exist|Bucket '.*' not found",
        FileNotFoundError,
        "there is no bucket for {url}; check its name.",
    ),
    (
        "PermanentRedirect|301|wrong region|AUTHORIZATION_HEADER_MALFORMED",
        ConnectionError,
        "the bucket of {url} is in another region; set AWS_DEFAULT_REGION, or add "
        "?region=... to the URL.",
    ),
    (
        "ACCESS_DENIED|AccessDenied|403|SIGNATURE_DOES_NOT_MATCH|INVALID_ACCESS_KEY|"
        "INVALID_CLIENT_TOKEN|UNRECOGNIZED_CLIENT|EXPIRED_TOKEN|TokenExpired|ExpiredToken|"
        "NO_CREDENTIALS|Unauthenticated|PermissionDenied|credential",
        PermissionError,
        "{url} must not be read with these credentials, or there are none; " + _CREDENTIALS + ".",
    ),
    (
        "RESOURCE_NOT_FOUND|NO_SUCH_KEY|NoSuchKey|Path does not exist|No such file|404",
        FileNotFoundError,
        "there is no file {url}; check the name.",
    ),
    (
        "NETWORK_CONNECTION|resolve host|timed? ?out|Could not connect|Connection refused|"
        "UNAVAILABLE|CouldNotConnect",
        ConnectionError,
        "the server of {url} does not answer; check the network, and AWS_ENDPOINT_URL if it is "
        "not Amazon's.",
    ),
]
