"""Average precision of two workers of a Dask cluster against one machine, on 500,000 rows.

    python -m benchmarks.quality.two_workers [--trees 100] [--rows 500000]

Made-up payments with 0.5 % positives: a third in the far tail of the amount, a third where two
columns meet, a third that look like any other row but for one faint sign. Both train on the same
rows with the same settings; AP is on as many held-out rows. The rows lie in eight Parquet files,
as a cluster would read them.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.record import record
from distributed import Client, LocalCluster

from toprank import BoostedRanker, cluster, metrics

SEED = 1
LOSSES = ("ap-exp", "ap-sigmoid")
N_FILES = 8
N_WORKERS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, default=500_000)
    options = parser.parse_args()
    train, test = (_payments(options.rows, seed) for seed in (SEED, SEED + 1))
    is_fraud = test["is_fraud"].to_numpy(zero_copy_only=False)
    with TemporaryDirectory() as folder:
        _write(train, Path(folder))
        for loss in LOSSES:
            here, seconds_here = _local(loss, options.trees, train, test)
            there, seconds_there = _on_two_workers(loss, options.trees, Path(folder), test)
            values = [metrics.average_precision(is_fraud, scores) for scores in (here, there)]
            record(
                "two_workers",
                loss=loss,
                seed=SEED,
                rows=options.rows,
                trees=options.trees,
                n_workers=N_WORKERS,
                ap_here=round(values[0], 4),
                ap_there=round(values[1], 4),
                difference=round(values[1] - values[0], 4),
                correlation=round(float(np.corrcoef(here, there)[0, 1]), 5),
                seconds_here=round(seconds_here, 1),
                seconds_there=round(seconds_there, 1),
            )


def _local(loss: str, n_trees: int, train: pa.Table, test: pa.Table) -> tuple[np.ndarray, float]:
    begin = time.perf_counter()
    ranker = BoostedRanker(loss, n_estimators=n_trees)
    ranker.fit(train.drop_columns("is_fraud"), train["is_fraud"].to_numpy(zero_copy_only=False))
    return ranker.suspicion(test), time.perf_counter() - begin


def _on_two_workers(
    loss: str, n_trees: int, folder: Path, test: pa.Table
) -> tuple[np.ndarray, float]:
    with (
        LocalCluster(
            n_workers=N_WORKERS, processes=True, threads_per_worker=1, dashboard_address=None
        ) as machines,
        Client(machines) as client,
    ):
        begin = time.perf_counter()
        features, labels, _ = cluster.read_parquet(folder, "is_fraud")
        ranker = cluster.fit(
            BoostedRanker(loss, n_estimators=n_trees), features, labels, client=client
        )
        seconds = time.perf_counter() - begin
    return ranker.suspicion(test), seconds


def _payments(n_rows: int, seed: int) -> pa.Table:
    generator = np.random.default_rng(seed)
    amount = np.exp(generator.normal(3.0, 1.0, n_rows))
    hour = generator.integers(0, 24, n_rows)
    since_last = generator.exponential(10.0, n_rows)
    country = generator.choice(["DE", "ES", "FR", "IT", "PL"], n_rows, p=[0.4, 0.2, 0.2, 0.1, 0.1])
    others = generator.normal(size=(n_rows, 6))
    kind = generator.choice(4, n_rows, p=[0.995, 0.005 / 3, 0.005 / 3, 0.005 / 3])
    amount = np.where(kind == 1, np.exp(generator.normal(6.0, 0.7, n_rows)), amount)
    at_night = (kind == 2) & (generator.random(n_rows) < 0.8)
    hour = np.where(at_night, generator.integers(0, 5, n_rows), hour)
    since_last = np.where(at_night, generator.exponential(0.3, n_rows), since_last)
    others[kind == 3, :2] += 1.5
    return pa.table(
        {
            "amount": amount,
            "hour": hour,
            "since_last": since_last,
            "country": country,
            **{f"other_{j}": others[:, j] for j in range(6)},
            "is_fraud": kind > 0,
        }
    )


def _write(table: pa.Table, folder: Path) -> None:
    n_each = -(-table.num_rows // N_FILES)
    for number in range(N_FILES):
        pq.write_table(table.slice(number * n_each, n_each), folder / f"{number}.parquet")


if __name__ == "__main__":
    main()
