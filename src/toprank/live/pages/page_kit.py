"""What every page is made with: its route, its request, and what it needs of the desk.

A page is a function that takes a `PageRequest` and returns an answer; its `PageRoute` says who may
ask for it. Session, form, token and permission are checked before it is called: see `page_doors`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from toprank.live.desk_clock import wall_time
from toprank.live.desk_settings import DeskSettings
from toprank.live.engine.desk_view import ModelledDesk
from toprank.live.pages.live_updates import LiveUpdates
from toprank.live.pages.page_templates import PageTemplates
from toprank.live.people.desk_roles import ACTIONS, OWNED_ACTIONS, Person
from toprank.live.people.logins import Logins
from toprank.live.people.sessions import LoggedIn, SessionBook
from toprank.live.rules.rule_trial_runs import RuleTrials
from toprank.live.store.api_keys import KeyRing
from toprank.live.store.desk_database import Database
from toprank.live.web.service_metrics import ServiceMetrics

PUBLIC = "public"
"""The action of the few pages for which nobody need be logged in."""

THEME = "toprank_theme"
THEMES = ("auto", "light", "dark")

Result = TypeVar("Result")


class PageError(Exception):
    """A request that cannot be answered as wished; a page shows the sentence."""

    def __init__(
        self, status: int, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


class PageDesk:
    """What pages need of a desk.

    Attributes
    ----------
    database, settings
        Of the desk.
    live, engine
        The desk in memory and what decides; `live` is None for a desk that only has pages.
    keys, sessions, logins
        Who may use the API, who is logged in, and what lets people in.
    updates
        What keeps open pages up to date.
    trials
        Backtests and suggestions of rules.
    metrics
        What the server has counted since its start; None without a server.
    """

    def __init__(
        self,
        database: Database,
        settings: DeskSettings,
        now: Callable[[], int] = wall_time,
        *,
        live: ModelledDesk | None = None,
        engine: Any = None,
        keys: KeyRing | None = None,
        sessions: SessionBook | None = None,
        logins: Logins | None = None,
    ) -> None:
        self.database, self.settings, self.now = database, settings, now
        self.live, self.engine = live, engine
        self.keys = keys or KeyRing(database)
        self.sessions = sessions or SessionBook(database, settings)
        self.logins = logins or Logins(database, settings, self.sessions)
        self.updates = LiveUpdates(database)
        self.trials = RuleTrials(database)
        self.metrics: ServiceMetrics | None = None  # of the application that serves it

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Return what `work` returns in a thread; it opens its own connection."""
        return await asyncio.to_thread(work, *arguments)


