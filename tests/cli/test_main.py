"""The program as a whole: help, exit codes, signals and pipes."""

import json
import resource
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import click
import pandas as pd
import pytest

import toprank.cli
from cli.running import names_here, one_sentence, run_main, start
from toprank.cli import commands
from toprank.data.tables import TableWarning

HEAVY = {
    "numpy",
    "numba",
    "sklearn",
    "scipy",
    "xgboost",
    "pyarrow",
    "matplotlib",
    "rich",
    "pandas",
}
PAGES = [["--help"], *([name, "--help"] for name in commands.commands)]


SHOW_EACH = """
import contextlib, io, json, sys
from toprank.cli import main
for page in json.loads(sys.argv[1]):
    known, shown, sys.argv = set(sys.modules), io.StringIO(), ["toprank", *page]
    with contextlib.redirect_stdout(shown):
        try: main()
        except SystemExit as end: code = end.code
    print(json.dumps([code, shown.getvalue(), [*set(sys.modules) - known]]))
print(json.dumps([*known]))
"""


@pytest.fixture(scope="module")
def shown_in_one_process():
    """The exit code of each help page, its text and the modules it imported; at last all those."""
    pages = json.dumps(PAGES)
    run = subprocess.run(
        [sys.executable, "-c", SHOW_EACH, pages], capture_output=True, text=True, check=True
    )
    *shown, modules = map(json.loads, run.stdout.splitlines())
    return shown, modules


def test_help_imports_nothing_heavy(shown_in_one_process):
    shown, modules = shown_in_one_process
    for page, (code, text, imported) in zip(PAGES, shown, strict=True):
        assert code == 0, page
        assert text.startswith("Usage:"), page
        assert not HEAVY & set(imported), page
    assert "toprank.cli" in modules and not HEAVY & set(modules)


