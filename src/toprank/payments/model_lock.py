"""One process at a time that replaces model files: a new model, a version, a promotion.

Who adds to a history holds the lock of the history instead, so that a stream that runs for weeks
does not keep anyone from promoting a version. Who replaces a model and its history holds both.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toprank.data.atomic import remove_leftovers
from toprank.payments.history_store.writer_lock import WriterLock

WAIT = 10.0
"""Seconds to wait for another process that replaces model files."""


def without_version(model: Path) -> Path:
    """Return the path of the current version, of which `model` may be another.

    >>> without_version(Path("payments.v2.toprank")).name
    'payments.toprank'
    """
    return model.with_name(re.sub(r"[.]v[0-9]+$", "", model.stem) + model.suffix)


@contextmanager
def writing_model(model: Path, wait: float = WAIT) -> Iterator[None]:
    """Keep other processes from replacing any version of a model within the block."""
    current = without_version(model)
    if not current.absolute().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {model.parent} to write {model.name} to.")
    path = current.with_name(f".{current.name}.lock")
    lock = WriterLock(path, current, wait, is_removed=True)
    try:
        remove_leftovers(current.absolute().parent)
        yield
    finally:
        lock.release()
