import json

import pytest
from click.testing import CliRunner

from toprank.cli import commands
from toprank.cli.users import users
from toprank.live.desk_clock import wall_time
from toprank.live.people.desk_roles import ROLES
from toprank.live.store import audit_chain, link_table
from toprank.live.store.desk_database import Database
from toprank.live.store.secret_hash import hash_of


@pytest.fixture
def folder(tmp_path):
    Database.create(tmp_path).close()
    return tmp_path


def run(*words):
    """Run a command of `toprank users`."""
    return CliRunner().invoke(commands, ["users", *map(str, words)], catch_exceptions=True)


def whose(folder, link):
    with Database.open(folder).reading() as connection:
        return link_table.name_of(connection, hash_of(link.rpartition("/")[2]), wall_time())


def test_an_account_is_made_with_a_link_listed_changed_and_disabled(folder):
    made = run("add", folder, "anna", "--role", "investigator")
    assert made.exit_code == 0
    link = made.stdout.strip()
    assert link.startswith("http://127.0.0.1:8321/link/") and whose(folder, link) == "anna"

    again = run("link", folder, "anna", "--address", "https://desk.example/").stdout.strip()
    assert again.startswith("https://desk.example/link/")
    assert (whose(folder, link), whose(folder, again)) == (None, "anna")

    run("role", folder, "anna", "senior")
    (listed,) = json.loads(run("list", folder, "--json").stdout)
    assert (listed["role"], listed["has_password"], listed["disabled"]) == ("senior", False, None)
    assert "senior" in run("list", folder).stdout

    assert run("disable", folder, "anna").exit_code == 0
    assert whose(folder, again) is None
    assert json.loads(run("list", folder, "--json").stdout)[0]["disabled"] is not None
    with Database.open(folder).reading() as connection:
        actions = [each.action for each in audit_chain.entries(connection)]
    assert actions == [
        "account made", "link made", "link made", "role changed", "account disabled"
    ]  # fmt: skip
    assert link.rpartition("/")[2] not in (folder / "desk.db").read_bytes().decode("latin-1")


def test_a_disabled_account_is_enabled_again_with_a_new_link(folder):
    run("add", folder, "root", "--role", "admin")
    run("add", folder, "anna", "--role", "senior")
    assert "no disabled account" in str(run("enable", folder, "anna").exception)
    run("disable", folder, "anna")
    assert whose(folder, run("enable", folder, "anna").stdout.strip()) == "anna"
    listed = json.loads(run("list", folder, "--json").stdout)
    assert [(each["role"], each["disabled"]) for each in listed] == [
        ("senior", None), ("admin", None)
    ]  # fmt: skip


def test_a_name_that_is_there_or_is_none_is_refused(folder):
    run("add", folder, "anna", "--role", "admin")
    assert "already" in str(run("add", folder, "anna", "--role", "admin").exception)
    assert "small letters" in str(run("add", folder, "An na", "--role", "admin").exception)
    assert "did you mean 'anna'" in str(run("link", folder, "ana").exception)
    assert "only admin" in str(run("disable", folder, "anna").exception)


def test_the_roles_of_the_command_are_those_of_the_desk():
    assert users.commands["role"].params[-1].type.choices == tuple(ROLES)


def test_a_folder_that_is_no_desk_is_refused(tmp_path):
    assert isinstance(run("list", tmp_path).exception, FileNotFoundError)
