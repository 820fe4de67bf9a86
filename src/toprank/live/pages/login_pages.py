"""Logging in and out, and setting a password by a one-time link."""

from starlette.responses import Response

from toprank.live.pages.page_kit import (
    PUBLIC,
    PageRequest,
    PageRoute,
    is_local,
    own,
)
from toprank.live.pages.session_cookie import with_cookie, without_cookie
from toprank.live.people.accounts import (
    SHORTEST_PASSWORD,
    EndedLinkError,
    WeakPasswordError,
)
from toprank.live.people.logins import LoginError, TooManyLoginsError


async def login_page(page: PageRequest) -> Response:
    """Return the form to log in with; whoever is logged in already goes on."""
    after = _next(page.query.get("next", ""))
    if page.logged_in is not None:
        return page.redirect(after)
    return page.render("login.html", next=after, name="", error="")


async def log_in(page: PageRequest) -> Response:
    """Begin a session, a new one in any case."""
    name, after = page.field("name").strip().lower(), _next(page.field("next"))
    try:
        cookie = await page.desk.logins.log_in(name, page.field("password"), page.address)
    except LoginError as error:
        is_wait = isinstance(error, TooManyLoginsError)
        status = 429 if is_wait else 403
        response = page.render("login.html", status, next=after, name=name, error=str(error))
        if isinstance(error, TooManyLoginsError):
            response.headers["retry-after"] = str(error.wait)
        return response
    if page.logged_in is not None:
        await page.desk.run(
            page.desk.sessions.end, page.logged_in.session, page.logged_in.person.actor
        )
    return with_cookie(page, page.redirect(after), cookie)


async def log_out(page: PageRequest) -> Response:
    """End the session."""
    assert page.logged_in is not None
    await page.desk.run(page.desk.sessions.end, page.logged_in.session, page.person.actor)
    return without_cookie(page, page.redirect("/login"))


async def link_page(page: PageRequest) -> Response:
    """Return the form to set a password with; looking at it does not use up the link."""
    return await _link_form(page, 200, "")


async def use_link(page: PageRequest) -> Response:
    """Set the password, and log in."""
    new, again = page.field("password"), page.field("again")
    if new != again:
        return await _link_form(page, 422, "The two passwords are not the same.")
    try:
        cookie = await page.desk.logins.set_by_link(_secret(page), new, page.address)
    except WeakPasswordError as error:
        return await _link_form(page, 422, str(error))
    except EndedLinkError as error:
        return page.render("error.html", 404, message=str(error))
    return with_cookie(page, page.redirect("/"), cookie)


async def _link_form(page: PageRequest, status: int, error: str) -> Response:
    name = await page.desk.run(page.desk.logins.name_of_link, _secret(page))
    if name is None:
        return page.render("error.html", 404, message=str(EndedLinkError()))
    return page.render(
        "set_password.html", status, name=name, error=error, shortest=SHORTEST_PASSWORD
    )


def _secret(page: PageRequest) -> str:
    return page.request.path_params["secret"]


def _next(path: str) -> str:
    return path if is_local(path) else "/"


LOGIN_PAGES = [
    PageRoute("GET", "/login", PUBLIC, login_page),
    PageRoute("POST", "/login", PUBLIC, log_in),
    PageRoute("POST", "/logout", "account.own", log_out, own),
    PageRoute("GET", "/link/{secret}", PUBLIC, link_page),
    PageRoute("POST", "/link/{secret}", PUBLIC, use_link),
]
