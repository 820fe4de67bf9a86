"""Experiments are a package of their own, which toprank neither imports nor contains."""

import ast
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import toprank
from cli.running import run_main
from toprank.cli import added_commands

PACKAGE = Path(toprank.__file__).parent


def imported_by(path):
    """The top-level names of all modules that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_nothing_in_the_package_imports_the_experiments():
    naming = [path for path in PACKAGE.rglob("*.py") if "toprank_bench" in path.read_text()]
    assert [path for path in naming if "toprank_bench" in imported_by(path)] == []


def test_the_package_has_no_experiments():
    assert not list(PACKAGE.rglob("*.toml"))
    assert not (PACKAGE / "bench").exists() and not (PACKAGE / "datasets").exists()


@pytest.fixture
def added(monkeypatch):
    """Set which commands installed distributions add, by name."""

    def add(**values):
        points = [EntryPoint(name, value, added_commands.GROUP) for name, value in values.items()]
        monkeypatch.setattr(added_commands, "entry_points", lambda group: points)

    return add


def test_without_the_package_a_sentence_says_how_to_get_it(added):
    added()
    outcome = run_main("bench", "list")
    assert outcome.exit_code == 1 and outcome.stdout == ""
    (sentence,) = outcome.stderr.splitlines()
    assert "toprank-bench" in sentence and "make bench-setup" in sentence
    assert "bench" not in run_main("--help").stdout.split("Commands:")[1]


def test_an_installed_command_is_listed_and_runs(added):
    added(again="toprank.cli.demo:demo")
    assert "again " in run_main("--help").stdout.split("Commands:")[1]
    outcome = run_main("again", "--help")
    assert outcome.exit_code == 0 and outcome.stdout.startswith("Usage: toprank again")


def test_our_own_commands_come_first(added):
    added(demo="toprank.cli.fit:fit")
    assert run_main("demo", "--help").stdout.startswith("Usage: toprank demo")


def test_an_entry_point_that_is_no_command_is_reported(added):
    added(odd="toprank.cli:main")
    outcome = run_main("odd")
    assert outcome.exit_code == 1
    assert "toprank.cli:main" in outcome.stderr and "click command" in outcome.stderr
