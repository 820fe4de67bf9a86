"""Average precision of warm-started ap-exp against plain log-loss on the ULB card data.

    TOPRANK_DATA=folder python -m benchmarks.quality.ulb_warm_start [--training-folds]

Train: Time < 110,000; test: Time >= 115,000; Time itself is dropped. Same trees, five seeds; a
seed draws each tree's rows. The test was
scored with two scales of the listwise gradient; no setting was chosen by its figures.
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.record import record
from sklearn.model_selection import StratifiedKFold

from toprank import BoostedRanker, metrics

SEEDS = range(5)
SETTINGS = {"n_estimators": 300, "max_depth": 4, "learning_rate": 0.05, "subsample": 0.8}
MODELS = {
    "log-loss": {"loss": "log"},
    "log-loss, then ap-exp": {"loss": "ap-exp"},
    "ap-exp alone": {"loss": "ap-exp", "warm_start_trees": 0},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--training-folds", action="store_true", help="leave the test alone")
    train, test = _parts()
    if parser.parse_args().training_folds:
        _cross_validate(*train)
    else:
        _test(train, test)


def _cross_validate(features: pa.Table, is_fraud: np.ndarray) -> None:
    """What could be known before the test: five folds of the training rows."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for name, model in MODELS.items():
        values = []
        for seed, (kept, held_out) in enumerate(folds.split(is_fraud, is_fraud)):
            ranker = BoostedRanker(**model, **SETTINGS, random_state=seed)
            ranker.fit(features.take(kept), is_fraud[kept])
            suspicion = ranker.suspicion(features.take(held_out))
            values.append(metrics.average_precision(is_fraud[held_out], suspicion))
        _record("ulb_training_folds", name, model, values)


def _test(train: tuple, test: tuple) -> None:
    features, is_fraud = test
    mean_scores = {}
    for name, model in MODELS.items():
        scores = [
            BoostedRanker(**model, **SETTINGS, random_state=seed).fit(*train).suspicion(features)
            for seed in SEEDS
        ]
        _record(
            "ulb_warm_start",
            name,
            model,
            [metrics.average_precision(is_fraud, score) for score in scores],
        )
        mean_scores[name] = np.mean(scores, axis=0)
    print(
        f"{int(is_fraud.sum())} frauds in {is_fraud.size:,} test rows; scores meaned over seeds:"
    )
    for name, score in mean_scores.items():
        value = metrics.average_precision(is_fraud, score)
        gain = metrics.compare("average_precision", is_fraud, score, mean_scores["log-loss"])
        print(f"  {name:24}{value:.4f}   against log-loss: {gain}")


def _record(table: str, name: str, model: dict, values: list[float]) -> None:
    record(
        table,
        model=name,
        seeds=list(SEEDS),
        settings={**SETTINGS, **model},
        ap=[round(value, 4) for value in values],
        mean_ap=round(float(np.mean(values)), 4),
    )


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
