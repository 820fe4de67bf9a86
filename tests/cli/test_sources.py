"""Commands whose rows are elsewhere, and lists written to tables: the same as with a file."""

import json
import sqlite3
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import toprank
from cli.running import one_sentence, run_main, written
from toprank.payments.payment_model import PaymentModel

QUERY = ("--sql", "select * from payments order by paid_at")


@pytest.fixture
def rows(payments):
    return pa.Table.from_pandas(payments, preserve_index=False)


@pytest.fixture(params=["folder", "pattern", "s3", "postgresql", "duckdb", "sqlite"])
def where(request, rows, tmp_path):
    """Arguments that give the payments to a command."""
    kind = request.param
    if kind in ("folder", "pattern"):
        (tmp_path / "days").mkdir()
        for i in range(3):
            pq.write_table(rows.slice(200 * i, 200), tmp_path / "days" / f"{i}.parquet")
        return (tmp_path / "days",) if kind == "folder" else ("days/*.parquet",)
    if kind == "s3":
        store = request.getfixturevalue("store")
        for i in range(3):
            store.write_parquet(f"days/{i}.parquet", rows.slice(200 * i, 200))
        return (f"{store.url}/days/*.parquet",)
    if kind == "postgresql":
        url = request.getfixturevalue("postgres")
        in_postgres(url, rows)
        return (*QUERY, "--database", url)
    path = tmp_path / "payments.db"
    if kind == "duckdb":
        import duckdb

        with duckdb.connect(str(path)) as connection:
            connection.register("rows", rows)
            connection.execute("create table payments as select * from rows")
    else:
        connection = sqlite3.connect(path)
        rows.to_pandas().to_sql("payments", connection, index=False)
        connection.close()
    return (*QUERY, "--database", f"{kind}:///{path}")


def in_postgres(url, rows, name="payments"):
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, rows, mode="create")
        connection.commit()


def test_rank_lists_the_same_rows_from_everywhere(fitted, rows, where):
    pq.write_table(rows, "payments.parquet")
    plain = run_main("rank", fitted.model, "payments.parquet", "-k", 12, "--json")
    elsewhere = run_main("rank", fitted.model, *where, "-k", 12, "--json")

    assert elsewhere.exit_code == 0, elsewhere.stderr
    # all digits of all numbers
    assert json.loads(elsewhere.stdout) == json.loads(plain.stdout)


def test_rank_of_batches_is_that_of_a_whole_table_in_memory(fitted, rows, store):
    many = pa.concat_tables([rows] * 100)  # several batches of the command
    where = [store.write_parquet(f"{i}.parquet", many.slice(20_000 * i, 20_000)) for i in range(3)]
    model = PaymentModel.load(fitted.model)

    outcome = run_main(
        "rank", fitted.model, f"{store.url}/*.parquet", "-k", 150, "-o", "a.parquet"
    )

    assert outcome.exit_code == 0, outcome.stderr
    assert len(where) == 3
    whole = model.rank(many, 150).to_table(for_verdicts=True)
    assert pq.read_table("a.parquet").equals(whole.replace_schema_metadata(None))


@pytest.mark.parametrize("where", ["s3", "postgresql"], indirect=True)
def test_fit_evaluate_explain_compare_and_anomalies_read_from_everywhere(fitted, csv, where):
    small = ("--label", "is_fraud", "--time", "paid_at", "-k", 5, "--trees", 10, "--jobs", 1)
    commands = [
        ("fit", "--learner", "auto", "--loss", "log", *small, "-o", "new.toprank", "--json"),
        ("evaluate", fitted.model, "--json"),
        ("explain", fitted.model, "--row", 450, "--json"),
        ("compare", "--learners", "log", *small, "--json"),
        ("anomalies", "--drop", "paid_at", "-k", 5, "--detector", "tree", "--json"),
    ]
    for command in commands:
        plain = run_main(*command, csv)
        elsewhere = run_main(*command, *where)

        assert elsewhere.exit_code == 0, (command, elsewhere.stderr)
        assert without_seconds(elsewhere.stdout) == without_seconds(plain.stdout), command[0]


def without_seconds(text):
    """Return the figures of a command but those of the clock."""

    def plain(value):
        if isinstance(value, dict):
            return {name: plain(each) for name, each in value.items() if "second" not in name}
        return [plain(each) for each in value] if isinstance(value, list) else value

    return plain(json.loads(text))


def test_cards_are_listed_from_a_query_as_from_a_file(postgres, tmp_path):
    from toprank.simulator import Simulation, tables_by_day

    simulated = Simulation(n_cards=100, n_terminals=40, n_days=40, random_state=3)
    days = list(tables_by_day(simulated))
    past, today = pa.concat_tables(days[:-1]), days[-1]
    in_postgres(postgres, past, "past")
    in_postgres(postgres, today, "today")
    pq.write_table(past, "past.parquet")
    pq.write_table(today, "today.parquet")
    roles = ("--card", "card", "--terminal", "terminal", "--amount", "amount", "--time", "paid_at")
    quick = ("--label", "is_fraud", "--loss", "log", "--trees", 10, "--jobs", 1, "-k", 5)
    lists = {}

    for name, history, rows in (
        ("a", ("past.parquet",), ("today.parquet",)),
        ("b", ("--sql", "select * from past", "--database", postgres),
         ("--sql", "select * from today", "--database", postgres)),
    ):  # fmt: skip
        outcome = run_main("fit", *history, *roles, *quick, "-o", f"{name}.toprank")
        assert outcome.exit_code == 0, outcome.stderr
        outcome = run_main("rank", f"{name}.toprank", *rows, "--remember", "-o", f"{name}.csv")
        assert outcome.exit_code == 0, outcome.stderr
        lists[name] = Path(f"{name}.csv").read_text()

    assert lists["a"] == lists["b"]


