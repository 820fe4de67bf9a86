"""Runs a function on every partition of a Dask frame, where its rows are."""

from collections.abc import Callable
from typing import Any

from toprank.cluster.dask_client import import_dask, lost_workers_named, released
from toprank.rankers.progress import Progress


def for_each_partition(frame: Any, function: Callable[..., Any], *shared: Any) -> list[Any]:
    """Return the tasks `function(partition, its number, *shared)`."""
    delayed = import_dask().delayed
    # not optimised, as files might be joined differently each time: buckets depend on the number
    partitions = frame.to_delayed(optimize_graph=False)
    once = [delayed(each, traverse=False) for each in shared]
    return [delayed(function)(part, number, *once) for number, part in enumerate(partitions)]


def computed(client: Any, tasks: list[Any], what: str, progress: Progress | None) -> list[Any]:
    """Return the results of the tasks, which should be small; `progress` counts those done."""
    from distributed import as_completed

    with lost_workers_named(), client.as_current():
        futures = client.compute(tasks)
        with released(client, futures):
            for n_done, future in enumerate(as_completed(futures), start=1):
                if future.status == "error":
                    _raise_of(future)
                if progress is not None:
                    progress(what, n_done, len(futures))
            return client.gather(futures)


def _raise_of(future: Any) -> None:
    try:
        future.result()
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"a worker cannot read {error.filename or error}; put the files where every worker "
            "can read them under the same name."
        ) from None
