"""How many trees log-loss should have before ap-exp takes over: AP on many small public sets.

    TOPRANK_DATA=folder python -m benchmarks.quality.warm_start [--trees 300]

Four-fold cross-validation on each set of the folder named metaap_* or keel_*, and three of
ADBench. This is where the default of `warm_start_trees` comes from.
"""

import argparse
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from benchmarks.record import record
from sklearn.model_selection import StratifiedKFold

from toprank import BoostedRanker, metrics

SEED = 1
SETS = ("metaap_*", "keel_*", "adbench_mammography", "adbench_annthyroid", "adbench_thyroid")
TOO_SLOW_HERE = ("metaap_bankmarketing",)
SHARES = (0.0, 0.25, 0.5, 0.75, 0.8, 0.9, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=300)
    n_trees = parser.parse_args().trees
    warnings.simplefilter("ignore")
    precision = np.array([_precisions(path, n_trees) for path in _files()])
    gain = precision - precision[:, [-1]]  # a share of 1 is plain log-loss
    record(
        "warm_start",
        seed=SEED,
        trees=n_trees,
        n_sets=len(precision),
        mean_ap={
            str(share): round(float(precision[:, i].mean()), 4) for i, share in enumerate(SHARES)
        },
        better={str(share): int((gain[:, i] > 5e-4).sum()) for i, share in enumerate(SHARES)},
        worse={str(share): int((gain[:, i] < -5e-4).sum()) for i, share in enumerate(SHARES)},
    )


def _files() -> list[Path]:
    folder = os.environ.get("TOPRANK_DATA")
    if folder is None:
        sys.exit("TOPRANK_DATA must name the folder of data sets.")
    found = [path for name in SETS for path in sorted(Path(folder).glob(f"{name}.parquet"))]
    return [path for path in found if path.stem not in TOO_SLOW_HERE]


def _precisions(path: Path, n_trees: int) -> list[float]:
    """Return the mean AP of each share of log-loss trees on one set."""
    table = pq.read_table(path)
    is_positive = table["y"].to_numpy() == 1
    features = table.drop_columns([name for name in ("y", "label") if name in table.column_names])
    folds = StratifiedKFold(4, shuffle=True, random_state=SEED).split(is_positive, is_positive)
    values = [
        [
            _precision(features, is_positive, train, test, round(share * n_trees), n_trees)
            for share in SHARES
        ]
        for train, test in folds
    ]
    means = np.mean(values, axis=0)
    print(path.stem, np.round(means, 3), flush=True)
    return means.tolist()


def _precision(features, is_positive, train, test, warm: int, n_trees: int) -> float:
    ranker = BoostedRanker(
        "ap-exp", n_estimators=n_trees, warm_start_trees=warm, positive_label=True, n_jobs=-1
    )
    ranker.fit(features.take(train), is_positive[train])
    return metrics.average_precision(is_positive[test], ranker.suspicion(features.take(test)))


if __name__ == "__main__":
    main()
