"""Which clusters can be connected to."""

import socket
import time

import pytest

from dask_clusters import in_this_process
from toprank.cluster import dask_client
from toprank.cluster.dask_client import connected


@pytest.mark.parametrize(
    "address", ["nonsense", "host:8786", "tcp://host", "tcp://:8786", "tcp://h:p", "foo://h:1"]
)
def test_an_address_must_have_a_scheme_a_host_and_a_port(address):
    with pytest.raises(ValueError, match=f"address of a cluster .*{address}"):
        connected(address).__enter__()


def test_a_port_that_accepts_and_says_nothing_is_given_up_in_time(monkeypatch):
    monkeypatch.setattr(dask_client, "_SECONDS_TO_CONNECT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at {address} with"):
            connected(address).__enter__()
        assert time.monotonic() - began < 5


def test_a_cluster_without_workers_is_refused():
    with (
        in_this_process(n_workers=0) as machines,
        pytest.raises(ValueError, match=r"the cluster must have workers; tcp://127.0.0.1:\d+ has"),
        connected(machines.scheduler_address),
    ):
        pass
