"""Which fields of a card's payments are unusual for this card, compared with its payments before.

amount      outside the fences of Tukey's box plot on a logarithmic scale: further from the
            quartiles than twice the distance between them, and than a factor of 2
text        a value that the card never had, if new values are rare for it: by Good and Turing,
            the next value is new with about the chance n1 / n, where n1 of the n values so far
            occurred once
hour        no payment so far within three hours of this time of day

Nothing is unusual for a card of which too little is known. Payments that are suspected or known
as frauds are compared with the others, never the others with them.
"""

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_FEWEST_AMOUNTS = 6
_FEWEST_VALUES = 5
_FEWEST_HOURS = 15
_NEW = 0.15  # new values are rare if fewer than this share of payments has one
_FENCE = 2.0  # distances between quartiles
_FACTOR = math.log(2.0)
_HOUR, _DAY = 3_600_000_000, 86_400_000_000
_NEAR = 3 * _HOUR

HOUR = "hour"


class CardPayment(NamedTuple):
    """What is compared of a payment; `is_usual` if others are compared with it."""

    paid_at: int
    amount: float | None
    texts: Mapping[str, Any]
    is_usual: bool


def unusual_cells(payments: Sequence[CardPayment], amount: str) -> list[dict[str, str]]:
    """Return the unusual fields of each of a card's payments, in order of time, with a sentence.

    >>> usual = [CardPayment(hour * 3_600_000_000, 20.0, {}, True) for hour in range(9)]
    >>> unusual_cells([*usual, CardPayment(0, 95.0, {}, True)], "amount")[-1]
    {'amount': 'usual for this card: 20.00'}
    """
    known, found = _Known(), []
    for each in payments:
        found.append(known.unusual(each, amount))
        if each.is_usual:
            known.add(each)
    return found


class _Known:
    """What a card did so far."""

    def __init__(self) -> None:
        self.amounts: list[float] = []  # on a logarithmic scale, rising
        self.values: dict[str, Counter[Any]] = {}
        self.times: list[int] = []  # of day

    def add(self, payment: CardPayment) -> None:
        if payment.amount is not None:
            insort(self.amounts, _scaled(payment.amount))
        for name, value in payment.texts.items():
            self.values.setdefault(name, Counter())[value] += 1
        insort(self.times, payment.paid_at % _DAY)

    def unusual(self, payment: CardPayment, amount: str) -> dict[str, str]:
        found = {}
        if payment.amount is not None and (why := self._amount(payment.amount)):
            found[amount] = why
        for name, value in payment.texts.items():
            if self._is_new(name, value):
                found[name] = "never before with this card"
        if self._is_odd_hour(payment.paid_at % _DAY):
            found[HOUR] = "no earlier payment within 3 hours of this time of day"
        return found

    def _amount(self, amount: float) -> str:
        n = len(self.amounts)
        if n < _FEWEST_AMOUNTS:
            return ""
        low, high = self.amounts[n // 4], self.amounts[(3 * n) // 4]
        reach = max(_FENCE * (high - low), _FACTOR)
        first = bisect_left(self.amounts, low - reach)
        last = bisect_right(self.amounts, high + reach) - 1
        if low - reach <= _scaled(amount) <= high + reach:
            return ""
        # earlier amounts that were as unusual are not part of what is usual
        ends = [f"{_unscaled(self.amounts[place]):,.2f}" for place in (first, last)]
        return f"usual for this card: {ends[0] if ends[0] == ends[1] else ' to '.join(ends)}"

    def _is_new(self, name: str, value: Any) -> bool:
        values = self.values.get(name)
        if values is None or value in values or values.total() < _FEWEST_VALUES:
            return False
        n_once = sum(count == 1 for count in values.values())
        return n_once < _NEW * values.total()

    def _is_odd_hour(self, time: int) -> bool:
        if len(self.times) < _FEWEST_HOURS:
            return False
        return not any(
            self._has_between(time + turn - _NEAR, time + turn + _NEAR)
            for turn in (-_DAY, 0, _DAY)
        )

    def _has_between(self, low: int, high: int) -> bool:
        place = bisect_left(self.times, low)
        return place < len(self.times) and self.times[place] <= high


def _scaled(amount: float) -> float:
    """Return an amount on a scale that is logarithmic from about 1 on; 0 and credits are on it."""
    return math.asinh(amount)


def _unscaled(value: float) -> float:
    return math.sinh(value)
