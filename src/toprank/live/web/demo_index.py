"""The index of a demo: what its world is doing, and the cards to check first."""

import asyncio

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from toprank.live.engine.lookups import time_text
from toprank.live.web.served import ServedDesk

N_SHOWN = 12


class DemoIndex:
    """Shows alerts to anyone who asks, which is right only for made-up payments."""

    def __init__(self, desk: ServedDesk) -> None:
        self._desk = desk
        loader = PackageLoader("toprank.live.web", "templates")
        self._pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)

    async def page(self, request: Request) -> Response:
        """Return the page, which the browser loads again every two seconds."""
        engine = self._desk.engine
        alerts = await asyncio.to_thread(engine.alerts, "open", N_SHOWN, None, "")
        n_open = await asyncio.to_thread(engine.n_open)
        page = self._pages.get_template("demo.html").render(
            alerts=alerts,
            n_open=n_open,
            facts=engine.facts(),
            expected=sum(each["probability"] for each in alerts),
            now=time_text(self._desk.now())[:16].replace("T", " "),
        )
        return HTMLResponse(page)

    async def style(self, request: Request) -> Response:
        """Return the style of the page."""
        return Response(self._pages.get_template("demo.css").render(), media_type="text/css")
