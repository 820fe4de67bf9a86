"""`toprank compare`: what it prints, what it draws and what it refuses."""

import json
import re
from pathlib import Path

import pytest

from cli.running import names_here, one_sentence, run_main, written
from toprank.workflow.comparison import comparable_learners
from toprank.workflow.comparison.methods import METHODS

COMPARE = (
    *("--label", "is_fraud", "--time", "paid_at", "-k", 5, "--trees", 5, "--jobs", 1),
    *("--learners", "ap-exp,rank-boost"),
)
IMBALANCE = (*COMPARE[:4], *COMPARE[6:10], "--imbalance")
SHORT = ("--methods", "weights,under", "--ratios", "0.5,1")


def test_it_prints_a_row_a_learner_and_which_differences_are_real(csv):
    outcome = run_main("compare", csv, *COMPARE)
    lines = outcome.stdout.splitlines()

    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stderr == ""
    assert lines[0].startswith("600 rows, 3 features, 5.")
    assert "frauds in 5 a day" in lines[2]
    assert {line.split()[0] for line in lines[3:6]} == {"log", "ap-exp", "rank-boost"}
    verdict = r"not significantly different from log on these \d+ frauds\.|: significant\."
    assert re.search(verdict, outcome.stdout)
    assert "95 % for all 3 pairs at once." in outcome.stdout
    assert names_here() == [csv.name]


def test_json_is_all_that_stdout_carries(csv):
    facts = json.loads(run_main("compare", csv, *COMPARE, "--json").stdout)

    assert set(facts["learners"]) == {"log", "ap-exp", "rank-boost"}
    assert (facts["label"], facts["time"], facts["budget"]) == ("is_fraud", "paid_at", 5)
    for each in facts["differences"]:
        assert each["low"] <= each["difference"] <= each["high"]


def test_the_test_rows_are_those_of_fit(csv):
    compared = json.loads(run_main("compare", csv, *COMPARE, "--json").stdout)
    command = ("fit", csv, *COMPARE[:-2], "-o", "m.toprank", "--json")
    facts = json.loads(run_main(*command).stdout)

    assert compared["periods"] == facts["periods"]


def test_without_times_the_rows_are_drawn_at_random(csv):
    options = ("--label", "is_fraud", "--drop", "paid_at", "--learners", "log", "--trees", 5)
    outcome = run_main("compare", csv, *options)

    assert outcome.exit_code == 0, outcome.stderr
    assert "drawn at random: train 60 %" in outcome.stdout
    assert "frauds in 100  " in outcome.stdout


@pytest.mark.parametrize(
    ("name", "begin"), [("c.png", b"\x89PNG"), ("c.svg", b"<?xml"), ("C.SVG", b"<?xml")]
)
def test_it_draws_a_picture_where_asked(name, begin, csv):
    outcome = run_main("compare", csv, *COMPARE, "-o", name)

    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stderr == f"Wrote {name}\n"
    assert Path(name).read_bytes().startswith(begin)
    assert names_here() == sorted([name, csv.name])


def test_rows_without_a_label_are_left_out_and_counted(payments):
    labels = payments["is_fraud"].astype("Int64").where(payments.index % 10 != 0)
    data = written(payments.assign(is_fraud=labels), "payments.csv")
    outcome = run_main("compare", data, *COMPARE)

    assert outcome.stdout.startswith("540 rows")
    assert outcome.stderr == "note: 60 rows without a label were left out.\n"


def test_the_gap_is_as_long_as_asked(csv):
    facts = json.loads(run_main("compare", csv, *COMPARE, "--gap", 10, "--json").stdout)
    default = json.loads(run_main("compare", csv, *COMPARE, "--json").stdout)

    assert facts["periods"]["validation"][1] < default["periods"]["validation"][1]


def test_the_help_names_every_learner():
    text = " ".join(run_main("compare", "--help").stdout.split())

    assert f"{', '.join(comparable_learners())};" in text.replace("- ", "-")


# With --imbalance


def test_imbalance_prints_a_row_a_method_and_ratio_and_what_to_do(csv):
    outcome = run_main("compare", csv, *IMBALANCE, *SHORT)
    lines = outcome.stdout.splitlines()

    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stderr == ""
    assert lines[0].startswith("600 rows, 3 features, 5.")
    assert lines[2].split() == ["ratio", "AP", "F1", "F1", "at", ".5", "AUC", "seconds"]
    rows = [line.split()[:2] for line in lines[4:8]]
    assert [(name, ratio.strip("*")) for name, ratio in rows] == [
        ("weights", ".5"), ("weights", "1"), ("under", ".5"), ("under", "1"),
    ]  # fmt: skip
    assert sum(ratio.endswith("*") for _, ratio in rows) == 2
    assert "95 % for all 7 at once." in outcome.stdout
    assert "What to do: " in lines[-1] + lines[-2]
    assert names_here() == [csv.name]


