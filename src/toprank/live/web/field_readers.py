"""The values of fields, read by their kind: each function returns the value or raises.

The patterns and limits are public: the description of the API states the same ones.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from toprank.live.messages import FieldKind
from toprank.live.web.request_errors import RequestError

LARGEST_NUMBER = 2**53
"""Beyond it, not every integer is a float, and programs disagree on what was sent."""
LONGEST_TEXT = 1_000
LONGEST_ID = 200
_CONTROLS = r"\x00-\x1f\x7f-\x9f"
TEXT_PATTERN = f"[^{_CONTROLS}]*"
ID_PATTERN = rf"[^\s{_CONTROLS}](?:[^{_CONTROLS}]*[^\s{_CONTROLS}])?"
"""A text without control characters; the same without spaces at its ends."""
DAY_PATTERN = "(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_HOUR, _SIXTY = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]"
TIME_PATTERN = (
    f"{DAY_PATTERN}[Tt ]{_HOUR}:{_SIXTY}(?::{_SIXTY}(?:[.,][0-9]{{1,9}})?)?"
    f"(?:[Zz]|[+-]{_HOUR}:?{_SIXTY})?"
)
FIRST_SECOND, LAST_SECOND = -62135596800, 253402300799
"""Of the years 1 to 9999."""

TIME_WORDS = (
    "a time such as 2025-03-01T14:05:00Z (ISO 8601; UTC if it names no zone) or in seconds since "
    "1970"
)
_NUMBER_WORDS = "a number from -2**53 to 2**53"
_TEXT_WORDS = f"a text of at most {LONGEST_TEXT:,} characters without control characters"
_ID_WORDS = (
    f"a text of 1 to {LONGEST_ID} characters without control characters and spaces at its ends, "
    "or an integer from -2**53 to 2**53"
)

Reader = Callable[[str, Any], Any]

# nor half of a character, which JSON can write and nothing can store
_HALVES = r"\ud800-\udfff"
_is_text = re.compile(TEXT_PATTERN.replace(_CONTROLS, _CONTROLS + _HALVES)).fullmatch
_is_id = re.compile(ID_PATTERN.replace(_CONTROLS, _CONTROLS + _HALVES)).fullmatch
_is_time = re.compile(TIME_PATTERN).fullmatch
_is_day = re.compile(DAY_PATTERN).fullmatch
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def number(name: str, value: Any) -> float:
    """Return a number that every program reads as the same one."""
    if type(value) in (int, float) and -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
        return float(value)  # 12 and 12.0 are one amount
    raise RequestError.invalid(name, value, _NUMBER_WORDS)


def text(name: str, value: Any) -> str | None:
    """Return a text; None if it is empty, as in a table."""
    if type(value) is str and len(value) <= LONGEST_TEXT and _is_text(value):
        return value or None
    raise RequestError.invalid(name, value, _TEXT_WORDS)


def boolean(name: str, value: Any) -> bool:
    """Return true or false; 0 and 1 are numbers."""
    if type(value) is bool:
        return value
    raise RequestError.invalid(name, value, "true or false")


def identifier(name: str, value: Any) -> str | int:
    """Return an id, a card or a terminal: a text or an integer; 7.0 is 7, as in JSON Schema."""
    if type(value) is str:
        if len(value) <= LONGEST_ID and _is_id(value):
            return value
    elif type(value) in (int, float) and abs(value) <= LARGEST_NUMBER and value == int(value):
        return int(value)
    raise RequestError.invalid(name, value, _ID_WORDS)


def moment(name: str, value: Any) -> int:
    """Return a time in microseconds since 1970, UTC.

    >>> moment("paid_at", "2025-03-01T14:05:00+01:00") == moment("paid_at", 1740834300)
    True
    """
    if type(value) is str:
        if len(value) <= 40 and _is_time(value):
            return _written_moment(name, value)
    elif type(value) in (int, float) and FIRST_SECOND <= value <= LAST_SECOND:
        return round(value * 1_000_000)
    raise RequestError.invalid(name, value, TIME_WORDS)


def moment_or_day(name: str, value: Any) -> int:
    """Return a time, or the beginning of a day, in microseconds since 1970, UTC."""
    if type(value) is str and len(value) == 10 and _is_day(value):
        return _written_moment(name, value)
    return moment(name, value)


READERS: dict[FieldKind, Reader] = {
    "number": number, "text": text, "boolean": boolean, "time": moment_or_day,
}  # fmt: skip


def _written_moment(name: str, value: str) -> int:
    try:
        found = datetime.fromisoformat(value.upper())
    except ValueError:  # such as 30 February
        raise RequestError.invalid(name, value, TIME_WORDS) from None
    return ((found if found.tzinfo else found.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def iso_text(microseconds: int) -> str:
    """Return a time as ISO 8601 has it, in UTC.

    >>> iso_text(1740834300000000)
    '2025-03-01T13:05:00Z'
    """
    found = _EPOCH + timedelta(microseconds=microseconds)
    return found.isoformat().replace("+00:00", "Z")
