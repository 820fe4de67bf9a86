"""How tightly a suspicion encloses ordinary rows, judged without labels.

Take all places of a box whose suspicion is at most t. Their mass is the share of rows they hold,
their volume the share of the box that they fill; the mass-volume curve has a point for every t. A
good suspicion holds most rows in little volume, so the area under the curve is low: it is the
chance that a place drawn evenly from the box is less suspicious than a row, a tie counting half.

Volume is exact where a tree knows its groups. Elsewhere it is measured with points in the box,
drawn evenly or, with a weight each, where ordinary rows are. Weights are those of importance
sampling, the even density over the density drawn from: their mean would be 1 with infinitely many
points. It never quite is, and that is used to correct the rest: volumes are regression estimates
with the weight itself as control variate. That is never less precise than the plain mean or the
ratio, and the whole box gets volume 1.
"""

import warnings
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from toprank.data import checks
from toprank.metrics.intervals import Interval

_FAR = 0.999  # of the box is below a row that is far from all others
_FEW_POINTS = 10  # with fewer, nothing can be said about how far an estimate is off


class HopelessVolume(UserWarning):
    """Hardly a point fell where ordinary rows are, so that their volume is a guess."""


class MassVolumeCurve(NamedTuple):
    """Mass and volume of what has `suspicion <= t`, from nothing at all to the whole box.

    Between two points the curve is straight.
    """

    mass: NDArray[np.float64]
    volume: NDArray[np.float64]

    @property
    def area(self) -> float:
        """The area under the curve, in [0, 1]; lower is better and a constant gets 0.5."""
        return float(np.trapezoid(self.volume, self.mass))

    def excess_mass(self) -> "ExcessMassCurve":
        """Return the excess mass by level; see `excess_mass_curve`."""
        corners = _concave_corners(self.volume, self.mass)
        volume, mass = self.volume[corners], self.mass[corners]
        # From the slope of one edge to the next a single corner is best: a straight piece.
        is_slanted = (np.diff(volume) > 0) & (np.diff(mass) > 0)
        slope = np.diff(mass)[is_slanted] / np.diff(volume)[is_slanted]
        excess = mass[:-1][is_slanted] - slope * volume[:-1][is_slanted]
        return ExcessMassCurve(np.append(0.0, slope[::-1]), np.append(1.0, excess[::-1]))


class ExcessMassCurve(NamedTuple):
    """The excess mass at rising levels: straight between them and level after the last.

    A level is a density, in multiples of the even density over the box.
    """

    level: NDArray[np.float64]
    excess: NDArray[np.float64]

    def area(self, down_to: float = 0.9) -> float:
        """Return the area under the curve until it falls to `down_to`; see
        `area_under_excess_mass`."""
        down_to = checks.number_from(down_to, "down_to", 0, 1)
        last = self.last_level(down_to)
        if last == np.inf:
            return np.inf
        is_before = self.level < last
        level = np.append(self.level[is_before], last)
        return float(np.trapezoid(np.append(self.excess[is_before], down_to), level))

    def last_level(self, excess: float) -> float:
        """Return the lowest level where the excess mass is as low as `excess`, or infinity."""
        if excess < self.excess[-1]:
            return np.inf
        return float(np.interp(-excess, -self.excess, self.level))


def mass_volume_curve(
    suspicion: ArrayLike, volume_suspicion: ArrayLike, volume_weight: ArrayLike | None = None
) -> MassVolumeCurve:
    """Return the mass-volume curve of rows, its volume measured with points in the box.

    `suspicion` is that of the rows, `volume_suspicion` that of the points. Without
    `volume_weight` the points are even over the box; with it, see `anomaly.volume_points`. A row
    outside the box belongs to the whole of it: give it a suspicion above all points. Rows and
    points of equal suspicion enter together, as one straight piece.

    >>> curve = mass_volume_curve([1, 2, 2, 3], [2, 3, 4, 5])
    >>> curve.mass.tolist(), curve.volume.tolist()
    ([0.0, 0.25, 0.75, 1.0, 1.0, 1.0], [0.0, 0.0, 0.25, 0.5, 0.75, 1.0])
    """
    return _Measured.with_points(suspicion, volume_suspicion, volume_weight).curve()


def mass_volume_of_groups(mass: ArrayLike, volume: ArrayLike) -> MassVolumeCurve:
    """Return the exact mass-volume curve of groups that together make up the box.

    Groups come in order of rising suspicion, with their rows (`mass`, a count or a share) and
    their volume, in any unit. Rows outside the box are a last group without volume.

    >>> mass_volume_of_groups([60, 30, 10], [0.1, 0.3, 0.6]).area
    0.175
    """
    masses, volumes = _amounts(mass, "mass"), _amounts(volume, "volume")
    if masses.size != volumes.size:
        raise ValueError(
            f"volume must have {masses.size} values, one per group; got {volumes.size}."
        )
    return MassVolumeCurve(_running_share(masses), _running_share(volumes))


