"""Time of making payments, of their features against pandas rolling, and of one row at a time.

    OMP_NUM_THREADS=1 python -m benchmarks.speed.features [--rounds 3] [--rows 1750000]

Both make the Handbook's 12 windows on the same seeded payments, one after the other in one
process on one core, so that what slows the machine slows both. pandas rolls over its groups,
which compiled code of its own does, and what it gives is compared with ours. Then a history that
knows all those payments is given new ones, row by row. Last, the base case of the simulator is
written to a Parquet file.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from benchmarks.record import record

from toprank.transactions.features import Feature, History, default_features, handbook_features
from toprank.transactions.simulator import Simulation, write_parquet

NAME = "features_speed"
N_CARDS, N_TERMINALS, N_DAYS, REACH, SEED = 5_000, 10_000, 183, 80, 0
DAYS = (1, 7, 30)
ONE_BY_ONE = 20_000
SETS = {"handbook": handbook_features(), "default": default_features()}


def main() -> None:
    options = _options()
    payments = _payments(options.rows + ONE_BY_ONE)
    known, new = payments[: options.rows], payments[options.rows :]
    for features in SETS.values():
        _compile(features, known[:1000])
    _compare(known, options.rounds)
    for name, features in SETS.items():
        history = _history(features)
        seconds = _seconds(lambda history=history: history.batch(known))
        _record_batch(name, features, known, seconds)
        _time_rows(name, history, new)
    _time_simulator()


def _compare(payments: pd.DataFrame, n_rounds: int) -> None:
    """Record both times, each round one after the other."""
    rounds = []
    for _ in range(n_rounds):
        ours = _seconds(lambda: _history(SETS["handbook"]).batch(payments))
        theirs = _seconds(lambda: _rolling(payments))
        rounds.append((ours, theirs))
    _check_equal(payments)
    ratios = [theirs["wall"] / ours["wall"] for ours, theirs in rounds]
    record(
        NAME,
        what="12 windows of the Handbook, against pandas",
        n_rows=len(payments),
        seed=SEED,
        cpu_seconds=round(statistics.median(ours["cpu"] for ours, _ in rounds), 2),
        wall_seconds=round(statistics.median(ours["wall"] for ours, _ in rounds), 2),
        pandas_cpu_seconds=round(statistics.median(theirs["cpu"] for _, theirs in rounds), 2),
        pandas_wall_seconds=round(statistics.median(theirs["wall"] for _, theirs in rounds), 2),
        ratio=round(statistics.median(ratios), 2),
        ratios=[round(ratio, 2) for ratio in ratios],
        pandas=pd.__version__,
    )


def _record_batch(
    name: str, features: tuple[Feature, ...], payments: pd.DataFrame, seconds: dict[str, float]
) -> None:
    record(
        NAME,
        what="all rows at once",
        features=name,
        n_features=len(features),
        n_rows=len(payments),
        seed=SEED,
        cpu_seconds=round(seconds["cpu"], 2),
        wall_seconds=round(seconds["wall"], 2),
    )


def _time_rows(name: str, history: History, payments: pd.DataFrame) -> None:
    """Record how long `one` takes, in Python, row by row."""
    rows = payments.drop(columns="label").to_dict("records")
    for row in rows:
        row["time"] = row["time"].to_pydatetime()
    took = []
    for row in rows:
        start = time.perf_counter()
        history.one(row)
        took.append(1000 * (time.perf_counter() - start))
    record(
        NAME,
        what="one row",
        features=name,
        n_features=len(history.features),
        n_rows=len(rows),
        seed=SEED,
        p50_ms=round(float(np.percentile(took, 50)), 4),
        p99_ms=round(float(np.percentile(took, 99)), 4),
        largest_ms=round(max(took), 2),
    )


def _time_simulator() -> None:
    """Record how long the base case takes, from the world to the closed file."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "payments.parquet")
        seconds = _seconds(lambda: write_parquet(Simulation(random_state=SEED), path))
        n_rows = pq.read_metadata(path).num_rows
    record(
        NAME,
        what="simulate, to a file",
        n_rows=n_rows,
        seed=SEED,
        cpu_seconds=round(seconds["cpu"], 2),
        wall_seconds=round(seconds["wall"], 2),
    )


def _seconds(work: Callable[[], Any]) -> dict[str, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


def _history(features: tuple[Feature, ...]) -> History:
    return History(features, label="label")


def _compile(features: tuple[Feature, ...], payments: pd.DataFrame) -> None:
    history = _history(features)
    history.batch(payments)
    history.one(payments.iloc[-1].to_dict())


def _rolling(payments: pd.DataFrame) -> pd.DataFrame:
    """Return the 12 windows as pandas makes them."""
    columns = {}
    for days in DAYS:
        count, mean = _rolled(payments, "card", "amount", days, ("count", "mean"))
        columns[f"card_count_{days}d"], columns[f"card_mean_amount_{days}d"] = count, mean
    late_count, late_sum = _rolled(payments, "terminal", "label", 7, ("count", "sum"))
    for days in DAYS:
        count, found = _rolled(payments, "terminal", "label", days + 7, ("count", "sum"))
        count -= late_count
        columns[f"terminal_count_{days}d_until_7d"] = count
        risk = np.round(found - late_sum) / np.maximum(count, 1)
        columns[f"terminal_risk_{days}d_delay_7d"] = risk
    return pd.DataFrame(columns)


def _rolled(
    payments: pd.DataFrame, key: str, of: str, days: int, what: tuple[str, ...]
) -> list[np.ndarray]:
    """Return what pandas rolls over the groups of a key, in the order of the payments."""
    rolling = payments.groupby(key).rolling(f"{days}D", on="time")[of]
    rows = np.argsort(payments[key].to_numpy(), kind="stable")
    columns = []
    for each in what:
        values = np.empty(len(payments))
        values[rows] = getattr(rolling, each)().to_numpy()
        columns.append(values)
    return columns


def _check_equal(payments: pd.DataFrame) -> None:
    payments = payments[:100_000]
    ours = _history(SETS["handbook"]).batch(payments).to_pandas()
    for name, values in _rolling(payments).items():
        np.testing.assert_allclose(ours[name], values, rtol=1e-9, atol=1e-9)


def _payments(n_rows: int) -> pd.DataFrame:
    """Return payments in order of time; a card pays at terminals near it."""
    generator = np.random.default_rng(SEED)
    rates = generator.uniform(0, 4, N_CARDS)
    card = generator.choice(N_CARDS, n_rows, p=rates / rates.sum())
    home = generator.integers(N_TERMINALS, size=N_CARDS)
    seconds = np.sort(generator.integers(0, N_DAYS * 86_400, n_rows))
    return pd.DataFrame(
        {
            "time": np.datetime64("2018-04-01", "us") + seconds * np.timedelta64(1_000_000, "us"),
            "card": card,
            "terminal": (home[card] + generator.integers(REACH, size=n_rows)) % N_TERMINALS,
            "amount": generator.gamma(2.0, 25.0, n_rows).round(2),
            "label": (generator.random(n_rows) < 0.0084).astype(np.float64),
        }
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_750_000)
    return parser.parse_args()


if __name__ == "__main__":
    main()
