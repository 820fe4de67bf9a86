"""`toprank explain`: reasons of a row, and what parts two."""

import json

import pytest
from pytest import approx

from cli.running import one_sentence, run_main, written
from toprank import model_file


@pytest.fixture
def suspicion(payments, fitted):
    return model_file.load(fitted.model).suspicion(payments)


def test_a_row_gets_its_score_and_reasons(csv, fitted, suspicion):
    row = int(suspicion.argmax()) + 1
    outcome = run_main("explain", fitted.model, csv, "--row", row)
    head, *reasons = outcome.stdout.splitlines()

    assert outcome.exit_code == 0
    assert outcome.stderr == ""
    assert head.startswith(f"row {row:,}: suspicion {suspicion.max():.2f}, probability ")
    *reasons, others, start = reasons
    assert all(reason[2] in "+-" and "usual" in reason for reason in reasons)
    assert 1 <= len(reasons) <= 3
    assert others.endswith("  all other columns")
    assert start.endswith("  where every row starts")
    parts = [float(line.split()[0]) for line in (*reasons, others, start)]
    assert sum(parts) == approx(suspicion.max(), abs=0.03)


def test_the_row_is_that_of_the_file_in_every_form(payments, fitted, suspicion):
    payments.to_parquet("payments.parquet", row_group_size=50)
    written(payments, "payments.csv.gz")
    for name in ("payments.parquet", "payments.csv.gz"):
        for row in (1, 777, 1500):
            outcome = run_main("explain", fitted.model, name, "--row", row, "--json")
            (scored,) = json.loads(outcome.stdout)["rows"]
            assert scored["row"] == row
            assert scored["suspicion"] == approx(suspicion[row - 1])


def test_what_parts_two_rows_adds_up_to_their_gap(csv, fitted, suspicion):
    high, low = int(suspicion.argmax()) + 1, int(suspicion.argmin()) + 1
    arguments = ("explain", fitted.model, csv, "--row", high, "--above", low)
    document = json.loads(run_main(*arguments, "--json").stdout)

    assert [row["row"] for row in document["rows"]] == [high, low]
    total = sum(reason["contribution"] for reason in document["reasons"])
    assert total == approx(suspicion.max() - suspicion.min(), abs=1e-4)
    assert " against " in run_main(*arguments).stdout


def test_a_row_below_the_other_is_remarked_on(csv, fitted, suspicion):
    high, low = int(suspicion.argmax()) + 1, int(suspicion.argmin()) + 1
    outcome = run_main("explain", fitted.model, csv, "--row", low, "--above", high)

    assert outcome.stderr == (
        f"note: row {low} is below row {high}; the reasons say how they differ.\n"
    )


def test_equal_rows_are_parted_by_nothing(payments, fitted):
    data = written(payments.iloc[[4, 4]], "pair.csv")
    outcome = run_main("explain", fitted.model, data, "--row", 1, "--above", 2)

    assert outcome.stdout.splitlines()[-1] == "  no column parts them"


def test_as_many_reasons_as_asked(csv, fitted):
    outcome = run_main("explain", fitted.model, csv, "--row", 1, "--reasons", 1, "--json")

    assert len(json.loads(outcome.stdout)["reasons"]) == 1


def test_a_row_beyond_the_last_is_refused(csv, fitted):
    sentence = one_sentence(run_main("explain", fitted.model, csv, "--row", 1501))

    assert sentence == "row 1,501 is not in payments.csv: it has 1,500 rows."
