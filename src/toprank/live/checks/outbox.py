"""Delivery of what other systems are asked to do: again and again until they have answered.

A request has the same `Idempotency-Key` at every try, so that a bank which has blocked a card
already can say so again. It is signed, if the desk has a key: `X-Toprank-Signature` is the
HMAC-SHA256 of time, key and body. Redirects are not followed: they would lead a card elsewhere.
"""

import hashlib
import hmac
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from toprank.live.desk_clock import wall_time
from toprank.live.desk_settings import DeskSettings
from toprank.live.store import audit_chain, outbox_table
from toprank.live.store.desk_database import Database
from toprank.live.store.outbox_table import Message

JOB = "job:outbox"
MOST_TRIES = 16
"""Tries before a message counts as failed, which takes some 8 hours."""

_TIMEOUT = 5.0  # seconds
_FIRST_WAIT, _LONGEST_WAIT = 2_000_000, 7_200_000_000  # microseconds, doubled up to
_AT_ONCE = 10
_WORTH_TRYING = (408, 425, 429)  # and all from 500 on: others will not change


class Delivery(NamedTuple):
    """What came of a try; without a status, nobody answered."""

    status: int | None
    words: str

    @property
    def is_done(self) -> bool:
        """Whether the other side has done what it was asked."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_final(self) -> bool:
        """Whether another try would give the same."""
        status = self.status
        return status is not None and status < 500 and status not in _WORTH_TRYING


Send = Callable[[Message, DeskSettings], Delivery]


def deliver(database: Database, settings: DeskSettings, send: Send | None = None) -> int:
    """Send what is due, and write what came of it; return how many were tried.

    It waits for the other side, so it is called in a thread of its own.
    """
    with database.reading() as connection:
        messages = outbox_table.due(connection, wall_time(), _AT_ONCE)
    for message in messages:
        delivery = (send or post)(message, settings)
        with database.writing() as connection:
            values = _after(message, delivery, wall_time())
            if not outbox_table.change(connection, message, **values):
                continue
            if values["state"] != "pending":
                details = {"message": message.number, "tries": message.n_tries + 1}
                subject = f"alert:{message.alert}" if message.alert else message.key
                action = f"{message.kind} {values['state']}"
                audit_chain.add(connection, wall_time(), JOB, action, subject, details)
    return len(messages)


def _after(message: Message, delivery: Delivery, wall: int) -> dict[str, Any]:
    """Return the state of a message after a try."""
    if delivery.is_done:
        return {"state": "delivered", "outcome": delivery.words}
    if delivery.is_final or message.n_tries + 1 >= MOST_TRIES:
        return {"state": "failed", "outcome": delivery.words}
    wait = min(_FIRST_WAIT * 2**message.n_tries, _LONGEST_WAIT)
    return {"state": "pending", "outcome": delivery.words, "next_at": wall + wait}


def post(message: Message, settings: DeskSettings) -> Delivery:
    """Send a message to the address that the settings have for its kind."""
    url, key = _address(message, settings)
    if not url:
        return Delivery(None, f"no address is set: {message.kind}_url in desk.toml")
    body = message.body.encode()
    try:
        request = urllib.request.Request(url, body, _headers(message, body, key))
        with _opener().open(request, timeout=_TIMEOUT) as answer:
            return Delivery(answer.status, f"accepted with status {answer.status}")
    except urllib.error.HTTPError as error:
        return Delivery(error.code, f"refused with status {error.code}")
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        return Delivery(None, f"no answer: {str(reason)[:200]}")


def signature(key: bytes, sent_at: str, idempotency_key: str, body: bytes) -> str:
    """Return the signature of a request, for those who check it.

    >>> signature(b"secret", "1700000000", "k1", b"{}")[:8]
    '34fa3cd6'
    """
    text = f"{sent_at}.{idempotency_key}.".encode() + body
    return hmac.new(key, text, hashlib.sha256).hexdigest()


def _address(message: Message, settings: DeskSettings) -> tuple[str, str]:
    """Return where a message is sent, and the file of the secret that signs it."""
    if message.kind == "alarm":
        return settings.alarm_url, settings.alarm_key
    return settings.block_url, settings.block_key


def _headers(message: Message, body: bytes, key_file: str) -> dict[str, str]:
    sent_at = str(wall_time() // 1_000_000)
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": message.key,
        "X-Toprank-Time": sent_at,
        "User-Agent": "toprank",
    }
    if key_file:
        key = Path(key_file).read_bytes().strip()
        headers["X-Toprank-Signature"] = signature(key, sent_at, message.key, body)
    return headers


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)
