"""What is wrong with a request, in the one JSON shape of all errors.

    {"error": {"code": "invalid", "message": "amount must be a number; got '12,50'.",
               "field": "amount", "value": "12,50", "expected": "a number"}}

`field`, `value` and `expected` are left out where they say nothing; a batch has `errors`, a list
of the same with the `index` of the payment that each is about.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Self

from starlette.responses import Response

_LONGEST_SHOWN = 80
_DIGITS = re.compile(r"[0-9](?:[ .-]?[0-9]){12,}")
"""What may be a card number."""


_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class RequestError(Exception):
    """A request that cannot be answered as its sender wished.

    Parameters
    ----------
    status
        The status of HTTP.
    code
        The kind of error, for programs.
    message
        A sentence for people; the default is made of the field, the value and what was expected.
    facts
        `field`, `value`, `expected`, `errors` as far as they are known.
    headers
        Headers of the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        facts: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.facts, self.headers = dict(facts or {}), dict(headers or {})

    @classmethod
    def invalid(cls, field: str | None, value: Any, expected: str, code: str = "invalid") -> Self:
        """Return the error of a value that is not as expected."""
        seen = shown(value)
        name = "the body" if field is None else shown(field)
        facts = {} if field is None else {"field": name}
        return cls(
            422,
            code,
            f"{name} must be {expected}; got {_quoted(seen)}.",
            {**facts, "value": seen, "expected": expected},
        )

    @classmethod
    def missing(cls, field: str, hint: str = "") -> Self:
        """Return the error of a required field that is not there."""
        return cls(422, "missing", f"{field} is required{hint or '.'}", {"field": field})

    @classmethod
    def batch(cls, n_items: int, errors: list[dict[str, Any]], n_errors: int) -> Self:
        """Return the error of a batch, some of whose items are wrong."""
        listed = "" if len(errors) == n_errors else f"; the first {len(errors)} are listed"
        return cls(
            422,
            "invalid_batch",
            f"{n_errors} of {n_items} items are invalid, and none was taken in{listed}.",
            {"errors": errors},
        )

    def content(self) -> dict[str, Any]:
        """Return the error as a JSON object."""
        return {"code": self.code, "message": self.message, **self.facts}

    def response(self) -> Response:
        """Return the answer of HTTP."""
        return json_response({"error": self.content()}, self.status, self.headers)


def json_response(
    content: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an answer in JSON, all of it ASCII: a lone surrogate could not be sent otherwise."""
    return Response(_encode(content).encode("ascii"), status, headers, "application/json")


def shown(value: Any) -> Any:
    """Return a value as an error shows it: short, and without what may be a card number.

    >>> shown("4539 1488 0343 6467"), shown(True), shown({"a": 1})
    ('...6467', True, '{"a":1}')
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        text = _number_text(value)
        is_plain = len(text) <= 20 and text == _without_cards(text) and text[-1].isdigit()
        return value if is_plain else _shortened(text)
    if not isinstance(value, str):
        try:
            value = json.dumps(value, separators=(",", ":"))
        except RecursionError:
            return "a deeply nested value"
    return _shortened(value)


def _shortened(text: str) -> str:
    # cut only after the digits are hidden: else the first ones of a number would be left
    hidden = _without_cards(text[: 4 * _LONGEST_SHOWN])
    return hidden if len(hidden) <= _LONGEST_SHOWN else f"{hidden[: _LONGEST_SHOWN - 3]}..."


def _number_text(value: float) -> str:
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        return "a number of thousands of digits"


def _without_cards(text: str) -> str:
    return _DIGITS.sub(lambda found: f"...{found[0][-4:]}", text)


def _quoted(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) or value is None else repr(value)
