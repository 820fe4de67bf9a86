"""Splitting, training and scoring on a cluster give what the same rows give in one place."""

import dask
import numpy as np
import pandas as pd
import pytest
from pytest import approx

from cluster.made_payments import in_files
from toprank import splits
from toprank.calibration import fit_calibration
from toprank.cluster import bucket_split, cluster_training
from toprank.cluster.buckets import Wanted, chosen_rows
from toprank.cluster.cluster_training import prepare, train
from toprank.data.tables import TableError
from toprank.present import summary
from toprank.workflow.evaluation import evaluate


def rows_learned_from(task):
    rows = cluster_training._training_rows(
        task, task.split.buckets["train"], np.array(["usual", "fraud"])
    )
    return rows.compute().sort_values("number", ignore_index=True)


def rows_of(task, part):
    """Return the rows that the workers would choose for a part, one partition after another."""
    wanted = Wanted(task.roles, task.positive, task.split.buckets[part])
    partitions = dask.compute(*task.frame.to_delayed(optimize_graph=False))
    return pd.concat(
        rows.iloc[chosen_rows(rows, number, wanted).rows] for number, rows in enumerate(partitions)
    )


def in_part(frame, task, part):
    """Return the rows of a part by the times they were paid at."""
    begin, end = task.split.periods[part]
    return frame[(frame.paid_at >= begin) & (frame.paid_at <= end)]


# Splits


def test_training_rows_come_before_validation_and_test_rows(one_worker, source, payments):
    task = prepare(one_worker, source, "is_fraud", time="paid_at", gap=np.timedelta64(9, "D"))
    learned = rows_learned_from(task)
    parts = {part: in_part(payments, task, part) for part in ("train", "validation", "test")}

    assert learned.number.tolist() == parts["train"].number.sort_values().tolist()
    assert ((learned.is_fraud == "fraud").to_numpy() == parts["train"].is_fraud.to_numpy()).all()
    assert parts["train"].paid_at.max() < parts["validation"].paid_at.min()
    gap = parts["test"].paid_at.min() - parts["validation"].paid_at.max()
    assert gap >= pd.Timedelta(days=9)
    for part, rows in parts.items():
        assert task.split.parts()[part] == (len(rows), rows.is_fraud.sum())
    assert task.is_positive == (len(payments), payments.is_fraud.sum())
    assert len(parts["test"]) == approx(len(payments) / 4, rel=0.1)


def test_without_times_the_seed_draws_the_parts(one_worker, source, payments):
    tasks = [
        prepare(one_worker, source, "is_fraud", drop=["paid_at"], random_state=seed)
        for seed in (0, 0, 1)
    ]
    first, same, other = (set(rows_learned_from(task).number) for task in tasks)
    parts = [rows_of(tasks[0], part) for part in ("train", "validation", "test")]

    assert first == same == set(parts[0].number)
    assert sorted(pd.concat(parts).number) == payments.number.tolist()
    assert 0.5 < len(first & other) / len(first) < 0.7
    shares = [rows.size / len(payments) for rows in tasks[0].split.parts().values()]
    assert shares == approx([0.6, 0.15, 0.25], abs=0.005)
    assert sum(rows.size for rows in tasks[0].split.parts().values()) == len(payments)
    text = summary.periods_line(tasks[0])
    assert text == "drawn at random: train 60 % | validate 15 % | test 25 %"


# Training and figures


def test_figures_and_probabilities_are_those_of_the_rows_in_one_place(
    one_worker, source, payments
):
    reported = []
    task = prepare(
        one_worker, source, "is_fraud", time="paid_at", progress=lambda *a: reported.append(a)
    )
    trained = train(
        one_worker, task, 3, loss="log", n_estimators=8, progress=lambda *a: reported.append(a)
    )
    ranker = trained.chosen.ranker

    validation, test = (in_part(payments, task, part) for part in ("validation", "test"))
    calibration = fit_calibration(validation.is_fraud, ranker.suspicion(validation))
    suspicion = ranker.suspicion(test)
    assert ranker.probability(test) == approx(calibration.probability(suspicion), rel=1e-4)
    local = evaluate(
        test.is_fraud,
        ranker.suspicion(test),
        ranker.probability(test),
        3,
        splits.days(test.paid_at.to_numpy()),
    )
    figures = trained.chosen.test
    assert sorted(figures.suspicion) == approx(sorted(local.suspicion))
    for name in ("average_precision", "found", "positives_at_top", "roc_auc"):
        assert getattr(figures, name).value == approx(getattr(local, name).value), name
    assert figures.average_precision.value > 0.4
    for what in ("counting rows", "growing trees", "scoring"):
        steps = [(done, total) for name, done, total in reported if name == what]
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1]


