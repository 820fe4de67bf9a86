"""With --log json, stderr has one JSON object per line, whatever happens, and no secrets."""

import json
import logging
import signal
import sys
import warnings

import pytest

from cli.running import run_main, start
from toprank import __version__
from toprank.cli import commands, log_lines, screen
from toprank.data.tables import TableWarning


def events_of(text):
    """The events of a log: every line must be one."""
    events = [json.loads(line) for line in text.splitlines()]
    for each in events:
        assert {"time", "level", "event", "command"} <= set(each)
        assert each["time"].endswith("Z")
    return events


def logged(monkeypatch, work, *words):
    """The outcome of a command that does this work, with its events."""
    monkeypatch.setattr(commands.commands["demo"], "callback", lambda **_: work())
    outcome = run_main("demo", "--log", "json", *words)
    return outcome, events_of(outcome.stderr)


def test_a_command_is_logged_from_its_start_to_its_end(fitted, csv):
    outcome = run_main("rank", fitted.model, csv, "-k", 3, "-o", "a.csv", "--log", "json")
    events = events_of(outcome.stderr)

    assert outcome.exit_code == 0 and outcome.stdout == ""
    assert {each["command"] for each in events} == {"rank"}
    assert events[0]["event"] == "start" and events[0]["version"] == __version__
    end = events[-1]
    assert (end["event"], end["level"], end["exit_code"]) == ("end", "info", 0)
    assert (end["rows"], end["listed"]) == (600, 3)
    assert (end["model"], end["data"], end["output"]) == (str(fitted.model), str(csv), "a.csv")
    assert 0 < end["seconds"] < 60
    assert "scoring" in [each["message"] for each in events if each["event"] == "step"]


def test_results_stay_on_stdout(fitted, csv):
    outcome = run_main("--log", "json", "evaluate", fitted.model, csv, "--json")

    assert json.loads(outcome.stdout)["rows"] == 600
    assert events_of(outcome.stderr)[-1]["rows"] == 600


def test_bad_input_is_an_error_event_with_the_same_sentence(csv):
    words = ["rank", "no-model.toprank", csv]
    outcome, as_text = run_main(*words, "--log=json"), run_main(*words)
    error, end = events_of(outcome.stderr)[-2:]

    assert outcome.exit_code == end["exit_code"] == 1
    assert (error["level"], error["event"]) == ("error", "error")
    assert as_text.stderr == f"toprank: {error['message']}\n"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["rnak"], None),
        (["fit", "a.csv", "--lable", "x"], None),
        (["rank", "m", "d", "-k", "0"], "rank"),
        (["desk", "init", "desk", "--model"], None),
    ],
    ids=str,
)
def test_a_wrong_call_is_logged_wherever_log_is_typed(words, command):
    for typed in (["--log", "json", *words], ["--log=json", *words]):
        outcome = run_main(*typed)
        error, end = events_of(outcome.stderr)
        assert outcome.exit_code == end["exit_code"] == 2
        assert error["message"] and "Usage" not in error["message"]
        assert end["command"] == command


def test_the_form_may_come_from_the_environment(monkeypatch, csv):
    monkeypatch.setenv("TOPRANK_LOG", "json")
    assert events_of(run_main("rank", "no-model", csv).stderr)[-1]["exit_code"] == 1
    assert run_main("--log", "text", "rank", "no-model", csv).stderr.startswith("toprank: ")


def test_warnings_remarks_steps_and_foreign_lines_are_events(monkeypatch):
    def work():
        warnings.warn("column 'id' looks like an id.", TableWarning, stacklevel=1)
        screen.remark("note: a note.")
        screen.remark("Wrote a.csv")
        with screen.progress_bar() as progress:
            progress("scoring", 1, 2)
            progress("scoring", 2, 2)
            progress("scoring", 2, 2)
        print("half a line", end="", file=sys.stderr)
        print(", of a library\n", file=sys.stderr)
        logging.getLogger("toprank.live").warning("a rule was %s.", "paused")

    outcome, events = logged(monkeypatch, work)

    assert outcome.exit_code == 0
    shown = [(each["level"], each["event"], each.get("message")) for each in events[1:-1]]
    assert shown == [
        ("warning", "warning", "column 'id' looks like an id."),
        ("warning", "warning", "a note."),
        ("info", "remark", "Wrote a.csv"),
        ("info", "step", "scoring"),
        ("warning", "stderr", "half a line, of a library"),
        ("warning", "log", "a rule was paused."),
    ]


def test_facts_that_a_command_reports_are_in_its_last_line(monkeypatch):
    _, events = logged(monkeypatch, lambda: log_lines.report(rows=12, listed=3))
    assert (events[-1]["rows"], events[-1]["listed"]) == (12, 3)


def test_a_fault_of_ours_is_an_event_with_its_traceback(monkeypatch):
    def fail():
        raise KeyError("a bug")

    outcome, events = logged(monkeypatch, fail)

    assert outcome.exit_code == events[-1]["exit_code"] == 1
    assert events[-2]["event"] == "fault"
    assert events[-2]["message"] == "KeyError: 'a bug'"
    assert "in fail" in events[-2]["traceback"]


def test_neither_card_numbers_nor_secrets_are_logged(monkeypatch):
    def work():
        screen.remark("Log in at http://127.0.0.1/link/abcdef", is_secret=True)
        screen.remark("note: card 4111-1111-1111-1111 of postgresql://u:hunter2@db/x")
        logging.getLogger("toprank.live").error("payment of 5500000000000004 failed")

    outcome, events = logged(monkeypatch, work)

    for secret in ("abcdef", "4111-1111", "hunter2", "5500000000000004"):
        assert secret not in outcome.stderr
    assert events[2]["message"] == "card [card number] of postgresql://u:***@db/x"


@pytest.mark.parametrize(
    "text",
    ["1234567890123", "2026-11-19T22:01:32.250Z", "row 12,345,678,901,234", "0.4111111111111111"],
)
def test_numbers_that_are_no_card_stay(text):
    assert log_lines.without_secrets(text) == text


def test_everything_is_as_before_afterwards(monkeypatch):
    before = sys.stderr, list(logging.getLogger().handlers)
    logged(monkeypatch, lambda: None)

    assert (sys.stderr, list(logging.getLogger().handlers)) == before
    assert log_lines.current() is None


def test_stopping_is_logged(csv):
    run = start("simulate", "-o", "p.csv", "--cards", 9000, "--days", 400, "--log", "json")
    assert json.loads(run.stderr.readline())["event"] == "start"
    run.send_signal(signal.SIGTERM)
    _, stderr = run.communicate(timeout=60)

    *_, end = events_of(stderr)
    assert run.returncode == end["exit_code"] == 143
