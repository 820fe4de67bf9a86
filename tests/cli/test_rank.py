"""`toprank rank`: the list, its forms, and files larger than memory."""

import csv as csv_module
import io
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from cli.running import names_here, one_sentence, run_main, written
from toprank import files
from toprank.wording import significant

ADDED = ["rank", "row", "suspicion", "probability", "reasons", "less_suspicious", "verdict"]


def listed(outcome):
    assert outcome.exit_code == 0, outcome.stderr
    return pd.read_csv(io.StringIO(outcome.stdout))


def test_the_most_suspicious_rows_come_first_with_all_their_columns(csv, payments, fitted):
    alerts = listed(run_main("rank", fitted.model, csv, "-k", 20))

    assert list(alerts) == [*ADDED, *payments]
    suspicion = files.load(fitted.model).suspicion(payments)
    best = np.argsort(-suspicion, kind="stable")[:20]
    assert alerts["row"].tolist() == (best + 1).tolist()
    assert alerts["rank"].tolist() == list(range(1, 21))
    assert alerts["suspicion"].tolist() == significant(suspicion[best], 4).tolist()
    rows = payments.iloc[best].reset_index(drop=True)
    pd.testing.assert_frame_equal(alerts[list(payments)], rows)


def test_the_remark_counts_rows_and_what_to_expect(csv, fitted):
    outcome = run_main("rank", fitted.model, csv)

    # 5 is the budget the model was fitted for
    assert outcome.stderr.startswith("600 rows scored, 5 listed; expect about ")
    assert outcome.stderr.endswith(" frauds among them.\n")


def test_columns_in_another_order_and_among_others_rank_the_same(payments, fitted):
    frame = payments[sorted(payments, reverse=True)].assign(note='naïve, "quoted"\nline', extra=1)
    alerts = listed(run_main("rank", fitted.model, written(frame, "other.csv"), "-k", 7))
    plain = listed(run_main("rank", fitted.model, written(payments, "plain.csv"), "-k", 7))

    assert list(alerts) == [*ADDED, *frame]
    assert alerts["row"].tolist() == plain["row"].tolist()
    assert alerts["note"].tolist() == frame["note"][:7].tolist()


@pytest.mark.parametrize("form", ["csv", "csv.gz", "semicolon", "parquet"])
def test_every_form_of_the_data_gives_the_same_list(form, payments, fitted):
    data = Path(f"data.{form}")
    if form == "parquet":
        payments.to_parquet(data, row_group_size=97)
    else:
        payments.to_csv(data, index=False, sep=";" if form == "semicolon" else ",")
    alerts = listed(run_main("rank", fitted.model, data, "-k", 9))

    suspicion = files.load(fitted.model).suspicion(payments)
    best = np.argsort(-suspicion, kind="stable")[:9]
    assert alerts["row"].tolist() == (best + 1).tolist()


def test_a_column_that_has_the_name_of_one_of_ours_is_kept(payments, fitted):
    data = written(payments.assign(rank=7, reasons="mine"), "payments.csv")
    alerts = listed(run_main("rank", fitted.model, data, "-k", 3))

    assert alerts["rank"].tolist() == [1, 2, 3]
    assert alerts["data_rank"].tolist() == [7, 7, 7]
    assert alerts["data_reasons"].tolist() == ["mine"] * 3


def test_more_rows_than_there_are_lists_all(csv, fitted):
    assert len(listed(run_main("rank", fitted.model, csv, "-k", 10**9))) == 600


def test_reasons_are_as_many_as_asked(csv, fitted):
    for n_reasons in (0, 1, 3):
        outcome = run_main("rank", fitted.model, csv, "--reasons", n_reasons, "--json")
        alerts = json.loads(outcome.stdout)["alerts"]
        assert all(len(alert["reasons"]) <= n_reasons for alert in alerts)
        assert any(alert["reasons"] for alert in alerts) == bool(n_reasons)


@pytest.mark.parametrize("name", ["alerts.csv", "alerts.csv.gz", "alerts.tsv", "alerts.parquet"])
def test_the_list_goes_to_a_file_by_its_suffix(name, csv, fitted):
    outcome = run_main("rank", fitted.model, csv, "-k", 4, "-o", name)
    printed = listed(run_main("rank", fitted.model, csv, "-k", 4))

    assert outcome.stdout == ""
    assert outcome.stderr.splitlines()[1] == f"Wrote {name} and alerts.html"
    if name.endswith("parquet"):
        found = pd.read_parquet(name)
        exact = json.loads(run_main("rank", fitted.model, csv, "-k", 4, "--json").stdout)
        assert found["suspicion"].tolist() == [row["suspicion"] for row in exact["alerts"]]
        assert found["probability"].tolist() == [row["probability"] for row in exact["alerts"]]
    else:
        found = pd.read_csv(name, sep="\t" if name.endswith("tsv") else ",")
    assert found["row"].tolist() == printed["row"].tolist()
    assert found["reasons"].tolist() == printed["reasons"].tolist()


