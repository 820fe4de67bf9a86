"""The web application of a desk."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from toprank.live.pages.all_pages import PAGES
from toprank.live.pages.page_doors import missing_page, mounted
from toprank.live.web.gate import LOOPBACK, Gate
from toprank.live.web.request_body import BodyReader
from toprank.live.web.routes import ApiRoutes
from toprank.live.web.served import ServedDesk
from toprank.live.web.service_metrics import ServiceMetrics

ErrorHandler = Callable[[Request, Exception], Awaitable[Response]]


def create_app(
    desk: ServedDesk,
    hosts: Collection[str] | None = LOOPBACK,
    bodies: BodyReader | None = None,
) -> Starlette:
    """Return the application that serves a desk; it starts the desk, and closes it at the end.

    `hosts` are the names under which it may be asked; None for any.
    """
    metrics = desk.pages.metrics = ServiceMetrics(desk.engine.facts)
    routes = ApiRoutes(desk, metrics, bodies or BodyReader())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await desk.start()
        try:
            yield
        finally:
            await desk.close()

    app = Starlette(
        routes=[*routes.routes(), *mounted(desk.pages, PAGES)],
        middleware=[Middleware(Gate, metrics, hosts, routes.direct())],
        exception_handlers={HTTPException: _routing_errors(missing_page(desk.pages, PAGES))},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


def _routing_errors(missing: Callable[[Request], Awaitable[Response]]) -> ErrorHandler:
    """Return what answers errors of routing: a browser gets a page.

    Others are passed on to the gate, which answers in the shape of all errors.
    """

    async def answer(request: Request, error: Exception) -> Response:
        is_missing = isinstance(error, HTTPException) and error.status_code == 404
        if is_missing and "text/html" in request.headers.get("accept", ""):
            return await missing(request)
        raise error

    return answer
