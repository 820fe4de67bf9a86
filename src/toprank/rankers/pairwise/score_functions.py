"""What pairwise rankers learn: a weighted sum of the terms, or bumps around centres.

Both give a row's score and its columns' contributions, and are saved as plain arrays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.rankers.pairwise.design import check_numbers
from toprank.rankers.pairwise.kernel_features import bump_sums

_MOST_GAMMA = 1e50


@dataclass(frozen=True)
class LineScore:
    """The sum of the terms, each times its weight."""

    weights: NDArray[np.float64]

    def raw(self, terms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of every row; the mean of the training rows scores 0."""
        # fixed order of sums: a row's score must not depend on the other rows of the batch
        return np.einsum("ij,j->i", terms, self.weights)

    def contributions(
        self, terms: NDArray[np.float64], owners: NDArray[np.int64], n_columns: int
    ) -> NDArray[np.float64]:
        """Return what the terms of each column add to each score, with the start, 0, last."""
        shares = np.zeros((len(terms), n_columns + 1))
        for term, owner in enumerate(owners):
            shares[:, owner] += terms[:, term] * self.weights[term]
        return shares

    def arrays(self) -> dict[str, NDArray]:
        """Return what `from_arrays` restores the score from."""
        return {"weights": self.weights}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], n_terms: int) -> Self:
        """Return the score that `arrays` gave; raises ValueError if it does not fit the terms."""
        check_numbers("weights", arrays["weights"], (n_terms,))
        return cls(arrays["weights"])


@dataclass(frozen=True)
class BumpScore:
    """The sum of Gaussian bumps, each with its height, around centres."""

    centres: NDArray[np.float64]
    heights: NDArray[np.float64]
    gamma: float

    def raw(self, terms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of every row; a row far from all centres scores 0."""
        return bump_sums(terms, self.centres, self.gamma, self.heights)

    def contributions(
        self, terms: NDArray[np.float64], owners: NDArray[np.int64], n_columns: int
    ) -> NDArray[np.float64]:
        """Return each column's share of each score, with the score of the mean row last.

        A column's share is the mean of two changes: that of the score when only this column is
        set to its mean, and the same with all others at theirs. For up to two columns the shares
        add up exactly; with more, the remainder is distributed in proportion to their size.
        """
        start = float(self.raw(np.zeros((1, terms.shape[1])))[0])
        score = self.raw(terms)
        shares = np.zeros((len(terms), n_columns + 1))
        for column in np.unique(owners):
            is_own = owners == column
            without, alone = np.where(is_own, 0.0, terms), np.where(is_own, terms, 0.0)
            shares[:, column] = (score - self.raw(without) + self.raw(alone) - start) / 2
        shares[:, -1] = start
        _share_out(score - shares.sum(axis=1), shares)
        return shares

    def arrays(self) -> dict[str, NDArray]:
        """Return what `from_arrays` restores the score from."""
        return {
            "centres": self.centres,
            "heights": self.heights,
            "gamma": np.array([self.gamma]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], n_terms: int) -> Self:
        """Return the score that `arrays` gave; raises ValueError if it does not fit the terms."""
        centres, heights, gamma = (arrays[name] for name in ("centres", "heights", "gamma"))
        check_numbers("centres", centres, (len(centres), n_terms))
        check_numbers("heights", heights, (len(centres),))
        check_numbers("gamma", gamma, (1,))
        return cls(centres, heights, checks.number_above(float(gamma[0]), "gamma", 0, _MOST_GAMMA))


def _share_out(left_over: NDArray[np.float64], shares: NDArray[np.float64]) -> None:
    """Add the remainder to the columns in proportion to their shares, or else to the start."""
    sizes = np.abs(shares)
    sizes[:, -1] = 0.0
    sizes[~sizes.any(axis=1), -1] = 1.0
    sizes /= sizes.max(axis=1, keepdims=True)  # so that no sum of them is too small to divide by
    shares += left_over[:, None] * (sizes / sizes.sum(axis=1, keepdims=True))
