"""What a span of time is, wherever one is given: "7d", "36h", "90min", "10s", or a timedelta.

Inside, a span is whole microseconds. A number alone says nothing of its unit, so it is refused
unless the option that it was given for has one, as `--gap` has days.
"""

import math
import re
from datetime import timedelta
from numbers import Real
from typing import Any

import numpy as np

DAY = np.timedelta64(1, "D")
LONGEST_DAYS = 100_000  # 270 years; sums of moments and spans stay far from overflow

_TEXT = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(d|h|min|s)", re.ASCII)
_NUMPY_UNITS = {
    "W": 604_800_000_000, "D": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000,
    "s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0.001,
}  # fmt: skip
_MICROSECONDS = {"d": 86_400_000_000, "h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000}


def span_of(value: Any, name: str, unit: str | None = None) -> np.timedelta64:
    """Return a span of time to the microsecond, from text, a timedelta, or a number of `unit`.

    >>> span_of("1.5d", "delay") == span_of(1.5, "--gap", unit="d") == np.timedelta64(36, "h")
    np.True_
    """
    return np.timedelta64(span_microseconds(value, name, unit), "us")


def span_microseconds(value: Any, name: str, unit: str | None = None) -> int:
    """Return how many microseconds a span of time has.

    >>> span_microseconds("1h", "window")
    3600000000
    """
    amount = _amount(value, unit)
    if amount is None:
        raise ValueError(
            f"{name} must be a span of time such as '7d', '36h', '90min' or '10s'"
            f"{'' if unit is None else f', or a number of {unit}'}; got {value!r}."
        )
    if amount < 0:
        raise ValueError(f"{name} must not be negative; got {value!r}.")
    if amount > LONGEST_DAYS * _MICROSECONDS["d"]:
        raise ValueError(f"{name} must be at most {LONGEST_DAYS:,} days; got {value!r}.")
    return round(amount)


def in_words(span: np.timedelta64) -> str:
    """Return the span in days or hours.

    >>> in_words(np.timedelta64(36, "h"))
    '1.5 days'
    """
    return f"{span / DAY:g} days" if span >= DAY else f"{span / np.timedelta64(1, 'h'):g} hours"


def _amount(value: Any, unit: str | None) -> float | None:
    """Return the microseconds of a span of any size; None for what is no span."""
    if isinstance(value, str):
        parts = _TEXT.fullmatch(value.strip())
        return None if parts is None else float(parts[1]) * _MICROSECONDS[parts[2]]
    if isinstance(value, timedelta):
        return value / timedelta(microseconds=1)
    if isinstance(value, np.timedelta64) and not np.isnat(value):
        its_unit, step = np.datetime_data(value.dtype)
        if its_unit not in _NUMPY_UNITS:  # months have no fixed length, a generic one has no unit
            return None
        return int(value.view(np.int64)) * step * _NUMPY_UNITS[its_unit]
    if unit is not None and isinstance(value, Real) and not isinstance(value, bool):
        return None if math.isnan(value) else float(value) * _MICROSECONDS[unit]
    return None
