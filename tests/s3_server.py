"""A local server that speaks the protocol of S3: moto, in a process of its own."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import S3FileSystem

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


class Bucket(NamedTuple):
    """A bucket with nothing in it: its URL, and how tests write to it."""

    url: str
    filesystem: S3FileSystem

    def write(self, name: str, content: bytes) -> str:
        """Write a file and return its URL."""
        path = f"{self.url.removeprefix('s3://')}/{name}"
        with self.filesystem.open_output_stream(path) as file:
            file.write(content)
        return f"s3://{path}"

    def write_parquet(self, name: str, rows: pa.Table, **options: int) -> str:
        """Write a table as Parquet and return its URL."""
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink, **options)
        return self.write(name, sink.getvalue().to_pybytes())


def new_bucket(server: str) -> Bucket:
    """Return a new bucket of the server."""
    filesystem = S3FileSystem(
        endpoint_override=server.removeprefix("http://"), scheme="http", access_key=KEY_ID,
        secret_key=SECRET, region="us-east-1", allow_bucket_creation=True,
    )  # fmt: skip
    name = f"test-{uuid4().hex[:12]}"
    filesystem.create_dir(name)
    return Bucket(f"s3://{name}", filesystem)


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


if __name__ == "__main__":
    with running_s3() as running:
        print(running, flush=True)
        input("Press Enter to end the server.")
