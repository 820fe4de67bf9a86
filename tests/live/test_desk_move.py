"""A desk moved to PostgreSQL goes on where it was, and back from a copy."""

import pytest
import sqlalchemy as sa

from cli.running import run_main
from live import databases, desks
from toprank.live import desk_move
from toprank.live.desk import Desk
from toprank.live.desk_backup import back_up
from toprank.live.desk_move import MOVED, DeskMove
from toprank.live.desk_settings import DeskSettings
from toprank.live.log_replay import replay
from toprank.live.messages import LabelGiven
from toprank.live.store import audit_chain, session_table, table_copies
from toprank.live.store.sqlite_database import NAME
from toprank.live.web.serving import Serving
from toprank.payments.history_store.writer_lock import StoreBusyError

pytestmark = [
    pytest.mark.usefixtures("databases_of_this_test"),
    pytest.mark.skipif(databases.ON_POSTGRES, reason="it begins with a file of SQLite."),
]


@pytest.fixture
def folder(databases_of_this_test, model_file, later, tmp_path):
    """A desk with scored payments, alerts, labels and a session that has ended."""
    with desks.new_desk(tmp_path / "desk", model_file, alert_from=0.001, capacity=77) as desk:
        live = desks.live(desk)
        live.decide(later[:100])
        while live.n_unscored:
            live.score_some(64)
        live.label([LabelGiven(later[3].id, True, None, "claim")], "key:claims")
        with desk.database.writing() as connection:
            for name in ("first", "second"):
                session_table.add(connection, name, "anna", "token", 1, "here")
            session_table.end(connection, 2)
        live.close()
    return tmp_path / "desk"


def moved(folder, address=None):
    with DeskMove(folder, address or databases.new_address()) as moving:
        return moving.run("person:anna")


def contents(desk, *, is_audited=True):
    with desk.database.reading() as connection:
        return {
            table.name: connection.execute(
                sa.select(table).order_by(*table.primary_key.columns)
            ).all()
            for table in table_copies.copied_tables()
            if is_audited or table.name != "audit"
        }


def test_every_row_is_there_in_full_and_the_audit_says_so(folder):
    with Desk.open(folder) as desk:
        before = contents(desk)
    shown = []
    with DeskMove(folder, databases.new_address()) as moving:
        done = moving.run("person:anna", lambda *progress: shown.append(progress))
    with Desk.open(folder) as desk:
        after = contents(desk)
        assert desk.settings.capacity == 77 and desk.settings.database == done.address
        with desk.database.reading() as connection:
            assert audit_chain.verify(connection, done.audit.hash).n_entries == (
                done.audit.n_entries + 1
            )
    last = after["audit"].pop()
    assert (last.actor, last.action) == ("person:anna", "desk moved")
    assert after == before
    assert done.n_rows == sum(map(len, before.values())) == shown[-1][1] == shown[-1][2]
    assert len(after["payments"]) == 100 and len(after["alerts"]) > 5
    assert not (folder / NAME).exists() and (folder / MOVED).is_file()


def test_the_desk_goes_on_where_it_was(folder, later):
    moved(folder)
    with Desk.open(folder) as desk:
        live = desks.LiveDesk(desk)
        live.decide(later[90:150])
        while live.n_unscored:
            live.score_some(64)
        assert live.history.position == 150
        with desk.database.writing() as connection:
            session_table.add(connection, "third", "anna", "token", 1, "here")
            newest = session_table.all_sessions(connection)[0]
        assert newest.number == 3, "the number of an ended session is not given again"
        live.close()
        replayed = replay(desk)
        assert (replayed.n_payments, replayed.n_different) == (150, 0)


def test_a_backup_of_it_is_a_desk_in_a_folder(folder, tmp_path, later):
    moved(folder)
    with Desk.open(folder) as desk:
        back_up(desk, tmp_path / "copy", "person:anna")
        of_server = contents(desk)
    with Desk.open(tmp_path / "copy") as copy:
        assert not copy.database.is_shared and copy.settings.capacity == 77
        assert contents(copy) == of_server
        live = desks.LiveDesk(copy)
        live.decide(later[100:105])
        assert live.history.position == 105
        live.close()


