"""What one column's value must be: within an interval, or one of some categories.

Missing values are allowed or not, independently of the values that are present.
"""

from dataclasses import dataclass
from math import inf, isnan


@dataclass(frozen=True)
class ValueRange:
    """Numbers with low < value <= high, with or without missing ones; low = inf for no number.

    >>> ValueRange(3.0, 8.0, False).meet(ValueRange(5.0, inf, True))
    ValueRange(low=5.0, high=8.0, with_missing=False)
    """

    low: float = -inf
    high: float = inf
    with_missing: bool = True

    @property
    def is_blank(self) -> bool:
        """Whether no number is allowed."""
        return not self.low < self.high

    @property
    def is_nothing(self) -> bool:
        return self.is_blank and not self.with_missing

    @property
    def is_everything(self) -> bool:
        return self.low == -inf and self.high == inf and self.with_missing

    def holds(self, value: float) -> bool:
        return self.with_missing if isnan(value) else self.low < value <= self.high

    def meet(self, other: "ValueRange") -> "ValueRange":
        """Return what both allow."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return _interval(low, high, self.with_missing and other.with_missing)

    def hull(self, other: "ValueRange") -> "ValueRange":
        """Return the smallest interval with all that either allows."""
        with_missing = self.with_missing or other.with_missing
        if self.is_blank or other.is_blank:
            numbers = other if self.is_blank else self
            return _interval(numbers.low, numbers.high, with_missing)
        return ValueRange(min(self.low, other.low), max(self.high, other.high), with_missing)

    def join(self, other: "ValueRange") -> "ValueRange | None":
        """Return what either allows; None if numbers between the two are allowed by neither."""
        is_apart = self.high < other.low or other.high < self.low
        if is_apart and not (self.is_blank or other.is_blank):
            return None
        return self.hull(other)


@dataclass(frozen=True)
class OneOf:
    """Categories by code, of `n_codes` in all, with or without missing values."""

    codes: frozenset[int]
    n_codes: int
    with_missing: bool = True

    @property
    def is_nothing(self) -> bool:
        return not self.codes and not self.with_missing

    @property
    def is_everything(self) -> bool:
        return len(self.codes) == self.n_codes and self.with_missing

    def holds(self, value: float) -> bool:
        return self.with_missing if isnan(value) else int(value) in self.codes

    def meet(self, other: "OneOf") -> "OneOf":
        """Return what both allow."""
        with_missing = self.with_missing and other.with_missing
        return OneOf(self.codes & other.codes, self.n_codes, with_missing)

    def hull(self, other: "OneOf") -> "OneOf":
        """Return what either allows."""
        with_missing = self.with_missing or other.with_missing
        return OneOf(self.codes | other.codes, self.n_codes, with_missing)

    join = hull


Condition = ValueRange | OneOf


def _interval(low: float, high: float, with_missing: bool) -> ValueRange:
    """Return the interval; those without numbers are all written the same, to be equal."""
    return (
        ValueRange(low, high, with_missing) if low < high else ValueRange(inf, -inf, with_missing)
    )
