"""What every request passes: host, headers of safety, errors in one shape, figures.

A middleware of ASGI around all routes. Nothing below it can answer with an error of another shape,
or with none.
"""

import logging
import secrets
import time
from collections.abc import Collection, Mapping

import sqlalchemy as sa
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toprank.live.messages import BusyError, ConflictError, PagesOnlyError
from toprank.live.web.request_errors import RequestError, shown
from toprank.live.web.service_metrics import ServiceMetrics

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
ROUTE = "toprank.route"
"""The key of a request's scope with the name of its route, for the figures."""

_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    # with no-referrer, some browsers would not say from where a form of ours is sent
    (b"referrer-policy", b"same-origin"),
]
_HTML_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; "
        b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-frame-options", b"DENY"),
]

_log = logging.getLogger(__name__)


class Gate:
    """The middleware.

    Parameters
    ----------
    app
        The routes.
    metrics
        What counts requests and errors.
    hosts
        The names under which the server may be asked; None for any. A page of another site can
        have its name lead to this machine, and then its scripts would talk to the desk.
    direct
        Applications by method and path that are asked without a search through the routes.
    """

    def __init__(
        self,
        app: ASGIApp,
        metrics: ServiceMetrics,
        hosts: Collection[str] | None,
        direct: Mapping[tuple[str, str], ASGIApp] | None = None,
    ) -> None:
        self._app, self._metrics, self._direct = app, metrics, dict(direct or {})
        self._hosts = None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 0

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_safety(message.get("headers", []))
            await send(message)

        try:
            self._check_host(scope)
            app = self._direct.get((scope["method"], scope["path"]), self._app)
            await app(scope, receive, send_safely)
        except ClientDisconnect:
            return  # nobody is left to answer
        except Exception as error:
            known = _as_request_error(error)
            if status:
                raise  # a part of an answer has been sent
            self._metrics.saw_error(known.code)
            await known.response()(scope, receive, send_safely)
        seconds = time.perf_counter() - begin
        self._metrics.saw_request(scope.get(ROUTE, "none"), status, seconds)

    def _check_host(self, scope: Scope) -> None:
        if self._hosts is None:
            return
        sent = [value for name, value in scope["headers"] if name == b"host"]
        host = sent[0].decode("latin-1") if len(sent) == 1 else ""
        if host not in self._hosts and _without_port(host) not in self._hosts:
            raise RequestError(
                421,
                "wrong_host",
                f"this server does not answer for the host {shown(host)!r}; "
                "serve it with --host, or ask it by the name it has.",
                {"field": "host", "value": shown(host), "expected": sorted(self._hosts)},
            )


def _without_port(host: str) -> str:
    """Return a host without its port, and an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _with_safety(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    is_html = any(
        name == b"content-type" and value.startswith(b"text/html") for name, value in headers
    )
    named = {name for name, _ in headers}
    added = (*_HEADERS, *(_HTML_HEADERS if is_html else ()))
    return [*headers, *(each for each in added if each[0] not in named)]


def _as_request_error(error: Exception) -> RequestError:
    """Return what is answered for an error; one that nobody expected is logged with a number."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, BusyError):
        retry = {"Retry-After": str(max(1, round(error.retry_after)))}
        return RequestError(503, "busy", str(error), headers=retry)
    if isinstance(error, sa.exc.OperationalError):
        return RequestError(
            503, "busy", "the database of the desk cannot be used now; try again in a moment.",
            headers={"Retry-After": "2"},
        )  # fmt: skip
    if isinstance(error, PagesOnlyError):
        return RequestError(421, "pages_only", str(error))
    if isinstance(error, ConflictError):
        value = shown(error.payment_id)
        message = (
            f"payment {value!r} was received before with other content; send a payment again as "
            "it was, or a new one with an id of its own."
        )
        return RequestError(409, "conflict", message, {"field": "id", "value": value})
    if isinstance(error, HTTPException):
        return _of_routing(error)
    number = secrets.token_hex(4)
    _log.error("error %s in a request", number, exc_info=error)
    return RequestError(500, "internal", f"an error of the server; its log has it as {number}.")


def _of_routing(error: HTTPException) -> RequestError:
    if error.status_code == 404:
        return RequestError(404, "not_found", "there is no such address.")
    if error.status_code == 405:
        allowed = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
        message = f"this address can be asked by {allowed} alone."
        return RequestError(405, "wrong_method", message, headers={"Allow": allowed})
    return RequestError(error.status_code, "refused", str(error.detail))
