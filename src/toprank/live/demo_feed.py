"""The payments of a demo's world, sent in fast time; claims days later; verdicts every day.

The first days are sent at once, and a line is printed when they have been: from then on the list
has cards for whoever looks at it. The world's investigators leave the first half of it to them.

Run as `python -m toprank.live.demo_feed FOLDER ADDRESS SECONDS_PER_DAY`.
"""

import heapq
import random
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from toprank.live.api_sender import Sender
from toprank.live.demo_world import COLUMNS, KEY, LATER, WORLD

_DAY = 86_400.0
_CLAIM_DAYS = (0.5, 4.0)  # after how many days a card holder reports a fraud
_HEAD_START = 3.6  # days that have passed when the demo begins, in the afternoon
_MOST_CHECKED = 200  # cards per day
_BATCH = 1_000
PAID = "the first days are paid"


class DemoPayments:
    """The payments of a world, and what its card holders and investigators know of them."""

    def __init__(self, folder: Path) -> None:
        self.rows = pq.read_table(folder / WORLD / LATER).to_pylist()
        self._is_fraud = {row["payment"]: row["is_fraud"] for row in self.rows}

    def verdicts(self, alerts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return what investigators say of the payments of alerts."""
        ids = [each for alert in alerts for each in alert["payments"]]
        source = {"source": "investigator"}
        return [{"id": each, "is_fraud": self._is_fraud[each], **source} for each in ids]

    def events(self) -> Iterator[tuple[float, dict[str, Any] | None, str | None]]:
        """Yield in order of time: the time, and a payment, a payment that is claimed, or neither.

        Neither is the end of a day, when investigators have checked their cards.
        """
        claims: list[tuple[float, str]] = []
        drawn, day = random.Random(0), None
        for row in self.rows:
            at = row["paid_at"].timestamp()
            if day is not None and at // _DAY > day:
                yield at, None, None
            day = at // _DAY
            while claims and claims[0][0] <= at:
                claimed_at, payment = heapq.heappop(claims)
                yield claimed_at, None, payment
            body = {name: row[name] for name in COLUMNS} | {"paid_at": row["paid_at"].isoformat()}
            yield at, body, None
            if row["is_fraud"]:
                heapq.heappush(claims, (at + drawn.uniform(*_CLAIM_DAYS) * _DAY, row["payment"]))


def pay(folder: Path, address: str, seconds_per_day: float) -> None:
    """Send all payments of a world at their times, claims of frauds later, verdicts every day."""
    sender, world = Sender(address, (folder / WORLD / KEY).read_text()), DemoPayments(folder)
    start, first, is_announced = time.monotonic(), None, False
    batch: list[dict[str, Any]] = []
    for at, payment, claimed in world.events():
        first = at if first is None else first
        due = start + ((at - first) / _DAY - _HEAD_START) * seconds_per_day
        is_early = due < time.monotonic()
        if batch and (not is_early or payment is None or len(batch) == _BATCH):
            sender.ask("POST", "/v1/payments", {"payments": batch})
            batch = []
        if not is_early and not is_announced:
            print(PAID, flush=True)
            is_announced = True
        time.sleep(max(due - time.monotonic(), 0.0))
        if payment is not None and is_early:
            batch.append(payment)
        elif payment is not None:
            sender.ask("POST", "/v1/payments", payment)
        elif claimed is not None:
            sender.ask("POST", "/v1/labels", {"id": claimed, "is_fraud": True})
        else:
            alerts = sender.ask("GET", f"/v1/alerts?limit={_MOST_CHECKED}")["alerts"]
            verdicts = world.verdicts(alerts[len(alerts) // 2 :])
            if verdicts:
                sender.ask("POST", "/v1/labels", {"labels": verdicts})


if __name__ == "__main__":
    with suppress(KeyboardInterrupt, ConnectionError):  # the server has been stopped
        pay(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
