"""Data sets that need no file, since they are made up when they are loaded."""

import numpy as np
import pyarrow as pa

from toprank.simulator import simulate
from toprank_bench.datasets.dataset import Dataset
from toprank_bench.datasets.places import NotHere

_PAYMENTS = "simulated_payments"
_RARE_EVENTS = {"rare_events": 25_000, "rare_events_large": 2_500_000}
_N_COLUMNS, _POSITIVE_SHARE = 40, 0.002


def find(name: str) -> Dataset | NotHere:
    """Return the payments of the demo, or rows of pure chance with few positives among them."""
    if name == _PAYMENTS:
        return _payments()
    if name in _RARE_EVENTS:
        return _rare_events(name, _RARE_EVENTS[name])
    return NotHere("the made-up sets")


def names() -> list[str]:
    """Return the names of the sets that can be made up."""
    return [_PAYMENTS, *_RARE_EVENTS]


def _payments() -> Dataset:
    """Return 100 days of 800 cards, with features of their past."""
    payments = simulate()
    return Dataset(
        name=_PAYMENTS,
        features=payments.drop_columns(["is_fraud"]),
        is_positive=payments["is_fraud"].to_numpy(),
        positive="a fraud (simulated)",
        source="toprank.simulator.simulate()",
        metadata=payments.select([]),
        roles={"time": "paid_at", "card": "card", "terminal": "terminal", "amount": "amount"},
    )


def _rare_events(name: str, n_rows: int) -> Dataset:
    """Return 40 normal columns; one of them, the product of two and noise make a positive."""
    generator = np.random.default_rng(1)
    columns = generator.standard_normal((_N_COLUMNS, n_rows), dtype=np.float32)
    score = columns[0] + columns[1] * columns[2]
    score += generator.standard_normal(n_rows, dtype=np.float32)
    features = pa.table({f"x{place}": values for place, values in enumerate(columns)})
    return Dataset(
        name=name,
        features=features,
        is_positive=score > np.quantile(score, 1 - _POSITIVE_SHARE),
        positive="an event (made up)",
        source=f"{n_rows:,} rows of chance",
        metadata=features.select([]),
        roles={},
    )
