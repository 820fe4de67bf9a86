"""Payments and labels from streams into a desk, with a broker in memory that can fail."""

import asyncio
import json

import pytest

from live import desks
from live.streams.brokers import MemoryBroker
from toprank.live.engine.decision_engine import DecisionEngine
from toprank.live.messages import BusyError
from toprank.live.store import label_table, payment_log, stream_position_table, stream_reject_table
from toprank.live.streams.stream_intake import LabelIntake, PaymentIntake
from toprank.live.streams.stream_outlet import alerts_outlet, decisions_outlet
from toprank.live.web.payment_reader import PaymentReader
from toprank.live.web.service_metrics import ServiceMetrics

PAYMENTS, LABELS, DECISIONS, ALERTS = "payments", "labels", "decisions", "alerts"


def body(payment, **changes):
    return json.dumps(payment.body | {"paid_at": payment.paid_at / 1e6} | changes).encode()


class Streaming:
    """A desk that reads and writes streams of a broker in memory."""

    def __init__(self, desk, broker):
        self.desk, self.broker = desk, broker
        self.engine = DecisionEngine(desks.live(desk))
        self.metrics = ServiceMetrics(self.engine.facts)
        live = self.engine.desk
        reader = PaymentReader(live.fields, False, live.settings.times)
        parts = self.engine, self.metrics
        self.payments = PaymentIntake(broker.source(PAYMENTS), *parts, reader)
        self.labels = LabelIntake(broker.source(LABELS), *parts, self.payments)
        self.outlets = [
            decisions_outlet(broker.sink(DECISIONS), *parts),
            alerts_outlet(broker.sink(ALERTS), *parts),
        ]

    def run(self, until, seconds=20.0, during=None):
        """Let all of them work until something is true."""

        async def whole():
            for each in self.outlets:
                each.begin()
            await self.engine.start()
            jobs = [
                asyncio.create_task(each.run())
                for each in (self.payments, self.labels, *self.outlets)
            ]
            loop = asyncio.get_running_loop()
            end = loop.time() + seconds
            while not until():
                assert loop.time() < end, "it did not come to be so"
                if during is not None:
                    during()
                await asyncio.sleep(0.01)
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
            await self.engine.stop()
            self.engine.desk.close()

        asyncio.run(whole())

    def logged(self):
        with self.desk.database.reading() as connection:
            return list(payment_log.after(connection, 0))

    def rejects(self):
        with self.desk.database.reading() as connection:
            return stream_reject_table.newest(connection, 100)

    def taken(self, name):
        with self.desk.database.reading() as connection:
            return stream_position_table.of_stream(connection, f"memory://{name}").get(0)

    def published(self, name):
        return [json.loads(each) for _, each in self.broker.streams[name]]


@pytest.fixture
def broker():
    made = MemoryBroker()
    for name in (PAYMENTS, LABELS, DECISIONS, ALERTS):
        made.make(name)
    return made


@pytest.fixture
def streaming(desk, broker):
    return Streaming(desk, broker)


def test_payments_of_a_stream_are_decided_in_order_and_their_decisions_published(
    streaming, broker, later
):
    broker.send(PAYMENTS, [body(each) for each in later[:150]])
    streaming.run(lambda: len(broker.streams[DECISIONS]) == 150)
    assert [row.id for row in streaming.logged()] == [each.id for each in later[:150]]
    published = streaming.published(DECISIONS)
    assert [each["id"] for each in published] == [each.id for each in later[:150]]
    assert set(published[0]) == {"id", "card", "decision", "rules", "received_at"}
    assert streaming.taken(PAYMENTS) == 150 and streaming.rejects() == []


def test_features_are_those_of_payments_that_came_by_http(
    streaming, broker, later, model_file, tmp_path
):
    broker.send(PAYMENTS, [body(each) for each in later[:60]])
    streaming.run(lambda: streaming.taken(PAYMENTS) == 60)
    with desks.new_desk(tmp_path / "other", model_file) as other:
        live = desks.live(other)
        live.decide(later[:60])
        with other.database.reading() as connection:
            expected = [row.features for row in payment_log.after(connection, 0)]
        live.close()
    assert [row.features for row in streaming.logged()] == expected


