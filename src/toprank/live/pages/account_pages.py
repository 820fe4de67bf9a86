"""One's own account: password, sessions, theme."""

from starlette.responses import Response

from toprank.live.pages.page_kit import (
    THEME,
    THEMES,
    PageError,
    PageRequest,
    PageRoute,
    own,
)
from toprank.live.pages.session_cookie import with_cookie, without_cookie
from toprank.live.people.accounts import SHORTEST_PASSWORD, WeakPasswordError
from toprank.live.people.desk_roles import ROLES
from toprank.live.people.logins import LoginError, TooManyLoginsError
from toprank.live.store.session_table import Session

_YEAR = 31_536_000  # seconds


async def account_page(page: PageRequest) -> Response:
    """Return what belongs to the person who asks."""
    return _account(page, 200, "")


async def change_password(page: PageRequest) -> Response:
    """Replace the password; other sessions end."""
    new = page.field("password")
    if new != page.field("again"):
        return _account(page, 422, "The two new passwords are not the same.")
    try:
        cookie = await page.desk.logins.change_password(
            page.person.name, page.field("old"), new, page.address
        )
    except WeakPasswordError as error:
        return _account(page, 422, str(error))
    except TooManyLoginsError as error:
        return _account(page, 429, str(error))
    except LoginError:
        return _account(page, 403, "The password of now is wrong.")
    page.logged_in = page.desk.sessions.find(cookie)
    flash = "The password is changed. All other sessions have ended."
    return with_cookie(page, page.redirect("/account", flash), cookie)


async def end_session(page: PageRequest) -> Response:
    """End one session of the person who asks."""
    session = _session(page)
    if session is None:
        raise PageError(404, "This session has ended already.")
    await page.desk.run(page.desk.sessions.end, session, page.person.actor)
    return page.redirect("/account", "The session has ended.")


async def end_all_sessions(page: PageRequest) -> Response:
    """End all sessions of the person who asks, this one as well."""
    await page.desk.run(page.desk.sessions.end_all, page.person.name, page.person.actor)
    return without_cookie(page, page.redirect("/login"))


async def set_theme(page: PageRequest) -> Response:
    """Keep a theme in the browser."""
    theme = page.field("theme")
    response = page.redirect("/account")
    if theme in THEMES:
        response.set_cookie(
            THEME, theme, max_age=_YEAR, secure=page.is_secure, httponly=True, samesite="lax"
        )
    return response


async def owner_of_session(page: PageRequest) -> str | None:
    """Return whose session the address names."""
    session = _session(page)
    return None if session is None else f"person:{session.name}"


def _account(page: PageRequest, status: int, error: str) -> Response:
    assert page.logged_in is not None
    return page.render(
        "account.html",
        status,
        error=error,
        shortest=SHORTEST_PASSWORD,
        does=ROLES[page.person.role],
        sessions=page.desk.sessions.of(page.person.name),
        this=page.logged_in.session.number,
        themes=THEMES,
    )


def _session(page: PageRequest) -> Session | None:
    return page.desk.sessions.numbered(page.request.path_params["number"])


ACCOUNT_PAGES = [
    PageRoute("GET", "/account", "account.own", account_page, own),
    PageRoute("POST", "/account/password", "account.own", change_password, own),
    PageRoute("POST", "/account/theme", "account.own", set_theme, own),
    PageRoute("POST", "/account/sessions/end", "account.own", end_all_sessions, own),
    PageRoute(
        "POST", "/account/sessions/{number:int}/end", "account.own", end_session, owner_of_session
    ),
]
