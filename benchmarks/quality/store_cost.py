"""What a history in a folder costs: a day remembered, one row, opening, beside a whole save.

python benchmarks/quality/store_cost.py [ROWS]
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from toprank.payments.features import History, default_features
from toprank.payments.history_store import HistoryStore

DAY, SINGLE = 5_000, 1_000
RNG = np.random.default_rng(0)


def payments(start: int, n_rows: int) -> pa.Table:
    """Return payments, one every five seconds."""
    numbers = np.arange(start, start + n_rows)
    return pa.table(
        {
            "tx": numbers,
            "at": np.datetime64("2025-01-01", "us") + numbers * np.timedelta64(5, "s"),
            "card": RNG.integers(0, 5_000, n_rows),
            "terminal": RNG.integers(0, 1_000, n_rows),
            "amount": RNG.gamma(2, 30, n_rows).round(2),
        }
    )


def seconds(work: Callable[[], Any]) -> float:
    """Return how long some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median_ms(work: Callable[[Any], Any], rows: list[Any]) -> float:
    """Return the median time of one row in milliseconds."""
    return 1e3 * float(np.median([seconds(lambda row=row: work(row)) for row in rows]))


def measure(n_rows: int, folder: Path) -> None:
    """Print the costs of a history of so many rows."""
    features = default_features(card="card", terminal="terminal", amount="amount")
    history = History(features, time="at", label="is_fraud", row_id="tx")
    first, day = payments(0, n_rows), payments(n_rows, DAY)
    history.batch(first)
    whole = seconds(lambda: history.save(folder / "whole.history"))
    alone = History.load(folder / "whole.history")
    rows = payments(n_rows + DAY, SINGLE).to_pylist()
    with HistoryStore.create(folder / "payments.history", history, rows=first) as store:
        remembered, batch = seconds(lambda: store.remember(day)), seconds(lambda: alone.batch(day))
        log = (store.folder / "log-000001").stat().st_size
        one, one_alone = median_ms(store.one, rows), median_ms(alone.one, rows)
        compact = seconds(store.compact)
    opened = seconds(lambda: HistoryStore.open(folder / "payments.history"))
    saved = (folder / "whole.history").stat().st_size
    print(f"{n_rows:,} rows: save {whole:.2f} s, {saved / 1e6:.0f} MB")
    print(
        f"{DAY:,} more: features {batch:.2f} s, to keep them {remembered - batch:+.2f} s, "
        f"log {log / 1e6:.1f} MB"
    )
    print(f"one row: {one_alone:.3f} ms in memory, {one:.3f} ms with the log")
    print(f"snapshot {compact:.2f} s, opening {opened:.2f} s")


if __name__ == "__main__":
    with TemporaryDirectory() as name:
        measure(int(sys.argv[1]) if len(sys.argv) > 1 else 400_000, Path(name))