def test_messages_that_are_no_payments_are_rejected_with_the_reason_and_stop_nothing(
    streaming, broker, later
):
    first, other = later[:2]
    broker.send(
        PAYMENTS,
        [
            b"{not json", body(first, amount="12,50"), b"[]", b"\xff\xfe", body(first),
            body(first, amount=7e6), b'{"note": "' + b"x" * 70_000 + b'"}', body(first),
            body(other, card="4539148803436467"), body(other),
        ],
    )  # fmt: skip
    streaming.run(lambda: streaming.taken(PAYMENTS) == 10)
    assert [row.id for row in streaming.logged()] == [first.id, other.id]
    found = {each.position: (each.code, each.reason) for each in streaming.rejects()}
    codes = {1: "malformed", 2: "invalid", 3: "invalid", 4: "malformed", 6: "conflict",
             7: "too_large", 9: "card_number"}  # fmt: skip
    assert {at: code for at, (code, _) in found.items()} == codes
    assert "amount must be a number" in found[2][1] and "'12,50'" in found[2][1]
    assert first.id in found[6][1] and "4539148803436467" not in found[9][1]
    text = streaming.metrics.text().decode()
    assert 'toprank_stream_rejects_total{stream="memory://payments"} 7.0' in text


def test_labels_wait_for_payments_that_are_on_their_way(streaming, broker, later):
    known = [json.dumps({"id": each.id, "is_fraud": True}).encode() for each in later[:3]]
    broker.send(LABELS, [*known, b'{"id": "never-paid", "is_fraud": true}', b'{"id": 1}'])
    broker.send(PAYMENTS, [body(each) for each in later[:900]])
    streaming.run(lambda: streaming.taken(LABELS) == 5)
    with streaming.desk.database.reading() as connection:
        given = {each.id: each.who for each in label_table.after(connection, 0)}
    assert {each.id for each in later[:3]} <= set(given)
    assert given[later[0].id] == "stream:memory://labels"
    reasons = {each.code: each.reason for each in streaming.rejects()}
    assert set(reasons) == {"missing", "unknown_payment"}
    assert "never-paid" in reasons["unknown_payment"]


def test_alerts_are_published_when_they_open_and_when_they_end(desk, broker, later):
    streaming = Streaming(desk, broker)
    broker.send(PAYMENTS, [body(each) for each in later[:400]])
    streaming.run(lambda: streaming.taken(PAYMENTS) == 400 and broker.streams[ALERTS])
    first = streaming.published(ALERTS)[0]
    assert first["happened"] == "opened" and 0 < first["probability"] < 1
    assert set(first["payments"]) <= {each.id for each in later[:400]}
    again = Streaming(desk, broker)
    payment = first["payments"][0]
    broker.send(LABELS, [json.dumps({"id": payment, "is_fraud": True}).encode()])

    def is_closed():
        return any(
            each["alert"] == first["alert"] and each["state"] == "closed"
            for each in again.published(ALERTS)
        )

    again.run(is_closed)
    ids = [each for each, _ in broker.streams[ALERTS]]
    assert len(set(ids)) == len(ids)


def test_what_is_published_begins_when_the_setting_does(desk, broker, later):
    live = desks.live(desk)
    live.decide(later[:5])
    live.close()
    streaming = Streaming(desk, broker)
    broker.send(PAYMENTS, [body(later[5])])
    streaming.run(lambda: broker.streams[DECISIONS])
    assert [each["id"] for each in streaming.published(DECISIONS)] == [later[5].id]


def test_a_broker_that_fails_again_and_again_loses_and_doubles_nothing(streaming, broker, later):
    broker.send(PAYMENTS, [body(each) for each in later[:700]])
    turns = iter(range(10**9))

    def fail():
        # it is away for some of the time, in the middle of whatever happens then
        broker.is_down = next(turns) % 9 == 0

    streaming.run(lambda: len(broker.streams[DECISIONS]) >= 700, seconds=60, during=fail)
    ids = [each.id for each in later[:700]]
    assert [row.id for row in streaming.logged()] == ids
    assert [each["id"] for each in streaming.published(DECISIONS)] == ids


def test_a_commit_that_fails_comes_again_with_its_position(streaming, broker, later, monkeypatch):
    broker.send(PAYMENTS, [body(each) for each in later[:100]])
    put, failures = stream_position_table.put, iter([BusyError(0.01), ValueError("disk is full")])

    def fails_at_first(connection, stream, positions):
        if stream == "memory://payments" and (error := next(failures, None)) is not None:
            raise error
        put(connection, stream, positions)

    monkeypatch.setattr(stream_position_table, "put", fails_at_first)
    streaming.run(lambda: streaming.taken(PAYMENTS) == 100)
    assert [row.id for row in streaming.logged()] == [each.id for each in later[:100]]
