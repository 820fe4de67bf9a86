"""What is special of PostgreSQL: turns of writers, one engine, the order of texts."""

import asyncio
import threading
import time
from dataclasses import replace

import pytest
import sqlalchemy as sa

from live import databases, desks
from toprank.live.desk_settings import DeskSettings
from toprank.live.engine.decision_engine import DecisionEngine
from toprank.live.messages import BusyError
from toprank.live.store import account_table, audit_chain, note_table
from toprank.live.store.desk_database import Database
from toprank.live.store.note_table import notes
from toprank.live.store.postgres_database import EngineTakenError

pytestmark = pytest.mark.usefixtures("databases_of_this_test")


@pytest.fixture
def folder(databases_of_this_test, tmp_path):
    DeskSettings(database=databases.new_address()).write(tmp_path)
    Database.create(tmp_path).close()
    return tmp_path


@pytest.fixture
def database(folder):
    opened = Database.open(folder)
    yield opened
    opened.close()


def test_texts_are_in_the_order_of_their_bytes_whatever_the_server_has(database):
    names = ["Zoe", "anna", "Ben", "é", "a-b", "ab", "a_b"]
    with database.writing() as connection:
        for name in names:
            account_table.add(connection, name, "admin", 1)
        found = [each.name for each in account_table.all_accounts(connection)]
        by_server = connection.exec_driver_sql(
            'SELECT name FROM accounts ORDER BY name COLLATE "default"'
        )
        assert list(by_server.scalars()) != found
    assert found == sorted(names)


def test_writers_take_turns_so_numbers_are_in_the_order_of_commits(folder):
    """Else a reader could see a number, and a smaller one afterwards."""
    seen, is_over = [], threading.Event()

    def write(who):
        database = Database.open(folder)
        for _ in range(40):
            with database.writing() as connection:
                note_table.add(connection, 1, who, 0, "")
                audit_chain.add(connection, 0, who, "noted", "alert:1")
                time.sleep(0.0005)
        database.close()

    def watch():
        database = Database.open(folder)
        while not is_over.is_set():
            with database.reading() as connection:
                seen.append(connection.execute(sa.select(notes.c.number)).scalars().all())
        database.close()

    watching = threading.Thread(target=watch)
    writers = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for each in (watching, *writers):
        each.start()
    for each in writers:
        each.join()
    is_over.set()
    watching.join()
    assert len(seen) > 5
    for numbers in seen:
        assert sorted(numbers) == list(range(1, len(numbers) + 1))
    database = Database.open(folder)
    with database.reading() as connection:
        assert audit_chain.verify(connection).n_entries == 160
    database.close()


def test_a_reader_sees_one_moment_and_cannot_write(database):
    with database.reading() as connection:
        assert account_table.n_active(connection) == 0
        with database.writing() as other:
            account_table.add(other, "anna", "admin", 1)
        assert account_table.n_active(connection) == 0
        with pytest.raises(sa.exc.InternalError, match="read-only"):
            account_table.add(connection, "ben", "admin", 1)


def test_the_engine_hears_of_others_and_not_of_itself_and_others_of_both(database):
    with database.engine_connection(0.2) as engine, database.engine.connect() as page:

        def heard():
            return database.n_changes(engine), database.n_changes(page)

        first = heard()
        with engine.begin():
            account_table.add(engine, "anna", "admin", 1)
        second = heard()
        assert second[0] == first[0] and second[1] > first[1]
        with database.writing() as connection:
            account_table.add(connection, "ben", "admin", 1)
        third = heard()
        assert third[0] > second[0] and third[1] > second[1]
        with pytest.raises(RuntimeError), database.writing():
            raise RuntimeError  # nothing was changed
        assert heard() == third


def test_there_is_one_engine_and_another_can_follow_when_its_connection_is_lost(folder):
    first, second = Database.open(folder), Database.open(folder)
    engine = first.engine_connection(0.2)
    with pytest.raises(EngineTakenError, match="--pages-only") as raised:
        second.engine_connection(0.2)
    assert "postgresql://toprank@127.0.0.1" in str(raised.value)
    databases.end_engines(DeskSettings.read(folder).database)
    after = second.engine_connection(0.2)
    with pytest.raises(sa.exc.OperationalError), engine.begin():
        pass
    after.close()
    first.engine_connection(0.2).close()
    for each in (engine, first, second):
        each.close()


def test_a_database_that_has_tables_is_not_taken_for_a_new_desk(folder, tmp_path):
    with pytest.raises(ValueError, match="must be empty for a new desk"):
        Database.create(folder)


def test_one_without_tables_is_no_desk(databases_of_this_test, tmp_path):
    DeskSettings(database=databases.new_address()).write(tmp_path)
    with pytest.raises(ValueError, match="no tables of a desk"):
        Database.open(tmp_path)


def test_a_server_that_is_not_there_is_named_without_the_password(folder, monkeypatch):
    monkeypatch.setenv("TOPRANK_DATABASE", "postgresql://toprank:pass-word@127.0.0.1:1/desk")
    with pytest.raises(ConnectionError, match="cannot be reached") as raised:
        Database.open(folder)
    assert "postgresql://toprank@127.0.0.1:1/desk" in str(raised.value)
    assert "pass-word" not in str(raised.value)


def test_power_waits_for_the_disk_however_the_server_is_set(folder):
    for durability, expected in (("process", "off"), ("power", "on")):
        database = Database.open(folder, durability)
        name = database.engine.url.database
        databases.run(f"ALTER DATABASE {name} SET synchronous_commit = off")
        database.engine.dispose()
        with database.reading() as connection:
            found = connection.exec_driver_sql("SHOW synchronous_commit").scalar()
        database.close()
        assert found == expected


@pytest.fixture
def live(databases_of_this_test, model_file, tmp_path):
    with desks.new_desk(tmp_path / "on-file", model_file) as made:
        settings = replace(made.settings, database=databases.new_address())
        folder = tmp_path / "desk"
        desks.init_desk(folder, model_file, settings)
    with desks.Desk.open(folder) as desk:
        live = desks.LiveDesk(desk)
        yield live
        live.close()


def test_while_the_server_is_away_payments_are_sent_again_and_none_is_lost(live, later, postgres):
    engine = DecisionEngine(live)

    async def ready(is_ready):
        while engine.is_ready != is_ready:
            await asyncio.sleep(0.05)

    async def work():
        await engine.decide(later[:5])
        postgres.stop()
        try:
            with pytest.raises(BusyError):
                await engine.decide(later[5:10])
            await asyncio.wait_for(ready(False), 20)
            with pytest.raises(BusyError):
                await engine.decide(later[5:10])
        finally:
            postgres.start()
        await asyncio.wait_for(ready(True), 60)
        return await engine.decide(later[3:10])

    answers = desks.run(engine, work)
    assert [each.is_repeated for each in answers] == [True] * 2 + [False] * 5
    assert live.history.position == 10
