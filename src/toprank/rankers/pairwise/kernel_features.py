"""The Gaussian kernel k(x, c) = exp(-gamma |x - c|^2), and features that reproduce it.

Some of the rows are centres (the Nystrom method), and a score is a sum of bumps around them,
sum_j a_j k(x, c_j). With K the kernel between the centres, its norm is a'Ka. Let W W' be the
inverse of K, but for directions in which K is zero up to rounding. The features of a row are
W'k(x, .): a = W v gives the score v.features, and a'Ka = v'v. So a linear function of features,
penalised by the size of v, is a function in the kernel's space, penalised by its norm. If every
row is a centre, this is exact.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

# directions in which the centres' kernel is below this share of its largest are rounding error
_LEAST_PART = 1e-10


class KernelFeatures(NamedTuple):
    """Centres, one per row, and the whitening W that turns their bumps into features."""

    centres: NDArray[np.float64]
    gamma: float
    whitening: NDArray[np.float64]

    @classmethod
    def around(cls, centres: NDArray[np.float64], gamma: float) -> Self:
        """Return the features defined by bumps around these centres.

        >>> features = KernelFeatures.around(np.array([[0.0], [1.0]]), gamma=1.0)
        >>> rows = features.of(np.array([[0.0], [1.0]]))
        >>> (rows @ rows.T).round(3).tolist()
        [[1.0, 0.368], [0.368, 1.0]]
        """
        sizes, directions = np.linalg.eigh(gaussian_kernel(centres, centres, gamma))
        is_clear = sizes > _LEAST_PART * sizes.max()
        return cls(centres, gamma, directions[:, is_clear] / np.sqrt(sizes[is_clear]))

    def of(self, terms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the features of every row."""
        return gaussian_kernel(terms, self.centres, self.gamma) @ self.whitening

    def heights(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the height of each centre's bump for these weights of the features."""
        return self.whitening @ weights


def drawn_centres(
    is_positive: NDArray[np.bool_], n_centres: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the indices of the rows to use as centres: all of them if there are few.

    Otherwise half of the centres are of the rarer class if it has enough rows: drawn uniformly,
    hardly any of them would be near rare positives.

    >>> is_positive = np.arange(1000) < 2
    >>> drawn_centres(is_positive, 10, np.random.default_rng(0))[:2].tolist()
    [0, 1]
    """
    if is_positive.size <= n_centres:
        return np.arange(is_positive.size)
    classes = [np.flatnonzero(is_positive), np.flatnonzero(~is_positive)]
    rarer, other = sorted(classes, key=len)
    n_rarer = min(rarer.size, n_centres // 2)
    chosen = [
        generator.choice(members, size, replace=False)
        for members, size in ((rarer, n_rarer), (other, n_centres - n_rarer))
    ]
    return np.sort(np.concatenate(chosen))


def gaussian_kernel(
    terms: NDArray[np.float64], centres: NDArray[np.float64], gamma: float
) -> NDArray[np.float64]:
    """Return k(row, centre), one row for each row of terms.

    >>> gaussian_kernel(np.array([[0.0]]), np.array([[0.0], [2.0]]), 0.25).round(3).tolist()
    [[1.0, 0.368]]
    """
    kernel = np.empty((len(terms), len(centres)))
    _fill_kernel(terms, np.ascontiguousarray(centres.T), float(gamma), kernel)
    return kernel


def bump_sums(
    terms: NDArray[np.float64],
    centres: NDArray[np.float64],
    gamma: float,
    heights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the sum of heights times k(row, centre) for every row.

    A row's sum does not depend on the other rows of the batch, which a matrix product does not
    guarantee.

    >>> bump_sums(np.array([[0.0]]), np.array([[0.0], [9.0]]), 1.0, np.array([2.0, 5.0])).tolist()
    [2.0]
    """
    sums = np.empty(len(terms))
    _fill_sums(terms, np.ascontiguousarray(centres.T), float(gamma), heights, sums)
    return sums


# Centres have one row per term, so that all distances of a row are accumulated together. Loops
# are explicit: whole-array expressions here would take ten seconds to compile.


@njit(cache=True)
def _fill_row(row, centres, gamma, kernel):
    n_terms, n_centres = centres.shape
    for centre in range(n_centres):
        kernel[centre] = 0.0
    for term in range(n_terms):
        for centre in range(n_centres):
            gap = row[term] - centres[term, centre]
            kernel[centre] += gap * gap
    for centre in range(n_centres):
        kernel[centre] = math.exp(-gamma * kernel[centre])


@njit(cache=True)
def _fill_kernel(terms, centres, gamma, kernel):
    for row in range(terms.shape[0]):
        _fill_row(terms[row], centres, gamma, kernel[row])


@njit(cache=True)
def _fill_sums(terms, centres, gamma, heights, sums):
    kernel = np.empty(centres.shape[1])
    for row in range(terms.shape[0]):
        _fill_row(terms[row], centres, gamma, kernel)
        total = 0.0
        for centre in range(kernel.size):
            total += heights[centre] * kernel[centre]
        sums[row] = total
