import pytest

from live.web.fake_desk import FakeDesk, client_of, with_key


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    """A database with a key, and the key."""
    database, key = with_key(tmp_path_factory.mktemp("desk"))
    yield database, key
    database.close()


@pytest.fixture
def desk(stored):
    return FakeDesk(*stored)


@pytest.fixture
def client(desk):
    with client_of(desk) as client:
        yield client
