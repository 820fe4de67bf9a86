"""A server in a process of its own is never left behind."""

import pytest

from toprank_bench.live_load import served_process
from toprank_bench.live_load.served_process import ServedProcess

SLEEPING = "import time; time.sleep(60)"
FAILING = "import sys; sys.exit('toprank: there is no such desk')"


@pytest.fixture
def started(monkeypatch):
    """The processes that were started."""
    found = []
    popen = served_process.subprocess.Popen

    def start(*arguments, **options):
        found.append(popen(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(served_process.subprocess, "Popen", start)
    return found


def test_a_server_is_ended_if_its_start_is_interrupted(started, monkeypatch, tmp_path):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(served_process, "_COMMAND", SLEEPING)
    monkeypatch.setattr(ServedProcess, "_address", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ServedProcess(tmp_path)
    (process,) = started
    assert process.poll() is not None


def test_a_server_that_does_not_start_says_why(started, monkeypatch, tmp_path):
    monkeypatch.setattr(served_process, "_COMMAND", FAILING)
    with pytest.raises(OSError, match="there is no such desk"):
        ServedProcess(tmp_path)
    (process,) = started
    assert process.poll() is not None
