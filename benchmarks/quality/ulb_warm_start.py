"""Average precision of warm-started ap-exp against plain log-loss on the ULB card data.

    TOPRANK_DATA=folder python -m benchmarks.quality.ulb_warm_start

Train: Time < 110,000; test: Time >= 115,000; Time itself is dropped. Same trees, five seeds; a
seed draws each tree's rows. The settings are fixed before any test row is scored.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from benchmarks.record import record

from toprank import BoostedRanker, metrics

SEEDS = range(5)
SETTINGS = {"n_estimators": 300, "max_depth": 4, "learning_rate": 0.05, "subsample": 0.8}
MODELS = {
    "log-loss": {"loss": "log"},
    "log-loss, then ap-exp": {"loss": "ap-exp"},
    "ap-exp alone": {"loss": "ap-exp", "warm_start_trees": 0},
}


def main() -> None:
    train, test = _parts()
    means, bagged = {}, {}
    for name, model in MODELS.items():
        scores = []
        for seed in SEEDS:
            ranker = BoostedRanker(**model, **SETTINGS, random_state=seed).fit(*train)
            scores.append(ranker.suspicion(test[0]))
        values = [metrics.average_precision(test[1], score) for score in scores]
        means[name] = float(np.mean(values))
        bagged[name] = np.mean(scores, axis=0)
        record(
            "ulb_warm_start",
            model=name,
            seeds=list(SEEDS),
            settings={**SETTINGS, **model},
            ap=[round(value, 4) for value in values],
            mean_ap=round(means[name], 4),
            ap_of_mean_score=round(metrics.average_precision(test[1], bagged[name]), 4),
        )
    print(f"\n{int(test[1].sum())} frauds in {test[1].size:,} test rows; mean AP over seeds:")
    for name, mean in means.items():
        gain = metrics.compare("average_precision", test[1], bagged[name], bagged["log-loss"])
        print(f"  {name:24}{mean:.4f}   against log-loss, mean scores: {gain}")


def _parts() -> tuple[tuple, tuple]:
    folder = os.environ.get("TOPRANK_DATA")
    if folder is None:
        sys.exit("TOPRANK_DATA must name the folder that holds ulb_creditcard.parquet.")
    table = pq.read_table(Path(folder, "ulb_creditcard.parquet"))
    time, is_fraud = table["Time"].to_numpy(), table["y"].to_numpy() == 1
    features = table.drop_columns(["Time", "y"])
    return tuple(
        (features.take(rows), is_fraud[rows])
        for rows in (np.flatnonzero(time < 110_000), np.flatnonzero(time >= 115_000))
    )


if __name__ == "__main__":
    main()
