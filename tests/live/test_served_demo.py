"""`toprank serve --demo`, as `make live` starts it."""

import os
import re
import signal
import subprocess
import sys

import pytest

from toprank.live.checks import queue
from toprank.live.desk import Desk


@pytest.mark.slow
def test_the_demo_says_how_to_log_in_once_there_are_cards_to_check(tmp_path):
    folder = tmp_path / "world"
    command = [sys.executable, "-c", "import toprank.cli; toprank.cli.main()", "serve", "--demo"]
    command += [os.fspath(folder), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        lines = []
        for line in server.stderr:
            lines.append(line)
            if re.search(r"investigator +http://127.0.0.1:\d+/link/\S+", line):
                break
        else:
            pytest.fail("no link was printed:\n" + "".join(lines))
        with Desk.open(folder) as desk, desk.database.reading() as connection:
            listed = queue.queue(connection, 5)
        server.send_signal(signal.SIGINT)
        rest = server.stderr.read()
    assert len(listed) == 5
    assert "admin" in rest and "Traceback" not in rest
