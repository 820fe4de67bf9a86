"""Clusters of one and of two workers, and payments in Parquet files to train on."""

import pytest
from distributed import Client

from cluster.made_payments import in_files, made_payments
from dask_clusters import in_this_process, two_processes
from toprank.cluster import tracker


@pytest.fixture(scope="session")
def client():
    """A client of two workers, each a process of its own."""
    with two_processes() as machines, Client(machines) as client:
        yield client


@pytest.fixture
def client_to_hurt():
    """Two workers for one test alone: a killed one may not come back on a busy machine."""
    with two_processes() as machines, Client(machines) as client:
        yield client


@pytest.fixture(scope="session")
def one_worker():
    """A client of one worker in this process."""
    with in_this_process(n_workers=1) as machines, Client(machines) as client:
        yield client


@pytest.fixture
def places(monkeypatch):
    """Which worker trained on which partitions, noted for each training of the test."""
    noted = []
    find = tracker._places

    def found_and_noted(*arguments):
        noted.append(find(*arguments))
        return noted[-1]

    monkeypatch.setattr(tracker, "_places", found_and_noted)
    return noted


@pytest.fixture(scope="session")
def payments():
    return made_payments()


@pytest.fixture
def source(payments, tmp_path):
    """A folder of three Parquet files, each with rows of all days."""
    return in_files(payments, tmp_path / "payments")
