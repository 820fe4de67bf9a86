"""What a history in a folder costs, next to one in memory that is saved as a whole.

`data` are made-up payments, one every five seconds. Measured are a whole save (in memory) or a
snapshot (folder), a day of 5,000 payments added, one more payment (median of 1,000), and opening.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from toprank_bench.protocols.protocol import TrialOutcome

METRICS = ("one_row_ms", "day_seconds", "save_seconds", "open_seconds")
DATA = ("made-up payments",)
_DAY_ROWS, _SINGLE_ROWS = 5_000, 1_000


def store_cost(
    data: str, seed: int, folder: Path | None, *, where: str, rows: int = 400_000
) -> TrialOutcome:
    """Return the seconds of a history that is in a "folder" or in "memory"."""
    generator = np.random.default_rng(seed)
    first, day, single = (
        _payments(generator, start, n_rows)
        for start, n_rows in (
            (0, rows), (rows, _DAY_ROWS), (rows + _DAY_ROWS, _SINGLE_ROWS),
        )
    )  # fmt: skip
    with TemporaryDirectory() as name:
        measure = {"folder": _in_a_folder, "memory": _in_memory}[where]
        figures, n_bytes = measure(Path(name), first, day, single.to_pylist())
    return TrialOutcome(
        figures,
        {"where": where, "rows": rows},
        {name: round(value, 3) for name, value in figures.items() if name != METRICS[0]},
        {"rows": rows, "megabytes": round(n_bytes / 1e6, 1)},
    )


def _in_memory(
    folder: Path, first: pa.Table, day: pa.Table, rows: list[Any]
) -> tuple[dict[str, float], int]:
    from toprank import History

    history, path = _history(first), folder / "payments.history"
    saved = _seconds(lambda: history.save(path))
    figures = {
        "day_seconds": _seconds(lambda: history.batch(day)),
        "one_row_ms": _median_ms(history.one, rows),
        "save_seconds": saved,
        "open_seconds": _seconds(lambda: History.load(path)),
    }
    return figures, path.stat().st_size


def _in_a_folder(
    folder: Path, first: pa.Table, day: pa.Table, rows: list[Any]
) -> tuple[dict[str, float], int]:
    from toprank.payments.history_store import HistoryStore

    path = folder / "payments.history"
    with HistoryStore.create(path, _history(first), rows=first) as store:
        figures = {
            "day_seconds": _seconds(lambda: store.remember(day)),
            "one_row_ms": _median_ms(store.one, rows),
            "save_seconds": _seconds(store.compact),
        }
    figures["open_seconds"] = _seconds(lambda: HistoryStore.open(path))
    return figures, sum(each.stat().st_size for each in path.rglob("*") if each.is_file())


def _history(first: pa.Table) -> Any:
    from toprank import History
    from toprank.payments.features import default_features

    features = default_features(card="card", terminal="terminal", amount="amount")
    history = History(features, time="at", label="is_fraud", row_id="tx")
    history.batch(first)
    return history


def _payments(generator: np.random.Generator, start: int, n_rows: int) -> pa.Table:
    numbers = np.arange(start, start + n_rows)
    return pa.table(
        {
            "tx": numbers,
            "at": np.datetime64("2025-01-01", "us") + numbers * np.timedelta64(5, "s"),
            "card": generator.integers(0, 5_000, n_rows),
            "terminal": generator.integers(0, 1_000, n_rows),
            "amount": generator.gamma(2, 30, n_rows).round(2),
        }
    )


def _seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _median_ms(work: Callable[[Any], Any], rows: list[Any]) -> float:
    return 1e3 * float(np.median([_seconds(partial(work, row)) for row in rows]))
