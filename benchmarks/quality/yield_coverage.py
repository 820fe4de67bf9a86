"""How often the range of positives to expect in a list holds what the list then has.

    python -m benchmarks.quality.yield_coverage [--cases 1000] [--report]

A case draws labelled scores to calibrate on and as many new ones. Of these, the most suspicious
are listed, as many as there are positives on average and at least 20; the range of nine cases in
ten, learned from the first, holds the positives among them or does not. Shares of positives go
from .1 % to 5 % of 20,000 rows. Scores come from these shapes:

    equal spread     positives N(2.5, 1), others N(0, 1): a sigmoid is exactly right
    wide, narrow     positives N(2.5, 1.6) or N(2.5, .6)
    beta             positives Beta(4, 1), others Beta(1, 6), in log-odds
    two kinds        half of the positives far above all others, half among them
    heavy tail       others as t with 4 degrees of freedom: the very top is worse than below
    boosted trees    suspicion of a ranker that learned from 20,000 other rows of five columns

"smooth", what rankers use, has all cases; the other methods a fifth of them. Seeds are apart from
those that served to choose its knots and bends. Rows recorded already are not run again.
"""

import argparse
import functools
import json
import time
from collections.abc import Callable

import numpy as np
from benchmarks.record import RESULTS, record
from scipy.special import logit

from toprank import BoostedRanker
from toprank.calibration import METHODS, fit_calibration

NAME = "yield_coverage"
N_ROWS, SHARES, LEVEL, LEAST_LISTED, SEED = 20_000, (0.001, 0.005, 0.01, 0.05), 0.9, 20, 7_000
Drawn = Callable[[np.random.Generator, int], np.ndarray]
Sample = tuple[np.ndarray, np.ndarray]


def _normal(mean: float, spread: float) -> Drawn:
    return lambda generator, n: generator.normal(mean, spread, n)


def _beta(a: float, b: float) -> Drawn:
    return lambda generator, n: logit(np.clip(generator.beta(a, b, n), 1e-9, 1 - 1e-9))


def _two_kinds(generator: np.random.Generator, n: int) -> np.ndarray:
    return generator.normal(np.where(generator.random(n) < 0.5, 6.0, 0.0), 1.0)


SHAPES: dict[str, tuple[Drawn, Drawn]] = {  # positives, negatives
    "equal spread": (_normal(2.5, 1), _normal(0, 1)),
    "wide": (_normal(2.5, 1.6), _normal(0, 1)),
    "narrow": (_normal(2.5, 0.6), _normal(0, 1)),
    "beta": (_beta(4, 1), _beta(1, 6)),
    "two kinds": (_two_kinds, _normal(0, 1)),
    "heavy tail": (_normal(3, 1), lambda generator, n: generator.standard_t(4, n)),
}
TREES = "boosted trees"


def main() -> None:
    options = _options()
    if not options.report:
        for shape in (*SHAPES, TREES):
            for share in SHARES:
                for method in METHODS:
                    n_cases = options.cases if method == "smooth" else options.cases // 5
                    _record(shape, share, method, n_cases)
    _print_report(options.cases)


def _record(shape: str, share: float, method: str, n_cases: int) -> None:
    """Record how many cases were covered, unless that is recorded."""
    key = (shape, share, method, n_cases)
    if key in {tuple(row[name] for name in KEY) for row in _recorded()}:
        return
    begin = time.perf_counter()
    outcomes = np.array([_case(shape, share, method, case) for case in range(n_cases)])
    found, value, low, high = outcomes.T
    record(
        NAME,
        shape=shape,
        share=share,
        method=method,
        n_cases=n_cases,
        n_rows=N_ROWS,
        level=LEVEL,
        seed=SEED,
        covered=round(float(np.mean((low <= found) & (found <= high))), 4),
        below=round(float(np.mean(found < low)), 4),
        above=round(float(np.mean(found > high)), 4),
        mean_found=round(float(found.mean()), 2),
        mean_expected=round(float(value.mean()), 2),
        mean_width=round(float((high - low).mean()), 2),
        seconds=round(time.perf_counter() - begin, 1),
    )