def area_under_mass_volume(
    suspicion: ArrayLike, volume_suspicion: ArrayLike, volume_weight: ArrayLike | None = None
) -> float:
    """Return the area under the mass-volume curve (AMV), in [0, 1]; lower is better.

    It is 1 minus the ROC AUC of even points against rows. A `HopelessVolume` warning is given
    when hardly a point fell where the rows are. Inputs are those of `mass_volume_curve`.

    >>> area_under_mass_volume([1, 2, 2, 3], [2, 3, 4, 5])
    0.15625
    """
    measured = _Measured.with_points(suspicion, volume_suspicion, volume_weight)
    measured.warn_if_hopeless()
    return measured.curve().area


def mass_volume_interval(
    suspicion: ArrayLike,
    volume_suspicion: ArrayLike,
    volume_weight: ArrayLike | None = None,
    *,
    level: float = 0.95,
    rows_vary: bool = False,
) -> Interval:
    """Return the area under the mass-volume curve with its interval.

    At `level` it contains the area of these very rows with exact volumes: it allows for the
    points being a sample. With `rows_vary` the rows are taken as a sample too, and it contains
    the area of the whole population. Both variances are in closed form, from the mean
    rank of each point among the rows and of each row among the points; the interval is
    Wilson's, for as many yes-or-no draws as would spread that much. With an effective
    number of points below ten, the variance cannot be estimated and the largest possible is used.
    With only dozens of weighted points it is a little too narrow: of 90 % intervals from 40 such
    points, 86 % contained the area.

    >>> suspicion, volume_suspicion = np.arange(40), np.arange(10, 90)
    >>> print(mass_volume_interval(suspicion, volume_suspicion))
    .14 (.10-.20)
    """
    level = checks.number_above(level, "level", 0, 0.999)
    measured = _Measured.with_points(suspicion, volume_suspicion, volume_weight)
    measured.warn_if_hopeless()
    area = measured.curve().area
    spread = measured.spread_of_points(area)
    if rows_vary:
        spread += measured.spread_of_rows(area)
    return _wilson(area, spread, float(ndtri((1 + level) / 2)))


def excess_mass_curve(
    suspicion: ArrayLike, volume_suspicion: ArrayLike, volume_weight: ArrayLike | None = None
) -> ExcessMassCurve:
    """Return the excess mass by level: the largest mass(t) - level * volume(t) over all t.

    Higher is better. At level 0 it is 1; a level of 2 requires places twice as dense as the box
    is on average. Inputs are those of `mass_volume_curve`.

    >>> curve = excess_mass_curve([1, 1, 1, 3], [1, 2, 3, 4])
    >>> curve.level.tolist(), curve.excess.tolist()
    ([0.0, 0.5, 3.0], [1.0, 0.625, 0.0])
    """
    return mass_volume_curve(suspicion, volume_suspicion, volume_weight).excess_mass()


def area_under_excess_mass(
    suspicion: ArrayLike,
    volume_suspicion: ArrayLike,
    volume_weight: ArrayLike | None = None,
    *,
    down_to: float = 0.9,
) -> float:
    """Return the area under the excess-mass curve, up to the level where it falls to `down_to`.

    Higher is better. Small levels are those where nearly all rows count as ordinary, which is
    where detectors of few anomalies differ; that is why the curve is not followed to its end.
    A constant suspicion gets 0.095. It is infinite if `down_to` of the rows have no volume: then
    no point fell where they are, or they share the same few values. Inputs are those of
    `mass_volume_curve`.

    >>> round(area_under_excess_mass([1, 1, 1, 3], [1, 2, 3, 4]), 4)
    0.1267
    """
    curve = excess_mass_curve(suspicion, volume_suspicion, volume_weight)
    return curve.area(down_to)


