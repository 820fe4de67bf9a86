"""Numbers, lists and tables as text; it knows nothing else of the package, so that all may use it.

Shares are written with a space before the percent sign, ratios without the zero before the point:
the same on the screen, in reports and in plots.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def percent(share: float) -> str:
    """Return a share as people write rare ones: two digits below 10 %, and never a false 100.

    >>> percent(0.0084), percent(0.5), percent(0.00001), percent(0.9991)
    ('0.84 %', '50 %', '0.001 %', '>99 %')
    >>> percent(0.0), percent(1.0), percent(math.nan)
    ('0 %', '100 %', 'not known')
    """
    points = 100 * float(share)
    if not math.isfinite(points):
        return "not known"
    if 99.5 <= points < 100:
        return ">99 %"
    if 0 < points < 1e-6:
        return "<0.000001 %"
    return f"{points:.0f} %" if points >= 10 else f"{_two_digits(points)} %"


def significant(values: ArrayLike, digits: int) -> NDArray[np.float64]:
    """Return numbers rounded to `digits` significant digits.

    >>> significant([0.732198943, 1234567.0, 0.0, -0.00012345], 3).tolist()
    [0.732, 1230000.0, 0.0, -0.000123]
    """
    return np.array([float(f"{value:.{digits}g}") for value in np.atleast_1d(values).tolist()])


def plural(word: str, count: float) -> str:
    """Return a word as it is after a count.

    >>> plural("check", 1), plural("check", 2), plural("category", 3), plural("day", 3)
    ('check', 'checks', 'categories', 'days')
    """
    if count == 1:
        return word
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2:-1] not in "aeiou" else f"{word}s"


def noun_of(label: str) -> str:
    """Return what the positives of a label column are called.

    >>> noun_of("is_fraud"), noun_of("churned")
    ('frauds', 'positives')
    """
    return "frauds" if "fraud" in label.lower() else "positives"


def are(names: Sequence[object]) -> str:
    """Return "is" for one name, "are" for several."""
    return "is" if len(names) == 1 else "are"


def ratio(value: float) -> str:
    """Return a ratio with two digits.

    >>> ratio(0.01433), ratio(0.1), ratio(1.0)
    ('.014', '.1', '1')
    """
    return _two_digits(value).removeprefix("0")


def decimal(number: float, decimals: int) -> str:
    """Return a number with so many decimals, no zero before its point and no minus before 0.

    >>> decimal(0.7134, 2), decimal(-0.25, 1), decimal(-0.001, 2), decimal(0.999, 2)
    ('.71', '-.2', '.00', '1.00')
    """
    text = f"{round(float(number), decimals) + 0.0:.{decimals}f}"  # adding 0 turns -0 into 0
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def listed(words: Sequence[str], last_word: str = "and") -> str:
    """Return words joined as in a sentence.

    >>> listed(["auto", "log", "ap-exp"])
    'auto, log and ap-exp'
    """
    *most, last = words
    return f"{', '.join(most)} {last_word} {last}" if most else last


def aligned(rows: Sequence[Sequence[str]], n_left: int | None = None) -> str:
    """Return rows of text as aligned columns; those after the first `n_left` are aligned right.

    >>> print(aligned([["", "AP"], ["log-loss", ".71"]]))
              AP
    log-loss  .71
    >>> print(aligned([["", "found"], ["log-loss", "7"]], n_left=1))
              found
    log-loss      7
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    n_left = len(widths) if n_left is None else n_left
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place < n_left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _two_digits(number: float) -> str:
    """Return a number with two digits, wherever they begin, and never an exponent."""
    return np.format_float_positional(number, 2, unique=False, fractional=False, trim="-")
