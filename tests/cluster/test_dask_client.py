"""Which clusters can be connected to."""

import pytest

from dask_clusters import in_this_process
from toprank.cluster.dask_client import connected


@pytest.mark.parametrize(
    "address", ["nonsense", "host:8786", "tcp://host", "tcp://:8786", "tcp://h:p", "foo://h:1"]
)
def test_an_address_must_have_a_scheme_a_host_and_a_port(address):
    with pytest.raises(ValueError, match=f"address of a cluster .*{address}"):
        connected(address).__enter__()


def test_a_cluster_without_workers_is_refused():
    with (
        in_this_process(n_workers=0) as machines,
        pytest.raises(ValueError, match=r"the cluster must have workers; tcp://127.0.0.1:\d+ has"),
        connected(machines.scheduler_address),
    ):
        pass
