"""What a learner does with a piece of a stream: rows to score and rows to learn from, in turn."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.rankers.online.stream_columns import EncodedEvent


class Scores(NamedTuple):
    """The scores of rows."""

    raw: NDArray[np.float64]
    """(row, output)"""
    log_odds: NDArray[np.float64]
    """Of each row, for two classes."""

    @classmethod
    def of(cls, steps: "Steps", n_outputs: int) -> "Scores":
        """Return room for the scores of the rows that steps score."""
        return cls(np.empty((steps.n_known.size, n_outputs)), np.empty(steps.n_known.size))


Effects = dict[int, dict[str, float]]
"""The number of a row, and by how much each of its columns raises its score."""


class Steps(NamedTuple):
    """Rows to score, rows to learn from, and how the two alternate.

    Row i of `scored` is scored once exactly the first `n_known[i]` of `learned` are learned.
    """

    scored: EncodedEvent
    learned: EncodedEvent
    places: NDArray[np.int64]
    """The place of each learned row's class."""
    n_known: NDArray[np.int64]