class _Measured(NamedTuple):
    """Rows and points by group of equal suspicion, the least suspicious group first."""

    n_rows: NDArray[np.int64]  # of each group
    volume: NDArray[np.float64]  # of each group, as a share of the box
    group: NDArray[np.intp]  # of each point
    weight: NDArray[np.float64]  # of each point

    @classmethod
    def with_points(cls, suspicion, volume_suspicion, volume_weight):
        rows = _some(suspicion, "suspicion")
        points = _some(volume_suspicion, "volume_suspicion")
        weight = _weights(volume_weight, points.size)
        values, group = np.unique(np.concatenate([rows, points]), return_inverse=True)
        row_group, point_group = group[: rows.size], group[rows.size :]
        n_rows = np.bincount(row_group, minlength=values.size)
        volume = np.zeros(values.size)
        np.add.at(volume, point_group, _volume_of_each(weight))
        return cls(n_rows, volume, point_group, weight)

    def curve(self):
        return MassVolumeCurve(_running_share(self.n_rows), _running_share(self.volume))

    def carried(self):
        """Return what each point adds to the area: its weight times the share of rows above."""
        n_above = self.n_rows.sum() - np.cumsum(self.n_rows)
        return self.weight * ((n_above + self.n_rows / 2) / self.n_rows.sum())[self.group]

    def n_carrying(self):
        """Return how many points carry the area; the effective number if they share it unevenly.

        Rows above nearly all of the box are ignored: all points carry those alike, and however few
        fall among the others, it would look as if many did.
        """
        is_near = np.cumsum(self.volume) - self.volume < _FAR
        n_near = np.where(is_near, self.n_rows, 0)
        n_above = n_near.sum() - np.cumsum(n_near)
        carried = self.weight * (n_above + n_near / 2)[self.group]
        if not n_near.any():
            carried = self.weight
        squares = carried @ carried
        return carried.sum() ** 2 / squares if squares > 0 else 0.0

    def is_hopeless(self):
        return self.n_carrying() < _FEW_POINTS

    def warn_if_hopeless(self):
        n_points = self.weight.size
        if self.is_hopeless() and n_points > 10 * _FEW_POINTS:
            warnings.warn(
                f"only {self.n_carrying():.1f} effective points of {n_points:,} fall where "
                "ordinary rows are, so their volume is a guess; draw more points, near the rows "
                "(importance_points), or use fewer columns.",
                HopelessVolume,
                stacklevel=3,
            )

    def spread_of_points(self, area):
        """Return the variance due to the points, in units of area (1 - area)."""
        if self.is_hopeless() or area >= 1:
            # No draws in [0, w] with a given mean vary more than those of 0 and w alone.
            return self.weight.max() / self.weight.size
        return _unexplained(self.carried(), self.weight) / (area * (1 - area))

    def spread_of_rows(self, area):
        """Return the variance due to the rows, in units of area (1 - area)."""
        n_rows = self.n_rows.sum()
        if not 0 < area < 1 or n_rows == 1:
            return 1 / n_rows
        midrank = np.cumsum(self.volume) - self.volume / 2
        variance = self.n_rows @ (midrank - area) ** 2 / (n_rows - 1)
        return variance / n_rows / (area * (1 - area))


def _some(values: ArrayLike, name: str) -> NDArray[np.float64]:
    vector = checks.finite_vector(values, name)
    if not vector.size:
        raise ValueError(f"{name} must contain at least one value; got none.")
    return vector


def _amounts(values: ArrayLike, name: str) -> NDArray[np.float64]:
    vector = _some(values, name)
    if vector.min() < 0 or not vector.any():
        raise ValueError(
            f"{name} must contain no negative number and at least one above 0; got "
            f"{vector.min():g} to {vector.max():g}."
        )
    return vector


def _weights(values: ArrayLike | None, n_points: int) -> NDArray[np.float64]:
    if values is None:
        return np.ones(n_points)
    weight = _amounts(values, "volume_weight")
    if weight.size != n_points:
        raise ValueError(
            f"volume_weight must have {n_points} values, one per point; got {weight.size}."
        )
    if not 0.5 < weight.mean() < 2:
        raise ValueError(
            f"volume_weight must be about 1 on average; got {weight.mean():g}. A weight is the "
            "even density over the box divided by the density its point was drawn from."
        )
    return weight


def _volume_of_each(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the box that each point represents; together they are 1."""
    mean, variance = weight.mean(), weight.var()
    if variance > 0:
        corrected = weight * (1 - (mean - 1) * (weight - mean) / variance)
        if corrected.min() >= 0:
            return corrected / weight.size
    # A handful of points can be so uneven that the correction makes a volume negative: then scale.
    return weight / weight.sum()


def _unexplained(carried: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the variance of the mean of what is carried, except what the weights explain."""
    n = weight.size
    left = carried - carried.mean()
    around = weight - weight.mean()
    if around.any():
        left -= (left @ around) / (around @ around) * around
    return float(left @ left) / (n * (n - 1))


def _running_share(amounts: NDArray) -> NDArray[np.float64]:
    """Return the share of the sum reached after each amount, from 0 to exactly 1."""
    running = np.cumsum(amounts, dtype=np.float64)
    return np.append(0.0, running / running[-1])


def _wilson(area: float, spread: float, z: float) -> Interval:
    """Return the interval of a share that was seen in 1 / `spread` draws."""
    middle = area + spread * z**2 / 2
    half_width = z * np.sqrt(spread * area * (1 - area) + (spread * z / 2) ** 2)
    scale = 1 + spread * z**2
    # Rounding may leave an end some 1e-17 beyond the area.
    low = np.clip((middle - half_width) / scale, 0, area)
    high = np.clip((middle + half_width) / scale, area, 1)
    return Interval(area, float(low), float(high))


@njit(cache=True)
def _concave_corners(x, y):
    """Return which points of a rising curve are corners of the lowest concave curve above it."""
    corners = np.empty(x.size, dtype=np.int64)
    n = 0
    for i in range(x.size):
        while n >= 2:
            last, before = corners[n - 1], corners[n - 2]
            rise_before = (y[last] - y[before]) * (x[i] - x[last])
            if rise_before > (y[i] - y[last]) * (x[last] - x[before]):
                break  # the curve bends down at the last corner, which stays
            n -= 1
        corners[n] = i
        n += 1
    return corners[:n]
