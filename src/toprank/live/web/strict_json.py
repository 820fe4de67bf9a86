"""JSON as the standard has it: what parsers read in different ways is refused.

Python's parser takes NaN and Infinity, the last of several equal names, and UTF-16; two systems
that read the same payment differently are a way around every rule.
"""

import json
from collections import Counter
from typing import Any

from toprank.live.web.request_errors import RequestError, shown


def parsed(body: bytes) -> Any:
    """Return the value of a JSON text; RequestError if it is none.

    >>> parsed(b'{"amount": 12.5}')
    {'amount': 12.5}
    """
    try:
        return _DECODER.decode(body.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise _malformed(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _malformed(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise _malformed("it is nested too deeply") from None
    except ValueError as error:
        # an integer of more digits than Python converts, or one of the two below
        is_own = isinstance(error, _NotStrictError)
        raise _malformed(str(error) if is_own else "it has a number that is too long") from None


class _NotStrictError(ValueError):
    """What Python's parser would take."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = shown(counts.most_common(1)[0][0])
        raise _NotStrictError(f"the name {twice!r} occurs twice in one object")
    return found


def _constant(name: str) -> None:
    raise _NotStrictError(f"{name} is not a number of JSON")


def _malformed(reason: str) -> RequestError:
    return RequestError(400, "malformed", f"the body must be JSON in UTF-8; {reason}.")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
