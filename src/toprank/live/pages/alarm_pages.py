"""Alarms: figures that went beyond their limit, and who has seen it."""

from typing import NamedTuple

import sqlalchemy as sa
from starlette.responses import Response

from toprank.live.pages.check_requests import change, look, moment_of
from toprank.live.pages.page_kit import PageError, PageRequest, PageRoute
from toprank.live.store import alarm_table, audit_chain
from toprank.live.store.alarm_table import DeskAlarm


class _LoadedAlarms(NamedTuple):
    open: list[DeskAlarm]
    ended: list[DeskAlarm]


async def alarms_page(page: PageRequest) -> Response:
    """Return the alarms that are open, and those that have ended."""

    def read(connection: sa.Connection) -> _LoadedAlarms:
        return _LoadedAlarms(alarm_table.open_now(connection), alarm_table.last_ended(connection))

    found = await look(page, read)
    settings = page.desk.settings
    return page.render(
        "alarms.html",
        found=found,
        may_acknowledge=page.person.may("alarms.acknowledge"),
        sent=settings.paging if settings.alarm_url else (),
    )


async def acknowledge(page: PageRequest) -> Response:
    """Write down who has seen an alarm."""
    number, now = int(page.request.path_params["number"]), moment_of(page.desk)
    who = page.person.actor

    def write(connection: sa.Connection) -> None:
        if not alarm_table.acknowledge(connection, number, who, now.desk):
            raise PageError(409, f"alarm {number} has ended, or someone has acknowledged it.")
        audit_chain.add(connection, now.wall, who, "alarm acknowledged", f"alarm:{number}")

    await change(page, write)
    return page.redirect("/alarms", f"Alarm {number} is yours to look into.")


ALARM_PAGES = [
    PageRoute("GET", "/alarms", "monitor.view", alarms_page),
    PageRoute("POST", "/alarms/{number:int}/acknowledge", "alarms.acknowledge", acknowledge),
]
