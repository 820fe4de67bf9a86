"""A local server that speaks the protocol of S3: moto, in a process of its own."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import HTTPError, URLError

_START_SECONDS = 60
KEY_ID, SECRET = "test-key", "test-secret"


@contextmanager
def running_s3() -> Iterator[str]:
    """Give the URL of an empty object store."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    server = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, server)
        yield url
    finally:
        server.terminate()
        server.wait()


def _wait_for(url: str, server: subprocess.Popen) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if server.poll() is not None:
            raise RuntimeError(f"the S3 server ended with exit code {server.returncode}.")
        try:
            urllib.request.urlopen(f"{url}/moto-api/", timeout=5).close()
            return
        except HTTPError:
            return
        except URLError:
            time.sleep(0.1)
    raise RuntimeError(f"the S3 server did not answer within {_START_SECONDS} s.")
