"""Compile the slow kernels before the tests run, each once: two test processes would do it twice.

    python tests/compile_kernels.py

The kernels stay in numba's cache, so that a second run ends at once.
"""

import subprocess
import sys

import numpy as np
import pyarrow as pa


def main() -> None:
    """Compile one half of the kernels in this process and the other half in another one."""
    if "streams" in sys.argv:
        streams()
        return
    other = subprocess.Popen([sys.executable, __file__, "streams"])
    trees()
    sys.exit(other.wait())


def trees() -> None:
    """Compile what grows trees, with and without labels."""
    from toprank import AnomalyForest, AnomalyTreeRank, MetaAP, TreeRank

    rows, is_positive = labelled_rows()
    for ranker in (MetaAP(), TreeRank(), AnomalyForest(n_estimators=2), AnomalyTreeRank()):
        ranker.fit(rows, is_positive).suspicion(rows)


def streams() -> None:
    """Compile what learns online, counts the past of cards, and ranks by a loss."""
    from toprank import BoostedRanker, OnlineNonLinearBoost
    from toprank.losses import LOSSES
    from toprank.payments.features import History, default_features

    rows, is_positive = labelled_rows()
    learner = OnlineNonLinearBoost().partial_fit(rows, is_positive)
    learner.learn_one({"x0": 1.0}, True)
    learner.score_one({"x0": 1.0})
    columns = {"card": "card", "terminal": "shop", "amount": "amount"}
    history = History(default_features(**columns), time="at", label="is_fraud")
    history.batch(
        pa.table(
            {
                "at": np.arange(200) * 3600,
                "card": np.arange(200) % 7,
                "shop": np.arange(200) % 5,
                "amount": rows[:, 0],
                "is_fraud": is_positive,
            }
        )
    )
    for loss in LOSSES:
        BoostedRanker(loss, n_estimators=2).fit(rows, is_positive)


def labelled_rows() -> tuple[np.ndarray, np.ndarray]:
    """Return 200 rows, the positives among them large in the first column."""
    rows = np.random.default_rng(0).normal(size=(200, 3))
    return rows, rows[:, 0] > 1.0


if __name__ == "__main__":
    main()
