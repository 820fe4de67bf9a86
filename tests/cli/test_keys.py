import json

import pytest
from click.testing import CliRunner

from toprank.cli import commands
from toprank.live.store import audit_chain
from toprank.live.store.api_keys import KeyRing
from toprank.live.store.desk_database import Database


@pytest.fixture
def folder(tmp_path):
    Database.create(tmp_path).close()
    return tmp_path


def run(*words):
    """Run a command of `toprank keys`."""
    return CliRunner().invoke(commands, ["keys", *map(str, words)], catch_exceptions=True)


def test_a_key_is_printed_once_used_listed_and_revoked(folder):
    made = run("add", folder, "loader", "--scope", "payments", "--scope", "labels")
    assert made.exit_code == 0
    key = made.stdout.strip()
    ring = KeyRing(Database.open(folder))
    assert ring.find(key).scopes == {"payments", "labels"}

    (listed,) = json.loads(run("list", folder, "--json").stdout)
    assert (listed["name"], listed["scopes"]) == ("loader", ["labels", "payments"])
    shown = run("list", folder).stdout
    assert "loader" in shown and key not in shown

    assert run("revoke", folder, "loader").exit_code == 0
    ring.reload()
    assert ring.find(key) is None
    with Database.open(folder).reading() as connection:
        entries = list(audit_chain.entries(connection))
    assert [each.action for each in entries] == ["key made", "key revoked"]
    assert all(each.actor.startswith("person:") for each in entries)
    assert key not in (folder / "desk.db").read_bytes().decode("latin-1")


def test_a_key_needs_a_scope(folder):
    assert run("add", folder, "loader").exit_code == 2


def test_a_folder_that_is_no_desk_is_refused(tmp_path):
    assert isinstance(run("list", tmp_path).exception, FileNotFoundError)


def test_a_key_that_is_not_there_cannot_be_revoked(folder):
    run("add", folder, "loader", "--scope", "read")
    assert "did you mean 'loader'" in str(run("revoke", folder, "loadr").exception)
