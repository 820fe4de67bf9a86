"""`toprank fit`: what it prints, what it writes and what it refuses."""

import json
import os
import re
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.running import names_here, one_sentence, run_main, written
from toprank import files

QUICK = ("-k", 5, "--trees", 5, "--minutes", 0.0001, "--jobs", 1)
FIT = ("--label", "is_fraud", "--time", "paid_at", *QUICK)
AT_RANDOM = ("--label", "is_fraud", "--drop", "paid_at", *QUICK)


def test_it_prints_ap_the_budget_and_what_to_expect(fitted):
    lines = fitted.outcome.stdout.splitlines()

    assert re.fullmatch(r"600 rows, 3 .* \(1 category\), 5\.\d % frauds \(label 1\)", lines[0])
    assert re.fullmatch(r"train to .* \| validate to .* \| gap .* \| test .*", lines[1])
    assert lines[2].split("  ")[-1] == "before the first false alarm"
    assert "frauds in 5 a day" in lines[2]
    assert re.match(r"\S+.*  \.\d+ \(\.\d+-1?\.\d+\)  [\d.]+ \([\d.]+-[\d.]+\)", lines[3])
    assert re.match(r"Expect about [\d.]+ frauds? in your 5 checks a day \(most days", lines[-3])
    assert re.match(r"Such a range, made before the test, held on \d+ of its \d+ days", lines[-2])
    assert lines[-1].startswith("Rough figures: the test has only 5 frauds")


def test_it_says_what_it_wrote_and_writes_both(fitted):
    assert fitted.outcome.stderr == f"Wrote {fitted.model} and {fitted.report}\n"
    assert fitted.report.read_text().startswith("<!DOCTYPE html>")
    facts = files.read_manifest(fitted.model)["facts"]
    assert (facts["label"], facts["time"], facts["budget"]) == ("is_fraud", "paid_at", 5)


def test_the_parts_follow_each_other_in_time(fitted):
    periods = files.read_manifest(fitted.model)["facts"]["periods"]
    bounds = [moment for part in ("train", "validation", "test") for moment in periods[part]]

    assert bounds == sorted(bounds)
    gap = np.datetime64(periods["test"][0]) - np.datetime64(periods["validation"][1])
    assert gap >= np.timedelta64(5, "D")


def test_the_gap_is_as_long_as_asked(csv):
    assert run_main("fit", csv, *FIT, "--gap", 10).exit_code == 0
    periods = files.read_manifest("payments.toprank")["facts"]["periods"]

    gap = np.datetime64(periods["test"][0]) - np.datetime64(periods["validation"][1])
    assert np.timedelta64(10, "D") <= gap <= np.timedelta64(11, "D")


def test_without_times_the_rows_are_drawn_at_random(csv):
    outcome = run_main("fit", csv, *AT_RANDOM, "-o", "model.toprank")

    assert outcome.exit_code == 0
    assert "drawn at random: train 60 % | validate 15 % | test 25 %" in outcome.stdout
    assert "in your 5 checks of a list of" in outcome.stdout
    assert names_here() == ["model.html", "model.toprank", csv.name]


def test_json_is_all_that_stdout_carries(csv):
    outcome = run_main("fit", csv, *FIT, "--json")
    facts = json.loads(outcome.stdout)

    noted = files.read_manifest("payments.toprank")["facts"]
    assert {name: noted[name] for name in facts} == facts
    assert noted.keys() - facts.keys() == {"reading", "settings", "version"}
    assert facts["rows"] == 600
    test = facts["test"][facts["chosen"]]
    for figure in ("average_precision", "found"):
        assert test[figure]["low"] <= test[figure]["value"] <= test[figure]["high"]


def test_the_model_of_a_gzipped_table_loses_both_suffixes(payments):
    assert run_main("fit", written(payments, "may.2024.csv.gz"), *FIT).exit_code == 0

    assert names_here() == ["may.2024.csv.gz", "may.2024.html", "may.2024.toprank"]


def test_the_same_seed_gives_the_same_trees(csv):
    for name in ("a", "b"):  # with time for all recipes: which are tried must not depend on it
        options = (*AT_RANDOM, "--minutes", 10, "-o", f"{name}.toprank")
        assert run_main("fit", csv, *options).exit_code == 0
    first, second = (files.read_manifest(f"{name}.toprank") for name in "ab")

    assert first["members"] == second["members"]
    assert first["facts"] == second["facts"]


