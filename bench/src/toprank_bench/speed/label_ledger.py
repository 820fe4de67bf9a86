"""One label at a time in a ledger of a million: looked up, and added."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from toprank.payments.ledger import Ledger, SqliteLedger
from toprank_bench.speed.race import Measured, Race, Setting
from toprank_bench.speed.speed_rows import SEED
from toprank_bench.speed.timing import milliseconds_each

_KNOWN, _ASKED = "2025-01-05", "2025-02-01"


def _looked_up(setting: Setting) -> Measured:
    with _filled(setting) as ledger:
        return _each(setting, lambda row_id: ledger.as_known(_ASKED, [row_id]))


def _all_of_a_row(setting: Setting) -> Measured:
    with _filled(setting) as ledger:
        return _each(setting, ledger.history)


def _appended(setting: Setting) -> Measured:
    """Return the time until a label is on the disk."""
    with _filled(setting) as ledger:
        return _each(
            setting, lambda row_id: ledger.append([row_id], [True], known=_ASKED, source="claim")
        )


@contextmanager
def _filled(setting: Setting) -> Iterator[Ledger]:
    """Give a ledger in a file with a label for each of so many rows, in no order."""
    generator = np.random.default_rng(SEED)
    ids = generator.permutation(setting.shape["rows"])
    is_positive = generator.random(ids.size) < 0.1
    with TemporaryDirectory() as folder, SqliteLedger(Path(folder, "labels.db")) as ledger:
        ledger.append(ids, is_positive, known=_KNOWN, source="investigator")
        ledger.append([0], [True], known=_KNOWN, source="claim")
        yield ledger


def _each(setting: Setting, work: Callable[[Any], Any]) -> Measured:
    n_labels, n_asked = setting.shape["rows"], setting.shape["scored"]
    ids = np.random.default_rng(SEED + 1).integers(0, n_labels, n_asked).tolist()
    work(ids[0])
    return milliseconds_each(work, ids, setting.shape["rounds"])


def _race(name: str, what: str, measure: Callable[[Setting], Measured]) -> Race:
    return Race(
        name=name,
        what=what,
        against="",
        unit="ms (median), read once",
        measure=measure,
        shape={"rows": 1_000_000, "scored": 2_000, "rounds": 5},
        quick={"rows": 200_000, "scored": 500},
        minutes=(0.3, 0.1),
        at_most=1.0,
    )


RACES = (
    _race("label-look-up", "SqliteLedger, the label of one row as known", _looked_up),
    _race("label-history", "SqliteLedger, all labels of one row", _all_of_a_row),
    _race("label-append", "SqliteLedger, one label added, on the disk", _appended),
)
