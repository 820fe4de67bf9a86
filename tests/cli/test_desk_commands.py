import json
import subprocess
import sys
import urllib.request

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from live import desks
from toprank.cli import commands
from toprank.live.desk import Desk
from toprank.live.engine.live_desk import LiveDesk
from toprank.live.store.audit_chain import audit
from toprank.live.store.payment_log import scores


@pytest.fixture(scope="module")
def made():
    return desks.made_payments()


@pytest.fixture(scope="module")
def model_file(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("desk-commands") / "payments.toprank"
    desks.fitted_model(made[0], path)
    return path


@pytest.fixture
def folder(model_file, made, tmp_path, monkeypatch):
    """A desk with some payments, in the folder that commands run in."""
    monkeypatch.chdir(tmp_path)
    run("desk", "init", "desk", "--model", model_file, "--clock", "payments")
    with Desk.open("desk") as desk:
        live = LiveDesk(desk)
        live.decide(desks.payments_of(made[1].slice(0, 100)))
        while live.n_unscored:
            live.score_some(64)
        live.close()
    return tmp_path / "desk"


def run(*arguments, exit_code=0):
    result = CliRunner().invoke(commands, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        assert exit_code == 1, result.exception
        return str(result.exception)
    assert result.exit_code == exit_code, result.output
    return result.output


def test_init_makes_a_desk_with_the_settings_that_were_given(model_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = run(
        "desk", "init", "desk", "--model", model_file, "--keep", "90d", "--clock", "payments"
    )
    assert "toprank serve desk" in printed
    with Desk.open("desk") as desk:
        assert (desk.settings.keep, desk.settings.capacity) == ("90d", 5)
    assert "exists already" in run("desk", "init", "desk", "--model", model_file, exit_code=1)


def test_status_counts_payments(folder):
    assert json.loads(run("desk", "status", "desk", "--json"))["n_payments"] == 100
    assert "payments       100" in run("desk", "status", "desk")


def test_a_backup_is_a_desk(folder):
    run("desk", "backup", "desk", "copy")
    assert json.loads(run("desk", "status", "copy", "--json"))["n_payments"] == 100


def test_upkeep_writes_a_snapshot(folder):
    assert "older than 180d" in run("desk", "upkeep", "desk")
    assert json.loads(run("desk", "status", "desk", "--json"))["snapshot_position"] == 100


def test_replay_exits_with_1_where_something_differs(folder):
    assert "are equal" in run("replay", "desk")
    with Desk.open("desk") as desk, desk.database.writing() as connection:
        connection.execute(scores.update().where(scores.c.position == 7).values(suspicion=9.0))
    assert "position 7" in run("replay", "desk", exit_code=1)
    assert json.loads(run("replay", "desk", "--json", exit_code=1))["n_different"] == 1


def test_an_audit_that_was_changed_is_found(folder):
    printed = run("audit", "verify", "desk")
    last = printed.split()[-1].rstrip(".")
    run("audit", "verify", "desk", "--expect", last)
    assert "abc" in run("audit", "verify", "desk", "--expect", "abc", exit_code=1)
    assert "desk made" in run("audit", "show", "desk", "--last", "1000")
    assert "desk made" not in run("audit", "show", "desk", "--last", "1")
    with Desk.open("desk") as desk, desk.database.writing() as connection:
        connection.execute(sa.delete(audit).where(audit.c.number == 1))
    assert "entry 1" in run("audit", "verify", "desk", exit_code=1)


@pytest.mark.parametrize(
    "command", [["desk", "status"], ["replay"], ["audit", "verify"], ["serve"]]
)
def test_a_folder_that_is_no_desk_gets_a_sentence(command, tmp_path):
    assert "is not a desk" in run(*command, tmp_path, exit_code=1)


def test_serve_needs_a_folder_or_demo():
    assert "--demo" in run("serve", exit_code=2)


@pytest.mark.slow
def test_a_served_desk_answers_stops_cleanly_and_is_served_by_one_process(folder):
    command = [sys.executable, "-c", "import toprank.cli; toprank.cli.main()", "serve", "desk"]
    command += ["--port", "0"]
    key = run("keys", "add", "desk", "reader", "--scope", "read").split()[0]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            address = server.stderr.readline().split(" at ")[1].split(" ")[0]
            headers = {"Authorization": f"Bearer {key}"}
            request = urllib.request.Request(f"{address}/v1/alerts", headers=headers)
            with urllib.request.urlopen(request, timeout=20) as answer:
                assert "alerts" in json.load(answer)
            second = subprocess.run(command, capture_output=True, text=True, check=False)
            assert second.returncode == 1 and str(server.pid) in second.stderr
        finally:
            server.terminate()
        assert server.wait(30) == 0
    with Desk.open("desk") as desk, desk.database.reading() as connection:
        actors = set(connection.execute(sa.select(audit.c.actor)).scalars())
    assert "key:reader" in actors


@pytest.mark.slow
def test_a_served_desk_logs_json_alone_and_ends_with_0(folder):
    command = [sys.executable, "-c", "import toprank.cli; toprank.cli.main()", "serve", "desk"]
    command += ["--port", "0", "--log", "json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        lines = []
        while not lines or "Serving desk at" not in lines[-1]:
            lines.append(server.stderr.readline())
        server.terminate()
        lines += server.stderr.readlines()
        assert server.wait(60) == 0
    events = [json.loads(line) for line in lines]
    assert {each["command"] for each in events} == {"serve"}
    assert (events[0]["event"], events[-1]["event"]) == ("start", "end")
    assert (events[-1]["exit_code"], events[-1]["folder"]) == (0, "desk")
