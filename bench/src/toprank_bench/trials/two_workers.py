"""Average precision of two workers of a Dask cluster, and of one machine, on the same rows.

Made-up payments with 0.5 % positives: a third in the far tail of the amount, a third where two
columns are both unusual, a third that look like any other row but for one faint sign. Both train
on the same rows with the same settings; AP is on as many held-out rows. `data` name the loss. The
rows are in eight Parquet files, as a cluster would read them.
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from toprank import metrics
from toprank_bench.protocols.protocol import TrialOutcome

METRICS = ("average_precision", "fit_seconds")
LOSSES = ("ap-exp", "ap-sigmoid")
_N_FILES = 8


def two_workers(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    workers: int,
    rows: int = 500_000,
    trees: int = 100,
) -> TrialOutcome:
    """Return the average precision of a ranker trained here, or by so many workers."""
    train, test = (_payments(rows, each) for each in (seed, seed + 1))
    fit = _fitted_by_workers if workers else _fitted_here
    suspicion, seconds = fit(data, trees, workers, train, test)
    is_fraud = test["is_fraud"].to_numpy(zero_copy_only=False)
    return TrialOutcome(
        {
            "average_precision": metrics.average_precision(is_fraud, suspicion),
            "fit_seconds": seconds,
        },
        {"loss": data, "workers": workers, "trees": trees},
        {"fit": round(seconds, 3)},
        {"rows": rows},
    )


def _fitted_here(
    loss: str, n_trees: int, workers: int, train: pa.Table, test: pa.Table
) -> tuple[NDArray[np.float64], float]:
    from toprank import BoostedRanker

    begin = time.perf_counter()
    ranker = BoostedRanker(loss, n_estimators=n_trees)
    ranker.fit(train.drop_columns("is_fraud"), train["is_fraud"].to_numpy(zero_copy_only=False))
    return ranker.suspicion(test), time.perf_counter() - begin


def _fitted_by_workers(
    loss: str, n_trees: int, workers: int, train: pa.Table, test: pa.Table
) -> tuple[NDArray[np.float64], float]:
    from distributed import Client, LocalCluster

    from toprank import BoostedRanker, cluster

    with (
        TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=workers, processes=True, threads_per_worker=1, dashboard_address=None
        ) as machines,
        Client(machines) as client,
    ):
        _write(train, Path(folder))
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
    n_each = -(-table.num_rows // _N_FILES)
    for number in range(_N_FILES):
        pq.write_table(table.slice(number * n_each, n_each), folder / f"{number}.parquet")
