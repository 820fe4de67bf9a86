"""Values as the pages show them: cards, amounts, times and shares in a few words."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = 60_000_000
_HOUR, _DAY = 60 * _MINUTE, 24 * 60 * _MINUTE


def whole(number: float) -> str:
    """Return a whole number with separators.

    >>> whole(12480.2)
    '12,480'
    """
    return f"{round(number):,}"


def decimal(number: float) -> str:
    """Return a number with one decimal.

    >>> decimal(4.249)
    '4.2'
    """
    return f"{number:,.1f}"


def amount(value: float | None, currency: str | None = None) -> str:
    """Return an amount with two decimals, and its currency if there is one.

    >>> amount(1240.5, "EUR"), amount(None)
    ('1,240.50 EUR', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,.2f}" + (f" {currency}" if currency else "")


def percent(share: float | None) -> str:
    """Return a share as a whole percentage; below one and above 99 it says so.

    >>> percent(0.931), percent(0.001), percent(1.0)
    ('93 %', 'less than 1 %', '100 %')
    """
    if share is None or math.isnan(share):
        return "–"
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def when(microseconds: int, now: int) -> str:
    """Return a time to the minute; of today and yesterday without the date.

    >>> when(1_741_000_000_000_000, 1_741_000_500_000_000)
    'today 11:06'
    >>> when(1_741_000_000_000_000, 1_751_000_500_000_000)
    '3 Mar 11:06'
    """
    at, today = _time(microseconds), _time(now)
    clock = f"{at:%H:%M}"
    if at.date() == today.date():
        return f"today {clock}"
    if at.date() == today.date() - timedelta(days=1):
        return f"yesterday {clock}"
    year = "" if at.year == today.year else f" {at.year}"
    return f"{at.day} {at:%b}{year} {clock}"


def day(microseconds: int) -> str:
    """Return the date of a time.

    >>> day(1_741_000_000_000_000)
    '3 Mar 2025'
    """
    at = _time(microseconds)
    return f"{at.day} {at:%b} {at.year}"


def since(microseconds: int, now: int) -> str:
    """Return how long ago a time is, in its largest unit.

    >>> since(0, 4 * 60_000_000), since(0, 30), since(0, 3 * 86_400_000_000)
    ('4 min', 'less than 1 min', '3 days')
    """
    span = max(now - microseconds, 0)
    if span < _MINUTE:
        return "less than 1 min"
    if span < _HOUR:
        return f"{span // _MINUTE} min"
    if span < _DAY:
        return f"{span // _HOUR} h"
    days = span // _DAY
    return "1 day" if days == 1 else f"{days:,} days"


def ago(microseconds: int, now: int) -> str:
    """Return how long ago a time is, as a phrase.

    >>> ago(0, 30), ago(0, 2 * 3_600_000_000)
    ('just now', '2 h ago')
    """
    span = since(microseconds, now)
    return "just now" if span.startswith("less") else f"{span} ago"


def plain(value: Any) -> str:
    """Return the value of a payment's field as text.

    >>> plain(True), plain(None), plain(3.5), plain("online")
    ('yes', '–', '3.5', 'online')
    """
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.6g}"
    return str(value)


def capital(text: str) -> str:
    """Return a text that begins with a capital.

    >>> capital("amount 488; others: 6-132")
    'Amount 488; others: 6-132'
    """
    return text[:1].upper() + text[1:]


def title_of(name: str) -> str:
    """Return the name of a field as the head of a column.

    >>> title_of("card_country")
    'Card country'
    """
    return capital(name.replace("_", " ").strip())


def person_name(actor: str) -> str:
    """Return the name of an actor without its kind.

    >>> person_name("person:anna"), person_name("job:scores")
    ('anna', 'scores (job)')
    """
    kind, _, name = actor.partition(":")
    return name if kind == "person" else f"{name} ({kind})"


FILTERS = {
    each.__name__: each
    for each in (
        ago,
        amount,
        capital,
        whole,
        day,
        decimal,
        when,
        percent,
        person_name,
        plain,
        since,
        title_of,
    )
}
"""What the templates can apply to values, by name."""


def _time(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