# Trees


def test_a_tree_is_printed_with_its_settings_groups_and_first_rules(tree):
    lines = tree.outcome.stdout.splitlines()
    at = [line.split() for line in lines].index(["group", "rows", "frauds", "share"])
    ranker = files.load(tree.model)

    assert lines[3].startswith("MetaAP, one tree ")
    assert lines[4].startswith("plain log-loss trees ")
    assert lines[5].startswith("Settings by cross-validated AP on the training rows: global depth")
    for line, group in zip(lines[at + 1 :], ranker.groups_, strict=False):
        assert line.split()[:3] == [
            str(group.rank + 1), f"{group.n_rows:,}", f"{group.positives:.0f}"
        ]  # fmt: skip
    rules = lines[at + 1 + len(ranker.groups_) :]
    assert rules[0] == "Group 1 contains every row where"
    assert rules[1].strip() == ranker.rules()[0].rules[0].text("frauds")
    assert "amount >" in rules[1]


def test_a_tree_is_written_and_how_to_see_all_of_it_is_said(tree):
    assert tree.outcome.stderr.splitlines() == [
        f"Wrote {tree.model} and {tree.report}",
        f"The whole tree in words: toprank explain {tree.model} --tree",
    ]
    page = tree.report.read_text()
    assert '<section id="tree">' in page
    first_test = files.load(tree.model).rules()[0].rules[0].text("frauds").split(" and ")[0]
    assert escape(first_test) in page


def test_json_of_a_tree_has_its_groups(csv):
    options = ("--label", "is_fraud", "--time", "paid_at", "--jobs", 1, "--learner", "treerank")
    facts = json.loads(run_main("fit", csv, *options, "--json").stdout)

    noted = files.read_manifest("payments.toprank")["facts"]
    assert {name: noted[name] for name in facts} == facts
    assert list(facts["test"]) == ["TreeRank, one tree", "plain log-loss trees"]
    assert [each["group"] for each in facts["groups"]] == [*range(1, len(facts["groups"]) + 1)]
    assert sum(each["rows"] for each in facts["groups"]) == facts["rows"]
    assert "account" not in facts


def test_a_forest_is_fitted_and_ranks(csv):
    options = ("--label", "is_fraud", "--time", "paid_at", "--jobs", 1, "--learner", "rank-forest")
    outcome = run_main("fit", csv, *options)

    assert outcome.exit_code == 0, outcome.stderr
    assert "\nforest of ranking trees  " in outcome.stdout
    assert "group" not in outcome.stdout
    assert outcome.stderr.endswith("Wrote payments.toprank and payments.html\n")
    assert run_main("rank", "payments.toprank", csv, "-k", 3).exit_code == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--learner", "metaap", "--trees", 300],
            "--trees must be left out with --learner metaap: it is one tree.",
        ),
        (
            ["--learner", "rank-forest", "--trees", 50],
            "--trees must be left out with --learner rank-forest: it has 100.",
        ),
        (
            ["--learner", "treerank", "--losses", "log"],
            "--losses must be left out with --learner treerank: no recipes are tried.",
        ),
        (
            ["--cluster", "tcp://localhost:1", "--losses", "log"],
            "--losses must be left out with --cluster: one recipe is trained there; --loss names",
        ),
        (["--loss", "ap-epx"], "--loss must be among log, ap-exp, ap-sigmoid"),
        (["--loss", "ap-card"], "--loss ap-card must come with --card"),
        (
            ["--loss", "log", "--learner", "metaap"],
            "--loss must be left out with --learner metaap",
        ),
        (
            ["--loss", "log", "--effort", "quick"],
            "--effort must be left out with --loss: one recipe is trained with --loss log.",
        ),
        (
            ["--losses", "log,ap-epx"],
            "--losses must be among log, ap-exp, ap-sigmoid, ap-lambda, auc-exp, auc-hinge; got "
            "'ap-epx'; did you mean 'ap-exp'?",
        ),
        (
            ["--learner", "metaap", "--cluster", "tcp://localhost:1"],
            "--learner metaap must be trained on one machine; with --cluster, leave it out",
        ),
        (["--learner", "xgboost"], "'xgboost' is not one of 'auto', 'metaap', 'treerank', 'rank"),
    ],
    ids=str,
)
def test_an_option_without_a_meaning_for_the_learner_is_refused(options, sentence, csv):
    outcome = run_main("fit", csv, "--label", "is_fraud", *options)

    assert outcome.exit_code == 2
    assert sentence in " ".join(outcome.stderr.split())
    assert names_here() == [csv.name]


