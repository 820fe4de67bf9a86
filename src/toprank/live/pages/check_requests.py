"""What the pages about cards share: the alert of a request, who holds it, refusals as pages."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import sqlalchemy as sa

from toprank.live.checks import check_verdicts
from toprank.live.checks.check_errors import CheckError, NoAlertError
from toprank.live.desk_clock import Moment, wall_time
from toprank.live.pages.page_kit import PageDesk, PageError, PageRequest
from toprank.live.pages.shown_values import capital
from toprank.live.store import alert_table
from toprank.live.store.alert_table import CardAlert

_LARGEST = 2**53  # far above any number, and below what a database can take

Result = TypeVar("Result")


def moment_of(desk: PageDesk) -> Moment:
    """Return the moment by both clocks."""
    return Moment(desk.now(), wall_time())


def field_names(desk: PageDesk) -> dict[str, str]:
    """Return by role what the fields are called that every payment has."""
    assert desk.live is not None
    return {each.role: each.name for each in desk.live.fields if each.role is not None}


def number_in(page: PageRequest) -> int:
    """Return the number in the path of a request; a page says if there can be none like it."""
    number: int = page.request.path_params["number"]
    if number > _LARGEST:
        raise PageError(404, f"There is no number {number:.3g}.")
    return number


def alert_of(connection: sa.Connection, number: int) -> CardAlert:
    """Return an alert; NoAlertError if there is none of this number."""
    found = alert_table.by_number(connection, number)
    if found is None:
        raise NoAlertError(f"there is no alert {number}.")
    return found


async def holder(page: PageRequest) -> str | None:
    """Return who holds the alert of a request, None if nobody does."""
    alert = await look(page, alert_of, number_in(page))
    return alert.held_by


async def decider(page: PageRequest) -> str | None:
    """Return whose verdict the check of a request is."""
    check = await look(page, check_verdicts.by_number, number_in(page))
    return check.who


async def change(page: PageRequest, work: Callable[..., Result], *arguments: Any) -> Result:
    """Return what `work(connection, ...)` returns, in a thread and in one transaction."""

    def whole() -> Result:
        with page.desk.database.writing() as connection:
            return work(connection, *arguments)

    with refusals():
        return await page.desk.run(whole)


async def look(page: PageRequest, work: Callable[..., Result], *arguments: Any) -> Result:
    """Return what `work(connection, ...)` returns, in a thread and of one moment."""

    def whole() -> Result:
        with page.desk.database.reading() as connection:
            return work(connection, *arguments)

    with refusals():
        return await page.desk.run(whole)


@contextmanager
def refusals(of: type[CheckError] = CheckError) -> Iterator[None]:
    """Make pages of what the checks refuse; with `of`, only of these."""
    try:
        yield
    except of as error:
        status = 404 if isinstance(error, NoAlertError) else 409
        raise PageError(status, capital(str(error))) from None
