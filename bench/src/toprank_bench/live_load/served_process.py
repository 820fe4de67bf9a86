"""A desk served by a process of its own, as `toprank serve` does."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Self
from urllib.request import Request, urlopen

_COMMAND = "import sys; from toprank.cli import main; sys.exit(main())"
_ADDRESS = re.compile(r"at http://([\w.]+):(\d+)")
_PATIENCE = 300.0


class ServedProcess:
    """`toprank serve` of a folder, started; a context manager that kills it at the end.

    Attributes
    ----------
    address
        Host and port.
    start_seconds
        Time from the start of the process until it was ready for payments.
    """

    def __init__(self, folder: Path, core: int | None = None) -> None:
        begin = time.perf_counter()
        command = [sys.executable, "-c", _COMMAND, "serve", os.fspath(folder), "--port", "0"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        if core is not None:
            os.sched_setaffinity(self.process.pid, {core})
        self.remarks: list[str] = []
        self._reading = threading.Thread(target=self._read_remarks, daemon=True)
        try:
            self.address = self._address()
            self._reading.start()
            self._wait_until_ready()
        except BaseException:  # also Ctrl-C: nobody else would end the server
            self._close()
            raise
        self.start_seconds = time.perf_counter() - begin

    def get(self, path: str, key: str = "") -> bytes:
        """Return what is at a path."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        request = Request(f"http://{self.address[0]}:{self.address[1]}{path}", headers=headers)
        with urlopen(request, timeout=30) as answer:
            return answer.read()

    def gauges(self, key: str) -> dict[str, float]:
        """Return the figures of the engine that Prometheus reads."""
        return gauges_in(self.get("/metrics", key))

    def resident_megabytes(self) -> float:
        """Return the memory that the process has in use now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    def processor_seconds(self) -> float:
        """Return the seconds that the process has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> int:
        """Stop it as an operator does; return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=_PATIENCE)

    def kill(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        self.kill()
        if self._reading.is_alive():
            self._reading.join(timeout=5)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def _address(self) -> tuple[str, int]:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.remarks.append(line)
            found = _ADDRESS.search(line)
            if found:
                return found[1], int(found[2])
        raise OSError(f"the server did not start: {''.join(self.remarks).strip()}")

    def _read_remarks(self) -> None:
        assert self.process.stderr is not None
        self.remarks.extend(self.process.stderr)

    def _wait_until_ready(self) -> None:
        give_up = time.monotonic() + _PATIENCE
        while True:
            try:
                self.get("/ready")
                return
            except OSError:
                if time.monotonic() > give_up or self.process.poll() is not None:
                    raise
                time.sleep(0.005)


def gauges_in(text: bytes) -> dict[str, float]:
    """Return the figures without labels in what Prometheus reads.

    >>> gauges_in(b"# HELP ...\\ntoprank_waiting_payments 3.0\\n")
    {'waiting_payments': 3.0}
    """
    found = re.findall(r"^toprank_(\w+) ([-\d.e+]+)$", text.decode(), re.M)
    return {name: float(value) for name, value in found}
