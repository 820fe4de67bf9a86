"""The description of the API (OpenAPI 3.1), made from the fields of this desk's payments."""

from typing import Any

import toprank
from toprank.live.messages import PaymentField
from toprank.live.store.alert_table import STATES
from toprank.live.web import field_readers
from toprank.live.web.batches import MOST_ITEMS
from toprank.payments.ledger.holding import SOURCES

MOST_ALERTS = 1_000
CURSOR_PATTERN = r"0x[01]\.[0-9a-f]{1,13}p(?:\+0|-[0-9]{1,4})_[1-9][0-9]{0,17}"
"""What an answer has as `next`: a probability and the number of an alert."""

_ERRORS = {
    400: "The body is not JSON.",
    401: "The key is missing, unknown or revoked.",
    403: "The key lacks the scope.",
    404: "There is no such payment.",
    408: "The body came too slowly.",
    409: (
        "A payment with this id and other content was received before; the others of a batch "
        "are taken in."
    ),
    413: "The body is too large: 64 KiB for one item, 8 MiB for a batch.",
    415: "The body is not `application/json`.",
    421: "The server does not answer for this host.",
    422: "A value is not as expected; of a batch, nothing was taken in.",
    503: "Too many payments are waiting, or the desk is starting; see the header Retry-After.",
}
_ALWAYS = (421,)
_READING = (401, 403, 422, *_ALWAYS)
_POSTING = (400, 401, 403, 408, 413, 415, 422, 503, *_ALWAYS)


