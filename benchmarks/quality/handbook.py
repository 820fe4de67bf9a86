"""The Fraud Detection Handbook's folds and features: the proof that ours are right.

    TOPRANK_DATA=folder python -m benchmarks.quality.handbook [--report]

Features, splits and metrics are toprank's; the data is the public draw. Scaled logistic regression
must give the published AUC, average precision and card precision at 100, to three decimals: .871,
.606 and .291 for the single week (train 25 to 31 July 2018, test 8 to 14 August) and .868, .623
and .297 over four prequential folds. scikit-learn's tolerance is set to 1e-6: at its default of
today it stops a little early.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.record import RESULTS, record
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from toprank import metrics, splits
from toprank.transactions.features import History, handbook_features

NAME = "handbook"
START, BUDGET = "2018-07-25", 100
PUBLISHED = {"single week": (0.871, 0.606, 0.291), "prequential": (0.868, 0.623, 0.297)}


def main() -> None:
    options = _options()
    if not options.report and not _recorded():
        _record_folds()
    _print_report()


def _record_folds() -> None:
    """Record the figures of each fold."""
    payments = _payments()
    begin = time.perf_counter()
    features = _features(payments)
    seconds = time.perf_counter() - begin
    moments = payments["time"].to_numpy()
    is_fraud, card = payments["is_fraud"].to_numpy(), payments["card"].to_numpy()
    day = splits.days(moments)
    for fold in splits.prequential(moments, start=START, cards=card, is_positive=is_fraud):
        model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-6, max_iter=1000))
        model.fit(features[fold.train], is_fraud[fold.train])
        suspicion = model.decision_function(features[fold.test])
        known = is_fraud[fold.test], suspicion
        of_cards = card[fold.test], day[fold.test], BUDGET
        record(
            NAME,
            learner="logistic regression",
            test=[str(each) for each in fold.periods["test"]],
            n_train=fold.train.size,
            n_test=fold.test.size,
            auc=round(metrics.roc_auc(*known), 5),
            average_precision=round(metrics.average_precision(*known), 5),
            card_precision=round(metrics.card_precision_at_k(*known, *of_cards), 5),
            ceiling=round(metrics.card_precision_ceiling(known[0], *of_cards), 5),
            feature_seconds=round(seconds, 1),
        )


def _payments() -> pa.Table:
    table = pq.read_table(Path(os.environ["TOPRANK_DATA"], "handbook_transactions.parquet"))
    seconds = table["TX_TIME_SECONDS"].to_numpy().astype("timedelta64[s]")
    return pa.table(
        {
            "time": np.datetime64("2018-04-01T00:00:00", "us") + seconds,
            "card": table["CUSTOMER_ID"].to_numpy().astype(np.int64),
            "terminal": table["TERMINAL_ID"].to_numpy().astype(np.int64),
            "amount": table["TX_AMOUNT"].to_numpy(),
            "is_fraud": table["y"].to_numpy() == 1,
        }
    )


def _features(payments: pa.Table) -> np.ndarray:
    history = History(handbook_features(), time="time", label="is_fraud")
    columns = history.batch(payments).columns
    return np.column_stack([column.to_numpy() for column in columns]).astype(np.float64)


def _recorded() -> list[dict]:
    path = RESULTS / f"{NAME}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _print_report() -> None:
    rows = _recorded()
    names = ("auc", "average_precision", "card_precision", "ceiling")
    for name, chosen in (("single week", rows[:1]), ("prequential", rows[:4])):
        ours = [float(np.mean([row[each] for row in chosen])) for each in names]
        met = np.array_equal(np.round(ours[:3], 3), PUBLISHED[name])
        shown = " / ".join(f"{each:.3f}" for each in ours[:3])
        print(
            f"{name}: AUC / AP / card precision at {BUDGET} {shown}, published "
            f"{PUBLISHED[name]}: {'met' if met else 'missed'}; ceiling {ours[3]:.3f}"
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true", help="only print what is recorded")
    if "TOPRANK_DATA" not in os.environ:
        sys.exit("TOPRANK_DATA must name the folder that holds handbook_transactions.parquet.")
    return parser.parse_args()


if __name__ == "__main__":
    main()
