"""Lists in tables of databases: whole, and once per run."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from toprank.data.sources import QueryRows, RunTable
from toprank.data.tables import TableError


def rows(n_rows, **others):
    return pa.table(
        {
            "rank": np.arange(1, n_rows + 1),
            "suspicion": np.linspace(3, 1, n_rows),
            "country": pa.array(["FR"] * n_rows).dictionary_encode(),
            "paid at": pa.array([0] * n_rows, pa.timestamp("s")),
            "verdict": pa.nulls(n_rows, pa.string()),
            **others,
        }
    )


@pytest.fixture(params=["postgresql", "postgresql+psycopg", "duckdb", "sqlite"])
def database(request, tmp_path):
    if request.param.startswith("postgresql"):
        return request.getfixturevalue("postgres").replace("postgresql", request.param)
    return f"{request.param}:///{tmp_path}/desk.db"


def content(database, table="alerts"):
    return QueryRows(f"select * from {table} order by run, rank", database).table()


def test_a_run_that_is_written_again_replaces_its_rows(database):
    alerts = RunTable("alerts", database)
    alerts.check()

    assert alerts.write(rows(3), "monday") == 0
    assert alerts.write(rows(2), "tuesday") == 0
    assert alerts.write(rows(5), "monday") == 3

    found = content(database)
    assert found["run"].to_pylist() == ["monday"] * 5 + ["tuesday"] * 2
    assert found["rank"].to_pylist() == [1, 2, 3, 4, 5, 1, 2]
    assert found["suspicion"].to_pylist()[:5] == [3, 2.5, 2, 1.5, 1]
    assert found["country"].to_pylist() == ["FR"] * 7


def test_checking_leaves_no_table(database):
    RunTable("alerts", database).check()

    with pytest.raises(TableError, match="cannot run the query"):
        content(database)


def test_names_of_columns_stay_as_they_are_whatever_is_in_them(database):
    odd = {'a"; drop table alerts; --': [1], "select": [2], "Rank": [3], "run": ["mine"]}

    RunTable("alerts", database).write(rows(1, **odd), "monday")
    (found,) = content(database).to_pylist()

    assert found['a"; drop table alerts; --'] == 1
    assert (found["select"], found["rank"], found["data_Rank"]) == (2, 1, 3)
    assert (found["run"], found["data_run"]) == ("monday", "mine")


def test_a_table_may_have_more_columns_but_not_fewer(database):
    alerts = RunTable("alerts", database)
    alerts.write(rows(2), "monday")

    alerts.write(rows(2).drop_columns(["country"]), "tuesday")
    with pytest.raises(TableError, match=r"table alerts of .* it has no column 'shop'"):
        alerts.write(rows(2, shop=["a", "b"]), "tuesday")

    assert content(database)["country"].to_pylist() == ["FR", "FR", None, None]


def test_a_table_that_is_no_list_of_runs_is_refused_at_once(database):
    RunTable("others", database).write(rows(1), "monday")
    sql = "create table plain as select rank from others"
    _execute(database, sql)

    with pytest.raises(TableError, match="it has no column 'run'"):
        RunTable("plain", database).check()


def test_rows_stay_where_writing_fails(database):
    alerts = RunTable("alerts", database)
    alerts.write(rows(2), "monday")
    text = rows(2).set_column(0, "rank", pa.array(["first", "second"]))
    if database.startswith("sqlite"):  # takes text as a number: only a nested column fails
        text = rows(2, list=[[1], [2]])

    with pytest.raises((TableError, PermissionError)):
        alerts.write(text, "monday")

    assert content(database)["rank"].to_pylist() == [1, 2]


def test_two_at_the_same_time_write_a_run_once(postgres):
    alerts = RunTable("alerts", postgres)
    alerts.write(rows(1), "monday")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: alerts.write(rows(n), "tuesday"), [3] * 8))

    assert content(postgres)["run"].to_pylist() == ["monday"] + ["tuesday"] * 3


def test_a_schema_is_part_of_the_name(postgres):
    _execute(postgres, "create schema fraud")

    RunTable("fraud.alerts", postgres).write(rows(2), "monday")

    assert content(postgres, "fraud.alerts").num_rows == 2
    with pytest.raises(TableError, match="create the schema first"):
        RunTable("frod.alerts", postgres).check()


def test_a_name_that_postgresql_would_cut_is_refused(postgres):
    with pytest.raises(TableError, match="must be at most 63 bytes long"):
        RunTable("alerts", postgres).write(rows(1, **{"x" * 64: [1]}), "monday")


@pytest.mark.parametrize("name", ["", ".", "a..b", ".a"])
def test_a_name_of_no_table_is_refused(name):
    with pytest.raises(TableError, match=r"must be NAME or SCHEMA\.NAME"):
        RunTable(name, "duckdb://").check()


def test_a_folder_that_is_not_there_is_reported(tmp_path):
    for scheme in ("duckdb", "sqlite"):
        with pytest.raises(FileNotFoundError, match="check the name of the"):
            RunTable("alerts", f"{scheme}:///{tmp_path}/none/a.db").check()


def _execute(database, sql):
    if database.startswith("duckdb"):
        import duckdb

        with duckdb.connect(database.removeprefix("duckdb:///")) as connection:
            connection.execute(sql)
        return
    import sqlalchemy as sa

    url = database.replace("postgresql://", "postgresql+psycopg://")
    with sa.create_engine(url).begin() as connection:
        connection.exec_driver_sql(sql)
