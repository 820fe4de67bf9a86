"""How long the first small fit of a process takes: kernels are compiled once and kept on disk."""

from collections.abc import Callable
from tempfile import TemporaryDirectory

from toprank_bench.speed.own_process import numbers_printed
from toprank_bench.speed.race import Measured, Race, Setting

_FIT = """
import time
import numpy as np
from toprank import MetaAP
features = np.random.default_rng(0).standard_normal(({rows}, {columns}), dtype=np.float32)
is_positive = features[:, 0] > 1
begin = time.perf_counter()
MetaAP().fit(features, is_positive).suspicion(features)
print(time.perf_counter() - begin)
"""


def _after_install(setting: Setting) -> Measured:
    return _rounds(setting, _first_seconds)


def _in_a_later_process(setting: Setting) -> Measured:
    def later(setting: Setting, cache: str) -> float:
        _first_seconds(setting, cache)
        return _first_seconds(setting, cache)

    return _rounds(setting, later)


def _rounds(setting: Setting, seconds: Callable[[Setting, str], float]) -> Measured:
    """Return the seconds of every round, each of which begins with nothing compiled."""
    rounds = []
    for _ in range(setting.shape["rounds"]):
        with TemporaryDirectory() as cache:
            rounds.append(seconds(setting, cache))
    return Measured(rounds, {})


def _first_seconds(setting: Setting, cache: str) -> float:
    """Return the seconds of a fit in a new process that keeps its kernels in this folder."""
    code = _FIT.format(rows=setting.shape["rows"], columns=setting.shape["columns"])
    (seconds,) = numbers_printed(["-c", code], {"NUMBA_CACHE_DIR": cache})
    return seconds


RACES = (
    Race(
        name="first-fit-after-install",
        what="MetaAP, the first fit of all",
        against="",
        unit="seconds",
        measure=_after_install,
        shape={"rows": 300, "columns": 5, "rounds": 3},
        quick={"rounds": 1},
        minutes=(1.2, 0.4),
        at_most=20.0,
    ),
    Race(
        name="first-fit-of-a-process",
        what="MetaAP, the first fit of a later process",
        against="",
        unit="seconds",
        measure=_in_a_later_process,
        shape={"rows": 300, "columns": 5, "rounds": 3},
        quick={"rounds": 1},
        minutes=(1.2, 0.4),
        at_most=2.0,
    ),
)
