"""How tightly a detector encloses rows that it did not learn from.

A detector learns from half of the rows and is judged by the other half, so that memorising rows
gains nothing. Volumes are those of one box around the rows of both halves.
"""

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone

from toprank.data.tables import Schema
from toprank.metrics import Interval
from toprank.metrics.mass_volume import (
    MassVolumeCurve,
    mass_volume_curve,
    mass_volume_interval,
)
from toprank.rankers.anomaly.uniform_points import UprightSpace, as_input

N_POINTS = 20_000

_MOST_ROWS = 100_000
_FEW_NUMBERS = 6  # up to here uniform points fall among the rows often enough


@dataclass(frozen=True)
class HeldOut:
    """The mass-volume curve of held-out rows, and the area under it with its 95 % interval.

    `n_points` is how many points measured the volumes; 0 if these are exact.
    """

    curve: MassVolumeCurve
    area: Interval
    n_learned: int
    n_judged: int
    n_points: int


def held_out_curve(
    detector: Any,
    table: pa.Table,
    bounds: str = "range",
    random_state: int = 0,
    n_points: int = N_POINTS,
) -> HeldOut:
    """Return the curve of a detector with these parameters, fitted on half of the rows.

    Volume is that of the box around the rows, whatever the detector; `bounds` says which box, and
    `n_points` how many points measure it where it is not exact.
    Categories fill it evenly, and missing values take a tenth of a column that has some. At most
    100,000 rows are drawn for both halves; more would not change the curve visibly.

    >>> from toprank import AnomalyTreeRank
    >>> amounts = pa.table({"amount": np.random.default_rng(0).exponential(size=2000)})
    >>> print(held_out_curve(AnomalyTreeRank(), amounts).area)
    .131 (.123-.139)
    """
    if table.num_rows < 2:
        raise ValueError(f"table must have at least 2 rows to be split; got {table.num_rows}.")
    generator = np.random.default_rng(random_state)
    drawn = generator.permutation(table.num_rows)[:_MOST_ROWS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the caller has already warned about the table
        halves = Halves.of(table.take(drawn), generator, bounds, n_points)
        fitted = halves.taught(detector)
    n_judged = int(np.count_nonzero(halves.is_judged))
    sizes = (halves.is_judged.size - n_judged, n_judged)
    if has_exact_volumes(detector, bounds):
        curve = fitted.mass_volume(halves.rows(halves.is_judged))
        return HeldOut(curve, _exact_area(curve, n_judged), *sizes, 0)
    measured = halves.measured(fitted)
    area = mass_volume_interval(*measured, rows_vary=True)
    return HeldOut(mass_volume_curve(*measured), area, *sizes, len(halves.points))


class Halves(NamedTuple):
    """Rows to learn from and rows to be judged by, and points in the box around both.

    Points have weights if they are not uniform.
    """

    schema: Schema
    features: NDArray[np.float32]
    is_judged: NDArray[np.bool_]
    bounds: str
    space: UprightSpace
    points: NDArray[np.float32]
    weight: NDArray[np.float64] | None

    @classmethod
    def of(
        cls,
        X: Any,
        generator: np.random.Generator,
        bounds: str = "range",
        n_points: int = N_POINTS,
    ) -> "Halves":
        """Return the rows in two halves, drawn at random."""
        schema = Schema.of(X)
        features = schema.encode(X)
        is_judged = generator.permutation(len(features)) % 2 == 0
        # nothing can be learned about a column that is all missing in one half
        is_known = ~np.isnan(features[~is_judged]).all(axis=0)
        if is_known.any():
            columns = zip(schema.columns, is_known, strict=True)
            schema = Schema(tuple(column for column, known in columns if known))
            features = np.ascontiguousarray(features[:, is_known])
        space = UprightSpace.around(features, schema, bounds)
        points, weight = _points(space, features, n_points, generator)
        return cls(schema, features, is_judged, bounds, space, points, weight)

    def rows(self, chosen: NDArray[np.bool_]) -> Any:
        """Return some of the rows in a form that any detector reads."""
        return as_input(self.features[chosen], self.schema)

    def taught(self, detector: Any) -> Any:
        """Return a clone fitted to one half; its volumes, if any, are those of the box."""
        fresh = clone(detector)
        if has_exact_volumes(fresh, self.bounds):
            low, high = self.space.box.low, self.space.box.high
            # a constant column has no width, and any width gives the same shares
            wide = np.where(low == high, 0.5, 0.0)
            fresh.set_params(bounds=np.column_stack([low - wide, high + wide]))
        return fresh.fit(self.rows(~self.is_judged))

    def measured(
        self, fitted: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the suspicion of the held-out rows and of the points, and the points' weights."""
        of_rows = fitted.suspicion(self.rows(self.is_judged))
        of_points = fitted.suspicion(as_input(self.points, self.schema))
        # rows outside count as enclosed only by the whole box
        outside = max(of_points.max(), of_rows.max()) + 1
        is_inside = self.space.box.holds(self.features[self.is_judged])
        return np.where(is_inside, of_rows, outside), of_points, self.weight


def has_exact_volumes(detector: Any, bounds: str = "range") -> bool:
    """Return whether a detector knows the volumes of its groups, in a box learned this way."""
    if not hasattr(detector, "mass_volume") or not isinstance(detector.bounds, str):
        return False
    return bool(detector.bounds == bounds)


def _points(
    space: UprightSpace,
    features: NDArray[np.float32],
    n_points: int,
    generator: np.random.Generator,
) -> tuple[NDArray[np.float32], NDArray[np.float64] | None]:
    """Return points uniform over the box, or near the rows if these fill little of it."""
    is_wide = (space.box.high > space.box.low) & ~space.is_choice
    if np.count_nonzero(is_wide) <= _FEW_NUMBERS:
        return space.drawn(features, n_points, generator), None
    points, weight = space.drawn_near(features, n_points, generator)
    return points.astype(np.float32), weight


def _exact_area(curve: MassVolumeCurve, n_rows: int) -> Interval:
    """Return the area under an exact curve: the mean volume below a row, and its interval."""
    volume_below = (curve.volume[1:] + curve.volume[:-1]) / 2
    spread = np.diff(curve.mass) @ (volume_below - curve.area) ** 2
    reach = 1.96 * float(np.sqrt(spread / n_rows))
    return Interval(curve.area, max(curve.area - reach, 0.0), min(curve.area + reach, 1.0))
