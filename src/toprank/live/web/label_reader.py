"""Labels as they come in JSON: what is known of a payment, by whom, and from when on."""

from typing import Any, cast

from toprank.data import checks
from toprank.live.messages import LabelGiven, Source
from toprank.live.web import field_readers
from toprank.live.web.request_errors import RequestError
from toprank.payments.ledger.holding import SILENCE, SOURCES

NAMES = ["id", "is_fraud", "known_at", "source"]
DEFAULT_SOURCE: Source = "claim"

_AHEAD = 5 * 60_000_000  # microseconds by which the clock of a sender may be ahead


def label_given(item: Any, now: int) -> LabelGiven:
    """Return the label in a value of JSON; RequestError names the first fault.

    A label has few fields, all of them ours: one that is unknown is a mistake.
    """
    if type(item) is not dict:
        raise RequestError.invalid(None, item, "a label, a JSON object")
    for name in item:
        if name not in NAMES:
            hint = checks.nearest_name(name[: field_readers.LONGEST_ID], NAMES)
            expected = f"one of the fields of a label: {', '.join(NAMES)}{hint}"
            raise RequestError.invalid(name, item[name], expected, code="unknown_field")
    for name in ("id", "is_fraud"):
        if item.get(name) is None:
            raise RequestError.missing(name)
    payment_id = field_readers.identifier("id", item["id"])
    is_fraud = field_readers.boolean("is_fraud", item["is_fraud"])
    known_at = _known_at(item.get("known_at"), now)
    source = _source(item.get("source"))
    if is_fraud and source == SOURCES[SILENCE]:
        expected = "investigator or claim where is_fraud is true"
        raise RequestError.invalid("source", source, expected)
    return LabelGiven(str(payment_id), is_fraud, known_at, source)


def _source(value: Any) -> Source:
    if value is None:
        return DEFAULT_SOURCE
    if value not in SOURCES:
        raise RequestError.invalid("source", value, f"one of {', '.join(SOURCES)}")
    return cast(Source, value)


def _known_at(value: Any, now: int) -> int | None:
    if value is None:
        return None
    known_at = field_readers.moment_or_day("known_at", value)
    if known_at > now + _AHEAD:
        raise RequestError.invalid("known_at", value, "a time that has passed", code="out_of_time")
    return known_at
