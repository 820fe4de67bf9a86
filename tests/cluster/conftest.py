"""Clusters of one and of two workers, and payments in Parquet files to train on.

A cluster keeps a tenth of a core busy while nobody uses it, so none outlives its file of tests.
"""

import pytest
from distributed import Client

from cluster.made_payments import in_files, made_payments
from dask_clusters import in_this_process, two_processes
from toprank.cluster import tracker


@pytest.fixture(scope="module")
def two_workers():
    """A client of two workers, each a process of its own; for slow tests, as they take seconds."""
    with two_processes() as machines, Client(machines) as client:
        yield client


@pytest.fixture
def two_workers_to_kill():
    """Two workers for a single test: a killed one may not be replaced on a busy machine."""
    with two_processes() as machines, Client(machines) as client:
        yield client


@pytest.fixture(scope="module")
def one_worker():
    """A client of one worker in this process."""
    with in_this_process(n_workers=1) as machines, Client(machines) as client:
        yield client


@pytest.fixture
def placements(monkeypatch):
    """Which worker trained on which partitions, for each training of the test."""
    recorded = []
    place = tracker._partitions_by_worker

    def place_and_record(*arguments):
        recorded.append(place(*arguments))
        return recorded[-1]

    monkeypatch.setattr(tracker, "_partitions_by_worker", place_and_record)
    return recorded


@pytest.fixture(scope="session")
def payments():
    return made_payments()


@pytest.fixture
def source(payments, tmp_path):
    """A folder of three Parquet files, each with rows of all days."""
    return in_files(payments, tmp_path / "payments")
