"""A transaction without SQLAlchemy's own: all or nothing, whoever runs the statements."""

import sqlite3

import pytest
import sqlalchemy as sa

from live import databases
from toprank.live.store import audit_chain
from toprank.live.store.audit_chain import audit
from toprank.live.store.transactions import QuickTransaction


@pytest.fixture
def database(tmp_path):
    database = databases.create(tmp_path)
    yield database
    database.close()


@pytest.fixture
def connection(database):
    with database.engine.connect() as connection:
        yield connection.execution_options(is_writing=True)


def by_driver(connection):
    audit_chain.add(connection, 1, "person:anna", "seen", "alert:1")


def by_sqlalchemy(connection):
    row = {"number": 1, "at": 1, "actor": "", "action": "", "subject": "", "details": ""}
    connection.execute(audit.insert(), [row | {"hash": ""}])


def by_both(connection):
    by_sqlalchemy(connection)
    by_driver(connection)


def n_seen_by_others(database):
    with database.reading() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(audit)).scalar_one()


ways = pytest.mark.parametrize(("write", "n"), [(by_driver, 1), (by_sqlalchemy, 1), (by_both, 2)])


@ways
def test_others_see_changes_once_they_are_committed(database, connection, write, n):
    transaction = QuickTransaction(connection)
    write(connection)
    assert n_seen_by_others(database) == 0
    transaction.commit()
    assert n_seen_by_others(database) == n
    assert not connection.in_transaction()


@ways
def test_what_is_rolled_back_is_gone_and_another_can_follow(database, connection, write, n):
    transaction = QuickTransaction(connection)
    write(connection)
    transaction.rollback()
    assert n_seen_by_others(database) == 0
    again = QuickTransaction(connection)
    write(connection)
    again.commit()
    assert n_seen_by_others(database) == n


def test_the_next_writer_has_to_wait(database, connection):
    QuickTransaction(connection)
    with database.engine.connect() as other:
        databases.be_impatient(other)
        with pytest.raises(sa.exc.OperationalError):
            QuickTransaction(other.execution_options(is_writing=True))


class FailingConnection:
    """A connection of the driver to a disk that is full."""

    def __init__(self, raw, error):
        self.raw, self.error = raw, error

    def commit(self):
        raise self.error("database or disk is full")

    def rollback(self):
        self.raw.rollback()


def test_a_commit_that_fails_is_an_error_of_sqlalchemy_and_changes_nothing(
    database, connection, monkeypatch
):
    transaction = QuickTransaction(connection)
    by_driver(connection)
    fairy = connection.connection
    error = connection.dialect.loaded_dbapi.OperationalError
    failing = FailingConnection(fairy.dbapi_connection, error)
    monkeypatch.setattr(type(fairy), "dbapi_connection", failing)
    with pytest.raises(sa.exc.SQLAlchemyError, match="full"):
        transaction.commit()
    monkeypatch.undo()
    assert n_seen_by_others(database) == 0
    by_driver_again = QuickTransaction(connection)
    by_driver(connection)
    by_driver_again.commit()
    assert n_seen_by_others(database) == 1


def test_statements_of_sqlalchemy_work_again_after_their_commit_has_failed(
    database, connection, monkeypatch
):
    transaction = QuickTransaction(connection)
    connection.execute(sa.text("SELECT 1"))  # from here on SQLAlchemy knows of the transaction
    by_driver(connection)

    def full(_):
        raise sa.exc.OperationalError("COMMIT", None, sqlite3.OperationalError("disk is full"))

    monkeypatch.setattr(connection.dialect, "do_commit", full)
    with pytest.raises(sa.exc.OperationalError, match="full"):
        transaction.commit()
    monkeypatch.undo()
    assert n_seen_by_others(database) == 0

    again = QuickTransaction(connection)
    assert connection.execute(sa.text("SELECT 1")).scalar() == 1
    by_driver(connection)
    again.commit()
    assert n_seen_by_others(database) == 1


def test_a_transaction_within_another_is_refused(connection):
    outer = QuickTransaction(connection)
    with pytest.raises(RuntimeError, match="must have ended"):
        QuickTransaction(connection)
    outer.rollback()
