"""Encoded columns turned into the terms of a linear or Gaussian kernel.

A number becomes one term: its distance from the column's mean in standard deviations, 0 where it
is missing. A column with missing values in training has a second term that flags them, and a
category has a term for each of its most frequent values. These are 1 or 0, minus the share of
training rows that have a 1. So every term is 0 on average, and a row of zeros is the mean of the
training rows. Means, spreads and shares are weighted by the rows' weights.
"""

from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from toprank.data.inputs import TrainingRows
from toprank.data.tables import Schema

_MOST_CATEGORIES = 100
_LARGEST = 1e50
"""Limit of saved numbers: float32 columns have no larger mean, and scores cannot overflow."""
_LEAST_SPREAD = 1e-60  # below that of any float32; quotients stay finite


class PairwiseDesign(NamedTuple):
    """How columns become terms: numbers first, then missing-value flags, then categories.

    A column with the same value in all training rows has no term. The 100 most frequent values of
    a category have one each; other, unseen and missing values have 0 in all of them.

    >>> features = np.array([[1.0], [3.0], [np.nan]], dtype=np.float32)
    >>> rows = TrainingRows(features, np.array([False, True, False]), None)
    >>> PairwiseDesign.of(rows, Schema.of(features)).terms(features).round(2).tolist()
    [[-1.0, -0.33], [1.0, -0.33], [0.0, 0.67]]
    """

    number: NDArray[np.int64]
    centre: NDArray[np.float64]
    spread: NDArray[np.float64]
    missing: NDArray[np.int64]
    missing_share: NDArray[np.float64]
    category: NDArray[np.int64]
    code: NDArray[np.int64]
    code_share: NDArray[np.float64]

    @classmethod
    def of(cls, rows: TrainingRows, schema: Schema) -> Self:
        """Return the design learned from training rows."""
        weight = np.ones(len(rows.features)) if rows.weight is None else rows.weight
        weight = weight / weight.sum()
        numbers: list[tuple[int, float, float]] = []
        missing: list[tuple[int, float]] = []
        codes: list[tuple[int, int, float]] = []
        for column, n_categories in enumerate(schema.n_categories):
            values = rows.features[:, column].astype(np.float64)
            is_known = ~np.isnan(values)
            if n_categories:
                found = _frequent(values, is_known, weight)
                is_constant = len(found) == 1 and is_known.all()
                codes += [] if is_constant else [(column, *each) for each in found]
                continue
            known = values[is_known]
            if known.size and known.min() < known.max():
                numbers.append((column, *_centre_spread(known, weight[is_known])))
            if 0 < known.size < values.size:
                missing.append((column, float(weight[~is_known].sum())))
        return cls(*_columns(numbers, 3), *_columns(missing, 2), *_columns(codes, 3, n_whole=2))

    @property
    def owners(self) -> NDArray[np.int64]:
        """The column that each term is made of."""
        return np.concatenate([self.number, self.missing, self.category])

    @property
    def usual_gamma(self) -> float:
        """The width of a Gaussian kernel over the terms: 1 over the sum of their variances.

        Two rows at their mean distance then have a kernel of exp(-2).
        """
        is_number = np.isin(self.missing, self.number)
        # a number has variance 1 among its known values and 0 where it is missing
        variance = self.number.size - self.missing_share[is_number].sum()
        for share in (self.missing_share, self.code_share):
            variance += (share * (1 - share)).sum()
        return 1 / float(variance) if variance > 0 else 1.0

    def terms(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the terms of every row."""
        standard = (features[:, self.number].astype(np.float64) - self.centre) / self.spread
        standard[np.isnan(standard)] = 0.0
        is_missing = np.isnan(features[:, self.missing]) - self.missing_share
        has_code = (features[:, self.category] == self.code) - self.code_share
        return np.ascontiguousarray(np.hstack([standard, is_missing, has_code]))

    def arrays(self) -> dict[str, NDArray]:
        """Return what `from_arrays` restores the design from."""
        return {f"design_{name}": values for name, values in self._asdict().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], schema: Schema) -> Self:
        """Return the design that `arrays` gave; raises ValueError if it does not fit."""
        design = cls(**{name: arrays[f"design_{name}"] for name in cls._fields})
        is_category = schema.n_categories > 0
        numbers, categories = np.flatnonzero(~is_category), np.flatnonzero(is_category)
        _check_columns("number", design.number, numbers)
        _check_columns("missing", design.missing, numbers)
        _check_columns("category", design.category, categories, is_distinct=False)
        _check_columns("code", design.code, np.arange(schema.n_categories.max()), False)
        for name in ("centre", "spread"):
            check_numbers(f"design_{name}", getattr(design, name), design.number.shape)
        check_numbers("design_missing_share", design.missing_share, design.missing.shape)
        check_numbers("design_code_share", design.code_share, design.category.shape)
        if design.code.shape != design.category.shape:
            raise ValueError("design_code must have one code for each of design_category.")
        if not (design.spread > _LEAST_SPREAD).all():
            raise ValueError(f"design_spread must be greater than 0, from {_LEAST_SPREAD:g} on.")
        return design


def check_numbers(name: str, values: NDArray, shape: tuple[int, ...]) -> None:
    """Raise a ValueError if a loaded array has another shape or excessively large numbers."""
    if values.dtype != np.float64 or values.shape != shape:
        raise ValueError(
            f"{name} must be float64 of shape {shape}; got {values.dtype} of shape {values.shape}."
        )
    if not (np.abs(values) < _LARGEST).all():
        raise ValueError(f"{name} must be between -{_LARGEST:g} and {_LARGEST:g}.")


def _check_columns(
    name: str, values: NDArray, allowed: NDArray[np.int64], is_distinct: bool = True
) -> None:
    if values.dtype != np.int64 or values.ndim != 1 or not np.isin(values, allowed).all():
        raise ValueError(f"design_{name} must contain valid columns or codes.")
    if is_distinct and np.unique(values).size < values.size:
        raise ValueError(f"design_{name} must contain every column once.")


def _centre_spread(known: NDArray[np.float64], weight: NDArray[np.float64]) -> tuple[float, float]:
    share = weight / weight.sum()
    centre = float(share @ known)
    return centre, float(np.sqrt(share @ (known - centre) ** 2))


def _frequent(
    values: NDArray[np.float64], is_known: NDArray[np.bool_], weight: NDArray[np.float64]
) -> list[tuple[int, float]]:
    """Return the codes with the most weight, and the share of rows that have each."""
    shares = np.bincount(values[is_known].astype(np.int64), weight[is_known])
    chosen = np.argsort(-shares, kind="stable")[:_MOST_CATEGORIES]
    return [(int(code), float(shares[code])) for code in np.sort(chosen) if shares[code] > 0]


def _columns(found: list, n_columns: int, n_whole: int = 1) -> list[NDArray]:
    """Return tuples as one array per field: first integers, then floats."""
    sides = zip(*found, strict=True) if found else [()] * n_columns
    return [
        np.array(side, dtype=np.int64 if place < n_whole else np.float64)
        for place, side in enumerate(sides)
    ]
