"""What a model keeps of the numbers of a column, and what a later file must agree with.

A file may be written in another way than the one a model was fitted on, and is then read as it is
meant. Two things cannot be seen from the file alone: whether all of "1.234", "17" and "2.500" are
thousands, and whether 12 without a sign is 12 % or 1200 %. What the column held before decides.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from toprank.data.tables.number_formats import PLAIN, NumberFormat, allowed_formats

MANY_DECIMALS = 3
"""As many as thousands have digits: numbers with so many could be thousands."""

PERCENT = "%"
_NOISE = 1e-9


class KnownNumbers(NamedTuple):
    """How the numbers of a column were written in the table that a model was fitted on.

    `unit` is "" where they had none, and `decimals` the most digits that any had after its
    separator, where `MANY_DECIMALS` means so many or more. Both are None where nobody knows.
    """

    format: NumberFormat = PLAIN
    unit: str | None = None
    decimals: int | None = None

    @classmethod
    def from_json(cls, noted: Any) -> Self | None:
        """Return what `list(self)` in a JSON file noted; None for anything else.

        >>> KnownNumbers.from_json([",", ".", "eur", 2]).unit
        'eur'
        """
        if not isinstance(noted, list) or len(noted) not in (2, 4):  # files had two before
            return None
        if tuple(noted[:2]) not in allowed_formats(None, None):
            return None
        unit, decimals = noted[2:] or (None, None)
        return cls(
            NumberFormat(*noted[:2]),
            unit if isinstance(unit, str) else None,
            decimals if isinstance(decimals, int) else None,
        )

    def to_json(self) -> list[Any]:
        """Return plain values for a model to keep."""
        return [*self.format, self.unit, self.decimals]

    def agrees_with(self, unit: str) -> bool:
        """Return whether numbers in another unit may be compared with those of the model.

        A currency may be left out or added; another currency is another amount, and a percentage
        may be a hundred times what it is without its sign.

        >>> known = KnownNumbers(unit="eur")
        >>> known.agrees_with("eur"), known.agrees_with(""), known.agrees_with("usd")
        (True, True, False)
        """
        if self.unit is None or unit == self.unit:
            return True
        return PERCENT not in (unit, self.unit) and not (unit and self.unit)


def most_decimals(numbers: NDArray[np.floating]) -> int:
    """Return the most digits after the separator of any number, at most `MANY_DECIMALS`.

    What a sum of floats leaves behind, as in 0.1 + 0.2, does not count.

    >>> most_decimals(np.array([0.1 + 0.2, 7.25, np.nan])), most_decimals(np.array([1 / 3]))
    (2, 3)
    """
    present = numbers[np.isfinite(numbers)]
    for digits in range(MANY_DECIMALS):
        if np.allclose(np.round(present, digits), present, rtol=_NOISE, atol=_NOISE):
            return digits
    return MANY_DECIMALS


def may_be_thousands(numbers: NDArray[np.floating]) -> int | None:
    """Return the row of a number with three decimals where all may be thousands; None if not.

    >>> may_be_thousands(np.array([17.0, 1.234, 2.5])), may_be_thousands(np.array([1.234, 0.5]))
    (1, None)
    """
    size = np.abs(np.where(np.isfinite(numbers), numbers, 0.0))
    has_decimals = size != np.rint(size)
    has_three = np.round(size, MANY_DECIMALS - 1) != size
    if not has_three.any() or (size >= 1000).any() or (size[has_decimals] < 1).any():
        return None
    # 2.5 may be 2.500, but of thousands one in ten ends in a zero
    if 2 * np.count_nonzero(has_three) < np.count_nonzero(has_decimals):
        return None
    is_exact = (np.round(size, MANY_DECIMALS) == size).all()
    return int(has_three.argmax()) if is_exact else None
