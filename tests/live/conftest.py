import pytest

import postgres_server
from live import databases, desks


@pytest.fixture(scope="session", autouse=databases.ON_POSTGRES)
def postgres():
    """A server of PostgreSQL; a test that uses it is skipped where there is none."""
    if why := postgres_server.missing():
        pytest.skip(why)
    with postgres_server.server() as server:
        databases.serve(server)
        yield server
        databases.serve(None)


@pytest.fixture(autouse=databases.ON_POSTGRES)
def databases_of_this_test(postgres):
    yield from databases.drop_new()


@pytest.fixture(scope="session")
def made():
    """Labelled payments, and those of later days."""
    return desks.made_payments()


@pytest.fixture(scope="session")
def model_file(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "payments.toprank"
    desks.fitted_model(made[0], path)
    return path


@pytest.fixture(scope="session")
def later(made):
    """The later payments, as the routes give them to the engine."""
    return desks.payments_of(made[1])


@pytest.fixture
def desk(model_file, tmp_path):
    with desks.new_desk(tmp_path / "desk", model_file) as opened:
        yield opened
