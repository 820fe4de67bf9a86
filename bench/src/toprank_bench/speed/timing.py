"""Clocks: two kinds of work in turns, one alone, and one row after the other."""

import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from toprank_bench.speed.race import Measured

Work = Callable[[], Any]


def times_as_long(ours: Work, theirs: Work, n_rounds: int, **facts: Any) -> Measured:
    """Return how many times the rival's seconds ours takes, round by round, one after the other.

    Ours runs once before the clock starts, since it may have to be compiled.

    >>> times_as_long(lambda: None, lambda: time.sleep(0.01), 1).rounds[0] < 1
    True
    """
    ours()
    rounds = [(seconds(ours), seconds(theirs)) for _ in range(n_rounds)]
    both = {
        "our_seconds": statistics.median(own for own, _ in rounds),
        "their_seconds": statistics.median(rival for _, rival in rounds),
    }
    return Measured([own / rival for own, rival in rounds], {**both, **facts})


def times_as_fast(ours: Work, theirs: Work, n_rounds: int, **facts: Any) -> Measured:
    """Return how many times as much ours does in the same time, round by round."""
    measured = times_as_long(ours, theirs, n_rounds, **facts)
    return measured._replace(rounds=[1 / ratio for ratio in measured.rounds])


def seconds_alone(work: Work, n_rounds: int, **facts: Any) -> Measured:
    """Return the seconds of work that has no rival, after a first time that is not counted."""
    work()
    return Measured([seconds(work) for _ in range(n_rounds)], facts)


def milliseconds_each(
    work: Callable[[Any], Any], rows: Iterable[Any], n_rounds: int, **facts: Any
) -> Measured:
    """Return the median milliseconds of one row, over as many parts of the rows as rounds."""
    taken = []
    for row in rows:
        begin = time.perf_counter()
        work(row)
        taken.append(1000 * (time.perf_counter() - begin))
    parts = np.array_split(taken, n_rounds)
    slowest = {"p99": float(np.percentile(taken, 99)), "largest": max(taken)}
    return Measured([float(np.median(part)) for part in parts], {**slowest, **facts})


def seconds(work: Work) -> float:
    """Return the seconds that work takes, once."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