def test_imbalance_puts_the_methods_around_the_base(csv):
    command = ("compare", csv, *IMBALANCE, "--methods", "under", "--ratios", "1", "--json")
    log, boost = (
        json.loads(run_main(*command, "--base", base).stdout) for base in ("log", "rank-boost")
    )

    assert (log["base"], boost["base"]) == ("log", "rank-boost")
    assert [(each["method"], each["ratio"]) for each in log["tried"]] == [
        ("none", None),
        ("under", 1.0),
    ]
    assert log["tried"][0]["threshold"] != boost["tried"][0]["threshold"]


def test_imbalance_draws_its_picture_and_keeps_stdout_for_json(csv):
    outcome = run_main("compare", csv, *IMBALANCE, *SHORT, "-o", "i.png", "--json")
    facts = json.loads(outcome.stdout)

    assert outcome.stderr == "Wrote i.png\n"
    assert Path("i.png").read_bytes().startswith(b"\x89PNG")
    assert facts["ratios"] == [0.5, 1.0]
    for each in facts["differences"]:
        assert each["low"] <= each["difference"] <= each["high"]


def test_the_help_names_every_method():
    text = " ".join(run_main("compare", "--help").stdout.split())

    assert f"{', '.join(METHODS)};" in text.replace("- ", "-")
    assert "--imbalance -o sampling.png" in text


def test_a_ratio_that_the_rows_have_already_is_refused_by_name(csv):
    sentence = one_sentence(run_main("compare", csv, *IMBALANCE, "--ratios", "0.01,1"))

    assert sentence == (
        "ratios must be above 0.0722, the positives per negative that the training rows have "
        "already, and at most 1; got 0.01."
    )


# What it refuses


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--learners", "ap-epx"], "--learners must be among auto, log,"),
        (["--learners", "ap-epx"], "did you mean 'ap-exp'?"),
        (["--learners", ""], "got ''."),
        (["-o", "comparison.jpg"], "-o must name a picture, .png or .svg; got 'comparison.jpg'."),
        (["--time", "is_fraud"], "--time must name another column than --label"),
        (["--drop", "is_fraud"], "--drop must not name the label"),
        (["--gap", "3"], "--gap must be a number of days, and it needs --time."),
        (["--trees", "0"], "--trees"),
        (["--minutes", "0"], "--minutes"),
        (["-k", "0"], "--budget"),
        (["--ratios", "1"], "--ratios must come with --imbalance."),
        (["--methods", "under"], "--methods must come with --imbalance."),
        (["--base", "log"], "--base must come with --imbalance."),
        (["--imbalance", "--learners", "log"], "--learners must be left out with --imbalance."),
        (["--imbalance", "-k", "10"], "--budget must be left out with --imbalance."),
        (["--imbalance", "--minutes", "1"], "--minutes must be left out with --imbalance."),
        (["--imbalance", "--methods", "smoet"], "--methods must be among none, weights,"),
        (["--imbalance", "--methods", "smoet"], "did you mean 'smote'?"),
        (["--imbalance", "--base", "auto"], "--base must be one of log,"),
        (["--imbalance", "--ratios", "0.1,x"], "--ratios must be numbers above 0 and at most 1"),
        (["--imbalance", "--ratios", "2"], "comma-separated; got '2'."),
        (["--imbalance", "--ratios", ""], "got ''."),
        (["--imbalance", "-o", "i.jpg"], "-o must name a picture, .png or .svg; got 'i.jpg'."),
    ],
    ids=str,
)
def test_a_wrong_call_exits_2_and_touches_nothing(options, sentence, csv):
    outcome = run_main("compare", csv, "--label", "is_fraud", *options)

    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert sentence in " ".join(outcome.stderr.split())
    assert names_here() == [csv.name]


def test_a_column_that_is_not_there_is_named_with_the_nearest_one(csv):
    sentence = one_sentence(run_main("compare", csv, *COMPARE, "--drop", "amuont"))

    assert sentence == "column 'amuont' is not in payments.csv; did you mean 'amount'?"


def test_a_table_that_no_learner_can_use_is_refused_in_one_sentence(payments):
    data = written(payments.assign(seen=payments["paid_at"]), "payments.csv")

    sentence = one_sentence(run_main("compare", data, *COMPARE))
    assert sentence.startswith("column 'seen' holds dates")


def test_a_place_that_cannot_be_written_is_refused_before_the_learning(csv):
    outcome = run_main("compare", csv, *COMPARE, "--trees", 10**8, "-o", "pictures/c.png")

    assert one_sentence(outcome) == "there is no folder pictures to write c.png to."
