"""AnomalyTreeRank and its forest against IsolationForest of 100 trees, in turns within one run.

    python -m benchmarks.speed.anomaly [--rounds 5] [--rows 100000] [--columns 10]

Each fits and scores the same Gaussian rows on one core. All figures include binning; the first
fit, which compiles, is not timed.
"""

import argparse
import time

import numpy as np
from benchmarks.record import record
from sklearn.ensemble import IsolationForest

from toprank import AnomalyTreeRank, RankForest

SEED = 0


def main() -> None:
    options = _options()
    generator = np.random.default_rng(SEED)
    rows = generator.standard_normal((options.rows, options.columns), dtype=np.float32)
    rivals = {
        "AnomalyTreeRank": AnomalyTreeRank(),
        "RankForest": RankForest(AnomalyTreeRank(), n_estimators=100),
        "IsolationForest": IsolationForest(n_estimators=100, random_state=SEED),
    }
    for rival in rivals.values():
        rival.fit(rows[:2000]).score_samples(rows[:2000])
    seconds = {name: [] for name in rivals}
    for _ in range(options.rounds):
        for name, rival in rivals.items():
            begin = time.perf_counter()
            rival.fit(rows).score_samples(rows)
            seconds[name].append(time.perf_counter() - begin)
    theirs = np.array(seconds["IsolationForest"])
    for name in list(rivals)[:2]:
        ratios = np.array(seconds[name]) / theirs
        record(
            "anomaly_speed",
            seed=SEED,
            part=name,
            rows=options.rows,
            columns=options.columns,
            seconds=np.median(seconds[name]).round(3),
            isolation_forest=np.median(theirs).round(3),
            ratio=np.median(ratios).round(3),
            ratios=ratios.round(3).tolist(),
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=10)
    return parser.parse_args()


if __name__ == "__main__":
    main()
