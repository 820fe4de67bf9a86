"""The payments of a demo's world, sent to its server in fast time, and claims days later.

Run as `python -m toprank.live.demo_feed FOLDER ADDRESS SECONDS_PER_DAY`.
"""

import heapq
import http.client
import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq

from toprank.live.demo_world import COLUMNS, KEY, LATER, WORLD

_DAY = 86_400.0
_CLAIM_DAYS = (0.5, 4.0)  # after how many days a card holder reports a fraud
_PATIENCE = 30.0  # seconds for a server that is busy


class Sender:
    """Posts to a server over one connection, again while it is busy.

    Parameters
    ----------
    address, key
        The server, and the API key.
    """

    def __init__(self, address: str, key: str) -> None:
        self._connection = http.client.HTTPConnection(str(urlsplit(address).netloc), timeout=30)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def post(self, path: str, body: Any) -> int:
        """Send a body; return the status of the answer."""
        give_up = time.monotonic() + _PATIENCE
        while True:
            self._connection.request("POST", path, json.dumps(body), self._headers)
            answer = self._connection.getresponse()
            answer.read()
            if answer.status != 503 or time.monotonic() > give_up:
                return answer.status
            time.sleep(0.5)


def pay(folder: Path, address: str, seconds_per_day: float) -> None:
    """Send all payments of a world at their times, and the claims of frauds later."""
    sender = Sender(address, (folder / WORLD / KEY).read_text())
    start, first = time.monotonic(), None
    for at, path, body in events(folder):
        first = at if first is None else first
        due = start + (at - first) / _DAY * seconds_per_day
        time.sleep(max(due - time.monotonic(), 0.0))
        sender.post(path, body)


def events(folder: Path) -> Iterator[tuple[float, str, dict[str, Any]]]:
    """Yield payments and claims in order of time: the time, where to post, and what."""
    claims: list[tuple[float, str]] = []
    drawn = random.Random(0)
    for row in pq.read_table(folder / WORLD / LATER).to_pylist():
        at = row["paid_at"].timestamp()
        while claims and claims[0][0] <= at:
            claimed_at, payment = heapq.heappop(claims)
            yield claimed_at, "/v1/labels", {"id": payment, "is_fraud": True, "source": "claim"}
        body = {name: row[name] for name in COLUMNS} | {"paid_at": row["paid_at"].isoformat()}
        yield at, "/v1/payments", body
        if row["is_fraud"]:
            heapq.heappush(claims, (at + drawn.uniform(*_CLAIM_DAYS) * _DAY, row["payment"]))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt, ConnectionError):  # the server has been stopped
        pay(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
