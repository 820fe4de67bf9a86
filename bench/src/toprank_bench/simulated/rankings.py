"""Simulated rankings of the thesis' appendix A, and readings of what it leaves open.

A ranking has 100 to 10,000 rows with a share of .01 to .5 of positives. Suspicions come from one
of four pairs of distributions, chosen at random. Of every ranking we take the average precision
and the highest F-beta of its thresholds. The readings:

- `even`: rows and shares are drawn evenly, and every score is a threshold;
- `share even in its logarithm`, `rows even in their logarithm`: one of them is drawn otherwise;
- `thresholds from 0 to 1`: only those, in steps of .01; scores of the normal pairs reach beyond;
- `thresholds from 0 up`: every score that is not negative;
- `scores scaled to 0..1`: thresholds in steps of .01 between the lowest and the highest score;
- `thresholds at ten ranks`: the first 10 % of the rows are listed, the first 20 %, ...;
- `mean over thresholds`: the mean F-beta over all scores in place of the highest;
- `mean over thresholds from 0 to 1`: the same over steps of .01;
- `any positives with any negatives`: the two distributions are drawn on their own;
- `every row of any pair`: the pair is drawn for every row, not for the ranking;
- `without the equal pair`: only the three pairs that rank better than chance;
- `mixtures`: each ranking mixes the four pairs, with shares that are drawn evenly;
- `mixtures, thresholds from 0 to 1`.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank import metrics

PAIRS = {  # distributions of the positives' suspicions and of the negatives'
    "N(0,1), N(0,1)": (("normal", 0, 1), ("normal", 0, 1)),
    "Beta(4,1), Beta(1,1)": (("beta", 4, 1), ("beta", 1, 1)),
    "Beta(1,1), Beta(1,4)": (("beta", 1, 1), ("beta", 1, 4)),
    "N(3,1), N(0,1)": (("normal", 3, 1), ("normal", 0, 1)),
}
_DISTRIBUTIONS = list(PAIRS.values())
_ROWS, _SHARES = (100, 10_000), (0.01, 0.5)
_STEPS = np.linspace(0, 1, 101)

Counts = tuple[int, int]
"""How many positives and how many negatives there are."""


class Rankings(NamedTuple):
    """Simulated rankings: the number of each one's pair, its AP, its F-beta by beta.

    The number is -1 where there is more than one pair.
    """

    pairs: NDArray[np.intp]
    precision: NDArray[np.float64]
    f_beta: dict[float, NDArray[np.float64]]


def simulated(reading: str, seed: int, n_rankings: int, betas: Iterable[float]) -> Rankings:
    """Return rankings drawn with this seed; `betas` do not change what is drawn.

    >>> simulated("even", 0, 3, [1.0]).precision.round(2).tolist()
    [0.67, 0.19, 0.65]
    """
    how, generator = READINGS[reading], np.random.default_rng(seed)
    pairs = generator.integers(how.first_pair, len(PAIRS), size=n_rankings)
    precision = np.empty(n_rankings)
    f_beta = {beta: np.empty(n_rankings) for beta in betas}
    for place, pair in enumerate(pairs):
        n_rows = round(how.draw_rows(generator, *_ROWS))
        n_positive = max(round(n_rows * how.draw_share(generator, *_SHARES)), 1)
        suspicion = how.draw_scores(generator, int(pair), (n_positive, n_rows - n_positive))
        is_positive = np.arange(n_rows) < n_positive
        precision[place] = metrics.average_precision(is_positive, suspicion)
        for beta, value in how.f_betas(is_positive, suspicion, f_beta).items():
            f_beta[beta][place] = value
    if how.draw_scores is not _of_pair:
        pairs = np.full(n_rankings, -1)
    return Rankings(pairs, precision, f_beta)


def _even(generator: np.random.Generator, low: float, high: float) -> float:
    return generator.uniform(low, high)


def _even_in_logarithm(generator: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(generator.uniform(np.log(low), np.log(high))))


def _of_pair(generator: np.random.Generator, pair: int, counts: Counts) -> NDArray:
    return np.concatenate(
        [
            _drawn(generator, distribution, count)
            for distribution, count in zip(_DISTRIBUTIONS[pair], counts, strict=True)
        ]
    )


def _of_any_two(generator: np.random.Generator, pair: int, counts: Counts) -> NDArray:
    other = generator.integers(len(PAIRS))
    drawn = (_DISTRIBUTIONS[pair][0], counts[0]), (_DISTRIBUTIONS[other][1], counts[1])
    return np.concatenate([_drawn(generator, *each) for each in drawn])


def _of_all_pairs(generator: np.random.Generator, pair: int, counts: Counts) -> NDArray:
    return _mixed(generator, counts, np.full(len(PAIRS), 1 / len(PAIRS)))


def _of_a_mixture(generator: np.random.Generator, pair: int, counts: Counts) -> NDArray:
    return _mixed(generator, counts, generator.dirichlet(np.ones(len(PAIRS))))


def _mixed(generator: np.random.Generator, counts: Counts, shares: NDArray) -> NDArray:
    """Return scores whose rows are each of a pair, drawn with these chances."""
    of_classes = []
    for number, count in enumerate(counts):
        pair = generator.choice(len(PAIRS), count, p=shares)
        scores = np.empty(count)
        for each, distributions in enumerate(_DISTRIBUTIONS):
            is_of_pair = pair == each
            scores[is_of_pair] = _drawn(generator, distributions[number], int(is_of_pair.sum()))
        of_classes.append(scores)
    return np.concatenate(of_classes)


def _drawn(generator: np.random.Generator, distribution: tuple, count: int) -> NDArray:
    kind, *of_kind = distribution
    return getattr(generator, kind)(*of_kind, count)


def _every_score(falling: NDArray) -> NDArray[np.intp]:
    return np.arange(1, falling.size + 1)


def _from_0_to_1(falling: NDArray) -> NDArray[np.intp]:
    return falling.size - np.searchsorted(falling[::-1], _STEPS)


def _from_0_up(falling: NDArray) -> NDArray[np.intp]:
    return np.arange(np.count_nonzero(falling >= 0) + 1)


def _scaled(falling: NDArray) -> NDArray[np.intp]:
    return _from_0_to_1((falling - falling[-1]) / (falling[0] - falling[-1]))


def _ten_ranks(falling: NDArray) -> NDArray[np.intp]:
    return np.arange(1, 11) * falling.size // 10


class Reading(NamedTuple):
    """What the appendix leaves open; `listed` gives how many rows each threshold lists."""

    draw_rows: Callable[[np.random.Generator, float, float], float] = _even
    draw_share: Callable[[np.random.Generator, float, float], float] = _even
    draw_scores: Callable[[np.random.Generator, int, Counts], NDArray] = _of_pair
    first_pair: int = 0
    listed: Callable[[NDArray], NDArray[np.intp]] = _every_score
    summary: Callable[[NDArray], float] = np.max

    def f_betas(
        self, is_positive: NDArray, suspicion: NDArray, betas: Iterable[float]
    ) -> dict[float, float]:
        """Return the highest, or the mean, F-beta of the thresholds, by beta."""
        order = np.argsort(-suspicion)
        found = np.append(0, np.cumsum(is_positive[order]))
        n_listed, n_positive = self.listed(suspicion[order]), found[-1]
        found = found[n_listed]
        return {
            beta: float(self.summary((1 + beta**2) * found / (beta**2 * n_positive + n_listed)))
            for beta in betas
        }


READINGS = {
    "even": Reading(),
    "share even in its logarithm": Reading(draw_share=_even_in_logarithm),
    "rows even in their logarithm": Reading(draw_rows=_even_in_logarithm),
    "thresholds from 0 to 1": Reading(listed=_from_0_to_1),
    "thresholds from 0 up": Reading(listed=_from_0_up),
    "scores scaled to 0..1": Reading(listed=_scaled),
    "thresholds at ten ranks": Reading(listed=_ten_ranks),
    "mean over thresholds": Reading(summary=np.mean),
    "mean over thresholds from 0 to 1": Reading(listed=_from_0_to_1, summary=np.mean),
    "any positives with any negatives": Reading(draw_scores=_of_any_two),
    "every row of any pair": Reading(draw_scores=_of_all_pairs),
    "without the equal pair": Reading(first_pair=1),
    "mixtures": Reading(draw_scores=_of_a_mixture),
    "mixtures, thresholds from 0 to 1": Reading(draw_scores=_of_a_mixture, listed=_from_0_to_1),
}
