"""Connects the workers: each gets its share of the rows, and they grow one set of trees."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Thread
from typing import Any
from uuid import uuid4

from toprank.cluster.dask_client import released
from toprank.cluster.liveness import wait_for
from toprank.cluster.worker import TOPIC, Work, grow_here
from toprank.rankers.boosted.plan import Plan

_LOCK = "toprank-training"
_SECONDS_TO_START = 300  # for all workers: each may have to end another task first


def grow(client: Any, encoded: list[Any], n_rows: list[int], work: Work) -> bytes:
    """Return the trees that the workers grow on their partitions, of `n_rows` rows each."""
    from distributed import Lock

    plan = work.plan
    run = uuid4().hex
    # `progress` may be any function and cannot be sent
    work = work._replace(plan=replace(plan, progress=None))
    # two trainings at the same time would block each other's workers for ever
    with client.as_current(), Lock(_LOCK):
        places = _partitions_by_worker(client, encoded, n_rows)
        processes = client.run(os.getpid, workers=list(places))
        with _tracker(client, next(iter(places)), len(places), run) as tracker:
            futures = {
                place: client.submit(
                    grow_here, rows, tracker, work, run, workers=[place], pure=False
                )
                for place, rows in places.items()
            }
            with released(client, list(futures.values())), _progress_reported(client, plan, run):
                wait_for(client, futures, processes)
                found = client.gather(list(futures.values()))
    plan.report(plan.n_estimators)
    return next(trees for trees in found if trees is not None)


def _partitions_by_worker(
    client: Any, encoded: list[Any], n_rows: list[int]
) -> dict[str, list[Any]]:
    """Return which worker trains on which partitions; a worker without any is left out."""
    who_has = client.who_has(encoded)
    held_by = [min(who_has[part.key]) for part in encoded]
    chosen = _balanced(held_by, n_rows, sorted(client.nthreads()))
    places: dict[str, list[Any]] = {}
    for part, place in zip(encoded, chosen, strict=True):
        places.setdefault(place, []).append(part)
    return dict(sorted(places.items()))


def _balanced(held_by: list[str], n_rows: list[int], workers: list[str]) -> list[str]:
    """Return a worker for each partition: the one that holds it, unless it has its fair share.

    The slowest worker sets the pace, and Dask tends to keep small tasks together.

    >>> _balanced(["a", "a", "a", "b"], n_rows=[10, 10, 10, 10], workers=["a", "b"])
    ['a', 'a', 'b', 'b']
    """
    fair = sum(n_rows) / len(workers)
    load = dict.fromkeys(workers, 0)
    chosen = list(held_by)
    spare = []
    for i, worker in enumerate(held_by):
        if load[worker] < fair:
            load[worker] += n_rows[i]
        else:
            spare.append(i)
    for i in sorted(spare, key=n_rows.__getitem__, reverse=True):
        chosen[i] = min(workers, key=load.__getitem__)
        load[chosen[i]] += n_rows[i]
    return chosen


@contextmanager
def _tracker(client: Any, host: str, n_workers: int, run: str) -> Iterator[dict[str, Any]]:
    """Give the address at which the workers of a run find each other; `host` is one of them."""
    tracker = client.run(_start_tracker, n_workers, run, workers=[host])[host]
    try:
        yield tracker
    except Exception:
        # release workers that are still connecting to one that was lost
        if host in client.nthreads():
            client.run(_stop_tracker, run, workers=[host], on_error="ignore")
        raise


_TRACKERS: dict[str, Any] = {}
"""On the worker that is host: the tracker of each run."""


def _start_tracker(n_workers: int, run: str, dask_worker: Any = None) -> dict[str, Any]:
    from distributed.comm import get_address_host
    from xgboost.tracker import RabitTracker

    tracker = RabitTracker(
        n_workers=n_workers,
        host_ip=get_address_host(dask_worker.address),
        sortby="task",
        timeout=_SECONDS_TO_START,
    )
    tracker.start()
    _TRACKERS[run] = tracker
    Thread(target=_attend, args=(tracker, run), daemon=True).start()
    return tracker.worker_args()


def _attend(tracker: Any, run: str) -> None:
    from xgboost.core import XGBoostError

    with suppress(XGBoostError):  # the errors of the workers are more precise
        tracker.wait_for()
    _stop_tracker(run)


def _stop_tracker(run: str) -> None:
    from xgboost.core import XGBoostError

    tracker = _TRACKERS.pop(run, None)
    if tracker is not None:
        with suppress(XGBoostError):
            tracker.free()


@contextmanager
def _progress_reported(client: Any, plan: Plan, run: str) -> Iterator[None]:
    """Report every tree of the run while it grows."""
    if plan.progress is None:
        yield
        return

    def report(event: tuple[float, dict[str, Any]]) -> None:
        _, news = event
        if news["run"] == run and news["n_grown"] < plan.n_estimators:
            plan.report(news["n_grown"])

    client.subscribe_topic(TOPIC, report)
    try:
        yield
    finally:
        client.unsubscribe_topic(TOPIC)