@pytest.mark.parametrize("kind", ["postgresql", "duckdb", "sqlite"])
def test_a_list_goes_to_a_table_once_per_run(fitted, csv, kind, request, tmp_path, monkeypatch):
    url = f"{kind}:///{tmp_path}/alerts.db"
    if kind == "postgresql":
        url = request.getfixturevalue("postgres")
    monkeypatch.setenv("TOPRANK_DATABASE", url)
    to_table = ("--to-table", "alerts", "--run", "2026-11-19")

    first = run_main("rank", fitted.model, csv, "-k", 7, *to_table)
    again = run_main("rank", fitted.model, csv, "-k", 5, *to_table, "-o", "alerts.csv")
    other = run_main("rank", fitted.model, csv, "-k", 2, "--to-table", "alerts")

    assert (first.exit_code, first.stdout) == (0, "")
    assert "in place of 7 rows of that run" in again.stderr
    assert "opensesame" not in first.stderr + again.stderr + other.stderr
    table = toprank.read(sql="select * from alerts", database=url).to_pandas()
    assert table["run"].value_counts().to_dict()["2026-11-19"] == 5
    (default,) = set(table["run"]) - {"2026-11-19"}
    assert default.startswith(f"{fitted.model} payments.csv 20")
    listed = pd.read_csv("alerts.csv")
    run = table[table["run"] == "2026-11-19"].sort_values("rank")
    assert run["row"].tolist() == listed["row"].tolist()
    assert run["amount"].astype(float).tolist() == listed["amount"].tolist()


def test_a_list_of_a_query_goes_back_to_the_same_database(fitted, rows, postgres):
    in_postgres(postgres, rows)

    outcome = run_main(
        "rank", fitted.model, *QUERY, "--database", postgres, "-k", 3, "--to-table", "alerts"
    )

    assert outcome.exit_code == 0, outcome.stderr
    assert "Wrote table alerts of postgresql://toprank:***@" in outcome.stderr
    found = toprank.read(sql="select * from alerts", database=postgres)
    assert found["amount"].type == pa.float64()
    assert found.num_rows == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument 'DATA'"),
        (("a.csv", "--sql", "select 1", "--database", "duckdb://"), "DATA must be left out"),
        (("--sql", "select 1"), "--sql must come with --database"),
        (("a.csv", "--database", "duckdb://"), "--database must come with --sql"),
        (("a.csv", "--run", "x"), "--run must come with --to-table"),
        (("a.csv", "--to-table", "alerts"), "--to-table must come with --database"),
    ],
)
def test_options_that_do_not_go_together_are_refused(fitted, arguments, said, monkeypatch):
    monkeypatch.delenv("TOPRANK_DATABASE", raising=False)
    written(pd.DataFrame({"amount": [1]}), "a.csv")

    outcome = run_main("rank", fitted.model, *arguments)

    assert outcome.exit_code == 2
    assert said in outcome.stderr


@pytest.mark.parametrize("command", ["evaluate", "explain", "fit", "compare", "feedback"])
def test_a_database_without_a_query_is_refused(fitted, command, csv):
    model = (fitted.model,) if command in ("evaluate", "explain") else ()

    outcome = run_main(command, *model, csv, "--database", "duckdb://", *(
        ("--label", "is_fraud") if command in ("fit", "compare") else ()
    ))  # fmt: skip

    assert outcome.exit_code == 2
    assert "--database must come with --sql" in outcome.stderr


def test_a_model_of_rows_from_elsewhere_needs_a_name():
    for where in (("s3://payments/*.csv",), ("--sql", "select 1", "--database", "duckdb://")):
        outcome = run_main("fit", *where, "--label", "is_fraud")

        assert outcome.exit_code == 2
        assert "-o must name the model to write" in outcome.stderr


def test_mistakes_are_named_as_they_were_typed(fitted, store, tmp_path):
    def sentence(*arguments):
        return one_sentence(run_main("rank", fitted.model, *arguments))

    said = sentence("--sql", "selec 1", "--database", "duckdb://")
    assert "correct --sql" in said
    assert "--database must be a URL" in sentence("--sql", "select 1", "--database", "a.db")
    assert "there is no file" in sentence(f"{store.url}/none.csv")
    assert "no file matches days/*.csv" in sentence("days/*.csv")
    said = sentence("--sql", "select 1 as amuont", "--database", "duckdb://")
    assert "'amount' is not in the query" in said


def test_a_table_that_cannot_take_the_list_is_refused_before_anything_is_scored(fitted, csv):
    connection = sqlite3.connect("a.db")
    connection.execute("create table alerts (rank int)")
    connection.close()

    outcome = run_main(
        "rank", fitted.model, csv, "--to-table", "alerts", "--database", "sqlite:///a.db"
    )

    assert "has no column 'run'" in one_sentence(outcome)
