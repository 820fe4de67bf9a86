"""A browser without scripts: it keeps cookies, follows redirects, sends forms with a token."""

import re
from urllib.parse import urlencode

from argon2 import PasswordHasher

from live.web.asgi_client import AsgiClient
from toprank.live.desk_clock import wall_time
from toprank.live.people import accounts
from toprank.live.people.logins import Logins
from toprank.live.people.passwords import Passwords

FORM = "application/x-www-form-urlencoded"
PASSWORD = "a horse with a hat"
_TOKEN = r'name="token" value="([^"]*)"'
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


def logins_of(desk, hasher=CHEAP):
    """What lets people in, with hashes that take no time."""
    pages = desk.pages
    return Logins(pages.database, pages.settings, pages.sessions, Passwords(hasher))


def with_cheap_passwords(desk):
    """Let a desk's logins take no time."""
    desk.pages.logins = logins_of(desk)
    return desk


def add_person(desk, name, role):
    """Make an account whose password is PASSWORD."""
    with desk.pages.database.writing() as connection:
        accounts.add(connection, name, role, wall_time(), "person:test")
        accounts.set_password(connection, name, CHEAP.hash(PASSWORD), wall_time())
    desk.pages.sessions.reload()


class Browser:
    """What one person has open; several share an application."""

    def __init__(self, client: AsgiClient, address="192.0.2.1"):
        self._client, self.cookies, self.path, self._address = client, {}, "/", address
        self.page = None

    @property
    def text(self):
        return self.page.content.decode()

    @property
    def token(self):
        found = None if self.page is None else re.search(_TOKEN, self.text)
        return "" if found is None else found[1]

    def get(self, path, follow=True, **headers):
        return self._ask("GET", path, b"", headers, follow)

    def post(self, path, fields=None, follow=True, **headers):
        """Send a form as a page of this server does; its token is that of the last page."""
        fields = {"token": self.token, **(fields or {})}
        headers = {"content-type": FORM, "sec-fetch-site": "same-origin", **headers}
        return self._ask("POST", path, urlencode(fields, doseq=True).encode(), headers, follow)

    def log_in(self, name, password=PASSWORD, **fields):
        self.get("/login")
        return self.post("/login", {"name": name, "password": password, **fields})

    def _ask(self, method, path, body, headers, follow):
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = {"authorization": None, "cookie": cookie or None, **headers}
        if self._address:
            sent.setdefault("x-forwarded-for", self._address)
        reply = self._client.request(method, path, body, sent)
        self._keep(reply.headers.get("set-cookie"))
        if follow and reply.status == 303:
            return self.get(reply.headers["location"])
        if reply.status != 303:
            self.page, self.path = reply, path
        return reply

    def _keep(self, set_cookie):
        if set_cookie is None:
            return
        name, _, value = set_cookie.partition(";")[0].partition("=")
        if "max-age=0" in set_cookie.lower():
            self.cookies.pop(name, None)
        else:
            self.cookies[name] = value