@pytest.mark.parametrize(
    ("options", "losses", "n_jobs"),
    [((), None, -1), (("--losses", "log", "--jobs", 1), ["log"], 1),
     (("--losses", "ap-exp, auc-exp"), ["ap-exp", "auc-exp"], -1)],
)  # fmt: skip
def test_losses_and_jobs_reach_the_learner(options, losses, n_jobs, csv):
    quick = ("--label", "is_fraud", "--time", "paid_at", "--trees", 5, "--minutes", 1e-9)
    outcome = run_main("fit", csv, *quick, *options)

    assert outcome.exit_code == 0, outcome.stderr
    ranker = files.load("payments.toprank")
    assert (ranker.losses, ranker.n_jobs) == (losses, n_jobs)


# Tables of many shapes


def strange_names(frame):
    names = {"amount": 'mon"tant €', "country": "pays, [b]x[/b]", "hour": "<i>h</i>{0}"}
    return frame.rename(columns=names)


def with_gaps(frame):
    hour = frame["hour"].astype("Int64")
    return frame.assign(hour=hour.where(hour != 3), country=frame["country"].where(hour != 4))


@pytest.mark.parametrize(
    "make",
    [
        lambda frame: written(strange_names(frame), "strange ü.csv"),
        lambda frame: written(frame.assign(large=frame["amount"] > 90), "booleans.csv"),
        lambda frame: written(with_gaps(frame), "gaps.csv"),
        lambda frame: parquet(frame),
        lambda frame: parquet(frame.astype({"country": "category"})),
        lambda frame: parquet(frame.assign(paid_at=pd.to_datetime(frame["paid_at"]))),
    ],
    ids=["names", "bool", "gaps", "parquet", "category", "times"],
)
def test_tables_of_many_shapes_can_be_fitted_and_ranked(make, payments):
    data = make(payments)
    assert run_main("fit", data, *FIT, "-o", "model.toprank").exit_code == 0
    outcome = run_main("rank", "model.toprank", data, "-k", 3)

    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stderr.startswith("600 rows scored, 3 listed; expect about")


def parquet(frame):
    frame.to_parquet("payments.parquet")
    return Path("payments.parquet")


@pytest.mark.parametrize(
    ("values", "positive", "options"),
    [
        (["nein", "ja ✓"], "ja ✓", []),
        (["ok", "fraud"], "ok", ["--positive", "ok"]),
        ([False, True], True, ["--positive", "TRUE"]),
        ([-1, 1], 1, []),
        ([0.0, 1.0], 1.0, []),
    ],
)
def test_any_two_labels_will_do(values, positive, options, payments):
    labels = np.array(values, dtype=object)[payments["is_fraud"]]
    data = written(payments.assign(is_fraud=labels), "payments.csv")
    assert run_main("fit", data, *FIT, *options).exit_code == 0

    assert files.load("payments.toprank").positive_label_ == positive
    assert run_main("evaluate", "payments.toprank", data).exit_code == 0


def test_rows_without_a_label_are_left_out_and_counted(payments):
    labels = payments["is_fraud"].astype("Int64").where(payments.index % 10 != 0)
    data = written(payments.assign(is_fraud=labels), "payments.csv")
    outcome = run_main("fit", data, *FIT)

    assert outcome.stdout.startswith("540 rows")
    assert outcome.stderr.splitlines()[0] == "note: 60 rows without a label were left out."


def test_a_column_dropped_twice_or_used_as_time_is_dropped_once(csv):
    outcome = run_main("fit", csv, *FIT, "--drop", "hour", "--drop", "hour", "--drop", "paid_at")

    assert outcome.exit_code == 0
    assert files.load("payments.toprank").schema_.names == ["amount", "country"]


def test_an_id_among_the_columns_is_remarked_on_once(payments):
    frame = pd.concat([payments, payments], ignore_index=True)
    data = written(frame.assign(id=range(10**12, 10**12 + len(frame))), "payments.csv")
    outcome = run_main("fit", data, *AT_RANDOM)

    assert outcome.exit_code == 0
    assert outcome.stderr.count("column 'id'") == 1
    assert "note: column 'id' is left out: counts up with the rows" in outcome.stderr


# What it refuses


