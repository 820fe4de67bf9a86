"""Why a row is on the list, in words.

A row's suspicion is the sum of what its features contribute (exact for trees). The features
that moved it most are named with their value and what is usual among the negatives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from toprank import inputs
from toprank.tables import Column, Schema

_ROWS_FOR_USUAL = 100_000
_USUAL_SHARE = 0.8


@dataclass(frozen=True)
class Usual:
    """What a column holds in most negatives: a range of numbers, or the most frequent values."""

    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()
    share: float = 0.0

    def __str__(self) -> str:
        if self.low is not None and self.high is not None:
            low, high = number_text(self.low), number_text(self.high)
            return low if low == high else f"{low}-{high}" if self.low >= 0 else f"{low} to {high}"
        if self.values:
            return f"{', '.join(self.values)} ({self.share:.0%})"
        return "missing"

    def to_json(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, "values": self.values, "share": self.share}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Self:
        low, high = facts["low"], facts["high"]
        return cls(
            None if low is None else float(low),
            None if high is None else float(high),
            tuple(map(str, facts["values"])),
            float(facts["share"]),
        )


@dataclass(frozen=True)
class Reason:
    """One feature's part in a row's suspicion."""

    feature: str
    value: str
    usual: str
    contribution: float

    def __str__(self) -> str:
        words = f"{self.feature} {self.value}; usual {self.usual}"
        return words if self.contribution >= 0 else f"less suspicious: {words}"


@dataclass(frozen=True)
class Difference:
    """One feature's part in the gap between two rows."""

    feature: str
    value: str
    other_value: str
    contribution: float

    def __str__(self) -> str:
        return f"{self.feature} {self.value} against {self.other_value}"


def explain(ranker: Any, X: Any, n_reasons: int = 5) -> list[list[Reason]]:
    """Return, for every row of `X`, the features that moved its suspicion most.

    >>> import numpy as np
    >>> from toprank import BoostedRanker
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> ranker = BoostedRanker(n_estimators=20).fit(X, X[:, 0] > 1.5)
    >>> explain(ranker, [[2.5, 0.0]], n_reasons=1)[0][0].feature
    'x0'
    """
    features = inputs.read_features(ranker, X)
    shares = ranker.contributions(X)[:, :-1]
    columns, usual = ranker.schema_.columns, ranker.usual_
    return [
        [
            Reason(columns[i].name, value_text(row[i], columns[i]), str(usual[i]), float(share[i]))
            for i in _largest(share, n_reasons)
        ]
        for row, share in zip(features, shares, strict=True)
    ]


def why_above(ranker: Any, X: Any, row: int, other: int, n_reasons: int = 5) -> list[Difference]:
    """Return what puts one row of `X` above another: the features with the largest gaps.

    Contributions above 0 speak for `row`, those below 0 for `other`.
    """
    features = inputs.read_features(ranker, X)[[row, other]]
    shares = ranker.contributions(X)[[row, other], :-1]
    gap = shares[0] - shares[1]
    columns = ranker.schema_.columns
    return [
        Difference(
            columns[i].name,
            value_text(features[0, i], columns[i]),
            value_text(features[1, i], columns[i]),
            float(gap[i]),
        )
        for i in _largest(gap, n_reasons)
    ]


def usual_values(
    features: NDArray[np.float32], is_positive: NDArray[np.bool_], schema: Schema
) -> list[Usual]:
    """Return what is usual in each column, from (at most 100,000 of) the negatives."""
    ordinary = np.flatnonzero(~is_positive)
    step = -(-ordinary.size // _ROWS_FOR_USUAL)
    sample = features[ordinary[::step]]
    return [_usual(sample[:, i], column) for i, column in enumerate(schema.columns)]


def value_text(value: float, column: Column) -> str:
    """Return an encoded value as the table showed it."""
    if np.isnan(value):
        return "missing or new" if column.kind == "category" else "missing"
    if column.kind == "category":
        return column.categories[int(value)]
    if column.kind == "boolean":
        return "yes" if value else "no"
    return number_text(float(value))


def number_text(value: float) -> str:
    """Return a number as people write it.

    >>> number_text(912.5), number_text(180.0), number_text(0.00123), number_text(48210.4)
    ('912.50', '180', '0.00123', '48,210')
    """
    size = abs(value)
    if size >= 1e15 or 0 < size < 0.01:
        return f"{value:.3g}"
    if value == round(value) or size >= 10_000:
        return f"{value:,.0f}"
    return f"{value:,.2f}"


def _usual(values: NDArray[np.float32], column: Column) -> Usual:
    present = values[~np.isnan(values)]
    if not present.size:
        return Usual()
    if column.kind == "number":
        low, high = np.quantile(present, [0.05, 0.95], method="nearest")
        return Usual(low=float(low), high=float(high))
    return _usual_categories(present, column)


def _usual_categories(present: NDArray[np.float32], column: Column) -> Usual:
    """Return the most frequent values, at most three, until they cover most rows."""
    values, counts = np.unique(present, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:3]
    covered = np.cumsum(counts[order]) / present.size
    n_named = min(int(np.searchsorted(covered, _USUAL_SHARE)) + 1, order.size)
    names = tuple(value_text(values[i], column) for i in order[:n_named])
    return Usual(values=names, share=float(covered[n_named - 1]))


def _largest(shares: NDArray[np.float64], n_reasons: int) -> Sequence[int]:
    """Return the indices of the largest sizes, leaving out features that moved nothing."""
    order = np.argsort(-np.abs(shares), kind="stable")[:n_reasons]
    return [int(i) for i in order if shares[i] != 0]
