"""`toprank simulate`: the file it writes, what it shows and what it refuses."""

import signal
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import names_here, one_sentence, run_main, start
from cli.test_screen import shown_on_a_terminal
from toprank.data import tables
from toprank.simulator import Simulation, tables_by_day
from toprank.workflow.task import prepare

SMALL = ("--cards", 60, "--terminals", 120, "--days", 30)


def ran(*arguments):
    outcome = run_main("simulate", *arguments)
    assert outcome.exit_code == 0, outcome.stderr
    return outcome


def made(**options):
    return pa.concat_tables(tables_by_day(Simulation(60, 120, 30, **options)))


def test_the_file_holds_the_payments_and_a_remark_counts_them():
    outcome = ran("-o", "payments.parquet", *SMALL)
    table = pq.read_table("payments.parquet")
    n_frauds = sum(table["is_fraud"].to_pylist())

    assert table.column_names[0] == "id"
    assert table.drop_columns("id").equals(made())
    assert len(set(table["id"].to_pylist())) == table.num_rows
    assert names_here() == ["payments.parquet"]
    assert outcome.stdout == ""
    assert outcome.stderr == (
        f"Wrote payments.parquet: {table.num_rows:,} payments of 30 days, {n_frauds} of them "
        f"frauds ({100 * n_frauds / table.num_rows:.2g} %).\n"
    )


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["--seed", 4], {"random_state": 4}),
        (["--start", "2020-02-29"], {"start": "2020-02-29"}),
        (["--details"], {"details": True}),
        (["--pattern"], {"keep_pattern": True}),
        (["--worldline"], {"worldline": True}),
        (["--test-payments"], {"test_payments": True}),
        (["--starts", "card:29"], {"starts": {"card": 29}}),
        (
            ["--stops", "terminal:9", "--stops", "amount:8"],
            {"stops": {"terminal": 9, "amount": 8}},
        ),
        (["--start", "2024-12-01", "--christmas"], {"start": "2024-12-01", "christmas": True}),
        (["--claims"], {"claims": True}),
        (["--checks", 3], {"checks_a_day": 3}),
    ],
    ids=str,
)
def test_every_option_is_passed_on(arguments, options):
    ran("-o", "payments.parquet", *SMALL, *arguments)
    table = pq.read_table("payments.parquet").drop_columns("id")

    assert table.equals(made(**options))
    assert not table.equals(made())


def test_one_day_is_called_a_day():
    outcome = ran("-o", "payments.pq", "--cards", 9, "--terminals", 9, "--days", 1)

    assert "payments of 1 day, 0 of them frauds (0 %)." in outcome.stderr


@pytest.mark.slow
def test_a_bar_shows_the_time_left_on_a_terminal():
    main = "from toprank.cli import main; main()"
    text = shown_on_a_terminal(
        [sys.executable, "-c", main, "simulate", "-o", "payments.parquet", "--days", "40"]
    )

    assert "simulating payments" in text
    assert text.rstrip().splitlines()[-1].endswith("%).")


def test_what_it_wrote_can_be_learned_from():
    ran("-o", "payments.parquet", "--cards", 150, "--terminals", 300, "--days", 60, "--details")
    table = tables.read_table(Path("payments.parquet"))
    task = prepare(table, "is_fraud", time="paid_at", drop=["id", "card", "terminal"])

    assert list(task.features.column_names) == ["amount", "country", "channel", "merchant_type"]
    assert task.is_positive.sum() == sum(table["is_fraud"].to_pylist()) > 0


def test_a_csv_has_the_same_payments():
    ran("-o", "payments.csv", *SMALL, "--details", "--claims", "--checks", 3)
    table = tables.read_table(Path("payments.csv"), as_text=["id"])
    expected = made(details=True, claims=True, checks_a_day=3)

    assert table.column_names == ["id", *expected.column_names]
    assert table["amount"].to_pylist() == expected["amount"].to_pylist()
    for name in ("card", "country", "is_fraud", "verdict"):
        assert list(map(str, table[name].to_pylist())) == list(
            map(str, expected[name].to_pylist())
        )
    times = [f"{moment:%Y-%m-%d %H:%M:%S}" for moment in expected["paid_at"].to_pylist()]
    assert list(map(str, table["paid_at"].to_pylist())) == times


