"""A PostgreSQL server of its own for a test, in a temporary folder.

PostgreSQL refuses to run as root: there, its programs are started as the user `postgres`.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

_START_SECONDS = 60
_OPTIONS = (
    "fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_wal_size=4GB",
    "listen_addresses=127.0.0.1", "unix_socket_directories=",
)  # fmt: skip
PASSWORD = "opensesame"


def why_no_postgres() -> str:
    """Return why PostgreSQL cannot be started here, as a sentence; "" where it can."""
    if _program("initdb") is None or _program("pg_ctl") is None:
        return "PostgreSQL is not installed: initdb and pg_ctl are not found."
    if os.geteuid() == 0:
        if shutil.which("runuser") is None:
            return "PostgreSQL does not run as root, and runuser is not found."
        found = subprocess.run(["id", "-u", "postgres"], capture_output=True, check=False)
        if found.returncode:
            return "PostgreSQL does not run as root, and there is no user postgres."
    return ""


@contextmanager
def running_postgres() -> Iterator[str]:
    """Give the URL of an empty database, `postgresql://user:password@host:port/name`."""
    with TemporaryDirectory(prefix="toprank-postgres-") as parent:
        folder = Path(parent, "cluster")
        Path(parent, "password").write_text(PASSWORD)
        if os.geteuid() == 0:
            shutil.chown(parent, "postgres")
            shutil.chown(Path(parent, "password"), "postgres")
        _run(
            "initdb", "--pgdata", folder, "--username", "toprank", "--no-sync",
            "--auth", "scram-sha-256", "--pwfile", Path(parent, "password"), "--encoding", "UTF8",
        )  # fmt: skip
        port = _free_port()
        options = " ".join(f"-c {each}" for each in (*_OPTIONS, f"port={port}"))
        log = Path(parent, "log")
        _run(
            "pg_ctl", "start", "--pgdata", folder, "--options", options, "--log", log,
            "--wait", "--timeout", _START_SECONDS,
        )  # fmt: skip
        try:
            yield f"postgresql://toprank:{PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            _run("pg_ctl", "stop", "--pgdata", folder, "--mode", "immediate")


def new_database(url: str) -> str:
    """Return the URL of a new database of the same server, with nothing in it."""
    import psycopg

    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    return f"{url.rpartition('/')[0]}/{name}"


def _run(name: str, *arguments: object) -> None:
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    command = [*as_user, str(_program(name)), *map(str, arguments)]
    # not captured: the server would keep the pipe open, and the call would wait for its end
    subprocess.run(
        command, check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _program(name: str) -> Path | None:
    """Return where a program of PostgreSQL is: on the path, or the newest of Debian's folders."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    versions = sorted(
        Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4])
    )
    return versions[-1] if versions else None


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


if __name__ == "__main__":
    with running_postgres() as running:
        print(running, flush=True)
        input("Press Enter to end the server.")
