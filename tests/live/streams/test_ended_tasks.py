import asyncio

import pytest

from toprank.live.streams.ended_tasks import end_task


def test_a_task_that_loses_a_cancellation_is_ended_all_the_same():
    async def work():
        seen = []

        async def deaf():
            while True:
                try:
                    await asyncio.sleep(10)
                except asyncio.CancelledError:
                    seen.append(1)
                    if len(seen) > 1:
                        raise

        task = asyncio.create_task(deaf())
        await asyncio.sleep(0)
        await end_task(task)
        return seen, task.cancelled()

    assert asyncio.run(work()) == ([1, 1], True)


def test_what_a_task_has_failed_with_is_raised():
    async def work():
        async def failing():
            raise ValueError("it failed")

        task = asyncio.create_task(failing())
        await asyncio.sleep(0)
        with pytest.raises(ValueError, match="it failed"):
            await end_task(task)

    asyncio.run(work())
