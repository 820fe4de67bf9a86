"""A senior who asks for pages of a desk in this process: a server without the network."""

import asyncio
from types import SimpleNamespace
from typing import Any, Self, cast

from starlette.applications import Starlette

from toprank.live.desk_clock import wall_time
from toprank.live.desk_settings import DeskSettings
from toprank.live.messages import PaymentField
from toprank.live.pages.all_pages import PAGES
from toprank.live.pages.page_doors import mounted
from toprank.live.pages.page_kit import PageDesk
from toprank.live.people import accounts
from toprank.live.store.desk_database import Database
from toprank.payments.features import default_features
from toprank.payments.roles import Roles

WHO = "anna"

_HOST = "127.0.0.1"
_ROLES = Roles("paid_at", "card", "terminal", "amount", "payment")
_FIELDS = (
    ("paid_at", "time"), ("card", "card"), ("terminal", "terminal"), ("amount", "amount"),
    ("payment", "id"), ("channel", None), ("country", None),
)  # fmt: skip


class PageVisitor:
    """A person who is logged in, and asks for one page after the other; a context manager."""

    def __init__(self, database: Database, now: int) -> None:
        desk = PageDesk(database, DeskSettings(), lambda: now, live=_live())
        with database.writing() as connection:
            accounts.add(connection, WHO, "senior", wall_time(), "person:bench")
            cookie = desk.sessions.begin(connection, WHO, _HOST)
        desk.sessions.reload()
        self._cookie = f"toprank_session={cookie}".encode()
        self._app, self._runner = Starlette(routes=mounted(desk, PAGES)), asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()

    def get(self, path: str) -> str:
        """Return a page; ValueError if it is an error instead."""
        return self._runner.run(self._get(path))

    async def _get(self, path: str) -> str:
        plain, _, query = path.partition("?")
        scope = {
            "type": "http", "method": "GET", "path": plain, "raw_path": plain.encode(),
            "query_string": query.encode(), "http_version": "1.1", "scheme": "http",
            "root_path": "", "client": (_HOST, 1), "server": (_HOST, 80),
            "headers": [(b"host", _HOST.encode()), (b"cookie", self._cookie)],
        }  # fmt: skip
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
        if sent[0]["status"] != 200:
            raise ValueError(f"{path} must be a page; it has status {sent[0]['status']}.")
        return text


def _live() -> Any:
    """Return as much of a desk in memory as pages look at: fields and features."""
    features = default_features(_ROLES.card, _ROLES.terminal, _ROLES.amount)
    fields = [PaymentField(name, "text", True, cast(Any, role)) for name, role in _FIELDS]
    model = SimpleNamespace(
        roles=_ROLES, state_=SimpleNamespace(history=SimpleNamespace(features=features))
    )
    return SimpleNamespace(fields=fields, model=model)
