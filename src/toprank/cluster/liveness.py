"""Supervises workers that grow trees, any of which may fail or be lost."""

import os
from contextlib import suppress
from time import monotonic, sleep
from typing import Any

from toprank.cluster.dask_client import LostWorkerError

_SECONDS_TO_MISS_A_WORKER = 5
_SECONDS_TO_END = 5


def wait_for(client: Any, futures: dict[str, Any], processes: dict[str, int]) -> None:
    """Return when all workers are done; raise when one is lost or fails.

    `futures` and the ids of the workers' `processes` are by the address of the worker.
    """
    from distributed import wait

    pending = set(futures.values())
    try:
        while pending:
            with suppress(TimeoutError):
                pending = wait(pending, timeout=1, return_when="FIRST_COMPLETED").not_done
            if any(future.status == "error" for future in futures.values()):
                _check_for_a_loss(client, processes)
                _raise_of(futures)
            _check_complete(processes, set(client.nthreads()))
    except Exception:
        # the others notice by themselves, and must end before their tasks can be released
        there = client.nthreads()
        with suppress(TimeoutError):
            wait([futures[each] for each in there if each in futures], timeout=_SECONDS_TO_END)
        raise


def _check_for_a_loss(client: Any, processes: dict[str, int]) -> None:
    """Raise if a lost worker made the others fail; Dask may not know of it yet."""
    until = monotonic() + _SECONDS_TO_MISS_A_WORKER
    while monotonic() < until:
        now = client.run(os.getpid, workers=list(client.nthreads()), on_error="ignore")
        # a worker restarted at the same address is another process, without the rows
        _check_complete(
            processes, {a for a, process in now.items() if processes.get(a) == process}
        )
        sleep(0.2)


def _check_complete(processes: dict[str, int], there: set[str]) -> None:
    lost = sorted(set(processes) - there)
    if lost:
        one = len(lost) == 1
        raise LostWorkerError(
            f"{'worker' if one else 'workers'} {', '.join(lost)} {'was' if one else 'were'} lost "
            f"while the trees grew, and {'its' if one else 'their'} rows too; no model was made. "
            "The log there shows why; if memory ran out, give workers more memory or add some. "
            "Then fit again."
        )


def _raise_of(futures: dict[str, Any]) -> None:
    """Raise what went wrong first of all; a lost connection to another worker comes last."""
    from xgboost.core import XGBoostError

    errors = [future.exception() for future in futures.values() if future.status == "error"]
    raise min(errors, key=lambda error: isinstance(error, XGBoostError))
