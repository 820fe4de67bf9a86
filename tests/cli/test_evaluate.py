"""`toprank evaluate`: the figures of a model on labelled rows."""

import json
import re

import numpy as np
import pytest
from pytest import approx

from cli.running import one_sentence, run_main, written
from toprank import files, metrics


def test_the_figures_are_those_of_the_metrics(csv, payments, fitted):
    outcome = run_main("evaluate", fitted.model, csv, "--json")
    figures = json.loads(outcome.stdout)
    suspicion = files.load(fitted.model).suspicion(payments)

    assert figures["rows"] == 600
    assert figures["positives"] == payments["is_fraud"].sum()
    assert (figures["budget"], figures["per_day"]) == (5, True)
    expected = metrics.average_precision(payments["is_fraud"], suspicion)
    assert figures["average_precision"]["value"] == approx(expected)


def test_it_prints_a_table_with_intervals(csv, fitted):
    lines = run_main("evaluate", fitted.model, csv, "-k", 9).stdout.splitlines()

    assert lines[0].startswith("600 rows, 5.")
    assert "frauds in 9 a day" in lines[1]
    assert re.match(r"payments\.toprank  \.\d+ \(\.\d+-\.\d+\)", lines[2])
    assert re.fullmatch(r"AUC \.\d+ \(\.\d+-\.\d+\)", lines[3])


def test_rows_that_the_model_may_have_learned_from_are_counted(csv, payments, fitted):
    outcome = run_main("evaluate", fitted.model, csv)
    assert "note: 600 of 600 rows are not newer than the newest one" in outcome.stderr

    moved = payments["paid_at"].astype("datetime64[s]") + np.timedelta64(200, "D")
    later = written(payments.assign(paid_at=moved), "later.csv")
    outcome = run_main("evaluate", fitted.model, later)
    assert outcome.exit_code == 0
    assert "not newer" not in outcome.stderr


def test_another_label_and_time_may_be_named(payments, fitted):
    frame = payments.rename(columns={"is_fraud": "outcome", "paid_at": "when"})
    data = written(frame.assign(outcome=np.where(frame["outcome"], "1", "0")), "october.csv")
    outcome = run_main("evaluate", fitted.model, data, "--label", "outcome", "--time", "when")

    assert outcome.exit_code == 0, outcome.stderr
    assert "positives in 5 a day" in outcome.stdout


def test_rows_without_a_label_are_left_out(payments, fitted):
    labels = payments["is_fraud"].astype("Int64").where(payments.index % 2 == 0)
    data = written(payments.assign(is_fraud=labels), "october.csv")
    figures = json.loads(run_main("evaluate", fitted.model, data, "--json").stdout)

    assert figures["rows"] == 300


def test_a_model_that_names_no_label_asks_for_one(csv, fitted):
    files.save(files.load(fitted.model), "plain.toprank")
    outcome = run_main("evaluate", "plain.toprank", csv)

    assert outcome.exit_code == 2
    assert "--label must name the column of labels" in outcome.stderr
    assert run_main("evaluate", "plain.toprank", csv, "--label", "is_fraud").exit_code == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda frame: frame.drop(columns="is_fraud"), "column 'is_fraud' is not in october.csv"),
        (lambda frame: frame.drop(columns="hour"), "column 'hour' is not in october.csv"),
        (lambda frame: frame.assign(is_fraud=0), "label column 'is_fraud' must hold two classes"),
        (
            lambda frame: frame.assign(is_fraud=frame["is_fraud"] + 5),
            "label column 'is_fraud' must hold 1, the positive label of the model",
        ),
    ],
)
def test_rows_that_cannot_be_judged_are_refused(change, sentence, payments, fitted):
    data = written(change(payments), "october.csv")

    assert one_sentence(run_main("evaluate", fitted.model, data)).startswith(sentence)


def test_without_the_fitted_time_the_rows_are_one_list(payments, fitted):
    data = written(payments.drop(columns="paid_at"), "october.csv")
    outcome = run_main("evaluate", fitted.model, data, "--json")

    assert outcome.exit_code == 0
    assert not json.loads(outcome.stdout)["per_day"]
    assert "note: there is no column 'paid_at'" in outcome.stderr


def test_a_time_that_was_asked_for_must_be_there(payments, fitted):
    data = written(payments.drop(columns="paid_at"), "october.csv")
    outcome = run_main("evaluate", fitted.model, data, "--time", "paid_at")

    assert outcome.exit_code == 1
    assert "column 'paid_at' is not in october.csv" in outcome.stderr
