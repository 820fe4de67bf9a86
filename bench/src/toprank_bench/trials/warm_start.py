"""How many trees log-loss should have before ap-exp takes over: AP on many small public sets.

Four-fold cross-validation on each of the sets `metaap_*` and `keel_*` of the data folder and three
of ADBench, without metaap_bankmarketing, which takes too long. The default of `warm_start_trees`
comes from here.
"""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from toprank import metrics
from toprank_bench import datasets
from toprank_bench.protocols.protocol import TrialOutcome

METRICS = ("average_precision", "sets_better", "sets_worse")
DATA = ("small public sets",)
_PATTERNS = ("metaap_*", "keel_*", "adbench_mammography", "adbench_annthyroid", "adbench_thyroid")
_LEFT_OUT = ("metaap_bankmarketing",)
_N_FOLDS = 4
_EQUAL = 5e-4  # a smaller difference in mean AP counts as none


def warm_start(
    data: str, seed: int, folder: Path | None, *, share: float, trees: int = 300
) -> TrialOutcome:
    """Return the mean AP with this share of log-loss trees, compared with log-loss alone."""
    begin = time.perf_counter()
    names = _names(folder)
    found = {name: _precision(name, folder, round(share * trees), trees, seed) for name in names}
    plain = {name: _precision(name, folder, trees, trees, seed) for name in names}
    gains = np.array([found[name] - plain[name] for name in names])
    return TrialOutcome(
        {
            "average_precision": float(np.mean(list(found.values()))),
            "sets_better": int((gains > _EQUAL).sum()),
            "sets_worse": int((gains < -_EQUAL).sum()),
        },
        {"warm_start_trees": round(share * trees), "n_estimators": trees},
        {"all fits": round(time.perf_counter() - begin, 3)},
        {"sets": len(names), "by_set": {name: round(value, 4) for name, value in found.items()}},
    )


def _names(folder: Path | None) -> list[str]:
    where = folder or os.environ.get("TOPRANK_DATA")
    if where is None:
        raise ValueError("--data or TOPRANK_DATA must name the folder of the public sets.")
    found = [path for each in _PATTERNS for path in sorted(Path(where).glob(f"{each}.parquet"))]
    return [path.stem for path in found if path.stem not in _LEFT_OUT]


def _precision(name: str, folder: Path | None, n_warm: int, n_trees: int, seed: int) -> float:
    """Return the mean AP over the folds of one set."""
    from toprank import BoostedRanker

    dataset = datasets.load(name, folder=folder)
    features, is_positive = dataset.X, dataset.is_positive
    how: dict[str, Any] = {"n_estimators": n_trees, "warm_start_trees": n_warm}
    folds = StratifiedKFold(_N_FOLDS, shuffle=True, random_state=seed)
    values = []
    for train, test in folds.split(is_positive, is_positive):
        ranker = BoostedRanker("ap-exp", **how, positive_label=True, n_jobs=1)
        ranker.fit(features.take(train), is_positive[train])
        suspicion = ranker.suspicion(features.take(test))
        values.append(metrics.average_precision(is_positive[test], suspicion))
    return float(np.mean(values))