KEY = ("shape", "share", "method", "n_cases")


def _case(shape: str, share: float, method: str, case: int) -> tuple[float, ...]:
    """Return what the list has, and what was expected with its range."""
    generator = np.random.default_rng([SEED, case])
    is_positive, raw = _sample(generator, shape, share)
    calibration = fit_calibration(is_positive, raw, method)
    is_positive, raw = _sample(generator, shape, share)
    listed = np.argsort(-raw, kind="stable")[: max(round(share * N_ROWS), LEAST_LISTED)]
    return float(is_positive[listed].sum()), *calibration.expected_positives(raw[listed], LEVEL)


def _sample(generator: np.random.Generator, shape: str, share: float) -> Sample:
    if shape == TREES:
        features, is_positive = _rows(generator, share)
        return is_positive, _ranker(share).suspicion(features)
    n_positive = max(int(generator.binomial(N_ROWS, share)), 2)
    positives, negatives = SHAPES[shape]
    raw = [positives(generator, n_positive), negatives(generator, N_ROWS - n_positive)]
    return np.arange(N_ROWS) < n_positive, np.concatenate(raw)


def _rows(generator: np.random.Generator, share: float) -> Sample:
    """Return rows whose positives are those of the highest sums, known up to noise."""
    features = generator.normal(size=(N_ROWS, 5)).astype(np.float32)
    score = features[:, 0] + features[:, 1] * features[:, 2] + generator.normal(size=N_ROWS)
    return features, score > _border(share)


@functools.cache
def _border(share: float) -> float:
    """Return the sum that a share of all rows is above, known from two million of them."""
    normal = np.random.default_rng(SEED).normal(size=(4, 2_000_000))
    return float(np.quantile(normal[0] + normal[1] * normal[2] + normal[3], 1 - share))


@functools.cache
def _ranker(share: float) -> BoostedRanker:
    features, is_positive = _rows(np.random.default_rng(SEED - 1), share)
    return BoostedRanker("log", n_estimators=100, n_jobs=1).fit(features, is_positive)


def _recorded() -> list[dict]:
    path = RESULTS / f"{NAME}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _print_report(n_cases: int) -> None:
    print(f"\nRanges of {LEVEL:.0%}: share of cases that they hold (cases below, above)\n")
    print(f"| scores | positives | {' | '.join(METHODS)} | found | expected | width |")
    print("|---" * (5 + len(METHODS)) + "|")
    rows = {tuple(row[name] for name in KEY): row for row in _recorded()}
    for shape in (*SHAPES, TREES):
        for share in SHARES:
            own = [
                rows.get((shape, share, method, n_cases if method == "smooth" else n_cases // 5))
                for method in METHODS
            ]
            if own[0] is None:
                continue
            cells = [f"{each['covered']:.3f}" if each else "" for each in own]
            cells[0] += f" ({own[0]['below']:.3f}, {own[0]['above']:.3f})"
            figures = [own[0][name] for name in ("mean_found", "mean_expected", "mean_width")]
            shown = " | ".join([*cells, *(f"{each:.1f}" for each in figures)])
            print(f"| {shape} | {share:.1%} | {shown} |")
    smooth = [row["covered"] for key, row in rows.items() if key[2:] == ("smooth", n_cases)]
    if smooth:
        inside = sum(abs(each - LEVEL) <= 0.02 for each in smooth)
        print(
            f"\nsmooth, all together: {np.mean(smooth):.3f}; within 2 points in {inside} of "
            f"{len(smooth)}; by chance alone one of 1,000 cases is .0095 off"
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--report", action="store_true", help="only print what is recorded")
    return parser.parse_args()


if __name__ == "__main__":
    main()
