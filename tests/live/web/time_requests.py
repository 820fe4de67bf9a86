"""Prints the web's own time per payment: the application with an engine that answers at once.

PYTHONPATH=src:tests python tests/live/web/time_requests.py
"""

import asyncio
import json
import tempfile
import time

import numpy as np

from live.web.asgi_client import AsgiClient
from live.web.fake_desk import FakeDesk, payment, with_key
from toprank.live.web.application import create_app

N_REQUESTS, N_BATCHES, N_IN_BATCH = 20_000, 30, 1_000


async def seconds_of(client, bodies):
    """The seconds of each request, sent one after the other: of the clock, and of the processor.

    The latter do not depend on what else the machine does.
    """
    found = []
    for body in bodies:
        begin, worked = time.perf_counter(), time.process_time()
        reply = await client.ask("POST", "/v1/payments", body)
        found.append((time.perf_counter() - begin, time.process_time() - worked))
        assert reply.status == 200
    return found


async def main(folder):
    database, key = with_key(folder)
    client = AsgiClient(create_app(FakeDesk(database, key)), key)
    sent = [payment(tx=f"t{i}", country="FR", online=True) for i in range(N_REQUESTS)]
    single = await seconds_of(client, [json.dumps(each).encode() for each in sent])
    batches = [
        json.dumps({"payments": [payment(tx=f"b{i}-{j}") for j in range(N_IN_BATCH)]}).encode()
        for i in range(N_BATCHES)
    ]
    of_batches = await seconds_of(client, batches)
    for what, seconds in (("one payment", single[1_000:]), ("1,000 payments", of_batches[1:])):
        for clock, column in zip(("elapsed", "processor"), np.transpose(seconds), strict=True):
            middle, late = 1e3 * np.percentile(column, [50, 99])
            print(f"{what:15} {clock:9}  p50 {middle:.3f} ms  p99 {late:.3f} ms")
    database.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(folder))
