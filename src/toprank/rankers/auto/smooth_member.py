"""A linear or quadratic logistic model as a member: smooth where trees are steps.

With a handful of positives trees have little to learn from, and a linear model of all columns
often ranks better; blended with trees, it breaks their ties.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.rankers.auto.blend import Columns, sampled

_MOST_ROWS = 200_000
_MOST_COLUMNS_SQUARED = 40
_MOST_CATEGORIES = 50
_MOST_VALUES = 8_000_000  # rows times terms: 64 MB
_MOST_STEPS = 100
_MOST_TERMS_SQUARED = 1_000
_ROWS_AT_ONCE = 2_000
_LARGEST = 1e50  # float32 columns have no larger mean, and no sum of such weights overflows
FURTHEST = 5.0
"""Values are clipped at this many standard deviations: one outlier must not dominate the model."""


@dataclass(frozen=True)
class SmoothModel:
    """Logistic regression on standardised columns, or on them and their products."""

    degree: int = 1

    @property
    def name(self) -> str:
        return self.words

    @property
    def words(self) -> str:
        return "linear model" if self.degree == 1 else "quadratic model"

    def can_fit(self, columns: Columns) -> bool:
        """Return whether there are few enough columns for their products."""
        n_numeric = sum(column.kind != "category" for column in columns)
        return self.degree == 1 or 1 <= n_numeric <= _MOST_COLUMNS_SQUARED

    def work(self, n_rows: int, n_columns: int, *, tried: bool = False) -> float:
        n_terms = n_columns if self.degree == 1 else n_columns * (n_columns + 3) / 2
        n_values = min(min(n_rows, _MOST_ROWS) * n_terms, _MOST_VALUES)
        return n_values * (100.0 + 2.0 * min(n_terms, _MOST_TERMS_SQUARED))

    def fit(
        self, rows: TrainingRows, columns: Columns, *, seed: int, n_threads: int
    ) -> SmoothMember:
        from sklearn.linear_model import LogisticRegression  # a fitted member needs none of it

        most = max(_MOST_VALUES // max(len(columns), 1), 1_000)
        rows = sampled(rows, min(_MOST_ROWS, most), seed)
        design = SmoothDesign.of(rows, columns, self.degree)
        rows = sampled(rows, max(_MOST_VALUES // max(len(design.owners()), 1), 1_000), seed)
        # the more terms, the stronger the penalty
        strength = 10.0 if self.degree == 1 else 0.1
        terms = design.matrix(rows.features)
        # steps by second derivatives are few; beyond some terms their matrix would be too large
        solver = "newton-cholesky" if terms.shape[1] <= _MOST_TERMS_SQUARED else "newton-cg"
        model = LogisticRegression(C=strength, solver=solver, max_iter=_MOST_STEPS)
        if not terms.size:  # only categories, none of them known
            share = np.average(rows.is_positive, weights=rows.weight)
            return SmoothMember(design, np.empty(0), float(logit(share)), len(columns))
        with warnings.catch_warnings(), threadpool_limits(n_threads):
            warnings.simplefilter("ignore", ConvergenceWarning)  # close enough for ranking
            model.fit(terms, rows.is_positive, rows.weight)
        weights = model.coef_[0].astype(np.float64)
        return SmoothMember(design, weights, float(model.intercept_[0]), len(columns))

    def tried(
        self,
        rows: TrainingRows,
        columns: Columns,
        features: NDArray[np.float32],
        *,
        seed: int,
        n_threads: int,
    ) -> NDArray[np.float64]:
        return self.fit(rows, columns, seed=seed, n_threads=n_threads).raw(features)


class SmoothDesign(NamedTuple):
    """How columns become terms.

    Terms in order: each numeric column standardised, whether it is missing (where some were),
    each frequent category of each category column, then, for degree 2, all products of two
    standardised columns.
    """

    numeric: NDArray[np.int64]
    centre: NDArray[np.float64]
    spread: NDArray[np.float64]
    has_missing: NDArray[np.bool_]
    category_column: NDArray[np.int64]
    category_code: NDArray[np.int64]
    degree: int

    @classmethod
    def of(cls, rows: TrainingRows, columns: Columns, degree: int) -> Self:
        is_category = np.array([column.kind == "category" for column in columns], dtype=bool)
        numeric = np.flatnonzero(~is_category)
        values = rows.features[:, numeric].astype(np.float64)
        missing = np.isnan(values)
        n_known = (~missing).sum(axis=0)
        values[missing] = 0.0
        centre = values.sum(axis=0) / np.maximum(n_known, 1)
        values -= centre  # in place, like the steps below: there may be very many rows
        values[missing] = 0.0
        spread = np.sqrt(np.square(values, out=values).sum(axis=0) / np.maximum(n_known, 1))
        spread[~(spread > 0)] = 1.0
        frequent = [
            (column, code)
            for column in np.flatnonzero(is_category)
            for code in _frequent(rows.features[:, column])
        ]
        pairs = np.array(frequent, dtype=np.int64).reshape(-1, 2)
        has_missing = np.array(n_known < len(values), dtype=bool)
        return cls(numeric, centre, spread, has_missing, pairs[:, 0], pairs[:, 1], degree)

    def terms(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the terms of every row."""
        values = features[:, self.numeric].astype(np.float64)
        missing = np.isnan(values)
        standard = np.clip((values - self.centre) / self.spread, -FURTHEST, FURTHEST)
        standard[missing] = 0.0
        is_code = features[:, self.category_column] == self.category_code
        blocks = [standard, missing[:, self.has_missing], is_code]
        if self.degree == 2:
            left, right = pairs(self.numeric.size)
            blocks.append(standard[:, left] * standard[:, right])
        return np.ascontiguousarray(np.hstack(blocks, dtype=np.float64))

    def matrix(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the terms of many rows, computed in blocks to save memory."""
        matrix = np.empty((len(features), len(self.owners())))
        for block in _blocks(len(features)):
            matrix[block] = self.terms(features[block])
        return matrix

    def owners(self) -> NDArray[np.int64]:
        """Return the two columns of each term; the same one twice if there is only one."""
        alone = np.concatenate(
            [self.numeric, self.numeric[self.has_missing], self.category_column]
        )
        owners = np.column_stack([alone, alone])
        if self.degree == 2:
            products = self.numeric[np.column_stack(pairs(self.numeric.size))]
            owners = np.vstack([owners, products])
        return owners


@dataclass(frozen=True)
class SmoothMember:
    """A weighted sum of terms."""

    design: SmoothDesign
    weights: NDArray[np.float64]
    intercept: float
    n_columns: int

    @cached_property
    def _owners(self) -> NDArray[np.int64]:
        return self.design.owners()  # the same for every row

    def raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        raw = np.full(len(features), self.intercept)
        for block in _blocks(len(features)):
            # fixed order of sums: a row's score must not depend on the other rows of the batch
            raw[block] += np.einsum("ij,j->i", self.design.terms(features[block]), self.weights)
        return raw

    def contributions(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the sum of each feature's terms; a product is split equally between its two."""
        shares = np.zeros((len(features), self.n_columns + 1))
        owners = self._owners.T.ravel()
        for block in _blocks(len(features)):
            halves = self.design.terms(features[block]) * self.weights / 2
            for row, half in zip(shares[block], halves, strict=True):
                row[:-1] = np.bincount(owners, np.tile(half, 2), self.n_columns)
        shares[:, -1] = self.intercept
        return shares

    def importances(self) -> NDArray[np.float64]:
        sizes = np.zeros(self.n_columns)
        for side in self._owners.T:
            np.add.at(sizes, side, np.abs(self.weights) / 2)
        return sizes / (sizes.sum() or 1.0)

    def parts(self) -> Saved:
        arrays = {name: np.asarray(values) for name, values in self.design._asdict().items()}
        arrays["weights"] = self.weights
        degree = int(arrays.pop("degree"))
        return Saved({"degree": degree, "intercept": self.intercept}, arrays, {})

    @classmethod
    def from_parts(cls, parts: Saved, columns: Columns) -> Self:
        arrays = {name: parts.arrays[name] for name in SmoothDesign._fields if name != "degree"}
        design = SmoothDesign(**arrays, degree=parts.state["degree"])
        intercept = float(parts.state["intercept"])
        member = cls(design, parts.arrays["weights"], intercept, len(columns))
        _check(member, columns)
        return member


@lru_cache(maxsize=8)  # computing them would slow down single rows
def pairs(n_columns: int) -> tuple[NDArray[np.intp], ...]:
    """Return the two columns of every product."""
    return np.triu_indices(n_columns)


def _blocks(n_rows: int) -> list[slice]:
    """Return blocks of rows whose terms fit into memory."""
    return [slice(begin, begin + _ROWS_AT_ONCE) for begin in range(0, n_rows, _ROWS_AT_ONCE)]


def _frequent(codes: NDArray[np.float32]) -> list[int]:
    """Return the categories with the most rows, at most 50."""
    known, counts = np.unique(codes[~np.isnan(codes)].astype(np.int64), return_counts=True)
    return sorted(known[np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]].tolist())


