"""Dask clusters on this machine, to train on in tests."""

from contextlib import contextmanager

import dask
from distributed import LocalCluster

from fork_server import fork_server
from toprank.rankers.boosted.xgboost_engine import import_xgboost


@contextmanager
def two_processes():
    """Give a cluster of two worker processes with a thread each."""
    fork_server()
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        LocalCluster(
            n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None
        ) as machines,
    ):
        with machines.get_client() as client:
            # the first import takes seconds; a test of its own should not
            client.run(import_xgboost)
        yield machines


@contextmanager
def in_this_process(n_workers):
    """Give a cluster of workers that are threads of this process."""
    with LocalCluster(
        n_workers=n_workers,
        processes=False,
        threads_per_worker=1,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address=None,
    ) as machines:
        yield machines
