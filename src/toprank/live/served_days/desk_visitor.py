"""A person at the pages of a desk, over HTTP: a browser without scripts or pictures."""

import re
import secrets
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from toprank.live.api_sender import KeptConnection
from toprank.live.people.accounts import SHORTEST_PASSWORD

_TOKEN = re.compile(r'name="token" value="([^"]*)"')
_TICKED = re.compile(r'name="position" value="(\d+)"[^>]* checked')
_ALERT = re.compile(r"/alerts/(\d+)$")


class DeskVisitor:
    """Someone who is logged in, and sends forms as the pages of the desk do.

    Parameters
    ----------
    address
        The server.
    secret
        Of the one-time link with which the person sets a password and logs in.
    """

    def __init__(self, address: str, secret: str) -> None:
        self._connection = KeptConnection(address)
        self._cookies: dict[str, str] = {}
        self._path, self._text = "/", ""
        password = secrets.token_urlsafe(SHORTEST_PASSWORD)
        self.get(f"/link/{secret}")
        self.post(f"/link/{secret}", {"password": password, "again": password})

    @property
    def alert(self) -> int | None:
        """The number of the alert whose page is open, None if another page is."""
        found = _ALERT.search(self._path)
        return None if found is None else int(found[1])

    @property
    def ticked(self) -> list[int]:
        """The positions of the payments that are ticked on the page."""
        return [int(each) for each in _TICKED.findall(self._text)]

    def get(self, path: str) -> None:
        """Open a page; ValueError with what it says if it is an error."""
        self._ask("GET", path, None)

    def post(self, path: str, fields: Mapping[str, str | Sequence[str]] | None = None) -> None:
        """Send a form, with the token of the page, and open the page that follows."""
        token = _TOKEN.search(self._text)
        form = {"token": "" if token is None else token[1], **(fields or {})}
        self._ask("POST", path, urlencode(form, doseq=True))

    def _ask(self, method: str, path: str, body: str | None) -> None:
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            headers["Sec-Fetch-Site"] = "same-origin"
        answer = self._connection.ask(method, path, body, headers)
        self._text = answer.text
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self._cookies[name] = value
        if answer.status == 303:
            self._ask("GET", answer.headers["Location"], None)
        elif answer.status >= 400:
            raise ValueError(f"{method} {path} was refused with status {answer.status}.")
        else:
            self._path = path
