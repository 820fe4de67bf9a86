"""Samples of two or three columns in which detectors are judged without labels.

Every sample has rows, a box around them and points even over the box:

- `toy`: 5,000 rows of three Gaussians cut to the unit square, drawn anew with every seed; its
  density is known, its points are a lattice;
- `satellite`: the first three principal components of 6,435 pixels (adbench_satellite);
- `cards`: hour and log amount of 20,000 simulated payments (handbook_transactions);
- `payments`: the first two components of 20,000 real card payments (ulb_creditcard);
- `intrusions`: three rates of connections that were not answered (nslkdd_train), of the 12,934
  rows that have at least one of them neither 0 nor 1. Rates are rounded to hundredths; each is
  drawn from its hundredth, since rows that share a value have no volume.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA

from toprank.data import checks
from toprank.rankers.anomaly.box import Box
from toprank_bench import datasets

Density = Callable[[NDArray[np.floating]], NDArray[np.float64]]


class AnomalySample(NamedTuple):
    """Rows, the lowest and highest value of each column, and points even over that box.

    `density` is the true one, None where nobody knows it.
    """

    rows: NDArray[np.float32]
    bounds: NDArray[np.float64]
    points: NDArray[np.float32]
    density: Density | None = None


def anomaly_sample(
    name: str, seed: int, n_points: int, folder: Path | None = None
) -> AnomalySample:
    """Return a sample; `n_points` are drawn where there is no lattice.

    >>> toy = anomaly_sample("toy", 0, 1)
    >>> toy.rows.shape, toy.points.shape
    ((5000, 2), (40000, 2))
    """
    generator = np.random.default_rng(seed)
    if name == "toy":
        square = np.array([[0.0, 1.0], [0.0, 1.0]])
        return AnomalySample(_toy(generator), square, _lattice().astype(np.float32), _toy_density)
    real = _REAL[name]
    rows = real.rows(datasets.load(real.data, folder=folder).features, generator)
    bounds = _bounds(rows) if real.bounds is None else np.array(real.bounds)
    return AnomalySample(rows, bounds, _even(bounds, n_points, seed))


def check_sample_name(name: str) -> str:
    """Return the name of a sample that there is.

    >>> check_sample_name("toys")
    Traceback (most recent call last):
    ValueError: data 'toys' is not a sample of this protocol; did you mean 'toy'?
    """
    if name not in ANOMALY_SAMPLES:
        hint = (
            checks.nearest_name(name, list(ANOMALY_SAMPLES))
            or f"; known are {', '.join(ANOMALY_SAMPLES)}."
        )
        raise ValueError(f"data {name!r} is not a sample of this protocol{hint}")
    return name


def has_density(name: str) -> bool:
    """Return whether the true density of a sample is known."""
    return name not in _REAL


_WEIGHTS = (0.5, 0.25, 0.25)
_MEANS = ((0.5, 0.5), (0.3, 0.7), (0.7, 0.7))
_SLANTS = (0.0, -1 / 60, 1 / 60)
_N_TOY, _N_SOME = 5_000, 20_000
_RATES = ("dst_host_serror_rate", "srv_serror_rate", "serror_rate")
_HALF_STEP = 0.005  # of a rate, which is rounded to hundredths
_SEEDS_APART = 1_000  # points have seeds of their own


def _toy(generator: np.random.Generator) -> NDArray[np.float32]:
    kinds = generator.choice(3, size=_N_TOY, p=_WEIGHTS)
    rows = np.empty((_N_TOY, 2))
    for kind, part in enumerate(_parts()):
        missing = np.flatnonzero(kinds == kind)
        while missing.size:
            drawn = part.rvs(missing.size, random_state=generator).reshape(-1, 2)
            is_inside = ((drawn >= 0) & (drawn <= 1)).all(axis=1)
            rows[missing[is_inside]] = drawn[is_inside]
            missing = missing[~is_inside]
    return rows.astype(np.float32)


def _parts() -> list[Any]:
    covariances = (np.array([[1 / 30, slant], [slant, 1 / 30]]) for slant in _SLANTS)
    return [multivariate_normal(mean, cov) for mean, cov in zip(_MEANS, covariances, strict=True)]


def _toy_density(places: NDArray[np.floating]) -> NDArray[np.float64]:
    lattice = _lattice()
    # what a part has outside the square is cut off: its mean inside is not 1
    shares = [
        weight * part.pdf(places) / part.pdf(lattice).mean()
        for weight, part in zip(_WEIGHTS, _parts(), strict=True)
    ]
    return np.sum(shares, axis=0)


def _lattice(n_a_side: int = 200) -> NDArray[np.float64]:
    """Return the middles of small squares: two dimensions need no chance."""
    side = (np.arange(n_a_side) + 0.5) / n_a_side
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def _even(bounds: NDArray[np.float64], n_points: int, seed: int) -> NDArray[np.float32]:
    even = np.random.default_rng(seed + _SEEDS_APART).random((n_points, len(bounds)))
    return (bounds[:, 0] + even * (bounds[:, 1] - bounds[:, 0])).astype(np.float32)


def _bounds(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    box = Box.around(rows, np.zeros(rows.shape[1], dtype=bool))
    return np.column_stack([box.low, box.high])


def _satellite(table: pa.Table, generator: np.random.Generator) -> NDArray[np.float32]:
    pixels = _columns(table, table.column_names)
    return PCA(3, svd_solver="full").fit_transform(pixels).astype(np.float32)


def _cards(table: pa.Table, generator: np.random.Generator) -> NDArray[np.float32]:
    seconds, amount = _some(_columns(table, ("TX_TIME_SECONDS", "TX_AMOUNT")), generator).T
    return np.column_stack([seconds % 86_400 / 3_600, np.log10(amount + 1)]).astype(np.float32)


def _payments(table: pa.Table, generator: np.random.Generator) -> NDArray[np.float32]:
    return _some(_columns(table, ("V1", "V2")), generator).astype(np.float32)


def _intrusions(table: pa.Table, generator: np.random.Generator) -> NDArray[np.float32]:
    rates = _columns(table, _RATES)
    # most rows are at a corner, 0 or 1 in every rate: those places have mass and no volume
    kept = rates[((rates > 0) & (rates < 1)).any(axis=1)]
    return (kept + generator.uniform(-_HALF_STEP, _HALF_STEP, kept.shape)).astype(np.float32)


def _columns(table: pa.Table, names: Any) -> NDArray:
    return np.column_stack([table[name].to_numpy() for name in names])


def _some(rows: NDArray, generator: np.random.Generator) -> NDArray:
    return rows[generator.choice(len(rows), _N_SOME, replace=False)]


class _Real(NamedTuple):
    """How real rows come from a data set; the box is around them unless it is known."""

    data: str
    rows: Callable[[pa.Table, np.random.Generator], NDArray[np.float32]]
    bounds: list[list[float]] | None = None


_REAL = {
    "satellite": _Real("adbench_satellite", _satellite),
    "cards": _Real("handbook_transactions", _cards),
    "payments": _Real("ulb_creditcard", _payments),
    "intrusions": _Real("nslkdd_train", _intrusions, 3 * [[-_HALF_STEP, 1 + _HALF_STEP]]),
}
ANOMALY_SAMPLES = ("toy", *_REAL)
