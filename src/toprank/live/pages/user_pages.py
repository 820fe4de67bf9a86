"""The people of a desk: add, disable, enable again, give another role or a new link."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from starlette.responses import Response

from toprank.live.desk_clock import wall_time
from toprank.live.pages.page_kit import PageError, PageRequest, PageRoute
from toprank.live.pages.shown_values import capital
from toprank.live.people import accounts
from toprank.live.people.desk_roles import ROLES
from toprank.live.store import account_table


async def users_page(page: PageRequest) -> Response:
    """Return all accounts, and a form for a new one."""
    return await _users(page, 200)


async def add_user(page: PageRequest) -> Response:
    """Make an account, and show its link once."""
    name, role = page.field("name").strip(), page.field("role")
    try:
        secret = await _change(page, accounts.add, name, role)
    except ValueError as error:
        return await _users(page, 422, error=str(error), entered=(name, role))
    return await _users(page, 200, link=_link(page, name, secret))


async def new_link(page: PageRequest) -> Response:
    """Make a new link for an account, and show it once."""
    name = _other(page)
    return await _users(page, 200, link=_link(page, name, await _done(page, accounts.new_link)))


async def change_role(page: PageRequest) -> Response:
    """Give an account another role."""
    name, role = _other(page), page.field("role")
    await _done(page, accounts.change_role, role)
    return page.redirect("/users", f"{name} is now {role.replace('_', ' ')}.")


async def disable_user(page: PageRequest) -> Response:
    """Disable an account."""
    name = _other(page)
    await _done(page, accounts.disable)
    return page.redirect("/users", f"The account {name} is disabled.")


async def enable_user(page: PageRequest) -> Response:
    """Let a disabled account be used again, and show its link once."""
    name = _other(page)
    return await _users(page, 200, link=_link(page, name, await _done(page, accounts.enable)))


async def _users(
    page: PageRequest,
    status: int,
    *,
    error: str = "",
    entered: tuple[str, str] = ("", "investigator"),
    link: tuple[str, str] | None = None,
) -> Response:
    def read() -> list[account_table.Account]:
        with page.desk.database.reading() as connection:
            return account_table.all_accounts(connection)

    return page.render(
        "users.html",
        status,
        accounts=await page.desk.run(read),
        roles=ROLES,
        error=error,
        entered=entered,
        link=link,
        hours=accounts.LINK_HOURS,
    )


async def _change(page: PageRequest, change: Callable[..., Any], *values: str) -> Any:
    """Return what a change of accounts returns; sessions that it ended are known at once."""

    def write() -> Any:
        connection: sa.Connection
        with page.desk.database.writing() as connection:
            found = change(connection, *values, wall_time(), page.person.actor)
        page.desk.sessions.reload()
        return found

    return await page.desk.run(write)


async def _done(page: PageRequest, change: Callable[..., Any], *values: str) -> Any:
    """Change the account of the address; what cannot be done is an error page."""
    try:
        return await _change(page, change, _other(page), *values)
    except ValueError as error:
        raise PageError(422, capital(str(error))) from None


def _other(page: PageRequest) -> str:
    """Return the name in the address, which must not be one's own."""
    name = page.request.path_params["name"]
    if name == page.person.name:
        raise PageError(403, "Another admin must change your account.")
    return name


def _link(page: PageRequest, name: str, secret: str) -> tuple[str, str]:
    return name, page.absolute(f"/link/{secret}")


USER_PAGES = [
    PageRoute("GET", "/users", "users.view", users_page),
    PageRoute("POST", "/users", "users.change", add_user),
    PageRoute("POST", "/users/{name}/link", "users.change", new_link),
    PageRoute("POST", "/users/{name}/role", "users.change", change_role),
    PageRoute("POST", "/users/{name}/disable", "users.change", disable_user),
    PageRoute("POST", "/users/{name}/enable", "users.change", enable_user),
]
