"""Writes the files of this folder: a fitted model of every kind that can be saved, and its scores.

It was run with toprank 0.1.0 at commit b95836d, XGBoost 3.2.0, NumPy 2 and River 0.26, as

    PYTHONPATH=src python tests/model_file/written_before/make.py

and is kept to show what the files are; `stream_ranker` and `pipeline` were written on their own
when these kinds of file were new. Running it with a later version would replace the old files by
new ones, which prove nothing: write those of a later version to a folder of their own.
"""

import json
import warnings
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from click.testing import CliRunner
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import toprank
from toprank.cli import commands
from toprank.decisions.balance_cascade import BalanceCascade
from toprank.decisions.cost_boost import CostBoost
from toprank.decisions.sampled_ranker import SampledRanker
from toprank.payments.features import History, default_features
from toprank.rankers.anomaly.anomaly_forest import AnomalyForest
from toprank.rankers.anomaly.anomaly_ranker import AnomalyRanker
from toprank.rankers.anomaly.anomaly_tree_rank import AnomalyTreeRank
from toprank.rankers.auto.auto_ranker import AutoRanker
from toprank.rankers.boosted.boosted_ranker import BoostedRanker
from toprank.rankers.boosted.non_linear_boost import NonLinearBoost
from toprank.rankers.boosted.rank_boost import RankBoost
from toprank.rankers.online.ada_boost import AdaBoostOL, AdaBoostOLW
from toprank.rankers.online.boost_by_majority import OnlineBBM
from toprank.rankers.online.event_stream import EventStream
from toprank.rankers.online.gradient_boost import OnlineGradientBoost, StreamBoost
from toprank.rankers.online.linear import OnlineLinearBoost
from toprank.rankers.online.online_non_linear import OnlineNonLinearBoost
from toprank.rankers.pairwise.rank_rls import RankRLS
from toprank.rankers.pairwise.rank_svm import RankSVM
from toprank.rankers.trees.geometric_tree import GeometricTree
from toprank.rankers.trees.meta_ap import MetaAP
from toprank.rankers.trees.rank_forest import RankForest
from toprank.rankers.trees.tree_rank import TreeRank

FOLDER = Path(__file__).parent
START = datetime(2025, 3, 1)
N_SCORED = 12


def main():
    warnings.simplefilter("ignore")
    payments = drawn_payments()
    rows = payments.slice(0, N_SCORED)
    expected = {}
    for name, model in rankers(payments).items():
        write(model, name)
        expected[name] = scores_of(model, rows.select(["amount", "country", "online"]))
    for name, model in no_label_rankers(payments).items():
        write(model, name)
        expected[name] = scores_of(model, rows.select(["amount", "online"]))
    model = stream_ranker(payments)
    write(model, "stream_ranker")
    expected["stream_ranker"] = scores_of(model, rows.select(["amount", "country", "online"]))
    model = pipeline(payments)
    write(model, "pipeline")
    expected["pipeline"] = probabilities_of(model, rows)
    for name, model in streams(payments).items():
        write(model, name)
        expected[name] = [model.score(features(row))._asdict() for row in plain(rows)]
    history = remembering(payments)
    write(history, "history")
    expected["history"] = [history.one(row) for row in plain(in_days(rows, 30))]
    write_by_command(payments)
    expected["by_command"] = listed_by_command(in_days(rows, 26))
    write_json("rows", plain(rows))
    write_json("rows_in_30_days", plain(in_days(rows, 30)))
    write_json("expected", expected)


def drawn_payments(n=400):
    generator = np.random.default_rng(3)
    amount = np.where(generator.random(n) < 0.1, np.nan, generator.gamma(2, 40, n).round(2))
    online = generator.random(n) < 0.5
    hours = np.sort(generator.integers(0, 24 * 25, n))
    return pa.table(
        {
            "id": [f"p{i}" for i in range(n)],
            "time": [START + timedelta(hours=int(hour)) for hour in hours],
            "card": [f"c{c}" for c in generator.integers(0, 30, n)],
            "terminal": [f"t{t}" for t in generator.integers(0, 10, n)],
            "amount": pa.array(amount, from_pandas=True),
            "country": generator.choice(["FR", "DE", "US", None], n).tolist(),
            "online": online,
            "fraud": np.where((amount > 100) & online, 1, 0),
        }
    )


