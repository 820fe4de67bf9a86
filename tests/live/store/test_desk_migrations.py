"""A database of the version before becomes what a new one is, and keeps what it has."""

import sqlite3
from pathlib import Path

import pytest

from toprank.live.monitor import log_digest
from toprank.live.store import (
    alert_terminal_table,
    blind_check_table,
    check_day_table,
    check_table,
    model_table,
    payment_log,
    score_day_table,
)
from toprank.live.store.blind_check_table import SaidOfCards
from toprank.live.store.check_table import Check
from toprank.live.store.desk_database import NAME, Database
from toprank.live.store.payment_log import LoggedPayment, StoredScore

VERSION_2 = Path(__file__).with_name("desk_version_2.sql")
DAY = 86_400_000_000


def shape(database):
    """The columns and indexes of every table; those of SQLite itself have no names to compare."""
    with database.reading() as connection:
        run = connection.exec_driver_sql
        names = run("SELECT name FROM sqlite_master WHERE type = 'table'").scalars().all()
        columns = {
            name: {(*row[1:4], row[5]) for row in run(f"PRAGMA table_info({name})")}
            for name in names
        }
        indexes = run("SELECT name, tbl_name FROM sqlite_master WHERE type = 'index'").all()
    return columns, {tuple(row) for row in indexes}


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


def test_tables_columns_and_indexes_are_those_of_a_new_database(version_2, tmp_path):
    (tmp_path / "new").mkdir()
    new, old = Database.create(tmp_path / "new"), Database.open(version_2)
    assert shape(old) == shape(new)
    new.close()
    old.close()


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


def test_scores_of_a_desk_of_version_3_are_counted_from_its_log(tmp_path):
    (tmp_path / "new").mkdir()
    new = Database.create(tmp_path / "new")
    before = fill(tmp_path, "before")
    with before.writing() as connection:
        for table in ("score_days", "score_places", "listed_scores"):
            connection.exec_driver_sql(f"DROP TABLE {table}")
        connection.exec_driver_sql("PRAGMA user_version = 3")
    before.close()
    database = Database.open(tmp_path / "before")
    assert shape(database) == shape(new)
    log_digest.catch_up(database, 0.02)
    with database.reading() as connection:
        (day,) = score_day_table.between(connection, 0, 3)
    assert (day.day, day.model, day.n_payments) == (2, "0001.toprank", 3)
    for each in (database, new):
        each.close()


def test_a_desk_of_version_4_has_its_checks_and_room_for_blind_ones(tmp_path):
    (tmp_path / "new").mkdir()
    new, before = Database.create(tmp_path / "new"), fill(tmp_path, "before")
    check = Check(
        0, 7, "person:anna", "fraud", [1], "", "", "finished", 0, 2, 0, 0, 0.5, False, 1
    )  # fmt: skip
    with before.writing() as connection:
        number = check_table.add(connection, check).number
        connection.exec_driver_sql("DROP TABLE blind_checks")
        connection.exec_driver_sql("PRAGMA user_version = 4")
    before.close()
    database = Database.open(tmp_path / "before")
    assert shape(database) == shape(new)
    with database.writing() as connection:
        assert check_table.by_number(connection, number).verdict == "fraud"
        # what was said before is not taken for either kind
        assert blind_check_table.said(connection, 0, 9) == {
            True: SaidOfCards(),
            False: SaidOfCards(),
        }
        blind_check_table.add(connection, number, 7, is_blind=True)
        assert blind_check_table.said(connection, 0, 9)[True] == (1, 0, 0, 0.5)
    for each in (database, new):
        each.close()


def fill(folder, name):
    """A desk whose log was counted, with three scored payments."""
    (folder / name).mkdir()
    database = Database.create(folder / name)
    with database.writing() as connection:
        for place in (1, 2, 3):
            row = (place, f"p{place}", "c", "t", 2 * DAY, 2 * DAY, "{}", b"", "accept", "[]", 0)
            payment_log.add(connection, [LoggedPayment(*row)])
            score = StoredScore(place, -2.0, 0.1, "[]", 0, "0001.toprank", 2 * DAY)
            payment_log.add_scores(connection, [score])
    log_digest.catch_up(database, 0.02)
    return database
