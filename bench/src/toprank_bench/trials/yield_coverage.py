"""How often the range of positives to expect in a list contains what the list then has.

A case draws 20,000 labelled scores to calibrate on and as many new ones. The most suspicious of
the new ones are listed, as many as there are positives on average and at least 20; the range of
nine cases in ten, learned from the first, contains the positives among them or does not. `data`
name a shape of the scores and the share of positives:

    equal spread     positives N(2.5, 1), others N(0, 1): a sigmoid is exactly right
    wide, narrow     positives N(2.5, 1.6) or N(2.5, 0.6)
    beta             positives Beta(4, 1), others Beta(1, 6), in log-odds
    two kinds        half of the positives far above all others, half among them
    heavy tail       others as t with 4 degrees of freedom: the very top is worse than below
    boosted trees    suspicion of a ranker that learned from 20,000 other rows of five columns

The seeds are not those that served to choose the knots and bends of "smooth".
"""

import functools
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from toprank_bench.protocols.protocol import TrialOutcome

METRICS = ("covered", "below", "above", "mean_found", "mean_expected", "mean_width")
N_ROWS, LEVEL, LEAST_LISTED = 20_000, 0.9, 20
SHARES = {"0.1 %": 0.001, "0.5 %": 0.005, "1 %": 0.01, "5 %": 0.05}
Drawn = Callable[[np.random.Generator, int], NDArray[np.float64]]
Scores = tuple[NDArray[np.bool_], NDArray[np.float64]]


def yield_coverage(
    data: str, seed: int, folder: Path | None, *, calibration: str, cases: int = 1000
) -> TrialOutcome:
    """Return the share of cases in which the range contains the positives listed."""
    shape, _, share = data.partition(", ")
    begin = time.perf_counter()
    outcomes = [_case(shape, SHARES[share], calibration, seed, each) for each in range(cases)]
    found, value, low, high = np.array(outcomes).T
    return TrialOutcome(
        {
            "covered": float(np.mean((low <= found) & (found <= high))),
            "below": float(np.mean(found < low)),
            "above": float(np.mean(found > high)),
            "mean_found": float(found.mean()),
            "mean_expected": float(value.mean()),
            "mean_width": float((high - low).mean()),
        },
        {"calibration": calibration, "cases": cases},
        {"all cases": round(time.perf_counter() - begin, 3)},
        {"rows": N_ROWS, "level": LEVEL, "cases": cases},
    )


def _case(shape: str, share: float, method: str, seed: int, case: int) -> tuple[float, ...]:
    """Return what the list has, and what was expected with its range."""
    from toprank.calibration import fit_calibration

    generator = np.random.default_rng([seed, case])
    calibration = fit_calibration(*_scores(generator, shape, share, seed), method)
    is_positive, raw = _scores(generator, shape, share, seed)
    listed = np.argsort(-raw, kind="stable")[: max(round(share * N_ROWS), LEAST_LISTED)]
    return float(is_positive[listed].sum()), *calibration.expected_positives(raw[listed], LEVEL)


def _scores(generator: np.random.Generator, shape: str, share: float, seed: int) -> Scores:
    if shape == _TREES:
        features, is_positive = _rows(generator, share, seed)
        return is_positive, _ranker(share, seed).suspicion(features)
    n_positive = max(int(generator.binomial(N_ROWS, share)), 2)
    positives, negatives = SHAPES[shape]
    raw = [positives(generator, n_positive), negatives(generator, N_ROWS - n_positive)]
    return np.arange(N_ROWS) < n_positive, np.concatenate(raw)


def _rows(
    generator: np.random.Generator, share: float, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return rows whose positives are those of the highest sums, known up to noise."""
    features = generator.normal(size=(N_ROWS, 5)).astype(np.float32)
    score = features[:, 0] + features[:, 1] * features[:, 2] + generator.normal(size=N_ROWS)
    return features, score > _border(share, seed)


@functools.cache
def _border(share: float, seed: int) -> float:
    """Return the sum that this share of all rows exceeds, from two million of them."""
    normal = np.random.default_rng(seed).normal(size=(4, 2_000_000))
    return float(np.quantile(normal[0] + normal[1] * normal[2] + normal[3], 1 - share))


@functools.cache
def _ranker(share: float, seed: int):
    from toprank import BoostedRanker

    features, is_positive = _rows(np.random.default_rng(seed - 1), share, seed)
    return BoostedRanker("log", n_estimators=100, n_jobs=1).fit(features, is_positive)


def _normal(mean: float, spread: float) -> Drawn:
    return lambda generator, n: generator.normal(mean, spread, n)


def _beta(a: float, b: float) -> Drawn:
    return lambda generator, n: logit(np.clip(generator.beta(a, b, n), 1e-9, 1 - 1e-9))


def _two_kinds(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
    return generator.normal(np.where(generator.random(n) < 0.5, 6.0, 0.0), 1.0)


_TREES = "boosted trees"
SHAPES: dict[str, tuple[Drawn, Drawn]] = {  # positives, negatives
    "equal spread": (_normal(2.5, 1), _normal(0, 1)),
    "wide": (_normal(2.5, 1.6), _normal(0, 1)),
    "narrow": (_normal(2.5, 0.6), _normal(0, 1)),
    "beta": (_beta(4, 1), _beta(1, 6)),
    "two kinds": (_two_kinds, _normal(0, 1)),
    "heavy tail": (_normal(3, 1), lambda generator, n: generator.standard_t(4, n)),
}
DATA = tuple(f"{shape}, {share}" for shape in (*SHAPES, _TREES) for share in SHARES)