def test_nothing_is_moved_if_the_copy_differs(folder, monkeypatch):
    address = databases.new_address()
    with Desk.open(folder) as desk:
        before = contents(desk)
    copied = table_copies.copy_tables

    def copy_without_one(source, target, on_progress):
        copied(source, target, on_progress)
        target.exec_driver_sql("DELETE FROM scores WHERE position = 7")

    monkeypatch.setattr(table_copies, "copy_tables", copy_without_one)
    with pytest.raises(ValueError, match=r"100 rows of the table 'scores'; it has 99"):
        moved(folder, address)
    monkeypatch.undo()
    assert DeskSettings.read(folder).database == ""
    with Desk.open(folder) as desk:
        assert contents(desk) == before
    assert moved(folder, address).n_rows == sum(map(len, before.values()))


def test_nothing_is_moved_if_the_audit_was_changed(folder):
    with Desk.open(folder) as desk, desk.database.writing() as connection:
        connection.exec_driver_sql("UPDATE audit SET actor = 'nobody' WHERE number = 1")
    with pytest.raises(ValueError, match="audit entry 1"):
        moved(folder)
    assert (folder / NAME).is_file() and DeskSettings.read(folder).database == ""


def test_a_desk_that_is_served_or_moved_already_or_into_another_is_refused(folder):
    serving = Serving(folder)
    with pytest.raises(StoreBusyError, match="is being written by"):
        moved(folder)
    serving._served.close()
    serving._release()
    address = moved(folder).address
    with pytest.raises(ValueError, match="in PostgreSQL already: postgresql://"):
        moved(folder)
    other = folder.with_name("other")
    databases.from_template(folder, other, clock="payments")
    (folder / MOVED).rename(other / NAME)
    with pytest.raises(ValueError, match="must be empty for a new desk"):
        moved(other, address)


@pytest.mark.parametrize("address", ["mysql://a:secret@b/c", "desk.db", "postgresql://a:secret@b"])
def test_an_address_of_something_else_is_refused_without_its_password(folder, address):
    with pytest.raises(
        ValueError, match="--to must be an address such as postgresql://"
    ) as raised:
        DeskMove(folder, address)
    assert "secret" not in str(raised.value)
    assert desk_move.MOVED not in {each.name for each in folder.iterdir()}


def with_password(address):
    return address.replace("toprank@", "toprank:pass-word@")


def test_the_command_says_what_was_moved_and_keeps_no_password(folder, monkeypatch):
    monkeypatch.setenv("TOPRANK_DATABASE", "")  # set by the command, and put back by the test
    address = databases.new_address()
    done = run_main("desk", "move", folder, "--to", with_password(address), "--by", "anna")
    assert done.exit_code == 0, done.stderr
    assert f"rows of {folder} are now in {address}; its audit of" in done.stdout
    assert "the password is not written down" in done.stderr
    assert "pass-word" not in done.stdout + done.stderr + (folder / "desk.toml").read_text()
    status = run_main("desk", "status", folder, "--json")
    assert '"n_payments": 100' in status.stdout
    again = run_main("desk", "move", folder, "--to", address)
    assert again.exit_code == 1 and "in PostgreSQL already" in again.stderr


def test_a_desk_is_made_there_and_its_settings_have_no_password(
    databases_of_this_test, model_file, tmp_path, monkeypatch
):
    address = databases.new_address()
    monkeypatch.setenv("TOPRANK_DATABASE", with_password(address))
    made = run_main("desk", "init", tmp_path / "desk", "--model", model_file, "--clock=payments")
    assert made.exit_code == 0, made.stderr
    assert DeskSettings.read(tmp_path / "desk").database == address
    with Desk.open(tmp_path / "desk") as desk:
        assert desk.database.is_shared


@pytest.mark.parametrize("option", [["--pages-only"], ["--database=postgresql://a:secret@b/c"]])
def test_options_for_postgresql_say_how_to_move_a_desk_there(folder, option):
    done = run_main("serve", folder, *option)
    assert done.exit_code == 1
    assert f"toprank desk move {folder} --to" in done.stderr and "secret" not in done.stderr
