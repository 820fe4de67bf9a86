"""A PostgreSQL server in a temporary folder, made from the binaries of the machine."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

USER, PASSWORD = "toprank", "opensesame"
_LONGEST_START = 60.0  # seconds
_QUICK = {
    "fsync": "off", "full_page_writes": "off", "autovacuum": "off", "max_connections": "200",
    "shared_buffers": "64MB", "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
}  # fmt: skip
"""A test's server need not survive a power failure."""


def binaries():
    """The folder of the newest server on this machine, None if there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=_version)
    on_path = shutil.which("postgres")
    if found:
        return found[-1].parent
    return Path(on_path).resolve().parent if on_path else None


def missing():
    """Why no server can be started here, in a sentence; empty if one can."""
    if binaries() is None:
        return "PostgreSQL is not installed: no `postgres` in /usr/lib/postgresql or on the PATH."
    if _other_user() is None and os.geteuid() == 0:
        return "PostgreSQL refuses to run as root, and there is no user `nobody` to run it as."
    return ""


class PostgresServer:
    """A server on a free port of this machine; `start` it again after `stop`."""

    def __init__(self, folder, password="", **settings):
        self._data, self._settings = Path(folder) / "data", {**_QUICK, **settings}
        self._login = f"{USER}:{password}" if password else USER
        self.port = _free_port()
        # an order of texts that is not that of their bytes, as most servers have it
        secret = Path(folder) / "password"
        secret.write_text(password or "none is asked for")
        secret.chmod(0o644)
        self._run(
            "initdb", "--pgdata", self._data, "--username", USER,
            "--auth", "scram-sha-256" if password else "trust", "--pwfile", secret,
            "--encoding", "UTF8", "--locale-provider", "icu", "--icu-locale", "en-US",
            "--locale", "C.UTF-8", "--no-sync",
        )  # fmt: skip
        self._process = None

    def url(self, database="postgres"):
        """The address of a database of this server."""
        return f"postgresql://{self._login}@127.0.0.1:{self.port}/{database}"

    def start(self):
        """Start the server and wait until it answers."""
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        command = [binaries() / "postgres", "-D", self._data, f"-p{self.port}", *options]
        log = (self._data.parent / "log").open("ab")
        self._process = subprocess.Popen(
            command, stdout=log, stderr=log, cwd="/", **_as_other_user()
        )
        log.close()
        give_up = time.monotonic() + _LONGEST_START
        while not self._answers():
            assert self._process.poll() is None, (self._data.parent / "log").read_text()
            assert time.monotonic() < give_up, "the server does not answer"
            time.sleep(0.02)

    def stop(self, how=signal.SIGQUIT):
        """Stop the server; connections are cut."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def _answers(self):
        import psycopg

        with suppress(psycopg.OperationalError), psycopg.connect(self.url(), connect_timeout=2):
            return True
        return False

    def _run(self, name, *words):
        command = [str(each) for each in (binaries() / name, *words)]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd="/", **_as_other_user(), check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def server(password="", **settings):
    """Yield a server that is running, and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="toprank-postgres-"))
    other = _other_user()
    if os.geteuid() == 0 and other is not None:
        shutil.chown(folder, other)
    made = None
    try:
        made = PostgresServer(folder, password, **settings)
        made.start()
        yield made
    finally:
        if made is not None:
            made.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_postgres():
    """Yield the address of an empty database on a server of its own, which asks for a password."""
    with server(PASSWORD) as made:
        yield made.url()


def new_database(url):
    """The address of a new database of the same server, with nothing in it."""
    import psycopg

    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    return f"{url.rpartition('/')[0]}/{name}"


def _as_other_user():
    """The options of `subprocess` that give up the rights of root."""
    if os.geteuid() != 0:
        return {}
    return {"user": _other_user(), "group": _group_of(_other_user()), "extra_groups": []}


def _other_user():
    import pwd

    if os.geteuid() != 0:
        return getpass.getuser()
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None


def _group_of(user):
    import pwd

    return pwd.getpwnam(user).pw_gid


def _version(path):
    number = path.parents[1].name
    return int(number) if number.isdigit() else 0


def _free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


if __name__ == "__main__":
    with running_postgres() as running:
        print(running, flush=True)
        input("Press Enter to end the server.")
