"""Commands of `toprank`, run in this process or as programs, and what came of them."""

import io
import re
import signal
import subprocess
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple
from unittest.mock import patch

from toprank.cli import main
from toprank.cli.standard_streams import STOPPING

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Outcome(NamedTuple):
    """The exit code and what was printed; a code of -1 is an exception that nobody caught."""

    code: int
    printed: str
    remarks: str

    @property
    def is_sound(self) -> bool:
        """Whether it ended well, or with one sentence of its own."""
        return self.code == 0 or (self.code in (1, 2) and "Traceback" not in self.remarks)


def run_here(*arguments: Any, stdin: str = "") -> Outcome:
    """Run `toprank ...` in this process."""
    printed, remarks = io.StringIO(), io.StringIO()
    given = io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogateescape")))
    handlers = {number: signal.getsignal(number) for number in STOPPING}
    try:
        with (
            patch.object(sys, "argv", ["toprank", *map(str, arguments)]),
            patch.object(sys, "stdin", given),
            redirect_stdout(printed),
            redirect_stderr(remarks),
        ):
            main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    except Exception:
        code = -1
        remarks.write(traceback.format_exc())
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Outcome(code, printed.getvalue(), remarks.getvalue())


def started(*arguments: Any) -> subprocess.Popen[str]:
    """Start `toprank ...` as a program of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "from toprank.cli import main; main()", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(run: subprocess.Popen[str]) -> Outcome:
    """Return what came of a program."""
    _, remarks = run.communicate()
    return Outcome(run.returncode, "", remarks)
