"""Points drawn uniformly from where rows could be, for a ranker to separate from the rows.

Along the columns, points are

    numbers       anywhere between the bounds; whole where all rows have whole numbers, each of
                  which represents the unit around it
    categories    any known value, each with the same probability; booleans alike
    missing       in a tenth of the points, in columns where some rows miss a value

which is the space of `volume_bins`, so that volumes mean the same in both. Along the principal
axes of the rows there are numbers only. Where columns are correlated, the rows fill far more of
the box along these axes than of the one along the columns, and more points fall among them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from toprank.data.tables import Schema
from toprank.rankers.anomaly.box import Box
from toprank.rankers.anomaly.density_scoring import outside_terms
from toprank.rankers.anomaly.volume_bins import MISSING_SHARE
from toprank.rankers.anomaly.volume_points import VolumePoints, importance_points, uniform_points

SAMPLERS = ("box", "rotated")

_AT_ONCE = 50_000  # points, so that what is drawn in float64 stays small
_LEAST_REACH = 1e-3  # of the rotated box from its centre, in standard deviations of the columns
_JUST_OUTSIDE = 1e-9


class Space(Protocol):
    """Where rows could be: points come from inside, rows outside are the most suspicious."""

    @property
    def n_columns(self) -> int: ...

    def drawn(
        self, like: NDArray[np.float32], n_points: int, generator: np.random.Generator
    ) -> NDArray[np.float32]:
        """Return points drawn uniformly; `like` only shows the kinds of values in each column."""
        ...

    def outside(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what each column adds to a row's suspicion for being outside; 0 inside."""
        ...

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays from which `from_arrays` of the same class restores it."""
        ...


class UprightSpace(NamedTuple):
    """The box along the columns.

    >>> features = np.array([[0.0], [1.0], [4.0]], dtype=np.float32)
    >>> space = UprightSpace.around(features, Schema.of(features))
    >>> points = space.drawn(features, 1000, np.random.default_rng(0))
    >>> np.unique(points).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    """

    box: Box
    is_choice: NDArray[np.bool_]  # columns of categories and of booleans

    @classmethod
    def around(
        cls, features: NDArray[np.float32], schema: Schema, bounds: str | ArrayLike = "range"
    ) -> Self:
        """Return the space around rows, or between the bounds given."""
        is_category = schema.n_categories > 0
        if isinstance(bounds, str):
            box = Box.around(features, is_category, bounds)
        else:
            box = Box.given(bounds, features, is_category)
        return cls(box, _is_choice(schema))

    @property
    def n_columns(self) -> int:
        return self.box.n_columns

    def drawn(
        self, like: NDArray[np.float32], n_points: int, generator: np.random.Generator
    ) -> NDArray[np.float32]:
        values = _values_of(like, self.is_choice)
        points = np.empty((n_points, self.n_columns), dtype=np.float32)
        for block in _blocks(n_points):
            size = len(points[block])
            numbers = uniform_points(self._numbers(), size, generator)
            points[block] = self._completed(numbers, values, generator)
        return points

    def drawn_near(
        self, rows: NDArray[np.float32], n_points: int, generator: np.random.Generator
    ) -> VolumePoints:
        """Return points most of which are near rows, with the weights that compensate for it.

        Numbers are drawn by `importance_points`, with the column's median for missing values of
        the rows; everything else is drawn uniformly.
        """
        numbers = rows[:, ~self.is_choice]
        centers = np.where(np.isnan(numbers), np.nanmedian(numbers, axis=0), numbers)
        points, weight = importance_points(self._numbers(), centers, n_points, generator)
        values = _values_of(rows, self.is_choice)
        return VolumePoints(self._completed(points, values, generator), weight)

    def outside(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return outside_terms(self.box.beyond(features))

    def arrays(self) -> dict[str, NDArray]:
        return {
            "box": np.stack([self.box.low, self.box.high])[None],
            "may_miss": ~self.box.is_whole[None],
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], schema: Schema) -> Self:
        """Return the space that `arrays` gave; ValueError if it is not valid."""
        (box,) = Box.from_arrays(arrays["box"], arrays["may_miss"])
        return cls(box, _is_choice(schema))

    def _numbers(self) -> Box:
        """Return the box of the columns of numbers."""
        return Box(self.box.low[~self.is_choice], self.box.high[~self.is_choice])

    def _completed(
        self,
        numbers: NDArray[np.float64],
        values: list["_Values"],
        generator: np.random.Generator,
    ) -> NDArray[np.float64]:
        """Return points of all columns, given those of the numbers."""
        n_points = len(numbers)
        points = np.full((n_points, self.n_columns), np.nan)
        points[:, ~self.is_choice] = numbers
        for column, (choices, are_whole) in enumerate(values):
            if choices.size:
                points[:, column] = generator.choice(choices, n_points)
            elif are_whole:
                low, high = np.ceil(self.box.low[column]), np.floor(self.box.high[column])
                points[:, column] = np.rint(points[:, column]).clip(low, high) + 0.0  # no -0
        for place in np.flatnonzero(~self.box.is_whole):
            points[generator.random(n_points) < MISSING_SHARE, place] = np.nan
        return points


class RotatedSpace(NamedTuple):
    """The box along the principal axes of the standardised columns.

    An axis along which the rows hardly vary reaches a thousandth of a standard deviation from the
    mean. How far a row is outside along an axis is attributed to the columns that drive it there.

    >>> generator = np.random.default_rng(0)
    >>> along = generator.normal(size=1000)
    >>> features = np.column_stack([along, along + 0.01 * generator.normal(size=1000)])
    >>> space = RotatedSpace.around(features.astype(np.float32), Schema.of(features))
    >>> points = space.drawn(features, 1000, generator)
    >>> round(float(np.abs(points[:, 0] - points[:, 1]).max()), 1)
    0.0
    """

    centre: NDArray[np.float64]
    spread: NDArray[np.float64]
    axes: NDArray[np.float64]  # a column each
    box: Box

    @classmethod
    def around(
        cls, features: NDArray[np.float32], schema: Schema, bounds: str | ArrayLike = "range"
    ) -> Self:
        """Return the space around rows, all of them numbers and none missing."""
        _check_rotation(features, schema, bounds)
        centre = features.mean(axis=0, dtype=np.float64)
        spread = features.std(axis=0, dtype=np.float64)
        spread = np.where(spread > 0, spread, 1.0)
        standard = (features - centre) / spread
        _, axes = np.linalg.eigh(standard.T @ standard)
        turned = _turned(standard, axes)
        no_category = np.zeros(centre.size, dtype=bool)
        around = Box.around(turned, no_category, str(bounds))
        box = Box(
            np.minimum(around.low, -_LEAST_REACH),
            np.maximum(around.high, _LEAST_REACH),
            no_category,
        )
        return cls(centre, spread, axes, box)

    @property
    def n_columns(self) -> int:
        return self.centre.size

    def drawn(
        self, like: NDArray[np.float32], n_points: int, generator: np.random.Generator
    ) -> NDArray[np.float32]:
        points = np.empty((n_points, self.n_columns), dtype=np.float32)
        for block in _blocks(n_points):
            turned = uniform_points(self.box, len(points[block]), generator)
            points[block] = self.centre + self.spread * (turned @ self.axes.T)
        return points

    def outside(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        standard = (features - self.centre) / self.spread
        is_missing = np.isnan(standard)
        standard[is_missing] = 0.0
        turned = _turned(standard, self.axes)
        terms = outside_terms(self.box.beyond(turned))
        parts = outside_terms(np.where(is_missing, _JUST_OUTSIDE, 0.0))
        for axis in np.flatnonzero(terms.any(axis=0)):
            rows = np.flatnonzero(terms[:, axis])
            # 0 is inside, so a row is driven out by the terms of the same sign
            side = np.sign(turned[rows, axis])[:, None]
            drive = np.maximum(side * standard[rows] * self.axes[:, axis], 0.0)
            parts[rows] += terms[rows, axis, None] * drive / drive.sum(axis=1, keepdims=True)
        return parts

    def arrays(self) -> dict[str, NDArray]:
        return {
            "box": np.stack([self.box.low, self.box.high])[None],
            "may_miss": ~self.box.is_whole[None],
            "centre": self.centre,
            "spread": self.spread,
            "axes": self.axes,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], schema: Schema) -> Self:
        """Return the space that `arrays` gave; ValueError if it is not valid."""
        (box,) = Box.from_arrays(arrays["box"], arrays["may_miss"])
        n_columns = box.n_columns
        shapes = {"centre": (n_columns,), "spread": (n_columns,), "axes": (n_columns, n_columns)}
        for name, shape in shapes.items():
            values = arrays[name]
            if values.dtype != np.float64 or values.shape != shape:
                raise ValueError(f"{name} must be {shape} numbers; got shape {values.shape}.")
            if not np.isfinite(values).all():
                raise ValueError(f"{name} must contain finite numbers.")
        if not (arrays["spread"] > 0).all():
            raise ValueError("spread must be greater than 0.")
        if not ((box.low < 0) & (box.high > 0)).all():
            raise ValueError("the rotated box must contain its centre.")
        return cls(arrays["centre"], arrays["spread"], arrays["axes"], box)


def as_input(features: NDArray[np.float32], schema: Schema) -> Any:
    """Return encoded rows as input for any estimator: an array, or a table with categories.

    >>> schema = Schema.of(pa.table({"country": ["FR", "DE"]}))
    >>> as_input(np.array([[0.0], [np.nan]], dtype=np.float32), schema)["country"].to_pylist()
    ['DE', None]
    """
    if not schema.n_categories.any():
        return features
    return pa.table(
        {
            column.name: _as_texts(values, column.categories) if column.categories else values
            for column, values in zip(schema.columns, features.T, strict=True)
        }
    )


class _Values(NamedTuple):
    """The known values of a category or boolean, none for numbers; whether numbers are whole."""

    choices: NDArray[np.float32]
    are_whole: bool


def _values_of(features: NDArray[np.float32], is_choice: NDArray[np.bool_]) -> list[_Values]:
    return [_values_of_column(*each) for each in zip(features.T, is_choice, strict=True)]


def _values_of_column(values: NDArray[np.float32], is_choice: bool) -> _Values:
    known = values[~np.isnan(values)]
    if is_choice:
        return _Values(np.unique(known), False)
    return _Values(known[:0], bool((known == np.rint(known)).all()))


def _is_choice(schema: Schema) -> NDArray[np.bool_]:
    return np.array([column.kind != "number" for column in schema.columns])


def _blocks(n_points: int) -> list[slice]:
    return [slice(begin, begin + _AT_ONCE) for begin in range(0, n_points, _AT_ONCE)]


def _turned(standard: NDArray[np.float64], axes: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the coordinates of rows along the axes."""
    # column by column: a matrix product may round a row differently depending on the others
    turned = np.zeros_like(standard)
    for column, axis in enumerate(axes):
        turned += standard[:, column, None] * axis
    return turned.astype(np.float32)


def _check_rotation(
    features: NDArray[np.float32], schema: Schema, bounds: str | ArrayLike
) -> None:
    if not isinstance(bounds, str):
        raise ValueError(
            "bounds must be 'range' or 'robust' with sampler='rotated', whose axes are not the "
            "columns; use sampler='box' to give bounds of your own."
        )
    for column, n_missing in zip(schema.columns, np.isnan(features).sum(axis=0), strict=True):
        if column.kind != "number":
            raise ValueError(
                f"sampler='rotated' takes columns of numbers only; {column.name!r} is a "
                f"{column.kind}; leave it out or use sampler='box'."
            )
        if n_missing:
            raise ValueError(
                f"sampler='rotated' takes no missing values; column {column.name!r} misses "
                f"{n_missing} of {len(features)}; fill them in or use sampler='box'."
            )


def _as_texts(codes: NDArray[np.float32], categories: tuple[str, ...]) -> pa.DictionaryArray:
    is_missing = np.isnan(codes)
    places = pa.array(np.where(is_missing, 0, codes).astype(np.int32), mask=is_missing)
    return pa.DictionaryArray.from_arrays(places, pa.array(categories))
