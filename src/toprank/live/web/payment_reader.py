"""Payments as they come in JSON, checked against the fields of this desk.

Feeds carry more than a desk needs, so a field that it does not know is ignored: neither used nor
kept. One exception: if its name is nearly that of a field that is missing, the payment is refused,
since a misspelt `amuont` would otherwise be lost without a word.
"""

from difflib import get_close_matches
from functools import lru_cache
from typing import Any, NamedTuple

from toprank.live.messages import Payment, PaymentField, TimeRange
from toprank.live.web import field_readers
from toprank.live.web.card_number_check import refuse_card_number
from toprank.live.web.field_readers import Reader
from toprank.live.web.request_errors import RequestError

_NEARLY = 0.8  # of the letters of two names; amuont and amount have .83


class _Field(NamedTuple):
    name: str
    is_required: bool
    read: Reader


class PaymentReader:
    """Reads payments: their values, their time, their card.

    Parameters
    ----------
    fields
        The fields of the desk; those with the roles id, card and time must be among them.
    is_tokenising
        Whether cards are stored as keyed hashes, so that card numbers may come.
    times
        How far from now a payment's time may be.
    """

    def __init__(self, fields: list[PaymentField], is_tokenising: bool, times: TimeRange) -> None:
        self._fields = [_Field(each.name, each.is_required, _reader(each)) for each in fields]
        self._names = [each.name for each in fields]
        roles = {each.role: each.name for each in fields if each.role is not None}
        self._id, self._card, self._time = roles["id"], roles["card"], roles["time"]
        self._terminal = roles.get("terminal")
        self._is_tokenising, self._times = is_tokenising, times
        self._nearest = lru_cache(4096)(self._nearest_name)

    def payment(self, item: Any, now: int) -> Payment:
        """Return the payment in a value of JSON; RequestError names the first fault."""
        if type(item) is not dict:
            raise RequestError.invalid(None, item, "a payment, a JSON object")
        body, n_known = {}, 0
        for name, is_required, read in self._fields:
            value = item.get(name)
            if value is not None:
                value = read(name, value)
            if value is not None:
                body[name] = value
            elif is_required:
                raise RequestError.missing(name, self._hint(name, item))
            n_known += name in item
        if n_known < len(item):
            self._check_unknown(item, body)
        card = str(body[self._card])
        refuse_card_number(self._card, card, self._is_tokenising)
        paid_at = body[self._time]
        first, last = now - self._times.back, now + self._times.ahead
        if not first <= paid_at <= last:
            expected = _time_words(first, last)
            raise RequestError.invalid(self._time, item[self._time], expected, code="out_of_time")
        terminal = "" if self._terminal is None else str(body.get(self._terminal, ""))
        return Payment(str(body[self._id]), card, terminal, paid_at, body)

    def _check_unknown(self, item: dict[str, Any], body: dict[str, Any]) -> None:
        """Raise if an unknown field is nearly one that is missing."""
        if len(body) == len(self._fields):
            return
        for name in item:
            meant = self._nearest(name[: field_readers.LONGEST_ID])
            if meant is not None and meant not in item:
                raise RequestError.invalid(
                    name, item[name], f"left out or named {meant!r}", code="unknown_field"
                )

    def _hint(self, name: str, item: dict[str, Any]) -> str:
        """Return which field may have been meant to be a missing one, as part of a sentence."""
        for other in item:
            if self._nearest(other[: field_readers.LONGEST_ID]) == name:
                return f"; did you mean it by {other!r}?"
        return ""

    def _nearest_name(self, name: str) -> str | None:
        if name in self._names:
            return None
        folded = {each.casefold(): each for each in self._names}
        close = get_close_matches(name.casefold(), list(folded), n=1, cutoff=_NEARLY)
        return folded[close[0]] if close else None


def _reader(field: PaymentField) -> Reader:
    if field.role in ("id", "card", "terminal"):
        return field_readers.identifier
    if field.role == "time":
        return field_readers.moment  # of a day alone, the features would know too little
    return field_readers.READERS[field.kind]


def _time_words(first: int, last: int) -> str:
    begin, end = field_readers.iso_text(first), field_readers.iso_text(last)
    return f"a time from {begin[:10]} to {end[:19]}Z"
