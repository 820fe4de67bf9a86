"""What the commands show, on a terminal and elsewhere."""

import json
import math
import os
import pty
import subprocess
import sys

import pyarrow as pa
import pytest

from cli.running import written
from toprank.cli import screen

SLOW_WORK = """
import time
from toprank.cli import screen
with screen.busy("reading [red]{name}[/red].csv"):
    time.sleep(0.3)
with screen.progress_bar() as progress:
    for done in range(1, 5):
        progress("scoring", done, 4)
        screen.remark("note: an id [1]") if done == 2 else None
        time.sleep(0.1)
print("rows")
"""


def shown_on_a_terminal(command, **environment):
    """Return all that a program writes to a terminal of 100 columns."""
    here, there = pty.openpty()
    run = subprocess.Popen(
        command,
        stdout=there,
        stderr=there,
        env={**os.environ, "COLUMNS": "100", "TERM": "xterm", **environment},
    )
    os.close(there)
    text = b""
    try:
        while piece := os.read(here, 65536):
            text += piece
    except OSError:  # how Linux says that the other side is closed
        pass
    os.close(here)
    assert run.wait(timeout=60) == 0, text
    return text.decode()


def test_bars_appear_on_a_terminal_and_remarks_stand_above_them():
    text = shown_on_a_terminal([sys.executable, "-c", SLOW_WORK])

    assert "reading [red]{name}[/red].csv" in text
    assert "scoring" in text
    assert "100 %" in text
    last_lines = text.split("note: an id [1]")[1]
    assert last_lines.startswith("\r\n")
    assert last_lines.rstrip().endswith("rows")


@pytest.mark.parametrize("environment", [{"FORCE_COLOR": "1"}, {"TTY_COMPATIBLE": "1"}, {}])
def test_nothing_is_drawn_elsewhere(environment):
    run = subprocess.run(
        [sys.executable, "-c", SLOW_WORK],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )

    assert run.stdout == "rows\n"
    assert run.stderr == "note: an id [1]\n"


def test_a_simple_terminal_gets_no_bars():
    text = shown_on_a_terminal([sys.executable, "-c", SLOW_WORK], TERM="dumb")

    assert text.split("\r\n") == ["note: an id [1]", "rows", ""]


def test_rank_on_a_terminal_is_written_for_people(payments, fitted):
    data = written(payments, "payments.csv")
    main = "from toprank.cli import main; main()"
    text = shown_on_a_terminal(
        [sys.executable, "-c", main, "rank", str(fitted.model), str(data), "-k", "2"]
    )

    assert "scoring" in text
    lines = text.split("among them.")[1].splitlines()
    heads = [line for line in lines if "probability" in line]
    assert [head.split()[0] for head in heads] == ["1", "2"]
    assert any("amount" in line and "usual" in line for line in lines)
    assert '"rank"' not in text


def test_numbers_that_json_lacks_become_null(capsys):
    screen.print_json({"a": [math.nan, (math.inf, 1.5)], "b": {"c": -math.inf}, 3: "é"})

    assert json.loads(capsys.readouterr().out) == {
        "a": [None, [None, 1.5]],
        "b": {"c": None},
        "3": "é",
    }


def test_what_a_csv_cannot_hold_is_said_with_the_way_out():
    with pytest.raises(ValueError, match=r"a CSV holds plain values only.*--json.*parquet"):
        screen.print_csv(pa.table({"tags": [[1, 2]]}))
