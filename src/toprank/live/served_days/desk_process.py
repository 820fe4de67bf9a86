"""A desk that is served by a process of its own, as `toprank serve` does it."""

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

_COMMAND = "import toprank.cli; toprank.cli.main()"
_ADDRESS = re.compile(r" at (http://\S+) ")
_LONGEST_START, _LONGEST_STOP = 120.0, 30.0  # seconds


class DeskProcess:
    """A server on a free port of this machine; a context manager.

    Parameters
    ----------
    folder
        The desk. What the server reports goes to `serve.log` in it.

    Attributes
    ----------
    address
        Where it is served.
    """

    def __init__(self, folder: Path) -> None:
        self._log = folder / "serve.log"
        command = [sys.executable, "-c", _COMMAND, "serve", str(folder), "--port", "0"]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)
        try:
            self.address = self._started()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server; what it has answered is on disk."""
        self._process.terminate()
        try:
            self._process.wait(_LONGEST_STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _started(self) -> str:
        """Return the address, once requests are accepted."""
        give_up = time.monotonic() + _LONGEST_START
        while self._process.poll() is None and time.monotonic() < give_up:
            found = _ADDRESS.search(self._log.read_text())
            if found:
                return found[1]
            time.sleep(0.05)
        raise ConnectionError(f"the server did not start: {self._log.read_text().strip()}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
