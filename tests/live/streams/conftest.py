import pytest

from live.streams.brokers import AtAddresses, KafkaMock, MemoryBroker, NatsServer


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory):
    """A real NATS server with JetStream, for all tests that leave it running."""
    server = NatsServer(tmp_path_factory.mktemp("nats")).start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def kafka():
    return KafkaMock()


@pytest.fixture(params=["memory", "nats", "kafka"])
def broker(request):
    """Each broker that there is an adapter for, and the one in memory that other tests use."""
    if request.param == "memory":
        return MemoryBroker()
    return AtAddresses(
        request.getfixturevalue({"nats": "nats_server"}.get(request.param, "kafka"))
    )
