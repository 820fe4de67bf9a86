"""Rows of queries: the same from every database."""

import datetime
import sqlite3
import sys
from decimal import Decimal

import pyarrow as pa
import pytest

from toprank.data import tables
from toprank.data.sources import QueryRows
from toprank.data.tables import TableError

ROWS = pa.table(
    {
        "number": list(range(1000)),
        "amount": [None if i < 300 else i / 4 for i in range(1000)],
        "country": ["FR", None, "US", "D'E"] * 250,
    }
)
ALL = "select * from payments order by number;"


@pytest.fixture(params=["postgresql", "postgresql+psycopg", "duckdb", "sqlite"])
def database(request, tmp_path):
    """The URL of a database with the table `payments`."""
    if request.param.startswith("postgresql"):
        url = request.getfixturevalue("postgres")
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(url) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("payments", ROWS, mode="create")
            connection.commit()
        return url.replace("postgresql", request.param)
    path = tmp_path / "payments.db"
    if request.param == "duckdb":
        import duckdb

        with duckdb.connect(str(path)) as connection:
            connection.register("rows", ROWS)
            connection.execute("create table payments as select * from rows")
    else:
        connection = sqlite3.connect(path)
        connection.execute("create table payments (number int, amount real, country text)")
        places = [tuple(row.values()) for row in ROWS.to_pylist()]
        connection.executemany("insert into payments values (?, ?, ?)", places)
        connection.commit()
        connection.close()
    return f"{request.param}:///{path}"


def test_a_query_gives_the_rows_of_the_table(database):
    table = QueryRows(ALL, database).table()

    assert table.cast(ROWS.schema).equals(ROWS)
    assert QueryRows(ALL, database).column_names() == ROWS.column_names


def test_batches_of_a_query_have_the_types_of_the_schema(database):
    schema = tables.Schema.of(ROWS)

    batches = list(QueryRows(ALL, database).batches(schema=schema, rows=300))

    assert [batch.num_rows for batch in batches] == [300, 300, 300, 100]
    together = pa.concat_tables(batches, promote_options="permissive")
    assert together.cast(ROWS.schema).equals(ROWS)


def test_only_the_columns_that_are_named_are_given(database):
    assert QueryRows(ALL, database).table(["country"]).column_names == ["country"]


def test_a_percent_sign_or_a_colon_is_no_place_for_a_value(database):
    sql = "select 'a%b :c' as odd, number from payments where 'x' like '%' and number = 1"

    assert QueryRows(sql, database).table()["odd"].to_pylist() == ["a%b :c"]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select * from paymnts", "paymnts"),
        ("selec 1", "selec"),
        ("select amuont from payments", "amuont"),
    ],
)
def test_a_query_that_cannot_run_says_what_the_database_says(database, sql, said):
    with pytest.raises(TableError, match=rf"cannot run the query \(.*{said}.*\); correct `sql`"):
        QueryRows(sql, database).table()


def test_a_query_without_rows_says_so(database):
    rows = QueryRows("select * from payments where number < 0", database)

    for read in (rows.table, lambda: list(rows.batches())):
        with pytest.raises(TableError, match="the query must give at least one row"):
            read()


def test_a_column_that_the_query_lacks_is_named(database):
    with pytest.raises(TableError, match="'amuont' is not in the query; did you mean 'amount'"):
        QueryRows(ALL, database).table(required=["amuont"])


def test_a_statement_that_changes_rows_changes_none(database):
    with pytest.raises((TableError, ValueError, PermissionError)):
        QueryRows("delete from payments", database).table()

    assert QueryRows(ALL, database).table().num_rows == 1000


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg"])
def test_a_wrong_password_is_refused_and_not_shown(postgres, scheme):
    url = postgres.replace("opensesame", "s3same!").replace("postgresql", scheme)

    with pytest.raises(PermissionError, match=r":\*\*\*@.*password authentication") as refused:
        QueryRows("select 1", url).table()

    assert "s3same" not in str(refused.value)
    assert "s3same" not in repr(QueryRows("select 1", url))


