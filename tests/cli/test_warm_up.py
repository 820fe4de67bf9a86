"""`toprank warm-up`, and the note while code is compiled."""

import sys

import numba
import pytest

from cli.running import run_main
from toprank.cli import compile_note
from toprank.cli.warm_up import PARTS


@pytest.fixture(autouse=True)
def _nothing_noted(monkeypatch):
    monkeypatch.setattr(compile_note, "_listeners", [])
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    yield
    compile_note.stop()


def compile_something():
    numba.njit(lambda x: x + 1)(1)


def test_warm_up_runs_every_part_and_names_it(monkeypatch):
    done = []
    for name in PARTS:
        monkeypatch.setitem(PARTS, name, lambda name=name: done.append(name))
    outcome = run_main("warm-up")
    assert outcome.exit_code == 0
    assert done == list(PARTS)
    *named, last = outcome.stderr.splitlines()
    assert named == [f"compiling: {each}" for each in PARTS]
    assert last == "All is compiled."


@pytest.mark.slow
@pytest.mark.parametrize("part", list(PARTS.values()), ids=list(PARTS))
def test_each_part_runs(part):
    part()


def test_a_note_says_once_that_code_is_compiled(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    compile_note.watch()
    compile_something()
    compile_something()
    assert capsys.readouterr().err.count("toprank warm-up does so ahead of time") == 1


def test_there_is_no_note_in_a_log_file(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    compile_note.watch()
    compile_something()
    assert capsys.readouterr().err == ""