def test_help_takes_less_than_three_tenths_of_a_second():
    def seconds():
        """Those of the processor: others may be at work at the same time."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start("--help").communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(5)) < 0.3


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_help_says_what_every_option_does_on_lines_that_fit(page):
    outcome = run_main(*page)

    assert outcome.exit_code == 0
    assert outcome.stderr == ""
    assert "..." not in outcome.stdout.split("Options:")[1]
    assert max(map(len, outcome.stdout.splitlines())) <= 100


def test_the_version_is_printed():
    assert run_main("--version").stdout.startswith(f"toprank {toprank.__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["rnak"],
        ["fit"],
        ["fit", "payments.csv"],
        ["fit", "payments.csv", "--label", "is_fraud", "-k", "0"],
        ["fit", "payments.csv", "--label", "is_fraud", "-k", "many"],
        ["fit", "payments.csv", "--label", "is_fraud", "--trees", "0"],
        ["fit", "payments.csv", "--label", "is_fraud", "--seed", "-1"],
        ["fit", "payments.csv", "--label", "is_fraud", "--jobs", "0"],
        ["fit", "payments.csv", "--label", "is_fraud", "--gap", "7"],
        ["fit", "payments.csv", "--label", "is_fraud", "--time", "paid_at", "--gap", "-1"],
        ["fit", "payments.csv", "--label", "is_fraud", "--time", "paid_at", "--gap", "nan"],
        ["fit", "payments.csv", "--label", "is_fraud", "--time", "paid_at", "--gap", "inf"],
        ["fit", "payments.csv", "--label", "is_fraud", "--time", "is_fraud"],
        ["fit", "payments.csv", "--label", "is_fraud", "--drop", "is_fraud"],
        ["fit", "payments.csv", "--label", "is_fraud", "-o", "model.html"],
        ["fit", "payments.csv", "--label", "is_fraud", "-o", "payments.csv"],
        ["rank", "m.toprank"],
        ["rank", "m.toprank", "payments.csv", "--reasons", "-1"],
        ["rank", "m.toprank", "payments.csv", "-o", "payments.csv"],
        ["explain", "m.toprank", "payments.csv"],
        ["explain", "m.toprank", "payments.csv", "--row", "0"],
        ["explain", "m.toprank", "payments.csv", "--row", "3", "--above", "3"],
        ["evaluate", "m.toprank", "payments.csv", "--budget", "-5"],
        ["demo", "-k", "0"],
    ],
    ids=" ".join,
)
def test_a_wrong_call_exits_2_and_touches_nothing(arguments, csv):
    before = csv.read_bytes()
    outcome = run_main(*arguments)

    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert "Usage: toprank" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert names_here() == [csv.name]
    assert csv.read_bytes() == before


# What main makes of exceptions and warnings


def command_that(monkeypatch, work):
    monkeypatch.setattr(commands.commands["demo"], "callback", lambda **_: work())
    return run_main("demo")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError("k must be at least 1; got 0."), "k must be at least 1; got 0."),
        (TypeError("k must be a number."), "k must be a number."),
        (ImportError("XGBoost is not installed."), "XGBoost is not installed."),
        (OSError(28, "No space left on device"), "no space left on device."),
        (OSError(13, "Permission denied", "a.csv"), "a.csv: permission denied."),
        (MemoryError(), "out of memory."),
        (MemoryError("9 GiB for an array"), "there is not enough memory: 9 GiB for an array"),
    ],
    ids=repr,
)
def test_bad_input_exits_1_with_one_sentence(error, sentence, monkeypatch):
    def fail():
        raise error

    assert one_sentence(command_that(monkeypatch, fail)) == sentence


@pytest.mark.parametrize("end", [click.exceptions.Exit(1), SystemExit(1)], ids=repr)
def test_a_command_may_end_with_a_code_of_its_own(end, monkeypatch):
    def stop():
        raise end

    assert command_that(monkeypatch, stop) == (1, "", "")


def test_a_fault_of_ours_is_not_hidden(monkeypatch):
    def fail():
        raise KeyError("a bug")

    monkeypatch.setattr(commands.commands["demo"], "callback", lambda **_: fail())
    monkeypatch.setattr(sys, "argv", ["toprank", "demo"])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with pytest.raises(KeyError, match="a bug"):
        toprank.cli.main()


def test_a_warning_of_ours_is_a_remark_said_once(monkeypatch):
    def warn():
        for _ in range(2):
            warnings.warn("column 'id' looks like an id.", TableWarning, stacklevel=1)
            warnings.warn("numpy changes its mind.", DeprecationWarning, stacklevel=1)

    outcome = command_that(monkeypatch, warn)

    assert outcome == (0, "", "note: column 'id' looks like an id.\n")


def test_warnings_are_left_as_they_were(monkeypatch):
    before = warnings.showwarning, list(warnings.filters)
    command_that(monkeypatch, lambda: None)

    assert (warnings.showwarning, list(warnings.filters)) == before


# Signals and pipes


@pytest.mark.parametrize(
    "how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_stopping_fit_leaves_no_file(how, csv):
    run = start(*("fit", csv, "--label", "is_fraud", "--time", "paid_at", "--trees", 100_000))
    run_until_training(run)
    run.send_signal(how)
    stdout, stderr = run.communicate(timeout=30)

    assert run.returncode == 128 + how
    assert stdout == ""
    assert stderr.strip() == "stopped; no file was left half-written."
    assert names_here() == [csv.name]


@pytest.mark.slow
def test_killing_fit_leaves_no_file(csv):
    run = start(*("fit", csv, "--label", "is_fraud", "--time", "paid_at", "--trees", 100_000))
    run_until_training(run)
    run.kill()
    run.communicate(timeout=30)

    assert run.returncode == -signal.SIGKILL
    assert names_here() == [csv.name]


def run_until_training(run):
    """Wait until the program works in more than its imports: it has opened the table by then."""
    begin = time.monotonic()
    while "libxgboost" not in Path(f"/proc/{run.pid}/maps").read_text():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() - begin < 30
        time.sleep(0.05)
    time.sleep(0.5)
    assert run.poll() is None


@pytest.mark.parametrize(
    "form", [[], pytest.param(["--json"], marks=pytest.mark.slow)], ids=["csv", "json"]
)
def test_a_reader_that_goes_away_ends_it_quietly(form, payments, fitted):
    many = pd.concat([payments] * 5)  # more than a pipe holds
    many.to_parquet("payments.parquet")
    run = start("rank", fitted.model, "payments.parquet", "-k", 3000, *form, bufsize=0, text=False)
    assert run.stdout.readline()
    run.stdout.close()
    remarks = run.stderr.read().decode()
    run.wait(timeout=30)

    assert run.returncode == 1
    assert len(remarks.splitlines()) == 1
    assert remarks.startswith("3,000 rows scored")