def test_a_database_that_is_not_there_is_named(postgres, tmp_path):
    with pytest.raises(FileNotFoundError, match="check the name of the database"):
        QueryRows("select 1", postgres.rpartition("/")[0] + "/none").table()
    with pytest.raises(ConnectionError, match="check host and port"):
        QueryRows("select 1", "postgresql://ann@127.0.0.1:9/x").table()
    for scheme in ("duckdb", "sqlite"):
        with pytest.raises(FileNotFoundError, match=r"there is no database .*none\.db"):
            QueryRows("select 1", f"{scheme}:///{tmp_path}/none.db").table()


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "a.db").write_text("no database, but long enough to be looked at" * 100)

    for scheme in ("duckdb", "sqlite"):
        with pytest.raises(TableError, match="name a database file of the kind"):
            QueryRows(ALL, f"{scheme}:///{tmp_path}/a.db").table()


def test_types_of_postgresql_become_those_of_tables(postgres):
    sql = (
        "select 12.50::numeric(10,2) as money, 7::numeric(12,0) as count, "
        "12345678901234567890::numeric(20,0) as id, 0.1::numeric as open, "
        "'6f9619ff-8b86-d011-b42d-00c04fc964ff'::uuid as key, '{\"a\": 1}'::jsonb as json, "
        "timestamp '2026-11-19 08:00' as at, date '2026-11-19' as day, true as is_fraud, "
        "interval '1 day' as wait, 'x'::char(3) as code"
    )

    (row,) = QueryRows(sql, postgres).table().to_pylist()

    assert row == {
        "money": 12.5, "count": 7, "id": "12345678901234567890", "open": 0.1,
        "key": "6f9619ff-8b86-d011-b42d-00c04fc964ff", "json": '{"a": 1}',
        "at": datetime.datetime(2026, 11, 19, 8), "day": datetime.date(2026, 11, 19),
        "is_fraud": True, "wait": row["wait"], "code": "x  ",
    }  # fmt: skip


def test_decimals_become_numbers():
    sql = "select 1.25::decimal(10, 2) as money, sum(i) as total from range(10) t(i)"

    (row,) = QueryRows(sql, "duckdb://").table().to_pylist()

    assert row == {"money": 1.25, "total": 45}
    from toprank.data.sources.engines.sqlalchemy_engine import _column

    assert _column((Decimal("1.5"), None)).to_pylist() == [1.5, None]
    assert _column((1, 2.5)).to_pylist() == [1, 2.5]
    assert _column((1, "a", None)).to_pylist() == ["1", "a", None]


def test_duckdb_reads_folders_that_are_named_like_columns(tmp_path):
    import pyarrow.parquet as pq

    (tmp_path / "day=3").mkdir()
    pq.write_table(ROWS, tmp_path / "day=3" / "x.parquet")
    sql = f"select * from read_parquet('{tmp_path}/**/*.parquet', hive_partitioning=true)"

    assert set(QueryRows(sql, "duckdb://").table()["day"].to_pylist()) == {3}


@pytest.mark.parametrize(
    ("url", "module", "said"),
    [
        ("postgresql://a@b/c", "adbc_driver_postgresql", r"toprank\[databases\]"),
        ("duckdb://", "duckdb", r"toprank\[databases\]"),
        ("sqlite://", "sqlalchemy", r"toprank\[databases\]"),
        ("mysql+pymysql://ann:secret@b/c", "pymysql", "pip install pymysql"),
    ],
)
def test_a_library_that_is_not_installed_is_named(monkeypatch, url, module, said):
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(ImportError, match=f"requires .*{said}") as refused:
        QueryRows("select 1", url).table()

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("sql", "url", "said"),
    [
        (" ; ", "duckdb://", "`sql` must be a query"),
        ("select 1", "payments.db", "`database` must be a URL"),
    ],
)
def test_what_is_no_query_is_refused_at_once(sql, url, said):
    with pytest.raises(ValueError, match=said):
        QueryRows(sql, url)


def test_a_scheme_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="SQLAlchemy does not know snowflke://"):
        QueryRows("select 1", "snowflke://ann:pw@bank/x").table()
