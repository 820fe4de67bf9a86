"""A desk that is served by a process of its own, as `toprank serve` does it."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import suppress


class ServedProcess:
    """A server; `start` it again after `kill`."""

    def __init__(self, folder, key, *options):
        self._folder, self._key, self.address = folder, key, ""
        self._options = options

    def start(self):
        command = [sys.executable, "-c", "import toprank.cli; toprank.cli.main()", "serve"]
        command += [str(self._folder), "--port", "0", *self._options]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = self._process.stderr.readline()
        assert " at " in line, line + self._process.stderr.read()
        self.address = line.split(" at ")[1].split(" ")[0]

    def post(self, path, body):
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def kill(self):
        os.kill(self._process.pid, signal.SIGKILL)
        self._end()

    def stop(self):
        with suppress(ProcessLookupError):
            self._process.terminate()
        self._end()

    def _end(self):
        self._process.wait(30)
        self._process.stderr.close()
