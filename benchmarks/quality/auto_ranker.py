"""AutoRanker against plain log-loss boosting on many public sets, and against published figures.

    TOPRANK_DATA=folder python -m benchmarks.quality.auto_ranker --suite metaap
    TOPRANK_DATA=folder python -m benchmarks.quality.auto_ranker --suite all --seeds 5 --report

`metaap` is the protocol of the MetaAP paper: seeds 1 to 20, a stratified 70/30 split each, mean
test AP a set, beside the published mean of a tuned XGBRanker. `all` are all small and middle-sized
sets of the folder. Rows are recorded one by one; those recorded already are not run again.
"""

import argparse
import json
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from benchmarks.record import RESULTS, record
from scipy.stats import t as student
from scipy.stats import wilcoxon
from sklearn.model_selection import train_test_split

from toprank import AutoRanker, BoostedRanker, metrics

NAME = "auto_ranker"
NOT_FEATURES = ("y", "label", "part", "subset", "difficulty")
MOST_ROWS = 50_000
TEST_SHARE = 0.3

# mean test AP over the 20 splits, as the MetaAP paper prints it for XGBoost's ranker
PUBLISHED = {
    "abalone20": 5.77, "abalone8": 32.67, "australian": 92.11, "autompg": 90.42,
    "balance": 99.54, "bankmarketing": 62.68, "bupa": 73.38, "glass": 82.77, "hayes": 100.00,
    "heart": 88.64, "iono": 95.98, "newthyroid": 98.63, "pageblocks": 93.41, "pima": 72.41,
    "satimage": 78.44, "segmentation": 98.25, "wdbc": 98.73, "wine": 97.90, "yeast6": 60.90,
}  # fmt: skip
# card payments in time order and the simulator's are not split at random
LEFT_OUT = ("ulb_creditcard", "handbook_transactions")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", choices=("metaap", "all"), default="metaap")
    parser.add_argument("--seeds", type=int, default=20, help="splits of each set")
    parser.add_argument("--sets", nargs="*", help="only these files, without .parquet")
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--report", action="store_true", help="only print what is recorded")
    arguments = parser.parse_args()
    if "TOPRANK_DATA" not in os.environ:
        sys.exit("set TOPRANK_DATA to the folder of the data sets")
    names = arguments.sets or set_names(arguments.suite)
    seeds = range(1, arguments.seeds + 1)
    if not arguments.report:
        _run(names, seeds, arguments.jobs)
    _print_table(names, seeds)


def set_names(suite: str) -> list[str]:
    """Return the suite's files; large ones last, so that most is done early."""
    folder = Path(os.environ["TOPRANK_DATA"])
    pattern = "metaap_*.parquet" if suite == "metaap" else "*.parquet"
    sizes = {path.stem: path.stat().st_size for path in folder.glob(pattern)}
    return sorted((name for name in sizes if name not in LEFT_OUT), key=sizes.__getitem__)


def _run(names: list[str], seeds: range, n_jobs: int) -> None:
    done = {(row["dataset"], row["seed"]) for row in recorded()}
    tasks = [(name, seed) for seed in seeds for name in names if (name, seed) not in done]
    with ProcessPoolExecutor(n_jobs) as pool:
        for row in pool.map(_one_split, tasks):
            record(NAME, **row)


