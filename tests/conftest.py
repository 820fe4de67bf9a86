"""How many threads tests use, how many examples property tests draw, which test starts first.

And servers that a test can ask for: an object store, and PostgreSQL where it is installed.
"""

import os

import pytest
from hypothesis import settings

import postgres_server
from s3_server import KEY_ID, SECRET, new_bucket, running_s3

# tests run beside each other, and a process that is forked beside threads of OpenMP can hang
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Few examples for people, four times as many in test-slow.
# Kernels compile inside the first example, so no example has a deadline.
settings.register_profile("quick", deadline=None, max_examples=15)
settings.register_profile("thorough", deadline=None, max_examples=60)
settings.load_profile(os.environ.get("TOPRANK_EXAMPLES", "quick"))


def pytest_collection_modifyitems(items):
    """Install the package first: it takes longest, and no process should end alone with it."""
    items.sort(key=lambda item: item.path.name != "test_install.py")


@pytest.fixture(scope="session")
def _s3_server():
    with running_s3() as url:
        yield url


@pytest.fixture
def store(_s3_server, monkeypatch):
    """A bucket of its own in a local object store: `store.url`, and its file system of Arrow."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": _s3_server,
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    return new_bucket(_s3_server)


@pytest.fixture(scope="session")
def _postgres_server():
    if reason := postgres_server.missing():
        pytest.skip(reason)
    with postgres_server.running_postgres() as url:
        yield url


@pytest.fixture
def postgres(_postgres_server):
    """The URL of an empty database of a PostgreSQL server that the session has started."""
    return postgres_server.new_database(_postgres_server)
