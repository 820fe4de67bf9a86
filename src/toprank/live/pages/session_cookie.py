"""The cookie of a session: for this server alone, out of reach of scripts."""

from starlette.responses import Response

from toprank.live.pages.page_kit import PageRequest

_NAME = "toprank_session"


def cookie_of(page: PageRequest) -> str | None:
    """Return the cookie that was sent."""
    return page.request.cookies.get(_name(page))


def with_cookie(page: PageRequest, response: Response, cookie: str) -> Response:
    """Return an answer that gives the browser the cookie of a new session."""
    response.set_cookie(
        _name(page), cookie, path="/", secure=page.is_secure, httponly=True, samesite="lax"
    )
    return response


def without_cookie(page: PageRequest, response: Response) -> Response:
    """Return an answer that takes the cookie from the browser."""
    response.delete_cookie(
        _name(page), path="/", secure=page.is_secure, httponly=True, samesite="lax"
    )
    return response


def _name(page: PageRequest) -> str:
    """Return the name; with the prefix, no other host of the domain can have set it."""
    return f"__Host-{_NAME}" if page.is_secure else _NAME
