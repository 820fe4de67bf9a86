import pytest

from toprank.live.store.desk_database import Database


@pytest.fixture
def database(tmp_path):
    found = Database.create(tmp_path)
    yield found
    found.close()


@pytest.fixture
def connection(database):
    with database.writing() as found:
        yield found
