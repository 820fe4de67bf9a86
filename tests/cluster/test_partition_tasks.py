"""Functions that run where the partitions are."""

import dask
import pytest

from toprank.cluster.partition_tasks import computed


def test_a_file_that_only_the_client_sees_is_named(one_worker):
    tasks = [dask.delayed(open)("/nowhere/1")]
    with pytest.raises(FileNotFoundError, match="a worker cannot read /nowhere/1; put"):
        computed(one_worker, tasks, "counting rows", None)