def with_label(values):
    return lambda frame: frame.assign(is_fraud=np.resize(values, len(frame)))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (with_label([0]), "label column 'is_fraud' must hold two classes; it holds one class"),
        (with_label([0, 1, 2]), "label column 'is_fraud' must hold two classes; it holds 3 diff"),
        (with_label([np.nan]), "label column 'is_fraud' must hold two classes; all its values"),
        (lambda frame: frame.assign(empty=np.nan), "column 'empty' must hold some values; all"),
        (lambda frame: frame.assign(amount=np.inf), "column 'amount' must hold finite numbers"),
        (lambda frame: frame.assign(seen=frame["paid_at"]), "column 'seen' holds dates; name it"),
        (
            lambda frame: frame.assign(paid_at="soon"),
            "column 'paid_at' must hold times; line 2 has 'soon'",
        ),
        (lambda frame: frame[:0], "payments.csv must hold at least one row"),
        (lambda frame: frame[["paid_at", "is_fraud"]], "the table must have a column to learn"),
        (lambda frame: frame[:2], "label column 'is_fraud' must hold two classes"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_one_sentence(change, sentence, payments):
    data = written(change(payments), "payments.csv")

    assert one_sentence(run_main("fit", data, *FIT)).startswith(sentence)
    assert names_here() == ["payments.csv"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "payments.csv must hold a table; the file is empty."),
        ("\n\n", "payments.csv must hold a table; it is empty."),
        ("a,a,is_fraud\n1,2,0\n", "column names in payments.csv must differ; 'a' comes 2 times"),
        ("a,is_fraud\n1,0\n1,2,3\n", "payments.csv must have 2 fields in every line"),
        ("PAR1", "payments.csv must be a whole Parquet file"),
        ("\x00\x01", "payments.csv must be a table; it holds binary data"),
    ],
    ids=repr,
)
def test_a_file_that_is_no_table_is_refused_in_one_sentence(text, sentence):
    Path("payments.csv").write_text(text)

    outcome = run_main("fit", "payments.csv", "--label", "is_fraud")
    assert one_sentence(outcome).startswith(sentence)


@pytest.mark.parametrize("option", ["--label", "--time", "--drop"])
def test_a_column_that_is_not_there_is_named_with_the_nearest_one(option, csv):
    outcome = run_main("fit", csv, *FIT, option, "amuont")

    assert one_sentence(outcome) == (
        "column 'amuont' is not in payments.csv; did you mean 'amount'?"
    )


def test_a_positive_value_that_is_not_there_is_refused(csv):
    sentence = one_sentence(run_main("fit", csv, *FIT, "--positive", "yes"))

    assert sentence.startswith("--positive must be one of the values of label column 'is_fraud'")


def test_a_gap_longer_than_the_data_is_refused(csv):
    assert "and 300 days are left out before the test; choose a shorter --gap" in one_sentence(
        run_main("fit", csv, *FIT, "--gap", 300)
    )


def test_data_that_is_no_file_is_refused(csv):
    sentence = one_sentence(run_main("fit", "paymnets.csv", *FIT))

    assert "did you mean 'payments.csv'?" in sentence


@pytest.mark.parametrize("data", [".", ".."])
def test_a_folder_without_a_name_gives_none_to_the_model(data, csv):
    outcome = run_main("fit", data, *FIT)

    assert outcome.exit_code == 2
    assert "-o must name the model to write" in outcome.stderr


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("models/m.toprank", "there is no folder models to write m.toprank to."),
        (".", ". must name a file to write; it is a folder."),
        ("/proc/m.toprank", "m.toprank cannot be written to /proc: "),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_training(output, sentence, csv):
    outcome = run_main("fit", csv, *FIT, "--trees", 10**8, "-o", output)

    assert one_sentence(outcome).startswith(sentence)
    assert names_here() == [csv.name]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only_is_refused_before_the_training(csv):
    Path("models").mkdir(mode=0o500)
    outcome = run_main("fit", csv, *FIT, "--trees", 10**8, "-o", "models/m.toprank")

    assert "m.toprank cannot be written to models: permission denied" in one_sentence(outcome)


def test_the_data_is_never_written_over_by_another_name(csv):
    Path("same.toprank").symlink_to(csv)
    before = csv.read_bytes()
    outcome = run_main("fit", csv, *FIT, "-o", "same.toprank")

    assert outcome.exit_code == 2
    assert "same.toprank is the data itself" in outcome.stderr
    assert csv.read_bytes() == before