def _one_split(task: tuple[str, int]) -> dict:
    """Return the test AP of both rankers on one split."""
    name, seed = task
    warnings.filterwarnings("ignore")
    table = pq.read_table(Path(os.environ["TOPRANK_DATA"], f"{name}.parquet"))
    is_positive = table["y"].to_numpy().astype(bool)
    features = table.drop_columns([each for each in NOT_FEATURES if each in table.column_names])
    rows = np.arange(is_positive.size)
    if rows.size > MOST_ROWS:
        rows = np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False)
    np.random.seed(seed)  # noqa: NPY002  (the published splits come from this generator)
    train, test = train_test_split(rows, stratify=is_positive[rows], test_size=TEST_SHARE)
    row = {"dataset": name, "seed": seed, "rows": rows.size, "test": test.size}
    row["positives"] = int(is_positive[rows].sum())
    scores = {}
    for method, ranker in (
        ("auto", AutoRanker(positive_label=True, random_state=seed, n_jobs=1)),
        ("log", BoostedRanker("log", positive_label=True, random_state=seed, n_jobs=1)),
    ):
        begin = time.perf_counter()
        ranker.fit(features.take(train), is_positive[train])
        scores[method] = ranker.suspicion(features.take(test))
        row[f"{method}_seconds"] = round(time.perf_counter() - begin, 2)
        row[f"{method}_ap"] = metrics.average_precision(is_positive[test], scores[method])
        if method == "auto":
            row["chosen"] = ranker.account_.winner
    return row


def recorded() -> list[dict]:
    """Return the rows recorded so far."""
    path = RESULTS / f"{NAME}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def _print_table(names: list[str], seeds: range) -> None:
    rows = [row for row in recorded() if row["dataset"] in names and row["seed"] in seeds]
    means, worse = [], []
    print(f"\n{'set':34} splits positives   auto    log  difference (95 %)         published")
    for name in names:
        of_set = [row for row in rows if row["dataset"] == name]
        if not of_set:
            continue
        auto, log = (
            100 * np.array([row[f"{each}_ap"] for row in of_set]) for each in ("auto", "log")
        )
        low, high = _paired_interval(auto - log, of_set[0])
        share = of_set[0]["positives"] / of_set[0]["rows"]
        published = PUBLISHED.get(name.removeprefix("metaap_"))
        means.append((name, auto.mean(), log.mean(), published, share))
        worse += [name] if high < 0 else []
        print(
            f"{name:34} {len(of_set):6} {share:8.2%}  {auto.mean():6.2f} {log.mean():6.2f}  "
            f"{(auto - log).mean():+6.2f} ({low:+6.2f} to {high:+6.2f})"
            + (f"  {published:6.2f}" if published is not None else "")
        )
    _print_verdict(means, worse)


def _paired_interval(differences: np.ndarray, row: dict) -> tuple[float, float]:
    """Return the 95 % interval of the mean difference over splits that share their rows.

    The splits overlap, so their plain standard error is too small; Nadeau and Bengio's correction
    adds the ratio of test to training rows.
    """
    n_splits = differences.size
    if n_splits < 2:
        return -np.inf, np.inf
    ratio = row["test"] / (row["rows"] - row["test"])
    error = np.sqrt(differences.var(ddof=1) * (1 / n_splits + ratio))
    half = student.ppf(0.975, n_splits - 1) * error
    return differences.mean() - half, differences.mean() + half


def _print_verdict(means: list[tuple], worse: list[str]) -> None:
    _, auto, log, published, share = map(np.array, zip(*means, strict=True))
    print(f"\n{len(means)} sets: AutoRanker {auto.mean():.2f}, log-loss {log.mean():.2f}; "
          f"ahead on {(auto > log).sum()}, behind on {(auto < log).sum()}; "
          f"signed-rank p {wilcoxon(auto, log).pvalue:.2g}")  # fmt: skip
    print(f"below log-loss beyond the paired interval: {', '.join(worse) or 'none'}")
    known = np.array([each is not None for each in published])
    if known.any():
        theirs = published[known].astype(float)
        rare = share[known] < 0.1
        print(f"{known.sum()} sets of the MetaAP suite: AutoRanker {auto[known].mean():.2f}, "
              f"published XGBRanker {theirs.mean():.2f}; ahead on {(auto[known] > theirs).sum()}; "
              f"signed-rank p {wilcoxon(auto[known], theirs).pvalue:.2g}")  # fmt: skip
        print(f"those under 10 % positives: {auto[known][rare].mean():.2f} against "
              f"{theirs[rare].mean():.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