def plain(rows):
    """Return rows as JSON can hold them."""
    return [row | {"time": row["time"].isoformat()} for row in rows.to_pylist()]


def features(row):
    return {name: row[name] for name in ("amount", "country", "online")}


def in_days(rows, days):
    times = [time.as_py() + timedelta(days=days) for time in rows["time"]]
    return rows.set_column(1, "time", [times]).drop_columns("fraud")


def rankers(payments):
    table = payments.select(["amount", "country", "online"])
    is_fraud = np.asarray(payments["fraud"]) == 1
    labels = np.where(is_fraud, "fraud", "genuine")
    text = {"positive_label": "fraud"}
    small = {"n_estimators": 3, "max_depth": 2, "n_jobs": 1}
    few = {"n_estimators": 3, "n_jobs": 1}
    leaves = {"min_samples_leaf": 20}
    booster = BoostedRanker("log", **small)
    online = {"n_learners": 3, "width": 1, "n_buckets": 16}
    fitted = {
        "boosted": BoostedRanker(**small).fit(table, is_fraud),
        "boosted_log": BoostedRanker(
            "log", **small, early_stopping_rounds=2, loss_options={}, **text
        ).fit(table, labels),
        "boosted_paper": BoostedRanker(**small, engine="paper").fit(
            table.select(["amount", "online"]), is_fraud
        ),
        "auto": AutoRanker(2, n_estimators=4, n_bags=2, n_jobs=1).fit(table, is_fraud),
        "non_linear": NonLinearBoost(**small, n_latents=2).fit(table, is_fraud),
        "rank_boost": RankBoost(**small).fit(table, is_fraud),
        "cost_boost": CostBoost(**small).fit(table, is_fraud),
        "cascade": BalanceCascade(booster, n_estimators=2).fit(table, is_fraud),
        "sampled": SampledRanker(booster, "smote").fit(table, is_fraud),
        "easy_ensemble": SampledRanker(MetaAP(**leaves), "easy-ensemble", n_subsets=2).fit(
            table, is_fraud
        ),
        "geometric_tree": GeometricTree(max_depth=3).fit(table, is_fraud),
        "meta_ap": MetaAP(**leaves, **text).fit(table, labels),
        "tree_rank": TreeRank(**leaves, pruning="cv").fit(table, is_fraud),
        "forest": RankForest(**few).fit(table, is_fraud),
        "forest_of_meta_ap": RankForest(MetaAP(**leaves), **few).fit(table, is_fraud),
        "rank_rls": RankRLS().fit(table, is_fraud),
        "rank_rls_gaussian": RankRLS(kernel="gaussian", n_centres=8).fit(table, is_fraud),
        "rank_svm": RankSVM().fit(table, is_fraud),
        "rank_svm_gaussian": RankSVM(kernel="gaussian", n_centres=8).fit(table, is_fraud),
    }
    for learner in (AdaBoostOL, AdaBoostOLW, OnlineBBM, OnlineGradientBoost, StreamBoost):
        fitted[learner.__name__] = learner(**online).fit(table, is_fraud)
    fitted["OnlineLinearBoost"] = OnlineLinearBoost(**online, averaged=True).fit(table, is_fraud)
    fitted["OnlineNonLinearBoost"] = OnlineNonLinearBoost(
        **online, n_latents=2, class_weight="balanced", **text
    ).fit(table, labels)
    return fitted


