"""Ways to run `toprank ...`, in this process and as a program, and to look at what came of it."""

import io
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from toprank.cli import main
from toprank.cli.standard_streams import STOPPING


class Outcome(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


def run_main(*arguments):
    """Run `toprank ...` in this process, from its arguments to its exit code."""
    stdout, stderr = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in STOPPING}
    try:
        with (
            patch.object(sys, "argv", ["toprank", *map(str, arguments)]),
            redirect_stdout(stdout),
            redirect_stderr(stderr),
            pytest.raises(SystemExit) as stop,
        ):
            main()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Outcome(stop.value.code, stdout.getvalue(), stderr.getvalue())


def start(*arguments, **options):
    """Start `toprank ...` as a program of its own."""
    command = [sys.executable, "-c", "from toprank.cli import main; main()", *map(str, arguments)]
    # unbuffered, Python itself drops what a pipe does not take, and reports no error
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, **(pipes | options))


def one_sentence(outcome):
    """Return the only line on stderr; there may be nothing on stdout, and no traceback."""
    assert outcome.exit_code == 1, outcome
    assert outcome.stdout == ""
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("toprank: ")
    return line.removeprefix("toprank: ")


def written(frame, name, **options):
    frame.to_csv(name, index=False, **options)
    return Path(name)


def names_here():
    """Return the names of all files in the folder the test runs in."""
    return sorted(path.name for path in Path().iterdir())
