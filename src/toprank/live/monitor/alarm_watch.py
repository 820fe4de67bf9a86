"""Raising and ending alarms: an alarm ends when its figure has been back for some looks in a row.

Those that may page someone are sent through the outbox: once, and again until it was answered.
"""

import json
from collections.abc import Sequence

import sqlalchemy as sa

from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.monitor.alarm_readings import AlarmReading
from toprank.live.store import alarm_table, audit_chain, outbox_table
from toprank.live.store.alarm_table import DeskAlarm
from toprank.live.store.desk_database import Database
from toprank.live.store.outbox_table import Message

JOB = "job:alarms"
CALM_LOOKS = 3
"""Looks in a row at which a figure must be back before its alarm ends."""


def look(
    database: Database, readings: Sequence[AlarmReading], now: Moment, settings: DeskSettings
) -> list[DeskAlarm]:
    """Raise and end alarms by readings; return those that were raised.

    Nothing is written if nothing has changed.
    """
    with database.reading() as connection:
        before = {each.name: each for each in alarm_table.open_now(connection)}
    changes = [each for each in readings if _is_change(each, before.get(each.name))]
    if not changes:
        return []
    raised = []
    with database.writing() as connection:
        before = {each.name: each for each in alarm_table.open_now(connection)}
        for reading in changes:
            alarm = before.get(reading.name)
            if alarm is not None:
                _follow(connection, alarm, reading, now)
            elif reading.is_beyond:
                raised.append(_raise(connection, reading, now, settings))
    return raised


def _is_change(reading: AlarmReading, alarm: DeskAlarm | None) -> bool:
    if alarm is None:
        return reading.is_beyond
    return reading.is_calm or alarm.n_calm > 0 or reading.value != alarm.value


def _raise(
    connection: sa.Connection, reading: AlarmReading, now: Moment, settings: DeskSettings
) -> DeskAlarm:
    new = DeskAlarm(0, reading.name, now.desk, reading.value, reading.limit, reading.text)
    alarm = alarm_table.add(connection, new)
    details = {"name": alarm.name, "value": alarm.value, "limit": alarm.limit}
    audit_chain.add(connection, now.wall, JOB, "alarm raised", f"alarm:{alarm.number}", details)
    if settings.alarm_url and alarm.name.partition(":")[0] in settings.paging:
        body = {**details, "alarm": alarm.number, "text": alarm.text, "at": now.desk}
        # the key follows from the alarm, so that it cannot be sent as two
        message = Message(
            0, 0, JOB, now.desk, f"alarm-{alarm.number}-{now.desk}",
            json.dumps(body, ensure_ascii=False), "pending", 0, now.wall, "not sent yet", "alarm",
        )  # fmt: skip
        outbox_table.add(connection, message)
    return alarm


def _follow(
    connection: sa.Connection, alarm: DeskAlarm, reading: AlarmReading, now: Moment
) -> None:
    """Write what has become of an open alarm's figure, and end it once it is back for good."""
    n_calm = alarm.n_calm + 1 if reading.is_calm else 0
    if n_calm < CALM_LOOKS:
        values = {"n_calm": n_calm, "value": reading.value, "text": reading.text}
        alarm_table.change(connection, alarm.number, **values)
    elif alarm_table.change(connection, alarm.number, ended_at=now.desk, n_calm=n_calm):
        audit_chain.add(connection, now.wall, JOB, "alarm ended", f"alarm:{alarm.number}")
