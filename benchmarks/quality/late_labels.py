"""Card payments in time order with labels 7 days late: average precision week by week.

    TOPRANK_DATA=folder python -m benchmarks.quality.late_labels [--customers 1000] [--report]
        [--learners ...]

The simulated payments of handbook_transactions.parquet, those of some customers, come in the order
of their times. Each is scored when it comes; its label is learned 7 days later. Features look at
the past only: the amount, hour and weekend; the customer's number of payments and mean amount over
the 7 and 30 days before this one; the terminal's number of payments and share of frauds over 1, 7
and 30 days that end 7 days before, when the labels of these are known. All learners see the same.

Ours learn from numbers as they are. River's have its StandardScaler before them, and the seed 0.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from benchmarks.record import RESULTS, record
from river import compose, forest, linear_model, optim, preprocessing, tree

import toprank
from toprank import metrics
from toprank.rankers.online.validation import progressive_validation

NAME = "late_labels"
DELAY, SEED, FIRST_CUSTOMER = 7, 0, 1000
OURS: dict[str, Callable[[], Any]] = {
    "ONLB": lambda: toprank.OnlineNonLinearBoost(20, random_state=SEED),
    "ONLB, loss ap": lambda: toprank.OnlineNonLinearBoost(20, loss="ap", random_state=SEED),
    "ONLB, averaged": lambda: toprank.OnlineNonLinearBoost(20, averaged=True, random_state=SEED),
    "ONLB, balanced": lambda: toprank.OnlineNonLinearBoost(
        20, class_weight="balanced", random_state=SEED
    ),
    "ONLB, residual": lambda: toprank.OnlineNonLinearBoost(
        20, update="residual", random_state=SEED
    ),
    "linear boosting": lambda: toprank.OnlineLinearBoost(20, random_state=SEED),
}
RIVER: dict[str, Callable[[], Any]] = {
    "river ARF": lambda: forest.ARFClassifier(n_models=10, seed=SEED),
    "river HoeffdingAdaptiveTree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=SEED),
    "river LogisticRegression": lambda: linear_model.LogisticRegression(optim.AdaGrad(0.1)),
}


def main() -> None:
    options = _options()
    if not options.report:
        features, is_fraud, days = _payments(options.customers)
        for name in options.learners:
            if not _recorded(name, options.customers):
                _record(name, features, is_fraud, days, options.customers)
    _print_report(options.customers)


def _record(
    name: str, features: pd.DataFrame, is_fraud: np.ndarray, days: np.ndarray, customers: int
) -> None:
    begin = time.perf_counter()
    if name in OURS:
        validation = progressive_validation(
            OURS[name](), features, is_fraud, times=days, delay=float(DELAY)
        )
        suspicion = validation.suspicion
    else:
        suspicion = _river_suspicion(RIVER[name](), features, is_fraud, days)
    seconds = time.perf_counter() - begin
    weeks = (days // 7).astype(int)
    later = weeks >= 4  # what everyone needs to begin with is left out of the overall figure
    record(
        NAME,
        learner=name,
        customers=customers,
        n_rows=is_fraud.size,
        n_frauds=int(is_fraud.sum()),
        seed=SEED,
        average_precision=round(metrics.average_precision(is_fraud[later], suspicion[later]), 4),
        by_week=[
            round(metrics.average_precision(is_fraud[weeks == week], suspicion[weeks == week]), 3)
            for week in range(weeks.max() + 1)
        ],
        rows_per_second=round(is_fraud.size / seconds),
    )


def _river_suspicion(
    model: Any, features: pd.DataFrame, is_fraud: np.ndarray, days: np.ndarray
) -> np.ndarray:
    """Return each payment's probability of fraud when it came, labels learned when they came."""
    pipeline = compose.Pipeline(preprocessing.StandardScaler(), model)
    rows, labels = features.to_dict("records"), is_fraud.tolist()
    n_known = np.searchsorted(days, days - DELAY, side="right")
    suspicion, n_learned = np.zeros(len(rows)), 0
    for i, row in enumerate(rows):
        while n_learned < n_known[i]:
            pipeline.learn_one(rows[n_learned], labels[n_learned])
            n_learned += 1
        suspicion[i] = pipeline.predict_proba_one(row).get(True, 0.0)
    return suspicion


def _payments(customers: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return the features, labels and times in days of the payments of the first customers."""
    path = Path(os.environ["TOPRANK_DATA"], "handbook_transactions.parquet")
    table = pq.read_table(path).to_pandas()
    day = table["TX_TIME_DAYS"].to_numpy().astype(int)
    amount, fraud = table["TX_AMOUNT"].to_numpy(), table["y"].to_numpy().astype(float)
    customer, terminal = (
        table[name].to_numpy().astype(int) for name in ("CUSTOMER_ID", "TERMINAL_ID")
    )
    hour = table["TX_TIME_SECONDS"].to_numpy() % 86_400 / 3_600
    features = {"amount": amount, "hour": hour, "is_weekend": (day % 7 >= 5).astype(float)}
    for n_days in (7, 30):
        count, total = (
            _sum_of_days(customer, day, value, n_days, 0) for value in (np.ones(day.size), amount)
        )
        features[f"customer_count_{n_days}"] = count
        features[f"customer_amount_{n_days}"] = total / np.maximum(count, 1)
    for n_days in (1, 7, 30):
        count, frauds = (
            _sum_of_days(terminal, day, value, n_days, DELAY)
            for value in (np.ones(day.size), fraud)
        )
        features[f"terminal_count_{n_days}"] = count
        features[f"terminal_risk_{n_days}"] = frauds / np.maximum(count, 1)
    # those before served to develop the learners
    chosen = (customer >= FIRST_CUSTOMER) & (customer < FIRST_CUSTOMER + customers)
    days = table["TX_TIME_SECONDS"].to_numpy() / 86_400
    return pd.DataFrame(features)[chosen], fraud[chosen] == 1, days[chosen]


def _sum_of_days(
    key: np.ndarray, day: np.ndarray, value: np.ndarray, n_days: int, gap: int
) -> np.ndarray:
    """Return the sum of values with the same key over n days that end `gap` days before."""
    sums = np.zeros((key.max() + 1, day.max() + 2))
    np.add.at(sums, (key, day + 1), value)
    until = np.cumsum(sums, axis=1)  # until[k, d]: over the days before d
    last = np.maximum(day - gap, 0)
    return until[key, last] - until[key, np.maximum(last - n_days, 0)]


def _recorded(name: str, customers: int) -> dict | None:
    path = RESULTS / f"{NAME}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    own = [
        row
        for row in map(json.loads, lines)
        if (row["learner"], row["customers"]) == (name, customers)
    ]
    return own[-1] if own else None


def _print_report(customers: int) -> None:
    rows = [row for name in (*OURS, *RIVER) if (row := _recorded(name, customers))]
    print(f"\n{customers} customers; average precision of each week, and of all from week 5\n")
    for row in rows:
        print(
            f"{row['learner']:28} {row['average_precision']:.4f} {row['rows_per_second']:>8,} "
            "rows/s  " + " ".join(f"{100 * value:3.0f}" for value in row["by_week"])
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--customers", type=int, default=1000, help="of 5,000")
    parser.add_argument("--learners", nargs="*", choices=(*OURS, *RIVER), default=(*OURS, *RIVER))
    parser.add_argument(
        "--report", action="store_true", help="print what is recorded, run nothing"
    )
    if "TOPRANK_DATA" not in os.environ:
        sys.exit("TOPRANK_DATA must name the folder that holds handbook_transactions.parquet.")
    return parser.parse_args()


if __name__ == "__main__":
    main()
