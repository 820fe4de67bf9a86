import pytest

from live import databases


@pytest.fixture
def database(tmp_path):
    found = databases.create(tmp_path)
    yield found
    found.close()


@pytest.fixture
def connection(database):
    with database.writing() as found:
        yield found