def description(fields: list[PaymentField]) -> dict[str, Any]:
    """Return the description as a JSON object."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "toprank desk",
            "version": toprank.__version__,
            "description": (
                "Payments come in, rules answer at once with accept or block, and the model puts "
                "cards on a list. Payments are idempotent: the same one sent again gets the "
                "answer of before."
            ),
        },
        "paths": _paths(),
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": _schemas(fields),
        },
    }


def _paths() -> dict[str, Any]:
    payment_id = {
        "name": "id", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1},
        "description": "Id of the payment; a slash in it may be sent as it is.",
    }  # fmt: skip
    return {
        "/v1/payments": {
            "post": {
                "operationId": "decidePayments",
                "summary": "Decide one payment, or up to 1,000",
                "description": "Scope of the key: payments.",
                "security": [{"key": []}],
                "requestBody": _body(_one_or_list("payments", "Payment")),
                "responses": _responses(
                    {"anyOf": [_ref("Answer"), _list_of("answers", "Answer")]}, *_POSTING, 409
                ),
            }
        },
        "/v1/labels": {
            "post": {
                "operationId": "giveLabels",
                "summary": "Say of one payment, or of up to 1,000, whether it is a fraud",
                "description": "Scope of the key: labels. Unknown ids of a list are returned.",
                "security": [{"key": []}],
                "requestBody": _body(_one_or_list("labels", "Label")),
                "responses": _responses(_ref("LabelCounts"), *_POSTING, 404),
            }
        },
        "/v1/payments/{id}": {
            "get": {
                "operationId": "getPayment",
                "summary": "What is known of a payment",
                "description": "Scope of the key: read.",
                "security": [{"key": []}],
                "parameters": [payment_id],
                "responses": _responses({"type": "object"}, *_READING, 404),
            }
        },
        "/v1/alerts": {
            "get": {
                "operationId": "getAlerts",
                "summary": "Cards on the list, in its order",
                "description": "Scope of the key: read.",
                "security": [{"key": []}],
                "parameters": [
                    _query("state", {"enum": list(STATES), "default": STATES[0]}),
                    _query(
                        "limit",
                        {"type": "integer", "minimum": 1, "maximum": MOST_ALERTS, "default": 100},
                    ),
                    _query("cursor", {"type": "string", "pattern": f"^({CURSOR_PATTERN})?$"}),
                ],
                "responses": _responses(_ref("Alerts"), *_READING),
            }
        },
        "/health": {"get": _state("getHealth", "Whether the server runs")},
        "/ready": {"get": _state("getReady", "Whether payments can be decided", 503)},
        "/metrics": {
            "get": {
                "operationId": "getMetrics",
                "summary": "Figures for Prometheus",
                "description": "Scope of the key: metrics.",
                "security": [{"key": []}],
                "responses": {
                    **_responses({}, 401, 403, *_ALWAYS),
                    "200": {"description": "Figures.", "content": {"text/plain": {}}},
                },
            }
        },
    }


def _schemas(fields: list[PaymentField]) -> dict[str, Any]:
    text = {"type": "string"}
    counts = ("new", "corrected", "known", "overruled")
    error = {
        "type": "object",
        "properties": {
            "code": {"type": "string", "description": "The kind of error, for programs."},
            "message": {"type": "string", "description": "A sentence for people."},
            "field": text,
            "value": {"description": "The value, shortened; never a whole card number."},
            "expected": {},
            "errors": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["code", "message"],
    }
    return {
        "Payment": {
            "type": "object",
            "properties": {each.name: _field_schema(each) for each in fields},
            "required": [each.name for each in fields if each.is_required],
            "description": (
                "Further fields are ignored and not kept, unless their name is nearly that of a "
                "field that is missing."
            ),
        },
        "Answer": {
            "type": "object",
            "properties": {
                "id": text,
                "decision": {"enum": ["accept", "block"]},
                "rules": {"type": "array", "items": text, "description": "That blocked it."},
                "repeated": {"type": "boolean", "description": "Whether it came before."},
            },
            "required": ["id", "decision", "rules", "repeated"],
            "additionalProperties": False,
        },
        "Label": {
            "type": "object",
            "properties": {
                "id": _id_schema(),
                "is_fraud": {"type": "boolean"},
                "known_at": {**_time_schema(with_days=True), "type": ["string", "number", "null"]},
                "source": {"enum": [*SOURCES, None], "default": "claim"},
            },
            "required": ["id", "is_fraud"],
            "additionalProperties": False,
            # silence cannot say fraud
            "not": {
                "properties": {"is_fraud": {"const": True}, "source": {"const": "silence"}},
                "required": ["is_fraud", "source"],
            },
        },
        "LabelCounts": {
            "type": "object",
            "properties": {
                **{name: {"type": "integer"} for name in counts},
                "unknown": {"type": "array", "items": text},
            },
            "required": [*counts, "unknown"],
        },
        "Alerts": {
            "type": "object",
            "properties": {
                "alerts": {"type": "array", "items": {"type": "object"}},
                "next": {
                    "type": ["string", "null"],
                    "description": "The cursor of the next page.",
                },
            },
            "required": ["alerts", "next"],
        },
        "State": {"type": "object", "properties": {"status": text}, "required": ["status"]},
        "Error": {"type": "object", "properties": {"error": error}, "required": ["error"]},
    }


def _field_schema(field: PaymentField) -> dict[str, Any]:
    if field.role in ("id", "card", "terminal"):
        schema = _id_schema()
    elif field.kind == "number":
        largest = field_readers.LARGEST_NUMBER
        schema = {"type": "number", "minimum": -largest, "maximum": largest}
    elif field.kind == "boolean":
        schema = {"type": "boolean"}
    elif field.kind == "time":
        schema = _time_schema(with_days=field.role != "time")
    else:
        shortest = {"minLength": 1} if field.is_required else {}
        schema = {
            "type": "string",
            "pattern": f"^{field_readers.TEXT_PATTERN}$",
            "maxLength": field_readers.LONGEST_TEXT,
            **shortest,
        }
    if not field.is_required:
        kinds = schema["type"]
        schema["type"] = [*(kinds if isinstance(kinds, list) else [kinds]), "null"]
    if field.role is not None:
        schema["description"] = f"The {field.role} of the payment."
    return schema


def _id_schema() -> dict[str, Any]:
    largest = field_readers.LARGEST_NUMBER
    return {
        "type": ["string", "integer"],
        "minLength": 1,
        "maxLength": field_readers.LONGEST_ID,
        "pattern": f"^{field_readers.ID_PATTERN}$",
        "minimum": -largest,
        "maximum": largest,
    }


def _time_schema(with_days: bool) -> dict[str, Any]:
    pattern = field_readers.TIME_PATTERN
    if with_days:
        pattern = f"(?:{pattern}|{field_readers.DAY_PATTERN})"
    return {
        "type": ["string", "number"],
        "pattern": f"^{pattern}$",
        "minimum": field_readers.FIRST_SECOND,
        "maximum": field_readers.LAST_SECOND,
        "examples": ["2025-03-01T14:05:00Z", 1740834300],
    }


def _one_or_list(name: str, item: str) -> dict[str, Any]:
    listed = _list_of(name, item)
    listed["properties"][name] |= {"minItems": 1, "maxItems": MOST_ITEMS}
    return {"anyOf": [_ref(item), {**listed, "additionalProperties": False}]}


def _list_of(name: str, item: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": _ref(item)}},
        "required": [name],
    }


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _query(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema}


def _state(name: str, summary: str, *errors: int) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": _responses(_ref("State"), *errors, *_ALWAYS),
    }


def _responses(schema: dict[str, Any], *errors: int) -> dict[str, Any]:
    error = {"application/json": {"schema": _ref("Error")}}
    found: dict[str, Any] = {
        "200": {"description": "Done.", "content": {"application/json": {"schema": schema}}}
    }
    for status in sorted(errors):
        found[str(status)] = {"description": _ERRORS[status], "content": error}
    return found


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