def test_beyond_the_limit_whole_days_are_drawn_and_a_remark_says_so(
    one_worker, source, payments, monkeypatch
):
    monkeypatch.setattr(bucket_split, "_MOST_SCORED", 150)
    task = prepare(one_worker, source, "is_fraud", time="paid_at")
    test = train(one_worker, task, 3, n_estimators=2).chosen.test
    days, n_rows = np.unique(test.day, return_counts=True)

    assert 100 < test.day.size <= 150
    all_days = payments.paid_at.to_numpy().astype("datetime64[D]").astype(int)
    assert n_rows.tolist() == [np.count_nonzero(all_days == day) for day in days]
    n_test = task.split.rows["test"].size
    (remark,) = task.remarks()
    assert f"{test.day.size} of {n_test} test rows, in whole days drawn at random" in remark


def test_rows_without_a_label_are_counted_and_left_out(one_worker, payments, tmp_path):
    labels = payments.is_fraud.map({True: "yes", False: "no"})
    labels[payments.index % 10 == 0] = None
    labels[payments.index % 10 == 1] = "NA"
    source = in_files(payments.assign(is_fraud=labels), tmp_path / "some")
    task = prepare(one_worker, source, "is_fraud", time="paid_at", positive_label="no")

    assert task.remarks() == ["240 rows without a label were left out."]
    assert task.is_positive == (960, (labels == "no").sum())
    assert (task.positive, task.negative) == ("no", "yes")
    assert len(rows_learned_from(task)) == task.split.parts()["train"].size


@pytest.mark.parametrize(
    ("kinds", "positive"),
    [(("int64", "Int32"), "1"), (("float64", "float32"), "1"), (("boolean", "bool"), "true")],
)
def test_labels_may_be_of_several_types(one_worker, payments, tmp_path, kinds, positive):
    for i, kind in enumerate(kinds):
        frame = payments.iloc[i::2].astype({"is_fraud": kind})
        frame.to_parquet(tmp_path / f"{i}.parquet")
    payments[:0].to_parquet(tmp_path / "2.parquet")
    task = prepare(one_worker, tmp_path, "is_fraud", time="paid_at", positive_label=positive)

    assert task.is_positive == (len(payments), payments.is_fraud.sum())
    assert (rows_learned_from(task).is_fraud == "fraud").sum() == (
        task.split.parts()["train"].n_positive
    )


def test_times_that_pandas_wrote_as_an_index_are_a_column(one_worker, payments, tmp_path):
    payments.set_index("paid_at").to_parquet(tmp_path / "payments.parquet")
    task = prepare(one_worker, tmp_path / "payments.parquet", "is_fraud", time="paid_at")

    assert task.features == ["amount", "country", "number"]


# What is refused


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"is_fraud": 0}, "label column 'is_fraud' must hold two classes; it holds one class"),
        ({"is_fraud": range(1200)}, "label column 'is_fraud' must hold two classes; it holds 4"),
        ({"is_fraud": None}, "label column 'is_fraud' must hold two classes; all its values"),
        ({"amount": np.inf}, "column 'amount' must hold finite numbers"),
        ({"paid_at": "soon"}, "column 'paid_at' must hold times"),
        ({"paid_at": "2024-01-01"}, "there would be no test rows"),
        (
            {"is_fraud": np.arange(1200) == 7},
            "part must have both classes; got 1|part must have both classes; got 0",
        ),
    ],
)
def test_rows_that_cannot_be_used_are_refused(one_worker, payments, tmp_path, changes, sentence):
    source = in_files(payments.assign(**changes), tmp_path / "bad")
    with pytest.raises(ValueError, match=sentence):
        prepare(one_worker, source, "is_fraud", time="paid_at")


def test_files_that_cannot_be_used_are_refused(one_worker, source):
    (source.parent / "empty").mkdir()
    (source.parent / "torn.parquet").write_bytes(b"PAR1 torn PAR1")
    cases = [
        (source.parent / "events.csv.gz", {}, "events.csv.gz must be Parquet"),
        (source.parent / "nowhere", {}, "there is no Parquet file at"),
        (source.parent / "empty", {}, "must be complete Parquet files"),
        (source.parent / "torn.parquet", {}, "must be complete Parquet files"),
        (source, {"time": "payed_at"}, "column 'payed_at' is not in .*did you mean 'paid_at'"),
        (source, {"drop": ["hour"]}, "column 'hour' is not in"),
        (source, {"time": "is_fraud"}, "`time` must be another column than `label`"),
        (
            source,
            {"drop": ["paid_at", "amount", "country", "number"]},
            "the table must have a column to learn from",
        ),
    ]
    for path, options, sentence in cases:
        with pytest.raises((TableError, ValueError, FileNotFoundError), match=sentence):
            prepare(one_worker, path, "is_fraud", **options)
