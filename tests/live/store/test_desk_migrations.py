"""A database of the version before becomes what a new one is, and keeps what it has."""

import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from live import databases
from toprank.live.monitor import log_digest
from toprank.live.store import (
    alert_terminal_table,
    blind_check_table,
    check_day_table,
    check_table,
    desk_migrations,
    model_table,
    payment_log,
    score_day_table,
)
from toprank.live.store.blind_check_table import SaidOfCards
from toprank.live.store.change_table import changes
from toprank.live.store.check_table import Check
from toprank.live.store.desk_database import Database, metadata
from toprank.live.store.payment_log import LoggedPayment, StoredScore
from toprank.live.store.sqlite_database import NAME
from toprank.live.store.transactions import run

VERSION_2 = Path(__file__).with_name("desk_version_2.sql")
DAY = 86_400_000_000


def shape(database):
    """The columns and indexes of every table, in words."""
    with database.reading() as connection:
        found = sa.inspect(connection)
        names = found.get_table_names()
        columns = {name: {_column(each) for each in found.get_columns(name)} for name in names}
        keys = {name: found.get_pk_constraint(name)["constrained_columns"] for name in names}
        indexes = {_index(each) for name in names for each in found.get_indexes(name)}
        alone = {str(each) for name in names for each in found.get_unique_constraints(name)}
    return columns, keys, indexes, alone


def _index(index):
    options = sorted((name, str(value)) for name, value in index["dialect_options"].items())
    columns = (*index["column_names"], *index.get("expressions", ()))
    return index["name"], columns, index["unique"], str(options)


def _column(column):
    # a column that was added has the value of earlier rows as its default
    return column["name"], str(column["type"]), column["nullable"]


def brought_up(database, version):
    """Make the tables of a version in a database that has none."""
    with database.engine.connect() as connection:
        run(connection.connection.dbapi_connection, "BEGIN")  # there is nothing to count yet
        with connection.begin():
            desk_migrations.bring_up(connection, "it", version)
            if not databases.ON_POSTGRES and version < "0006":
                connection.exec_driver_sql("DROP TABLE alembic_version")  # there was none
    return database


@pytest.fixture
def version_2(tmp_path):
    """The folder of a desk of version 2 with an alert, a day of checks and a block to deliver."""
    folder = tmp_path / "old"
    folder.mkdir()
    with sqlite3.connect(folder / NAME) as connection:
        connection.executescript(VERSION_2.read_text())
        add(
            connection,
            "payments",
            position=1,
            id="tx-1",
            card="c",
            terminal="shop",
            paid_at=0,
            received_at=0,
            body="{}",
            features=b"",
            decision="accept",
            matched="[]",
            rule_set=0,
        )
        add(connection, "alerts", number=7, card="c")
        add(connection, "alert_payments", alert=7, position=1)
        add(connection, "check_days", day=3, n_checks=2, n_found=1, expected=1.5)
        add(connection, "outbox", alert=7)
        add(connection, "audit", number=1, at=DAY, actor="person:anna", action="desk made")
    connection.close()
    return folder


def add(connection, table, **given):
    """Add a row; columns that must have a value and were given none are 0 or empty."""
    for _, name, kind, is_required, _, _ in connection.execute(f"PRAGMA table_info({table})"):
        if is_required and name not in given:
            given[name] = "" if kind == "TEXT" else 0
    places = ", ".join("?" * len(given))
    connection.execute(
        f"INSERT INTO {table} ({', '.join(given)}) VALUES ({places})", list(given.values())
    )


def test_all_versions_after_one_another_give_what_a_new_database_is(tmp_path):
    new = databases.create(databases.folder(tmp_path / "new"))
    steps = brought_up(databases.empty(tmp_path / "steps"), desk_migrations.NEWEST)
    assert shape(steps) == shape(new)
    for database in (steps, new):
        with database.engine.connect() as connection:
            context = MigrationContext.configure(connection)
            assert compare_metadata(context, metadata) == []
            counts = connection.execute(sa.select(changes).order_by(changes.c.writer))
            assert [each.writer for each in counts] == ["engine", "others"]
        database.close()


