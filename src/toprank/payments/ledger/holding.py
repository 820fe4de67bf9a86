"""The one place with the rule that decides which label of a row holds.

A label's strength is one whole number, so that the strongest of many is found by sorting:

    strength = [spoken or silence | when it became known | by an investigator or not]

Of labels equally strong, the one added last holds. Which labels count at a moment is not part of
it: those known before.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

SOURCES = ("investigator", "claim", "silence")  # in order of precedence
INVESTIGATOR, SILENCE = SOURCES.index("investigator"), SOURCES.index("silence")

FIRST_KNOWN = np.datetime64("0001-01-01", "us")
LAST_KNOWN = np.datetime64("9999-12-31T23:59:59.999999", "us")
_SPOKEN = 2**61  # above twice the microseconds from 1970 to any moment between those two


def strength(known: Any, source_code: Any) -> Any:
    """Return the strength of a label, or of an array of labels: a row's strongest one holds.

    `known` is in microseconds from the start of 1970, `source_code` the place in `SOURCES`. Both
    are whole numbers, or arrays of them.

    >>> strength(5, INVESTIGATOR) > strength(5, SOURCES.index("claim")) > strength(4, INVESTIGATOR)
    True
    >>> strength(1, SOURCES.index("claim")) > strength(9, SILENCE)
    True
    """
    return (source_code != SILENCE) * _SPOKEN + 2 * known + (source_code == INVESTIGATOR)


def holds(known: int, source_code: int, over_known: int, over_source_code: int) -> bool:
    """Return whether a label holds over one that was added before it, both being known.

    >>> holds(5, SOURCES.index("claim"), over_known=5, over_source_code=INVESTIGATOR)
    False
    """
    return bool(strength(known, source_code) >= strength(over_known, over_source_code))


def by_strength(strengths: NDArray[np.int64], so_far: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of labels by increasing strength; of equal ones the last added is last.

    `so_far` is what was returned when there were fewer labels; the others are merged into it.

    >>> by_strength(np.array([7, 3, 3, 5]), np.array([1, 0])).tolist()
    [1, 2, 3, 0]
    """
    added = np.arange(so_far.size, strengths.size)
    added = added[np.argsort(strengths[added], kind="stable")]
    # two sorted runs, one after the other: a stable sort merges them in one pass
    places = np.concatenate([so_far, added])
    return places[np.argsort(strengths[places], kind="stable")]