def test_json_is_all_that_stdout_carries(csv, payments, fitted):
    outcome = run_main("rank", fitted.model, csv, "-k", 2, "--json")
    document = json.loads(outcome.stdout)

    assert document["rows"] == 600
    expected = document["expected"]
    assert expected["low"] <= expected["value"] <= expected["high"]
    first = document["alerts"][0]
    assert set(first) == {*ADDED[:-1], "together", *payments}  # nobody fills in JSON
    parts = {"feature", "value", "usual", "contribution", "text"}
    assert set(first["reasons"][0]) == parts
    assert all(set(reason) == parts for reason in first["less_suspicious"])


def test_json_and_a_file_can_both_be_asked_for(csv, fitted):
    outcome = run_main("rank", fitted.model, csv, "-k", 2, "--json", "-o", "alerts.csv")

    rows = [alert["row"] for alert in json.loads(outcome.stdout)["alerts"]]
    assert pd.read_csv("alerts.csv")["row"].tolist() == rows


def test_missing_and_infinite_numbers_are_null_in_json(payments, fitted):
    frame = payments.assign(odds=math.inf, amount=np.nan, seen=pd.Timestamp("2024-05-01"))
    frame.to_parquet("payments.parquet")
    outcome = run_main("rank", fitted.model, "payments.parquet", "-k", 1, "--json")
    (alert,) = json.loads(outcome.stdout, parse_constant=pytest.fail)["alerts"]

    assert alert["amount"] is None
    assert alert["odds"] is None
    assert alert["seen"] == "2024-05-01 00:00:00"


def test_lists_in_the_data_can_be_printed_as_json_only(payments, fitted):
    payments.assign(tags=[["a", "b"]] * 600).to_parquet("payments.parquet")
    refused = run_main("rank", fitted.model, "payments.parquet")
    outcome = run_main("rank", fitted.model, "payments.parquet", "--json")

    assert refused.exit_code == 1
    assert "print it with --json" in refused.stderr
    assert json.loads(outcome.stdout)["alerts"][0]["tags"] == ["a", "b"]


# For people


def test_numbers_of_a_list_are_rounded_for_reading_and_ids_and_amounts_are_as_written(payments):
    frame = payments.assign(amount=payments["amount"].map("{:.3f}".format))
    data = written(frame.assign(tx=[f"{i:08d}" for i in range(len(frame))]), "today.csv")
    few = ("--drop", "tx", "--trees", 5, "-k", 3)
    fitted = run_main("fit", data, "--label", "is_fraud", "--time", "paid_at", *few)
    assert fitted.exit_code == 0, fitted.stderr
    run_main("rank", "today.toprank", data, "-o", "alerts.csv", "--no-page")
    lines = list(csv_module.DictReader(Path("alerts.csv").read_text().splitlines()))

    for line in lines:
        assert len(line["probability"].removeprefix("0.").strip("0")) <= 3
        assert len(line["suspicion"].replace(".", "").removeprefix("-").strip("0")) <= 4
        number = int(line["row"]) - 1
        assert (line["tx"], line["amount"]) == (f"{number:08d}", frame["amount"][number])


def test_no_reason_has_the_usual_value_and_what_speaks_against_an_alert_is_apart(csv, fitted):
    outcome = run_main("rank", fitted.model, csv, "-k", 600, "--json")
    alerts = json.loads(outcome.stdout)["alerts"]

    assert all(reason["contribution"] > 0 for row in alerts for reason in row["reasons"])
    against = [reason for row in alerts for reason in row["less_suspicious"]]
    assert against and all(reason["contribution"] < 0 for reason in against)
    ranker = files.load(fitted.model)
    usual = dict(zip(ranker.schema_.names, ranker.usual_, strict=True))
    for row in alerts:
        for reason in row["reasons"] + row["less_suspicious"]:
            if reason["feature"] == "amount":
                assert not usual["amount"].low <= row["amount"] <= usual["amount"].high
    texts = listed(run_main("rank", fitted.model, csv, "-k", 600))["reasons"]
    without = [each for each in zip(alerts, texts, strict=True) if not each[0]["reasons"]]
    assert without
    for row, text in without[:50]:  # further down, nothing raises the suspicion
        assert text == f"a combination of ordinary values: {', '.join(row['together'])}"
        assert 1 <= len(row["together"]) <= 3
    assert all(not row["together"] for row in alerts if row["reasons"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("names.json", '{"amount": "amount in euros"}'),
        ("names.csv", "column,words\namount,amount in euros\n"),
    ],
)
def test_columns_are_called_as_their_names_in_words(name, content, csv, fitted):
    Path(name).write_text(content)
    outcome = run_main("rank", fitted.model, csv, "--names", name)

    assert any("amount in euros " in text for text in listed(outcome)["reasons"])
    assert "amount in euros" not in outcome.stderr