def _check(member: SmoothMember, columns: Columns) -> None:
    """Raise a ValueError if the arrays of a loaded model do not fit each other."""
    design = member.design
    is_category = np.array([column.kind == "category" for column in columns], dtype=bool)
    n_numeric, n_codes = int((~is_category).sum()), design.category_code.size
    same = {
        "numeric": _holds(design.numeric, "i", n_numeric)
        and np.array_equal(design.numeric, np.flatnonzero(~is_category)),
        "centre": _holds(design.centre, "f", n_numeric),
        "spread": _holds(design.spread, "f", n_numeric) and (design.spread > 0).all(),
        "has_missing": _holds(design.has_missing, "b", n_numeric),
        "category_column": _holds(design.category_column, "i", n_codes)
        and np.isin(design.category_column, np.flatnonzero(is_category)).all(),
        "category_code": _holds(design.category_code, "i", n_codes),
        "degree": design.degree in (1, 2),
    }
    for name, fits in same.items():
        if not fits:
            raise ValueError(f"{name} of the smooth model does not fit its columns.")
    if not _holds(member.weights, "f", len(design.owners())):
        raise ValueError("weights of the smooth model must be one per term.")
    if not abs(member.intercept) < _LARGEST:
        raise ValueError(f"the smooth model's intercept must be finite; got {member.intercept}.")


def _holds(values: NDArray, kind: str, size: int) -> bool:
    """Return whether a loaded vector has this size and kind, and no absurdly large values."""
    if values.shape != (size,) or values.dtype.kind != kind:
        return False
    return kind != "f" or bool((np.abs(values) < _LARGEST).all())
