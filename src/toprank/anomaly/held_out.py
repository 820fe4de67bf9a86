"""How tightly a detector encloses rows that it did not learn from.

Half of the rows teach, the other half are judged: a detector that merely remembers its rows gets
no credit. At most 100,000 rows are drawn for both, which is more than the curve shows.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sklearn.base import clone

from toprank import inputs
from toprank.anomaly.sampling import UprightSpace
from toprank.anomaly.volume_points import VolumePoints
from toprank.metrics import Interval
from toprank.metrics.mass_volume import (
    MassVolumeCurve,
    mass_volume_curve,
    mass_volume_interval,
)
from toprank.tables import Schema

_MOST_ROWS = 100_000
_N_POINTS = 20_000
_FEW_NUMBERS = 6  # up to which even points fall among the rows often enough


@dataclass(frozen=True)
class HeldOut:
    """The mass-volume curve of rows held out, and the area under it with its 95 % interval.

    `n_points` is how many points measured the volumes; 0 where these are exact.
    """

    curve: MassVolumeCurve
    area: Interval
    n_learned: int
    n_judged: int
    n_points: int


def held_out_curve(
    detector: Any, table: pa.Table, bounds: str = "range", random_state: int = 0
) -> HeldOut:
    """Return the curve of a detector with these parameters, fitted anew on half of the rows.

    Volume is that of the box around the rows, whatever the detector; `bounds` says which box.
    Categories fill it evenly, and missing values a tenth of a column that has some.

    >>> from toprank import AnomalyTreeRank
    >>> amounts = pa.table({"amount": np.random.default_rng(0).exponential(size=2000)})
    >>> print(held_out_curve(AnomalyTreeRank(), amounts).area)
    .131 (.123-.139)
    """
    if table.num_rows < 2:
        raise ValueError(f"table must hold at least 2 rows to be parted; got {table.num_rows}.")
    generator = np.random.default_rng(random_state)
    drawn = generator.permutation(table.num_rows)[:_MOST_ROWS]
    half = drawn.size // 2
    learned = _with_values(table.take(drawn[:half]))
    judged = table.take(drawn[half:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is odd about the table was said before
        schema = Schema.of(learned)
        rows = np.concatenate([schema.encode(learned), schema.encode(judged)])
        space = UprightSpace.around(rows, schema, bounds)
        fitted = _in_space(clone(detector), space).fit(learned)
    if hasattr(fitted, "mass_volume"):
        curve = fitted.mass_volume(judged)
        return HeldOut(curve, _exact_area(curve, len(judged)), half, len(judged), 0)
    measured = _scored(fitted, rows, half, space, generator)
    return HeldOut(
        mass_volume_curve(*measured),
        mass_volume_interval(*measured, rows_vary=True),
        half,
        len(judged),
        _N_POINTS,
    )


def _with_values(table: pa.Table) -> pa.Table:
    """Return the columns that hold a value in some row: from others, nothing can be learned."""
    names = [
        name
        for name in table.column_names
        if not pc.all(pc.is_null(table[name], nan_is_null=True)).as_py()
    ]
    return table.select(names or table.column_names)


def _in_space(detector: Any, space: UprightSpace) -> Any:
    """Return the detector; if it has volumes of its own, they are those of the space."""
    if not hasattr(detector, "mass_volume"):
        return detector
    low, high = space.box.low, space.box.high
    # a column of one value has no width, and any width gives the same shares
    wide = np.where(low == high, 0.5, 0.0)
    return detector.set_params(bounds=np.column_stack([low - wide, high + wide]))


def _scored(
    detector: Any,
    rows: NDArray[np.float32],
    n_learned: int,
    space: UprightSpace,
    generator: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the suspicion of the rows held out and of points, and the points' weights."""
    points, weight = _points(space, rows, generator)
    judged = rows[n_learned:]
    of_points = detector.suspicion(inputs.Encoded(points.astype(np.float32)))
    of_rows = detector.suspicion(inputs.Encoded(judged))
    # what lies outside needs the whole box to be held
    outside = max(of_points.max(), of_rows.max()) + 1
    return np.where(space.box.holds(judged), of_rows, outside), of_points, weight


def _points(
    space: UprightSpace, rows: NDArray[np.float32], generator: np.random.Generator
) -> VolumePoints:
    """Return points that are even over the box, or near the rows where these fill little of it."""
    if np.count_nonzero(~space.is_choice) > _FEW_NUMBERS:
        return space.drawn_near(rows, _N_POINTS, generator)
    points = space.drawn(rows, _N_POINTS, generator)
    return VolumePoints(points.astype(np.float64), np.ones(_N_POINTS))


def _exact_area(curve: MassVolumeCurve, n_rows: int) -> Interval:
    """Return the area under an exact curve: the mean volume below a row, which has a spread."""
    volume_below = (curve.volume[1:] + curve.volume[:-1]) / 2
    spread = np.diff(curve.mass) @ (volume_below - curve.area) ** 2
    reach = 1.96 * float(np.sqrt(spread / n_rows))
    return Interval(curve.area, max(curve.area - reach, 0.0), min(curve.area + reach, 1.0))
