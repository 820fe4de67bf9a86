import pytest
import sqlalchemy as sa

from live import databases
from toprank.live.store import audit_chain
from toprank.live.store.audit_chain import BrokenChainError, audit
from toprank.live.store.desk_database import Database


@pytest.fixture
def database(tmp_path):
    with_entries = databases.create(tmp_path)
    with with_entries.writing() as connection:
        for number in range(5):
            audit_chain.add(connection, number, "person:anna", "view", f"card:{number}", {"a": 1})
    yield with_entries
    with_entries.close()


def verified(database):
    with database.reading() as connection:
        return audit_chain.verify(connection)


def test_an_untouched_chain_is_verified_and_its_entries_come_back(database):
    assert verified(database).n_entries == 5
    with database.reading() as connection:
        (last,) = audit_chain.entries(connection, since=4)
    assert last[:6] == (5, 4, "person:anna", "view", "card:4", {"a": 1})
    assert last.hash == verified(database).hash


@pytest.mark.parametrize("column", ["at", "actor", "action", "subject", "details"])
def test_a_changed_entry_is_found(database, column):
    with database.writing() as connection:
        connection.execute(audit.update().where(audit.c.number == 3).values({column: "7"}))
    with pytest.raises(BrokenChainError, match="entry 3"):
        verified(database)


@pytest.mark.parametrize("removed", [1, 3])
def test_a_removed_entry_is_found(database, removed):
    with database.writing() as connection:
        connection.execute(audit.delete().where(audit.c.number == removed))
    with pytest.raises(BrokenChainError, match=f"entry {removed}"):
        verified(database)


def test_an_entry_and_its_change_are_written_together_or_not_at_all(database):
    with pytest.raises(sa.exc.IntegrityError), database.writing() as connection:
        audit_chain.add(connection, 9, "job:test", "change", "x")
        connection.execute(
            audit.insert().values(
                number=1, at=1, actor="", action="", subject="", details="", hash=""
            )
        )
    assert verified(database).n_entries == 5


def test_a_folder_without_a_desk_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="toprank desk init"):
        Database.open(tmp_path)


@databases.only_sqlite
def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "desk.db").write_text("no database" * 1000)
    with pytest.raises(ValueError, match="cannot be read"):
        Database.open(tmp_path)