class PageRequest:
    """A request for a page, checked.

    Attributes
    ----------
    request, desk
        As it came, and what it is about.
    form, query
        The fields of a posted form, each with all its values; the parameters of the address.
    """

    def __init__(
        self,
        request: Request,
        desk: PageDesk,
        templates: PageTemplates,
        logged_in: LoggedIn | None = None,
        form: dict[str, list[str]] | None = None,
    ) -> None:
        self.request, self.desk, self.logged_in = request, desk, logged_in
        self.form, self.query = form or {}, dict(request.query_params)
        self._templates = templates

    @property
    def person(self) -> Person:
        """Who asks."""
        assert self.logged_in is not None, "a public page has no person"
        return self.logged_in.person

    @property
    def token(self) -> str:
        """What each form of the page sends back, in the hidden field `token`."""
        return "" if self.logged_in is None else self.logged_in.session.token

    @property
    def now(self) -> int:
        """The time of the desk in microseconds."""
        return self.desk.now()

    @property
    def address(self) -> str:
        """The address of the client, as far as it can be known."""
        client = self.request.client.host if self.request.client else "unknown"
        if not is_loopback(client):
            return client
        # a proxy on this machine: the last address is what it has seen itself
        sent = self.request.headers.get("x-forwarded-for", "")
        return sent.rpartition(",")[2].strip()[:45] or client

    @property
    def is_secure(self) -> bool:
        """Whether cookies are for HTTPS alone: always but on the machine itself."""
        return self.request.url.scheme == "https" or not is_loopback(
            self.request.url.hostname or ""
        )

    def absolute(self, path: str) -> str:
        """Return the whole address of a path, as the browser has it."""
        scheme = "https" if self.is_secure else "http"
        return f"{scheme}://{self.request.url.netloc}{path}"

    def field(self, name: str, default: str = "") -> str:
        """Return the value of a field of the form, the first one if it has several."""
        return self.form.get(name, [default])[0]

    def is_current(self) -> bool:
        """Return whether the person is still logged in; for answers that take long."""
        return self.logged_in is not None and self.desk.sessions.is_current(self.logged_in.session)

    def render(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page made of a template."""
        flash = (
            [] if self.logged_in is None else self.desk.sessions.messages(self.logged_in.session)
        )
        theme = self.request.cookies.get(THEME, THEMES[0])
        page = self._templates.render(
            template,
            **{
                "person": None if self.logged_in is None else self.person,
                "token": self.token,
                "path": self.request.url.path,
                "now": self.now,
                "flash": flash,
                "theme": theme if theme in THEMES else THEMES[0],
                **values,
            },
        )
        return HTMLResponse(page, status)

    def redirect(self, path: str, flash: str | None = None) -> Response:
        """Return an answer that leads to another page, which shows `flash` once."""
        assert is_local(path), path
        if flash is not None and self.logged_in is not None:
            self.desk.sessions.say(self.logged_in.session, flash)
        return RedirectResponse(path, 303)


class PageRoute(NamedTuple):
    """Where a page is, and who may ask for it.

    Parameters
    ----------
    method, path
        As Starlette has them.
    action
        One of `desk_roles.ACTIONS`, or `PUBLIC`.
    handler
        What makes the page.
    owner
        Returns whose the object is, such as "person:anna", and None if it is nobody's. Required
        for actions that depend on it.
    is_use
        Whether it shows that somebody is there: not if the page asks by itself, again and again.
    """

    method: str
    path: str
    action: str
    handler: Callable[[PageRequest], Awaitable[Response]]
    owner: Callable[[PageRequest], Awaitable[str | None]] | None = None
    is_use: bool = True


def check_routes(routes: Collection[PageRoute]) -> None:
    """Raise unless every route says who may ask for it."""
    for each in routes:
        where = f"{each.method} {each.path}"
        if each.action != PUBLIC and each.action not in ACTIONS:
            raise ValueError(f"{where} must have a known action; it has {each.action!r}.")
        if each.action in OWNED_ACTIONS and each.owner is None:
            raise ValueError(f"{where} must say whose its object is, for {each.action}.")
        if each.method not in ("GET", "POST"):
            raise ValueError(f"{where} must be GET or POST, as forms are.")
    asked = [(each.method, each.path) for each in routes]
    twice = {each for each in asked if asked.count(each) > 1}
    if twice:
        raise ValueError(f"each route must be there once; these are not: {sorted(twice)}.")


async def own(page: PageRequest) -> str:
    """Return the person who asks: the owner of what is theirs by its nature."""
    return page.person.actor


def is_local(path: str) -> bool:
    """Return whether a path leads to this server and nowhere else.

    >>> is_local("/queue?page=2"), is_local("//evil.example"), is_local("https://evil.example")
    (True, False, False)
    """
    return (
        path.startswith("/")
        and not path.startswith(("//", "/\\"))
        and all(" " <= each != "\\" for each in path)
    )


def is_loopback(host: str) -> bool:
    """Return whether a host is the machine itself."""
    return host in ("localhost", "127.0.0.1", "::1")


def login_path(after: str) -> str:
    """Return the path of the login that leads to a page."""
    return f"/login?next={quote(after, safe='')}" if is_local(after) and after != "/" else "/login"
