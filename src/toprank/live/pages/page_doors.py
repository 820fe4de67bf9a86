"""What a request passes before its page is made: session, origin, form, token, permission.

In this order, and each refuses: a page is reached only by who may have it. Errors are pages, too.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection
from urllib.parse import parse_qsl, urlsplit

import sqlalchemy as sa
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from toprank.live.messages import BusyError
from toprank.live.pages.page_kit import (
    PUBLIC,
    PageDesk,
    PageError,
    PageRequest,
    PageRoute,
    check_routes,
    login_path,
)
from toprank.live.pages.page_templates import PageTemplates
from toprank.live.pages.session_cookie import cookie_of
from toprank.live.people.desk_roles import ForbiddenError, authorize
from toprank.live.people.sessions import LoggedIn
from toprank.live.web.gate import ROUTE

_LARGEST_FORM = 256 << 10
_MOST_FIELDS = 2_000
_SLOWEST_FORM = 10.0  # seconds
_YEAR = "public, max-age=31536000, immutable"

_log = logging.getLogger("toprank.live")


def mounted(desk: PageDesk, pages: Collection[PageRoute]) -> list[Route]:
    """Return the routes of pages, of the files that they load, and of the way to the first."""
    check_routes(pages)
    templates = _templates_of(pages)
    routes = [
        Route(each.path, _PageDoor(each, desk, templates), methods=[each.method]) for each in pages
    ]
    return [
        *routes,
        Route("/", _PageDoor(_home(templates), desk, templates), methods=["GET"]),
        Route("/static/{name}", _StaticDoor(templates), methods=["GET"]),
    ]


def missing_page(
    desk: PageDesk, pages: Collection[PageRoute]
) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers a browser that asks for an address that is none."""

    async def missing(page: PageRequest) -> Response:
        raise PageError(404, "There is no such page.")

    return _PageDoor(PageRoute("GET", "", PUBLIC, missing), desk, _templates_of(pages)).response


def _templates_of(pages: Collection[PageRoute]) -> PageTemplates:
    return PageTemplates({each.path for each in pages if each.method == "GET"})


def _home(templates: PageTemplates) -> PageRoute:
    async def home(page: PageRequest) -> Response:
        if page.logged_in is None:
            return page.redirect("/login")
        return page.redirect(templates.home(page.person))

    return PageRoute("GET", "/", PUBLIC, home)


class _PageDoor:
    """A page as an application of ASGI."""

    def __init__(self, route: PageRoute, desk: PageDesk, templates: PageTemplates) -> None:
        self._route, self._desk, self._templates = route, desk, templates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ROUTE] = f"{self._route.method} {self._route.path}"
        response = await self.response(Request(scope, receive))
        await response(scope, receive, send)

    async def response(self, request: Request) -> Response:
        """Return the page, or one that says what is wrong."""
        page = PageRequest(request, self._desk, self._templates)
        try:
            return await self._answer(page)
        except ClientDisconnect:
            raise
        except Exception as error:
            known = _as_page_error(error)
            response = page.render("error.html", known.status, message=known.message)
            response.headers.update(known.headers)
            return response

    async def _answer(self, page: PageRequest) -> Response:
        route, is_post = self._route, page.request.method == "POST"
        if any("\0" in each for each in page.query.values()):  # PostgreSQL refuses to look for it
            raise PageError(400, "This address cannot be read.")
        cookie = cookie_of(page)
        if cookie is not None:
            page.logged_in = await self._logged_in(cookie)
        is_public = route.action == PUBLIC
        if page.logged_in is None and not is_public and not is_post:
            url = page.request.url
            after = f"{url.path}?{url.query}" if url.query else url.path
            return RedirectResponse(login_path(after), 303)
        if is_post:
            _check_origin(page.request)
            if page.logged_in is None and not is_public:
                raise PageError(403, "You are not logged in, or no longer; nothing was changed.")
            page.form = await _form_of(page.request)
            _check_token(page)
        if not is_public:
            owner = None if route.owner is None else await route.owner(page)
            authorize(page.person, route.action, owner)
        return await route.handler(page)

    async def _logged_in(self, cookie: str) -> LoggedIn | None:
        sessions, is_use = self._desk.sessions, self._route.is_use
        found = sessions.find(cookie, is_use=is_use)
        if found is None and self._desk.database.is_shared:
            await self._desk.run(sessions.fetch, cookie)
            found = sessions.find(cookie, is_use=is_use)
        return found


class _StaticDoor:
    """The files that pages load; their addresses change with them, so browsers keep them."""

    def __init__(self, templates: PageTemplates) -> None:
        self._files = templates.static

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ROUTE] = "GET /static/{name}"
        found = self._files.get(scope["path_params"]["name"])
        if found is None:
            response = Response("There is no such file.", 404)
        else:
            headers = {"cache-control": _YEAR}
            response = Response(found.content, headers=headers, media_type=found.media_type)
        await response(scope, receive, send)


def _check_origin(request: Request) -> None:
    """Raise if a form was sent by the page of another site, or does not say by which."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        is_own = site == "same-origin"
    else:
        # the scheme is left out: a proxy that ends TLS asks by http
        origin = urlsplit(request.headers.get("origin", ""))
        is_own = bool(origin.netloc) and origin.netloc == request.headers.get("host")
    if not is_own:
        raise PageError(403, "This form was sent from another site; nothing was changed.")


def _check_token(page: PageRequest) -> None:
    """Raise if a form is not from a page of this session."""
    sent = page.form.pop("token", [""])[0]
    if not secrets.compare_digest(sent.encode(), page.token.encode()):
        raise PageError(403, "This form is from an earlier session; load the page again.")


async def _form_of(request: Request) -> dict[str, list[str]]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise PageError(415, "A form must be sent as application/x-www-form-urlencoded.")
    body = bytearray()
    try:
        async with asyncio.timeout(_SLOWEST_FORM):
            async for piece in request.stream():
                body += piece
                if len(body) > _LARGEST_FORM:
                    raise PageError(413, f"A form may have {_LARGEST_FORM >> 10} KiB.", _CLOSE)
    except TimeoutError:
        raise PageError(408, f"A form must come within {_SLOWEST_FORM:g} s.", _CLOSE) from None
    found: dict[str, list[str]] = {}
    try:
        text = body.decode("ascii")
        fields = parse_qsl(text, True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise PageError(400, "This form cannot be read.") from None
    if any("\0" in value for _, value in fields):  # nor can PostgreSQL keep it
        raise PageError(400, "This form cannot be read.")
    for name, value in fields:
        found.setdefault(name, []).append(value)
    return found


_CLOSE = {"Connection": "close"}


def _as_page_error(error: Exception) -> PageError:
    """Return what is shown for an error; one that nobody expected is logged with a number."""
    if isinstance(error, PageError):
        return error
    if isinstance(error, ForbiddenError):
        return PageError(403, str(error))
    if isinstance(error, BusyError | sa.exc.OperationalError):
        return PageError(503, "The desk is busy; try again in a moment.", {"Retry-After": "2"})
    number = secrets.token_hex(4)
    _log.error("error %s in a page", number, exc_info=error)
    return PageError(500, f"An error of the server; its log has it as {number}.")