def test_what_it_wrote_can_be_fitted_with_cards_and_streamed():
    ran("-o", "payments.csv", "--cards", 150, "--terminals", 60, "--days", 60, "--seed", 3)
    roles = ("--card", "card", "--terminal", "terminal", "--amount", "amount", "--id", "id")
    outcome = run_main(
        *("fit", "payments.csv", "--label", "is_fraud", "--time", "paid_at", *roles),
        *("--trees", 3, "--minutes", 0.001, "--jobs", 1, "-k", 3, "-o", "m.toprank"),
    )
    assert outcome.exit_code == 0, outcome.stderr
    text = Path("payments.csv").read_text().splitlines()
    Path("events.csv").write_text("\n".join([text[0], *text[-20:]]) + "\n")
    outcome = run_main("stream", "events.csv", "--model", "m.toprank", "-o", "scores.ndjson")

    assert outcome.exit_code == 0, outcome.stderr
    assert "20 rows scored" in outcome.stderr
    assert "20 labels taken in" in outcome.stderr


@pytest.mark.slow
def test_stopping_leaves_no_file():
    run = start("simulate", "-o", "payments.parquet", "--days", 100_000)
    begin = time.monotonic()
    while not names_here():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() - begin < 30
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    _, stderr = run.communicate(timeout=30)

    assert run.returncode == 130
    assert stderr.strip() == "stopped; no file was left half-written."
    assert names_here() == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-o", "p.xlsx"], "p.xlsx must end in .parquet or .pq; got '.xlsx'."),
        (["-o", "no/p.parquet"], "there is no folder no to write p.parquet to."),
        (["-o", "p.d"], "p.d must end in .parquet or .pq; got '.d'."),
        (
            ["-o", "p.parquet", "--start", "tomorrow"],
            "start must be a date such as '2025-01-01'; got 'tomorrow'.",
        ),
        (
            ["-o", "p.parquet", "--starts", "terminals:3"],
            "starts must name one of 'amount', 'terminal', 'card'; got 'terminals'; "
            "did you mean 'terminal'?",
        ),
        (
            ["-o", "p.parquet", "--christmas"],
            "christmas must come with days between 1 and 24 December; the run is from "
            "2018-04-01 to 2018-09-30: choose another start or more days.",
        ),
    ],
    ids=str,
)
def test_bad_input_is_refused_with_one_sentence(arguments, sentence):
    assert one_sentence(run_main("simulate", *arguments)).endswith(sentence)
    assert names_here() == []


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "Missing option '-o' / '--output'"),
        (["-o", "p.parquet", "--cards", 0], "0 is not in the range x>=1"),
        (["-o", "p.parquet", "--days", "many"], "'many' is not a valid integer range"),
        (["-o", "p.parquet", "--stops", "card"], "a day such as card:60; got 'card'."),
        (["-o", "p.parquet", "--stops", "card:-2"], "a day such as card:60; got 'card:-2'."),
        (
            ["-o", "p.parquet", "--stops", "card:3", "--stops", "card:4"],
            "--stops must name a pattern once; got 'card' twice.",
        ),
    ],
    ids=str,
)
def test_a_wrong_call_exits_2_and_writes_nothing(arguments, reason):
    outcome = run_main("simulate", *arguments)

    assert outcome.exit_code == 2
    assert reason in outcome.stderr
    assert names_here() == []


def test_help_shows_examples_that_run():
    lines = run_main("simulate", "--help").stdout.split("Examples:")[1].splitlines()
    examples = [line.split()[2:] for line in lines if line.strip()]

    assert len(examples) >= 4
    for arguments in examples:
        ran(*arguments, "--cards", 20, "--terminals", 20, "--days", 100)
        assert Path(arguments[1]).exists()


def test_a_name_without_a_suffix_is_a_folder_with_a_file_per_day():
    outcome = ran("-o", "days", *SMALL)
    paths = sorted(Path("days").iterdir())
    table = pa.concat_tables(pq.read_table(path) for path in paths)

    assert len(paths) == 30
    assert table.drop_columns("id").equals(made())
    assert "Wrote days" in outcome.stderr
    again = run_main("simulate", "-o", "days", *SMALL)
    assert again.exit_code == 2
    assert "must name a new or empty folder" in again.stderr
