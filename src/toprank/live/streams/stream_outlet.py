"""Decisions and alerts to streams: each once, in their order, from what is stored of them anyway.

The log of payments and the audit are the outbox: how far they were published is stored. After a
crash, what follows is published again, except for messages that the broker has already.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.engine.decision_engine import DecisionEngine
from toprank.live.messages import BusyError
from toprank.live.store import alert_table, payment_log, stream_position_table
from toprank.live.store.audit_chain import audit
from toprank.live.store.payment_log import KnownPayment, payments
from toprank.live.streams.stream_contracts import BrokerError, OutMessage, StreamSink
from toprank.live.streams.stream_watcher import StreamWatcher
from toprank.live.web.field_readers import iso_text

_log = logging.getLogger("toprank.live")

_AT_ONCE = 500
_BETWEEN = 0.05  # seconds between two looks while there is nothing to publish
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0  # seconds after a failure, doubled up to


class Published(NamedTuple):
    """Messages to be published, and the number of the last row that they are about."""

    messages: list[OutMessage]
    until: int


ReadRows = Callable[[sa.Connection, int], Published]
"""Returns the next messages after a number."""


class StreamOutlet:
    """Publishes rows in the order of their numbers until it is cancelled.

    Parameters
    ----------
    sink
        Where they are published.
    engine
        What decides, and stores between two payments how far it was published.
    watcher
        What counts what happens.
    read
        What returns the messages after a number; `newest` the newest number there is.
    """

    def __init__(
        self,
        sink: StreamSink,
        engine: DecisionEngine,
        watcher: StreamWatcher,
        read: ReadRows,
        newest: Callable[[sa.Connection], int],
    ) -> None:
        self.sink, self._engine, self._watcher = sink, engine, watcher
        self._read, self._newest = read, newest
        self._database = engine.desk.desk.database
        self._fault = ""

    def begin(self) -> None:
        """Store where it begins, unless it has begun: what was there before is not published."""
        with self._database.writing() as connection:
            if not stream_position_table.of_stream(connection, self.sink.name):
                positions = {0: self._newest(connection)}
                stream_position_table.put(connection, self.sink.name, positions)

    async def run(self) -> None:
        """Publish for ever; where the broker fails, begin again where it was."""
        pause = _FIRST_PAUSE
        try:
            while True:
                try:
                    await self.sink.open(2 * _AT_ONCE)
                    if self._fault:
                        _log.warning("%s is written to again.", self.sink.name)
                    self._fault, pause = "", _FIRST_PAUSE
                    self._watcher.saw_connection(self.sink.name, True)
                    while True:
                        if not await self._publish_some():
                            await asyncio.sleep(_BETWEEN)
                except BrokerError as error:
                    self._note(str(error))
                except Exception as error:
                    _log.exception("%s could not be published to.", self.sink.name)
                    self._note(str(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            await self.sink.close()

    def _note(self, fault: str) -> None:
        self._watcher.saw_connection(self.sink.name, False)
        if fault != self._fault:
            _log.warning("%s (It is tried again every few seconds.)", fault)
        self._fault = fault

    async def _publish_some(self) -> bool:
        """Publish what comes next; return False if there is nothing."""
        with self._database.reading() as connection:
            after = stream_position_table.of_stream(connection, self.sink.name).get(0, 0)
            found = self._read(connection, after)
        if found.until == after:
            return False
        if found.messages:
            await self.sink.publish(found.messages)

        def store(connection: sa.Connection, _: Any) -> None:
            stream_position_table.put(connection, self.sink.name, {0: found.until})

        while True:
            try:
                await self._engine.take([], store)
                return True
            except BusyError as error:
                await asyncio.sleep(error.retry_after)


def decisions_outlet(
    sink: StreamSink, engine: DecisionEngine, watcher: StreamWatcher
) -> StreamOutlet:
    """Return what publishes the decision of each payment, in the order of the log."""
    return StreamOutlet(sink, engine, watcher, _decisions_after, payment_log.last_position)


def alerts_outlet(
    sink: StreamSink, engine: DecisionEngine, watcher: StreamWatcher
) -> StreamOutlet:
    """Return what publishes alerts whenever something has happened to them."""
    return StreamOutlet(sink, engine, watcher, _alerts_after, _newest_entry)


def _decisions_after(connection: sa.Connection, number: int) -> Published:
    columns = payments.c
    rows = connection.execute(
        sa.select(
            columns.position, columns.id, columns.card, columns.body, columns.decision,
            columns.matched, columns.received_at,
        )
        .where(columns.position > number)
        .order_by(columns.position)
        .limit(_AT_ONCE)
    ).all()  # fmt: skip
    messages = []
    for row in rows:
        known = KnownPayment(row.id, row.body, row.decision, row.matched)
        content = {
            "id": row.id,
            "card": row.card,
            "decision": row.decision,
            "rules": known.blocking,
            "received_at": iso_text(row.received_at),
        }
        messages.append(_message(f"decision:{row.id}", row.card, content))
    return Published(messages, rows[-1].position if rows else number)


def _alerts_after(connection: sa.Connection, number: int) -> Published:
    """Return alerts, as they are now, that entries of the audit after a number are about."""
    entries = connection.execute(
        sa.select(audit.c.number, audit.c.action, audit.c.subject)
        .where(audit.c.number > number)
        .order_by(audit.c.number)
        .limit(_AT_ONCE)
    ).all()
    of_alerts = [
        (int(row.subject.removeprefix("alert:")), row)
        for row in entries
        if row.subject.startswith("alert:") and row.action.startswith("alert ")
    ]
    messages = []
    for alert_number, row in of_alerts:
        alert = alert_table.by_number(connection, alert_number)
        if alert is None:
            continue  # forgotten by now
        ids = alert_table.payments_of(connection, [alert.number]).get(alert.number, [])
        content = {
            "alert": alert.number,
            "card": alert.card,
            "state": alert.state,
            "happened": row.action.removeprefix("alert "),
            "probability": alert.probability,
            "expected": alert.expected,
            "payments": list(ids),
            "reasons": alert.reasons,
            "rules": alert.rules,
            "opened_at": iso_text(alert.opened_at),
            "updated_at": iso_text(alert.updated_at),
        }
        messages.append(_message(f"alert:{alert.number}:{row.number}", alert.card, content))
    return Published(messages, entries[-1].number if entries else number)


def _newest_entry(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.max(audit.c.number))).scalar() or 0


def _message(message_id: str, key: str, content: dict) -> OutMessage:
    body = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return OutMessage(message_id, key, body.encode())
