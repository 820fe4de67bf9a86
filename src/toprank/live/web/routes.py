"""The routes of the API: each reads a request, asks the engine, and writes its answer."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from toprank.live.messages import Answer
from toprank.live.store.alert_table import STATES
from toprank.live.store.api_keys import ApiKey
from toprank.live.web import api_description, batches, strict_json
from toprank.live.web.api_description import CURSOR_PATTERN, MOST_ALERTS
from toprank.live.web.gate import ROUTE
from toprank.live.web.label_reader import label_given
from toprank.live.web.payment_reader import PaymentReader
from toprank.live.web.request_body import BodyReader
from toprank.live.web.request_errors import RequestError, json_response, shown
from toprank.live.web.served import ServedDesk
from toprank.live.web.service_metrics import CONTENT_TYPE, ServiceMetrics

_DEFAULT_ALERTS = 100
_PAYMENTS = ("POST", "/v1/payments")
_LISTS = "POST /v1/payments, lists"  # whose time is no time that a payment has waited
_is_cursor = re.compile(CURSOR_PATTERN).fullmatch

Item = TypeVar("Item")
Handler = Callable[[Request], Awaitable[Response]]


class Endpoint:
    """A route's function as an application of ASGI, without Starlette's wrappers around it."""

    def __init__(self, name: str, handler: Handler) -> None:
        self._name, self._handler = name, handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope[ROUTE] = self._name
        response = await self._handler(Request(scope, receive))
        await response(scope, receive, send)


class ApiRoutes:
    """The routes of a desk.

    Parameters
    ----------
    desk
        What is served.
    metrics
        What counts decisions and labels.
    bodies
        What reads the bodies of requests.
    """

    def __init__(
        self,
        desk: ServedDesk,
        metrics: ServiceMetrics,
        bodies: BodyReader,
    ) -> None:
        self._desk, self._metrics, self._bodies = desk, metrics, bodies
        self._payments = PaymentReader(desk.fields, desk.is_tokenising, desk.times)
        self._description = api_description.description(desk.fields)

    def direct(self) -> dict[tuple[str, str], ASGIApp]:
        """Return the route that every payment takes, which need not be searched for."""
        return {_PAYMENTS: Endpoint(" ".join(_PAYMENTS), self._post_payments)}

    def routes(self) -> list[Route]:
        """Return the routes."""
        found: list[tuple[str, str, Handler]] = [
            (*_PAYMENTS, self._post_payments),
            ("POST", "/v1/labels", self._post_labels),
            ("GET", "/v1/payments/{id:path}", self._get_payment),
            ("GET", "/v1/alerts", self._get_alerts),
            ("GET", "/health", self._get_health),
            ("GET", "/ready", self._get_ready),
            ("GET", "/metrics", self._get_metrics),
            ("GET", "/openapi.json", self._get_description),
        ]
        return [
            Route(
                path, Endpoint(f"{method} {path.replace(':path', '')}", handler), methods=[method]
            )
            for method, path, handler in found
        ]

    async def _post_payments(self, request: Request) -> Response:
        self._check_key(request, "payments")
        self._check_ready()
        async with self._bodies.body(request.scope, request.receive) as body:
            now = self._desk.now()
            payments, is_list = await _read(
                body, "payments", lambda item: self._payments.payment(item, now)
            )
            answers = await self._desk.engine.decide(payments)
        self._metrics.saw_answers(answers)
        if is_list:
            request.scope[ROUTE] = _LISTS
            return json_response({"answers": [_shown_answer(each) for each in answers]})
        return json_response(_shown_answer(answers[0]))

    async def _post_labels(self, request: Request) -> Response:
        key = self._check_key(request, "labels")
        self._check_ready()
        async with self._bodies.body(request.scope, request.receive) as body:
            now = self._desk.now()
            labels, is_list = await _read(body, "labels", lambda item: label_given(item, now))
            counts = await self._desk.engine.label(labels, f"key:{key.name}")
        self._metrics.saw_labels(counts)
        if counts.n_unknown and not is_list:
            raise _unknown_payment(labels[0].id)
        return json_response(
            {
                "new": counts.n_new,
                "corrected": counts.n_corrected,
                "known": counts.n_known,
                "overruled": counts.n_overruled,
                "unknown": [labels[place].id for place in counts.unknown],
            }
        )

    async def _get_payment(self, request: Request) -> Response:
        key = self._check_key(request, "read")
        payment_id = request.path_params["id"]
        who = f"key:{key.name}"
        if "\0" in payment_id:  # PostgreSQL refuses to look for it
            raise _unknown_payment(payment_id)
        found = await asyncio.to_thread(self._desk.engine.payment, payment_id, who)
        if found is None:
            raise _unknown_payment(payment_id)
        return json_response(found)

    async def _get_alerts(self, request: Request) -> Response:
        key = self._check_key(request, "read")
        query = _query_of(request, {"state": "open", "limit": str(_DEFAULT_ALERTS), "cursor": ""})
        if query["state"] not in STATES:
            raise RequestError.invalid("state", query["state"], f"one of {', '.join(STATES)}")
        limit = _limit_of(query["limit"])
        cursor = query["cursor"].replace(" ", "+")  # what a plus is in an address
        if cursor and not _is_cursor(cursor):
            raise _no_cursor(cursor)
        try:
            found = await asyncio.to_thread(
                self._desk.engine.alerts, query["state"], limit, cursor or None, f"key:{key.name}"
            )
        except ValueError:
            raise _no_cursor(cursor) from None
        last = found[-1]["cursor"] if len(found) == limit else None
        return json_response({"alerts": found, "next": last})

    async def _get_health(self, request: Request) -> Response:
        return json_response({"status": "ok"})

    async def _get_ready(self, request: Request) -> Response:
        self._check_ready()
        return json_response({"status": "ready"})

    async def _get_metrics(self, request: Request) -> Response:
        self._check_key(request, "metrics")
        return Response(self._metrics.text(), media_type=CONTENT_TYPE)

    async def _get_description(self, request: Request) -> Response:
        return json_response(self._description)

    def _check_key(self, request: Request, scope: str) -> ApiKey:
        """Return the key of a request, if it may do this; before its body is read."""
        sent = [value for name, value in request.scope["headers"] if name == b"authorization"]
        kind, _, text = sent[0].decode("latin-1").partition(" ") if len(sent) == 1 else ("",) * 3
        key = self._desk.keys.find(text.strip()) if kind.lower() == "bearer" else None
        if key is None:
            raise RequestError(
                401,
                "no_key",
                "a key is required in the header `Authorization: Bearer tr_...`; "
                + ("none was sent." if not sent else "this one is not in use."),
                headers={"WWW-Authenticate": "Bearer"},
            )
        if scope not in key.scopes:
            raise RequestError(
                403,
                "wrong_scope",
                f"key {key.name!r} must have the scope {scope!r} for this; it has "
                f"{', '.join(sorted(key.scopes))}.",
                {"expected": scope},
            )
        return key

    def _check_ready(self) -> None:
        if not self._desk.engine.is_ready:
            raise RequestError(
                503,
                "not_ready",
                "the desk is starting or stopping, or waits for its database.",
                headers={"Retry-After": "1"},
            )


async def _read(body: bytes, name: str, read: Callable[[Any], Item]) -> tuple[list[Item], bool]:
    """Return the items of a body, and whether they came in a list."""

    def items() -> tuple[list[Item], bool]:
        batch = batches.batch_of(strict_json.parsed(body), name, len(body))
        return batches.read_items(batch, read, len(body)), batch.is_list

    if len(body) <= batches.LARGEST_ITEM:
        return items()
    # others must not wait for it: the loop gets its turn while a thread reads
    return await asyncio.to_thread(items)


def _shown_answer(answer: Answer) -> dict[str, Any]:
    return {
        "id": answer.id,
        "decision": answer.decision,
        "rules": answer.rules,
        "repeated": answer.is_repeated,
    }


def _unknown_payment(payment_id: str) -> RequestError:
    value = shown(payment_id)
    return RequestError(
        404, "unknown_payment", f"there is no payment {value!r}.", {"field": "id", "value": value}
    )


def _query_of(request: Request, defaults: dict[str, str]) -> dict[str, str]:
    """Return the parameters of an address; one that is unknown or repeated is a mistake."""
    found: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in defaults or name in found:
            expected = f"one of {', '.join(defaults)}, and once"
            raise RequestError.invalid("query", name, expected, code="unknown_field")
        found[name] = value
    return {**defaults, **found}


def _limit_of(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MOST_ALERTS:
        return int(text)
    raise RequestError.invalid("limit", text, f"an integer from 1 to {MOST_ALERTS:,}")


def _no_cursor(cursor: str) -> RequestError:
    return RequestError.invalid("cursor", cursor, "what an answer has as `next`")
