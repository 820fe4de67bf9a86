"""What work takes: its peak of memory beyond what was held before."""

import os

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


def test_time_that_the_host_took_away_is_not_time_worked(tmp_path, monkeypatch):
    stat = tmp_path / "stat"
    stat.write_text("cpu  300 20 100 5000 60 7 13 900 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    monkeypatch.setattr(resources, "_STAT", stat)
    tick = os.sysconf("SC_CLK_TCK")
    assert resources.core_seconds() == (440 / tick, 900 / tick)


def test_systems_that_do_not_say_have_no_core_seconds(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "_STAT", tmp_path / "none")
    assert resources.core_seconds() == (0.0, 0.0)