def test_names_given_to_fit_are_kept_with_the_model_and_used_in_its_report(csv):
    Path("names.json").write_text('{"amount": "amount in euros", "contry": "land"}')
    fitted = run_main(
        *("fit", csv, "--label", "is_fraud", "--time", "paid_at", "--names", "names.json"),
        *("--trees", 5, "-k", 5),
    )
    assert "--names has 'contry', which the model does not use; did you mean 'country'?" in (
        fitted.stderr
    )
    assert "amount in euros" in Path("payments.html").read_text()
    alerts = listed(run_main("rank", "payments.toprank", csv))
    assert any("amount in euros " in text for text in alerts["reasons"])


@pytest.mark.parametrize("content", ["[1]", '{"amount": 7}', "{", '{"amount": ["a"]}'])
def test_a_file_of_names_that_has_none_is_refused(content, csv, fitted):
    Path("names.json").write_text(content)

    assert one_sentence(run_main("rank", fitted.model, csv, "--names", "names.json")).startswith(
        "names.json must have a column and its words"
    )


def test_list_and_page_are_their_owners_unless_a_mode_was_set(csv, fitted):
    command = ("rank", fitted.model, csv, "-k", 4, "-o", "alerts.csv")
    run_main(*command)
    files = [Path("alerts.csv"), Path("alerts.html")]
    assert [path.stat().st_mode & 0o777 for path in files] == [0o600, 0o600]
    for path in files:
        path.chmod(0o640)
    run_main(*command)
    assert [path.stat().st_mode & 0o777 for path in files] == [0o640, 0o640]


def test_a_page_goes_next_to_the_list(csv, fitted):
    Path("alerts.html").write_text("<p>Made with toprank 0.1.0</p>")
    run_main("rank", fitted.model, csv, "-k", 4, "-o", "alerts.csv.gz")
    page = Path("alerts.html")

    assert page.read_text().count("<article") == 4
    assert "Expect about" in page.read_text()


def test_the_page_can_have_another_name_be_alone_or_left_out(csv, fitted):
    outcome = run_main("rank", fitted.model, csv, "-k", 4, "--page", "today.html")
    assert len(listed(outcome)) == 4
    assert names_here() == ["payments.csv", "today.html"]
    run_main("rank", fitted.model, csv, "-k", 4, "-o", "alerts.csv", "--no-page")
    assert names_here() == ["alerts.csv", "payments.csv", "today.html"]


def test_the_page_never_replaces_the_report_of_the_model(csv, fitted):
    Path("cards.toprank").write_bytes(fitted.model.read_bytes())
    Path("cards.html").write_text("the report")
    outcome = run_main("rank", "cards.toprank", csv, "-k", 4, "-o", "cards.csv")

    assert outcome.stderr.splitlines()[1] == "Wrote cards.csv and cards.alerts.html"
    assert Path("cards.html").read_text() == "the report"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--page", "a.html", "--no-page"), "--page must be left out with --no-page"),
        (("--page", "a.csv"), "--page must end in .html; got a.csv"),
        (("--page", "none/a.html"), "there is no folder none to write a.html to."),
    ],
)
def test_a_page_that_cannot_be_written_is_reported_before_the_scoring(options, sentence, fitted):
    Path("not-read-yet.csv").touch()
    outcome = run_main("rank", fitted.model, "not-read-yet.csv", *options)

    assert outcome.exit_code != 0
    assert sentence in " ".join(outcome.stderr.split())


def test_a_terminal_shows_the_list_in_lines_and_a_pipe_gets_csv(csv, fitted, monkeypatch):
    piped = run_main("rank", fitted.model, csv, "-k", 2)
    monkeypatch.setattr("toprank.cli.screen.is_terminal", lambda: True)
    shown = run_main("rank", fitted.model, csv, "-k", 2).stdout.splitlines()

    first = listed(piped).iloc[0]
    assert shown[0].startswith(f"   1  row {first['row']:,}  ")
    assert shown[0].endswith(" %")
    assert [line.strip() for line in shown[1:]][: len(first["reasons"].split(" | "))] == (
        first["reasons"].split(" | ")
    )


