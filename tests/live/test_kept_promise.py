"""Two weeks of a made-up world at a desk: what the queue promises is what its checks find."""

import heapq
import random

import pyarrow.parquet as pq
import pytest

from live import desks
from toprank.live.checks import queue
from toprank.live.demo_world import CAPACITY, COLUMNS, LATER, WORLD, make_world
from toprank.live.desk import Desk
from toprank.live.messages import LabelGiven
from toprank.live.store import alert_table
from toprank.live.web.payment_reader import PaymentReader

DAY = 86_400_000_000
N_DAYS, AT_ONCE = 14, 50


def microseconds(row):
    return int(row["paid_at"].timestamp() * 1_000_000)


class Shift:
    """Pays the world's payments, has frauds claimed days later, and checks cards every evening."""

    def __init__(self, live, rows):
        self.live, self.rows = live, rows
        self.reader = PaymentReader(live.fields, False, live.settings.times)
        self.is_fraud = {row["payment"]: row["is_fraud"] for row in rows}
        self.claims, self.drawn = [], random.Random(0)

    def pay(self, day):
        for begin in range(0, len(day), AT_ONCE):
            some = day[begin : begin + AT_ONCE]
            self.live.decide([self.payment(row) for row in some])
            while self.live.n_unscored:
                self.live.score_some(64)
            self.claim()

    def payment(self, row):
        at = microseconds(row)
        if row["is_fraud"]:
            due = at + self.drawn.uniform(0.5, 4) * DAY
            heapq.heappush(self.claims, (due, row["payment"]))
        body = {name: row[name] for name in COLUMNS} | {"paid_at": row["paid_at"].isoformat()}
        return self.reader.payment(body, at)

    def claim(self):
        due = []
        while self.claims and self.claims[0][0] <= self.live.now():
            due.append(heapq.heappop(self.claims)[1])
        if due:
            given = [LabelGiven(each, True, None, "claim") for each in due]
            self.live.label(given, "key:claims")

    def check(self):
        """Decide the first cards of the queue; return how many frauds were expected, and found."""
        with self.live.desk.database.reading() as connection:
            rows = queue.queue(connection, CAPACITY)
            ids = alert_table.payments_of(connection, [row.alert for row in rows])
        paid = [each for row in rows for each in ids[row.alert]]
        verdicts = [LabelGiven(each, self.is_fraud[each], None, "investigator") for each in paid]
        self.live.label(verdicts, "person:anna")
        found = sum(any(self.is_fraud[each] for each in ids[row.alert]) for row in rows)
        return sum(row.expected for row in rows), found


@pytest.mark.slow
def test_the_frauds_that_are_found_are_as_many_as_were_expected(tmp_path):
    make_world(tmp_path / "world")
    rows = pq.read_table(tmp_path / "world" / WORLD / LATER).to_pylist()
    first = microseconds(rows[0]) // DAY
    with Desk.open(tmp_path / "world") as desk:
        live = desks.live(desk)
        shift, expected, found = Shift(live, rows), 0.0, 0
        for day in range(first, first + N_DAYS):
            shift.pay([row for row in rows if microseconds(row) // DAY == day])
            outcome = shift.check()
            expected, found = expected + outcome[0], found + outcome[1]
        live.close()
    assert found > 50
    assert 0.8 < found / expected < 1.25
