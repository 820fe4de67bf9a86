"""Work in a process of its own, which prints what it found as numbers."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence


def numbers_printed(
    arguments: Sequence[str], environment: Mapping[str, str] | None = None
) -> list[float]:
    """Return the numbers that a new Python process prints, run with these arguments.

    >>> numbers_printed(["-c", "print(2, 3)"])
    [2.0, 3.0]
    """
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode:
        last = [f"exit code {done.returncode}", *done.stderr.splitlines()][-1]
        raise ValueError(f"the process that fits must end well; it ended with: {last}")
    return [float(word) for word in done.stdout.split()]
