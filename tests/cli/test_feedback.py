"""`toprank feedback`: what it prints, the page it writes, what it refuses."""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import names_here, one_sentence, run_main
from cli.test_screen import shown_on_a_terminal
from toprank.simulator import Simulation, tables_by_day
from toprank.simulator.feedback import STRATEGIES

SMALL = ("--customers", 150, "--days", 4, "--trees", 3, "--jobs", 1)
NAMED = (
    *("--label", "is_fraud", "--time", "paid_at", "--card", "card"),
    *("--terminal", "terminal", "--amount", "amount"),
)


@pytest.fixture
def data():
    """The path of the payments that the command simulates by itself with SMALL."""
    simulation = Simulation(150, 300, 94, claims=True)
    pq.write_table(pa.concat_tables(tables_by_day(simulation)), "payments.parquet")
    return Path("payments.parquet")


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """What the command prints as JSON when it gets SMALL."""
    page = tmp_path_factory.mktemp("feedback") / "feedback.html"
    return json.loads(ran(*SMALL, "--json", "-o", page).stdout)


def ran(*arguments):
    outcome = run_main("feedback", *arguments)
    assert outcome.exit_code == 0, outcome.stderr
    return outcome


def test_a_table_and_its_conclusions_are_printed_and_a_page_is_written():
    outcome = ran(*SMALL)
    head, *lines = outcome.stdout.splitlines()

    assert head.split() == [
        "CP@3",
        *["cards", "found", "money", "caught", "money", "saved", "training"],
    ]
    assert {line.split()[0] for line in lines[:5]} == set(STRATEGIES)
    assert lines[5].startswith("ceiling")
    assert " leads " in outcome.stdout
    assert outcome.stderr.splitlines() == [
        "Simulating 94 days of payments of 150 customers at 300 terminals, claims about a week "
        "late; the last 4 are replayed.",
        "Wrote feedback.html",
    ]
    assert names_here() == ["feedback.html"]


def test_a_file_of_the_same_payments_gives_the_same_days(data, usual):
    options = ("--days", 4, "--trees", 3, "--jobs", 1, "-k", 3, "--claimed", "claimed_on")
    chosen = ("--strategies", "static,feedback")
    read = json.loads(ran(data, *NAMED, *options, *chosen, "--json").stdout)

    assert read["days"] == usual["days"]
    for strategy in ("static", "feedback"):
        figures = usual["strategies"][strategy]
        found, money = (
            read["strategies"][strategy]["by_day"][name] for name in ("found", "money")
        )
        assert (found, money) == (figures["by_day"]["found"], figures["by_day"]["money"])


def test_strategies_can_be_chosen():
    facts = json.loads(ran(*SMALL, "--strategies", "online, static", "--json").stdout)

    assert set(facts["strategies"]) == {"online", "static"}


def test_claims_are_drawn_where_no_column_has_them(data):
    ran(data, *NAMED, "--days", 2, "--trees", 2, "--strategies", "static", "-o", "days.html")

    assert names_here() == ["days.html", "payments.parquet"]
    assert "checks on 2 days" in Path("days.html").read_text()


def test_drift_changes_the_payments_and_is_reported(usual):
    outcome = ran(*SMALL, "--strategies", "static", "--json", "--drift", "--drift-day", 3)

    assert json.loads(outcome.stdout)["n_positive"] < usual["n_positive"]
    assert "frauds at compromised terminals start on day 3 of these." in outcome.stderr


@pytest.mark.slow
def test_desks_are_served_beside_the_strategies_and_have_lines_of_their_own():
    small = ("--customers", 300, "--days", 3, "--trees", 5, "--jobs", 1, "-k", 4)
    facts = json.loads(ran(*small, "--live", "--drift", "--drift-day", 2, "--json").stdout)

    assert set(facts["strategies"]) == {"static", "nightly", "online", "desk", "static desk"}
    for name in ("desk", "static desk"):
        assert facts["strategies"][name]["by_day"]["checked"] == [4, 4, 4]
        held = facts["desks"][name]["held"]
        assert sum(each["days"] for each in held.values()) == 3
    assert facts["desks"]["desk"]["n_models"] == 3
    assert facts["desks"]["static desk"]["n_models"] == 1
    assert "What the desks promised" in Path("feedback.html").read_text()


@pytest.mark.slow
def test_a_bar_shows_the_time_left_on_a_terminal():
    main = "from toprank.cli import main; main()"
    options = [str(each) for each in (*SMALL, "--strategies", "online")]
    text = shown_on_a_terminal([sys.executable, "-c", main, "feedback", *options])

    assert "replaying days" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-o", "no/p.html"], "there is no folder no to write p.html to."),
        (["none.parquet", *NAMED], "there is no file none.parquet."),
    ],
    ids=str,
)
def test_bad_input_is_refused_with_one_sentence(arguments, sentence):
    assert one_sentence(run_main("feedback", *arguments)).endswith(sentence)
    assert names_here() == []


def test_a_column_that_is_not_there_is_named(data):
    arguments = [each.replace("amount", "amuont") if each == "amount" else each for each in NAMED]
    outcome = run_main("feedback", data, *arguments)

    assert "column 'amuont' is not in payments.parquet; did you mean" in one_sentence(outcome)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--label", "is_fraud"], "--label must come with DATA, the file it is a column of."),
        (["p.csv", "--label", "y", "--time", "t"], "give --card, --terminal, --amount."),
        (["p.csv", *NAMED, "--customers", 9], "--customers must come without DATA"),
        (["p.csv", *NAMED, "--drift"], "--drift must come without DATA"),
        (["p.csv", *NAMED, "--drift-day", 3], "--drift-day must come without DATA"),
        (["--drift", "--drift-day", 9, "--days", 8], "--drift-day must be one of the 8 --days"),
        (["--strategies", "statc"], "got 'statc'; did you mean 'static'?"),
        (["--days", 0], "0 is not in the range x>=1"),
    ],
    ids=str,
)
def test_a_wrong_call_exits_2_and_writes_nothing(arguments, reason):
    outcome = run_main("feedback", *arguments)

    assert outcome.exit_code == 2
    assert reason in outcome.stderr
    assert names_here() == []
