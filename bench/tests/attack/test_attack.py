"""The attack itself: a few trials of each class pass, and what is wrong is seen."""

import random

import numpy as np
import pytest

import toprank
from toprank import files
from toprank_bench.attack import hostile_lines, messy_tables, model_files
from toprank_bench.attack.command_pairs import command_pairs
from toprank_bench.attack.commands_run import Outcome, run_here
from toprank_bench.attack.killed_commands import killed_commands
from toprank_bench.attack.small_models import rows

CHANGES = sorted(set(model_files._CHANGES), key=lambda change: change.__name__)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of a model file."""
    path = tmp_path_factory.mktemp("good") / "m.toprank"
    X, y = rows()
    return model_files._saved(toprank.MetaAP().fit(X, y), path)


@pytest.mark.parametrize("change", CHANGES)
def test_changed_files_are_refused_or_score(change, good, tmp_path):
    path = tmp_path / "changed.toprank"
    for seed in range(8):
        changed = change(good, np.random.default_rng(seed))
        path.write_bytes(changed)
        assert model_files.failure_of(path) == ""


def test_a_file_that_breaks_what_uses_it_is_a_failure(good, tmp_path, monkeypatch):
    path = tmp_path / "m.toprank"
    path.write_bytes(good)
    assert model_files.failure_of(path) == ""

    def fail(_):
        raise KeyError("a bug")

    monkeypatch.setattr(files, "load", fail)
    assert model_files.failure_of(path) == "load raised KeyError"
    model = toprank.MetaAP().fit(*rows())
    monkeypatch.setattr(model, "suspicion", lambda X: np.full(len(X), np.nan))
    monkeypatch.setattr(files, "load", lambda _: model)
    assert model_files.failure_of(path) == "scores are not finite"


def test_hostile_lines_leave_a_stream_as_it_is():
    assert not hostile_lines.hostile_lines(4, seed=1)


def test_a_stream_that_loses_its_order_is_a_failure(monkeypatch):
    monkeypatch.setattr(hostile_lines.metrics, "average_precision", lambda *_: 0.1)
    assert hostile_lines.hostile_lines(1, seed=1) == {"the order of ordinary rows is lost": 1}


def test_a_list_that_differs_without_a_note_is_a_failure(monkeypatch, tmp_path):
    printed = "rank,row,suspicion\n1,7,0.5\n"
    monkeypatch.setattr(messy_tables, "run_here", lambda *_: Outcome(0, printed, ""))
    mess = messy_tables.semicolons(random.Random(0), messy_tables._rows(random.Random(0)))
    model = tmp_path / "m.toprank"
    assert messy_tables._failure(mess, model, ["7"], 1) == ""
    assert messy_tables._failure(mess, model, ["8"], 1) == "another list, silently"
    monkeypatch.setattr(messy_tables, "run_here", lambda *_: Outcome(-1, "", "Traceback"))
    assert messy_tables._failure(mess, model, ["7"], 1) == "traceback"


def test_an_exception_that_nobody_catches_is_seen(monkeypatch):
    def fail():
        raise KeyError("a bug")

    monkeypatch.setattr("toprank_bench.attack.commands_run.main", fail)
    outcome = run_here("rank")
    assert outcome.code == -1 and not outcome.is_sound


@pytest.mark.slow
def test_messy_tables_are_read_as_meant_or_refused():
    assert not messy_tables.messy_tables(len(messy_tables._MESSES), seed=2)


@pytest.mark.slow
def test_commands_that_are_killed_or_run_in_pairs_lose_nothing():
    assert not killed_commands(3, seed=2)
    assert not command_pairs(2, seed=2)
