"""Machines that add up their totals, in threads of one process."""

import threading

import numpy as np


def machines(n):
    """One `across` function for each of n machines that run at the same time."""
    barrier, posted = threading.Barrier(n), {}

    def across_of(machine):
        def across(vector, how):
            posted[machine] = vector
            barrier.wait(timeout=10)
            stacked = np.array([posted[i] for i in range(n)])
            barrier.wait(timeout=10)
            return stacked.sum(0) if how == "sum" else stacked.max(0)

        return across

    return [across_of(machine) for machine in range(n)]