def no_label_rankers(payments):
    table = payments.select(["amount", "online"])
    tree = AnomalyTreeRank(global_depth=2, local_depth=2, min_samples_leaf=20)
    booster = BoostedRanker("log", n_estimators=3, max_depth=2, n_jobs=1)
    return {
        "anomaly_tree": tree.fit(table),
        "anomaly_forest": AnomalyForest(tree, n_estimators=3, max_samples=64).fit(table),
        "anomaly_default_forest": AnomalyForest(n_estimators=3, max_samples=32).fit(table),
        "anomaly_ranker": AnomalyRanker(booster, n_points=300).fit(table),
    }


def streams(payments):
    made = {
        "stream": EventStream(OnlineNonLinearBoost(2, 2, n_buckets=16), window=50, budget=10),
        "stream_with_drift": EventStream(
            OnlineLinearBoost(2, n_buckets=16), window=50, budget=10, drift="adwin", threshold=0.2
        ),
        "stream_before_its_first_row": EventStream(OnlineNonLinearBoost(2, 2, n_buckets=16)),
    }
    for name in ("stream", "stream_with_drift"):
        stream = made[name]
        for row in plain(payments.slice(100)):
            event_id, label = row.pop("id"), row.pop("fraud")
            stream.score(features(row), event_id)
            if int(event_id[1:]) < 380:  # the last 20 rows are pending
                stream.label(event_id, bool(label))
        stream.position = {"line": 300}
    return made


def stream_ranker(payments):
    """A ranker whose last labels are not in its reservoir, with a refit under way."""
    rows = payments.select(["amount", "country", "online"])
    is_fraud = np.asarray(payments["fraud"]) == 1
    ranker = toprank.StreamRanker(n_estimators=3, max_depth=2, n_buckets=16)
    return ranker.partial_fit(rows.slice(0, 302), is_fraud[:302])


def pipeline(payments):
    """Steps that fill and scale, and a ranker of what comes out."""
    is_fraud = np.asarray(payments["fraud"]) == 1
    made = make_pipeline(SimpleImputer(), StandardScaler(), BoostedRanker(n_estimators=3))
    return made.fit(payments.select(["amount", "online"]).to_pandas().astype(float), is_fraud)


def probabilities_of(model, rows):
    rows = rows.select(["amount", "online"]).to_pandas().astype(float)
    return {"probability": model.predict_proba(rows)[:, 1].tolist()}


def remembering(payments):
    history = History(default_features(), label="fraud", row_id="id")
    history.batch(payments.slice(0, 300))
    history.batch(payments.slice(300).drop_columns("fraud"))
    history.label(["p300", "p301", "p302"], [True, False, True], START + timedelta(days=24))
    return history


def write(model, name):
    toprank.save(model, FOLDER / f"{name}.toprank", facts={"name": name})


def write_json(name, value):
    (FOLDER / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n")


def scores_of(ranker, rows):
    scores = {"suspicion": ranker.suspicion(rows).tolist()}
    if hasattr(ranker, "predict_proba"):
        scores["probability"] = ranker.predict_proba(rows)[:, 1].tolist()
    return scores


def write_by_command(payments):
    """Write what `toprank fit --card` writes: a model, and a history next to it."""
    data = FOLDER / "payments.csv"
    pyarrow.csv.write_csv(payments, data)
    words = "--label fraud --time time --card card --terminal terminal --amount amount --id id"
    options = "--trees 3 --delay 2 --jobs 1"
    model = str(FOLDER / "by_command.toprank")
    command = ["fit", str(data), *words.split(), *options.split(), "-o", model]
    run = CliRunner().invoke(commands, command)
    assert run.exit_code == 0, run.output
    data.unlink()
    (FOLDER / "by_command.html").unlink(missing_ok=True)


def listed_by_command(rows):
    data = FOLDER / "today.csv"
    pyarrow.csv.write_csv(rows, data)
    command = ["rank", str(FOLDER / "by_command.toprank"), str(data), "-k", "12", "--json"]
    run = CliRunner().invoke(commands, command)
    assert run.exit_code == 0, run.output
    alerts = json.loads(run.stdout)["alerts"]
    return {alert["id"]: [alert["suspicion"], alert["probability"]] for alert in alerts}


if __name__ == "__main__":
    main()
