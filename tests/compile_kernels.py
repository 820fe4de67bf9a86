"""Compile the slow kernels before the tests run, each once: two test processes would do it twice.

    python tests/compile_kernels.py

The kernels stay in numba's cache, so that a second run ends at once.
"""

from multiprocessing import get_context

import numpy as np
import pyarrow as pa

N_PROCESSES = 2


def main() -> None:
    """Compile the kernels in two processes; who is done takes the next part."""
    with get_context("spawn").Pool(N_PROCESSES) as processes:
        for _ in processes.imap_unordered(compile_part, range(len(PARTS))):
            pass


def compile_part(number: int) -> None:
    """Run what needs the kernels of one part."""
    PARTS[number]()


def online() -> None:
    """Compile what learns from rows as they come."""
    from toprank import OnlineNonLinearBoost, StreamRanker

    rows, is_positive = labelled_rows()
    for made in (OnlineNonLinearBoost(), StreamRanker(n_estimators=2)):
        learner = made.partial_fit(rows, is_positive)
        learner.learn_one({"x0": 1.0}, True)
        learner.score_one({"x0": 1.0})
        learner.effects_one({"x0": 1.0})


def history() -> None:
    """Compile what counts the past of cards."""
    from toprank.payments.features import History, default_features

    rows, is_positive = labelled_rows()
    columns = {"card": "card", "terminal": "shop", "amount": "amount"}
    past = History(default_features(**columns), time="at", label="is_fraud")
    past.batch(
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


def trees() -> None:
    """Compile what grows trees on labels."""
    from toprank import MetaAP, TreeRank

    fit_and_score(MetaAP(), TreeRank())


def anomaly_trees() -> None:
    """Compile what grows trees without labels."""
    from toprank import AnomalyForest, AnomalyTreeRank

    fit_and_score(AnomalyForest(n_estimators=2), AnomalyTreeRank())


def losses() -> None:
    """Compile what ranks by a loss."""
    from toprank import BoostedRanker
    from toprank.losses import LOSSES

    fit_and_score(*(BoostedRanker(loss, n_estimators=2) for loss in LOSSES))


def fit_and_score(*rankers) -> None:
    """Let rankers learn from a few rows and score them."""
    rows, is_positive = labelled_rows()
    for ranker in rankers:
        ranker.fit(rows, is_positive).suspicion(rows)


def labelled_rows() -> tuple[np.ndarray, np.ndarray]:
    """Return 200 rows, the positives among them large in the first column."""
    rows = np.random.default_rng(0).normal(size=(200, 3))
    return rows, rows[:, 0] > 1.0


# the longest first, so that both processes end at about the same time
PARTS = (online, history, trees, anomaly_trees, losses)

if __name__ == "__main__":
    main()
