"""Fits with several threads on a machine that has other work: idle threads that spin, or do not.

`import toprank` makes idle OpenMP threads wait passively. The rival is the same fit with threads
that spin, OpenMP's default. Each fit runs in a process of its own, since OpenMP reads its policy
once; the other work is as many busy processes as there are threads.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from toprank_bench.speed.own_process import numbers_printed
from toprank_bench.speed.race import Measured, Race, Setting

_FIT = """
import time
import numpy as np
from toprank import BoostedRanker
generator = np.random.default_rng(0)
features = generator.standard_normal(({rows}, {columns}), dtype=np.float32)
is_positive = features[:, 0] + generator.standard_normal({rows}) > 2.5
ranker = BoostedRanker(n_estimators={trees}, n_jobs={threads})
ranker.fit(features, is_positive)
begin = time.perf_counter()
ranker.fit(features, is_positive)
print(time.perf_counter() - begin)
"""
_SPINNING = {"OMP_WAIT_POLICY": "active"}
_PASSIVE = {"OMP_WAIT_POLICY": "passive"}


def _on_a_busy_machine(setting: Setting) -> Measured:
    with _busy_processes(setting.n_threads):
        return _on_a_quiet_machine(setting)


def _on_a_quiet_machine(setting: Setting) -> Measured:
    code = _FIT.format(threads=setting.n_threads, **setting.shape)
    rounds = []
    for _ in range(setting.shape["rounds"]):
        ((passive,), (spinning,)) = (
            numbers_printed(["-c", code], policy) for policy in (_PASSIVE, _SPINNING)
        )
        rounds.append((passive, spinning))
    facts = {
        "our_seconds": median(passive for passive, _ in rounds),
        "their_seconds": median(spinning for _, spinning in rounds),
    }
    return Measured([passive / spinning for passive, spinning in rounds], facts)


@contextmanager
def _busy_processes(n_processes: int) -> Iterator[None]:
    processes = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_processes)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


_SHAPE = {"rows": 3000, "columns": 10, "trees": 20, "rounds": 5}

RACES = (
    Race(
        name="threads-on-a-busy-machine",
        what="BoostedRanker with passive threads, cores busy with other work",
        against="threads that spin",
        unit="times as long",
        measure=_on_a_busy_machine,
        shape=_SHAPE,
        quick={"rounds": 1},
        minutes=(1.0, 0.3),
        at_most=1.0,
        is_threaded=True,
    ),
    Race(
        name="threads-on-a-quiet-machine",
        what="BoostedRanker with passive threads, no other work",
        against="threads that spin",
        unit="times as long",
        measure=_on_a_quiet_machine,
        shape=_SHAPE,
        quick={"rounds": 1},
        minutes=(0.7, 0.2),
        is_threaded=True,
    ),
)