@databases.only_sqlite
def test_tables_columns_and_indexes_are_those_of_a_new_database(version_2, tmp_path):
    new, old = databases.create(databases.folder(tmp_path / "new")), Database.open(version_2)
    assert shape(old) == shape(new)
    new.close()
    old.close()


@databases.only_sqlite
def test_what_was_stored_is_there_and_what_is_new_follows_from_it(version_2):
    for _ in range(2):  # the second time there is nothing left to do
        database = Database.open(version_2)
        with database.reading() as connection:
            (model,) = model_table.newest(connection)
            assert (model.number, model.file, model.state) == (1, "0001.toprank", "champion")
            assert (model.who, model.asked_on) == ("person:anna", 1)
            assert alert_terminal_table.alerts_at(connection, "shop", 10) == [7]
            (day,) = check_day_table.between(connection, 3, 3)
            assert (day.n_checks, day.expected, day.probabilities) == (2, 1.5, [])
            kinds = connection.exec_driver_sql("SELECT kind FROM outbox").scalars().all()
            assert kinds == ["block"]
        database.close()


@databases.only_sqlite
def test_scores_of_a_desk_of_version_3_are_counted_from_its_log(tmp_path):
    before = brought_up(databases.empty(tmp_path / "before"), "0003")
    fill(before)
    before.close()
    database = Database.open(tmp_path / "before")
    log_digest.catch_up(database, 0.02)
    with database.reading() as connection:
        (day,) = score_day_table.between(connection, 0, 3)
    assert (day.day, day.model, day.n_payments) == (2, "0001.toprank", 3)
    database.close()


@databases.only_sqlite
def test_a_desk_of_version_4_has_its_checks_and_room_for_blind_ones(tmp_path):
    before = brought_up(databases.empty(tmp_path / "before"), "0004")
    check = Check(
        0, 7, "person:anna", "fraud", [1], "", "", "finished", 0, 2, 0, 0, 0.5, False, 1
    )  # fmt: skip
    with before.writing() as connection:
        number = check_table.add(connection, check).number
    before.close()
    database = Database.open(tmp_path / "before")
    with database.writing() as connection:
        assert check_table.by_number(connection, number).verdict == "fraud"
        # what was said before is not taken for either kind
        assert blind_check_table.said(connection, 0, 9) == {
            True: SaidOfCards(),
            False: SaidOfCards(),
        }
        blind_check_table.add(connection, number, 7, is_blind=True)
        assert blind_check_table.said(connection, 0, 9)[True] == (1, 0, 0, 0.5)
    database.close()


@databases.only_sqlite
def test_an_earlier_release_finds_that_the_desk_is_of_a_later_version(tmp_path):
    databases.create(tmp_path).close()
    with sqlite3.connect(tmp_path / NAME) as connection:  # where it looks
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    assert version == int(desk_migrations.NEWEST)
    connection.close()


def test_a_version_that_nobody_knows_is_refused_and_nothing_changed(tmp_path):
    database = databases.create(tmp_path)
    with database.writing() as connection:
        desk_migrations.stamp(connection, "0099")
    before = shape(database)
    with pytest.raises(ValueError, match=r"must be of version 7 .* of version 99"):
        Database.open(tmp_path)
    assert shape(database) == before
    database.close()


def fill(database):
    """Add three scored payments."""
    with database.writing() as connection:
        for place in (1, 2, 3):
            row = (place, f"p{place}", "c", "t", 2 * DAY, 2 * DAY, "{}", b"", "accept", "[]", 0)
            payment_log.add(connection, [LoggedPayment(*row)])
            score = StoredScore(place, -2.0, 0.1, "[]", 0, "0001.toprank", 2 * DAY)
            payment_log.add_scores(connection, [score])
