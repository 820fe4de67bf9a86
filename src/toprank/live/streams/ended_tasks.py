"""Ending a task for certain."""

import asyncio
from contextlib import suppress

_AGAIN = 0.5  # seconds


async def end_task(task: asyncio.Task[None]) -> None:
    """Cancel a task until it has ended, and raise what it has ended with.

    Once is not enough: before Python 3.12, `asyncio.wait_for` can lose a cancellation that comes
    at the moment of a result, and a task that reads for ever would go on.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_AGAIN)
    with suppress(asyncio.CancelledError):
        task.result()
