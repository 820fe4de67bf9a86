"""The Dask client: how to connect, what the cluster must have, and how results are released."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

_SECONDS_TO_CONNECT = 10


class LostWorkerError(RuntimeError):
    """A worker was lost during the training, and its rows with it."""


def import_dask() -> Any:
    """Return the dask module with its data frames, or say how to install it."""
    try:
        import dask.dataframe
        import distributed  # noqa: F401
    except ImportError:
        raise ImportError(
            "training on a cluster needs Dask, which is not installed; "
            'install it with: pip install "toprank[dask]".'
        ) from None
    return dask


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Give a client of the Dask scheduler at `address`, for example tcp://host:8786."""
    import_dask()
    from distributed import Client

    _check_address(address)
    try:
        asyncio.run(asyncio.wait_for(_answered(address), _SECONDS_TO_CONNECT))
        client = Client(address, timeout=_SECONDS_TO_CONNECT)
    except (OSError, TimeoutError):
        raise ConnectionError(
            f"no Dask scheduler answers at {address} within {_SECONDS_TO_CONNECT} seconds; start "
            "one there with: dask scheduler, or name the address that its log shows."
        ) from None
    with client:
        check_workers(client)
        yield client


async def _answered(address: str) -> None:
    """Return once a Dask scheduler has answered; the client would wait for it without end."""
    from distributed.comm import connect
    from distributed.security import Security

    options = Security().get_connection_args("client")
    comm = await connect(address, timeout=_SECONDS_TO_CONNECT, **options)
    await comm.close()


def check_workers(client: Any) -> None:
    """Raise a ValueError unless the cluster has workers."""
    if not client.nthreads():
        address = client.scheduler.address
        raise ValueError(
            f"the cluster must have workers; {address} has none. "
            f"Start some with: dask worker {address}"
        )


@contextmanager
def lost_workers_named() -> Iterator[None]:
    """Turn Dask's error for a task that killed several workers into a `LostWorkerError`."""
    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise LostWorkerError(
            f"several workers were lost on one partition, last {error.last_worker.address}; no "
            "model was made. Most likely they ran out of memory: make partitions smaller or give "
            "workers more memory, then fit again."
        ) from None


@contextmanager
def released(client: Any, futures: list[Any]) -> Iterator[None]:
    """Make the workers forget the futures at the end, even if something here still refers to them.

    The traceback of an error or an interrupt would otherwise keep them alive.
    """
    try:
        yield
    finally:
        client.cancel(futures)


def _check_address(address: str) -> None:
    try:
        parts = urlsplit(address)
        is_whole = bool(
            parts.scheme in ("tcp", "tls", "ws", "wss") and parts.hostname and parts.port
        )
    except ValueError:
        is_whole = False
    if not is_whole:
        raise ValueError(
            f"the address of a cluster must look like tcp://host:8786; got {address!r}."
        )
