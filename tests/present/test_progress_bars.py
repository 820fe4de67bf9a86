"""A bar in a real notebook: one output that is updated and empty in the end; none elsewhere."""

import contextlib
import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from toprank.present.progress_bars import _bar

WORK = """
import time
from toprank import progress_bar
with progress_bar() as progress:
    for done in range(40):
        progress("growing <trees>", done + 1, 40)
        time.sleep(0.02)
    progress("fitting", 1, 2)
    {last}
print("fitted")
"""


def run_cell(last="pass", is_watched=True):
    """The outputs of a cell after a kernel has run it, and all messages on its display."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(WORK.format(last=last))])
    drawn = []

    class Client(NotebookClient):
        def process_message(self, message, cell, index):
            if message["msg_type"] in ("display_data", "update_display_data"):
                drawn.append(message)
            return super().process_message(message, cell, index)

    client = Client(notebook, timeout=60)
    with client.setup_kernel():
        client.kc.allow_stdin = is_watched
        with contextlib.suppress(CellExecutionError):
            client.execute_cell(notebook.cells[0], 0)
    return notebook.cells[0].outputs, drawn


def test_a_watched_notebook_has_one_bar_that_is_updated_and_then_removed():
    outputs, drawn = run_cell()

    assert [each["output_type"] for each in outputs] == ["display_data", "stream"]
    assert outputs[0]["data"] == {"text/html": "", "text/plain": ""}
    assert outputs[1]["text"] == "fitted\n"
    first, *updates = drawn
    assert first["msg_type"] == "display_data"
    assert {each["msg_type"] for each in updates} == {"update_display_data"}
    assert len({each["content"]["transient"]["display_id"] for each in drawn}) == 1
    assert 3 <= len(drawn) <= 20  # of 41 steps in 0.8 s
    shown = [each["content"]["data"]["text/html"] for each in drawn]
    assert "growing &lt;trees&gt;" in shown[0] and "<progress" in shown[0]
    assert "fitting" in shown[-2]


def test_a_notebook_that_is_run_as_a_whole_has_no_bar():
    outputs, drawn = run_cell(is_watched=False)

    assert drawn == []
    assert [each["output_type"] for each in outputs] == ["stream"]


def test_an_error_removes_the_bar():
    outputs, _ = run_cell(last="raise ValueError('no')")

    assert [each["output_type"] for each in outputs] == ["display_data", "error"]
    assert outputs[0]["data"]["text/html"] == ""


def test_nothing_is_drawn_in_a_pipe():
    code = WORK.format(last="pass")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert (run.stdout, run.stderr) == ("fitted\n", "")


@pytest.mark.parametrize(
    ("done", "seconds", "words"),
    [(0, 5.0, "0 %<"), (10, 3.0, "25 %, 9 s left"), (20, 100.0, "50 %, 1 min 40 s left"),
     (40, 9.0, "100 %<")],
)  # fmt: skip
def test_the_time_left_is_as_the_steps_so_far_took(done, seconds, words):
    assert words in _bar("scoring", done, 40, seconds)
