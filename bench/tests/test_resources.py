"""What work takes: its peak of memory beyond what was held before."""

import numpy as np
import pytest

from toprank_bench import resources


@pytest.mark.skipif(not resources.has_peak(), reason="only Linux reports the peak")
def test_memory_that_was_freed_again_counts_and_what_was_held_before_does_not():
    held = np.ones(10_000_000)
    peak = resources.PeakMemory()
    taken = np.ones(5_000_000).nbytes / 2**20
    assert 0.9 * taken < peak.megabytes() < held.nbytes / 2**20


def test_without_a_peak_there_is_no_figure(monkeypatch):
    monkeypatch.setattr(resources, "has_peak", lambda: False)
    assert resources.PeakMemory().megabytes() is None