# What it refuses


def test_a_missing_column_is_named(payments, fitted):
    data = written(payments.drop(columns="amount").assign(amounts=1), "payments.csv")

    assert one_sentence(run_main("rank", fitted.model, data)) == (
        "column 'amount' is not in payments.csv; did you mean 'amounts'?"
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda frame: frame.assign(amount="9,5,0"), "column 'amount' in payments.csv must hold"),
        (lambda frame: frame.assign(amount=-np.inf), "column 'amount' must hold finite numbers"),
        (lambda frame: frame[:0], "payments.csv must hold at least one row"),
    ],
)
def test_data_that_cannot_be_scored_is_refused(change, sentence, payments, fitted):
    data = written(change(payments), "payments.csv")

    assert one_sentence(run_main("rank", fitted.model, data, "-o", "a.csv")).startswith(sentence)
    assert names_here() == ["payments.csv"]


def test_a_file_that_is_no_model_is_refused(csv, fitted):
    swapped = run_main("rank", csv, fitted.model)
    absent = one_sentence(run_main("rank", "none.toprank", csv))

    assert swapped.exit_code == 2
    assert "payments.toprank is a model and payments.csv is not; swap" in swapped.stderr
    assert absent == "there is no file none.toprank."


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("lists/alerts.csv", "there is no folder lists to write alerts.csv to."),
        ("alerts.xlsx", "alerts.xlsx must end in one of .csv"),
        ("alerts", "alerts must end in one of .csv"),
        ("/proc/alerts.csv", "alerts.csv cannot be written to /proc: "),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_scoring(output, sentence, fitted):
    Path("not-read-yet.csv").touch()
    outcome = run_main("rank", fitted.model, "not-read-yet.csv", "-o", output)

    assert one_sentence(outcome).startswith(sentence)
    assert names_here() == ["not-read-yet.csv"]


def with_facts(model, facts):
    ranker = files.load(model)
    files.save(ranker, "odd.toprank", facts)
    return "odd.toprank"


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"label": 7, "time": [], "budget": "many"},
        {"label": None, "time": {"a": 1}, "budget": 0},
        {"label": "is_fraud", "budget": True},
        {"budget": 10**30, "label": ["is_fraud"]},
    ],
    ids=str,
)
def test_a_model_with_odd_facts_still_ranks(facts, csv, fitted):
    alerts = listed(run_main("rank", with_facts(fitted.model, facts), csv))

    assert len(alerts) == (600 if facts.get("budget") == 10**30 else 100)


# Larger than memory

MEASURED = """
import resource, sys
from toprank.cli import main
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, file=sys.stderr)
"""


def peak_bytes(model, data):
    command = [sys.executable, "-c", MEASURED, "rank", model, data, "-o", "alerts.csv"]
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return int(run.stderr.splitlines()[-1])


@pytest.mark.slow
def test_memory_stays_far_below_the_size_of_the_table(payments, fitted):
    table = pa.Table.from_pandas(payments, preserve_index=False)
    note = pa.array(["a remark that is long and of no interest; " * 20] * len(table))
    rows = pa.concat_tables([table.append_column("note", note)] * 400)
    for name, part in (("small.csv", rows[:20_000]), ("large.csv", rows)):
        pacsv.write_csv(part, name)
    assert len(rows) == 240_000
    growth = peak_bytes(fitted.model, "large.csv") - peak_bytes(fitted.model, "small.csv")

    assert growth < rows.nbytes / 2


def test_ids_are_listed_digit_by_digit(payments):
    cards = 9_007_199_254_740_993 + np.arange(len(payments))
    data = written(payments.assign(card=cards), "cards.csv")
    options = ("--label", "is_fraud", "--time", "paid_at", "--trees", 5, "--minutes", 0.0001)
    fitted = run_main("fit", data, *options, "--keep", "card")
    assert "'card' holds numbers too large for learners" in fitted.stderr
    assert "600 different values become" in fitted.stderr

    outcome = run_main("rank", "cards.toprank", data, "-k", 5)
    alerts = list(csv_module.DictReader(outcome.stdout.splitlines()))
    assert len(alerts) == 5
    assert all(int(row["card"]) == cards[int(row["row"]) - 1] for row in alerts)
