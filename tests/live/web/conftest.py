import pytest
from live.web.fake_desk import FakeDesk, client_of


@pytest.fixture
def desk(tmp_path):
    return FakeDesk(tmp_path)


@pytest.fixture
def client(desk):
    with client_of(desk) as client:
        yield client
