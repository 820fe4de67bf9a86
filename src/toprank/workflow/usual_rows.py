"""How the rows that a model learned from are spread, and rows that are unlike them.

Each column, and the suspicion, is cut into a few bins. New rows are unlike the usual ones in a
column if many of them would have to change bins to be spread alike: more than on any day of the
test period, and more than can be chance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from toprank.wording import percent

SUSPICION = ""  # a name that no column has
_EARLIER_NAME = "suspicion"  # in files of earlier versions

_MOST_ROWS = 100_000
_MOST_BINS = 20
_N_QUANTILES = 10
_MORE_THAN_ANY_DAY = 0.1
_CHANCE = 0.8  # twice what a random sample of n rows differs by: sqrt(bins / (2 pi n))
_LEAST_ROWS = 50
_NAMES_SHOWN = 3

Matrix = NDArray[np.floating[Any]]


class Spread(NamedTuple):
    """One column: where its bins end, and the share of rows in each; the last is for missing.

    `most` is the largest share of rows that differed on a day of the test period.
    """

    ends: list[float]
    shares: list[float]
    most: float = 0.0

    @classmethod
    def of(cls, values: Matrix) -> Self:
        """Return the spread of a column: bins of equal values if they are few, else quantiles."""
        known = values[~np.isnan(values)]
        ends = np.unique(known)[:-1]
        if ends.size >= _MOST_BINS:
            quantiles = np.arange(1, _N_QUANTILES) / _N_QUANTILES
            ends = np.unique(np.quantile(known, quantiles, method="lower"))
        bins = [float(each) for each in ends]
        counts = cls(bins, []).counted(values)
        return cls(bins, (counts / max(counts.sum(), 1)).tolist())

    def counted(self, values: Matrix) -> NDArray[np.int64]:
        """Return how many values are in each bin."""
        place = np.searchsorted(self.ends, values, side="left")
        place[np.isnan(values)] = len(self.ends) + 1
        return np.bincount(place, minlength=len(self.ends) + 2)

    def moved(self, counts: NDArray[np.int64]) -> float:
        """Return the share of rows that would have to change bins to be spread as usual."""
        return float(np.abs(counts / counts.sum() - self.shares).sum() / 2)


@dataclass(frozen=True)
class UsualRows:
    """How each column of the rows learned from is spread, and their suspicion; by name."""

    spreads: dict[str, Spread]

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        features: Matrix,
        latest: Matrix,
        suspicion: NDArray[np.float64],
        day: NDArray[np.int64] | None,
        seed: int = 0,
    ) -> Self:
        """Return the spread of the rows learned from, and how much single days differed.

        `latest` are the test rows, with their suspicion and their day. Of many rows, a sample is
        taken.
        """
        rows = _sample(len(features), seed)
        spreads = {name: Spread.of(features[rows, place]) for place, name in enumerate(names)}
        spreads[SUSPICION] = Spread.of(suspicion)
        if day is None:
            return cls(spreads)
        chosen = np.isin(day, _whole_days(day, seed))
        columns = np.column_stack([latest[chosen].astype(np.float64), suspicion[chosen]])
        return cls(
            {
                name: spread._replace(most=_most_moved(spread, values, day[chosen]))
                for (name, spread), values in zip(spreads.items(), columns.T, strict=True)
            }
        )

    def to_json(self) -> dict[str, Any]:
        """Return the spreads as plain values."""
        return {name: list(spread) for name, spread in self.spreads.items()}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Self:
        """Return what `to_json` wrote; ValueError if it is not valid."""
        if SUSPICION not in plain and _EARLIER_NAME in plain:
            plain = {**plain, SUSPICION: plain[_EARLIER_NAME]}
        spreads = {}
        for name, (ends, shares, most) in plain.items():
            if len(shares) != len(ends) + 2 or not np.isfinite([*ends, *shares, most]).all():
                raise ValueError(f"bins of {name!r} must each have a share; got {shares}.")
            if np.any(np.diff(ends) <= 0):
                raise ValueError(f"bins of {name!r} must rise; got {ends}.")
            spreads[name] = Spread(list(map(float, ends)), list(map(float, shares)), float(most))
        return cls(spreads)


@dataclass
class ShiftWatch:
    """Counts rows batch by batch, to say in the end in what they are unlike the usual ones."""

    usual: UsualRows
    names: Sequence[str]
    _counts: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def see(self, features: Matrix, suspicion: NDArray[np.float64]) -> None:
        """Count the rows of a batch."""
        columns = {**dict(zip(self.names, features.T, strict=True)), SUSPICION: suspicion}
        for name, values in columns.items():
            if (spread := self.usual.spreads.get(name)) is not None:
                self._counts[name] = self._counts.get(name, 0) + spread.counted(values)

    def shifted(self) -> dict[str, float]:
        """Return the columns in which the rows are unlike the usual ones, most unlike first.

        Each comes with the share of rows that would have to change.
        """
        found = {}
        for name, counts in self._counts.items():
            spread, n_rows = self.usual.spreads[name], int(counts.sum())
            if n_rows < _LEAST_ROWS:
                continue
            by_chance = _CHANCE * np.sqrt(len(spread.shares) / (2 * np.pi * n_rows))
            moved = spread.moved(counts)
            if moved > spread.most + _MORE_THAN_ANY_DAY + by_chance:
                found[name] = moved
        return dict(sorted(found.items(), key=lambda each: -each[1]))

    def remarks(self) -> Iterator[str]:
        """Yield sentences on what is unlike the usual rows; none if nothing is."""
        shifted = self.shifted()
        scored = shifted.pop(SUSPICION, None)
        if shifted:
            shown = [f"{name!r} ({percent(share)})" for name, share in shifted.items()]
            more = len(shown) - _NAMES_SHOWN
            listed = ", ".join(shown[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
            yield (
                "the rows are unlike those that the model learned from, by the share of rows that "
                f"would have to change: {listed}. Check the data; if they are right, fit or "
                "refit the model with newer rows."
            )
        if scored is not None:
            yield (
                f"the suspicion of {percent(scored)} of the rows is unlike that of the test rows: "
                "what to expect may be further off than its range says."
            )


def _most_moved(spread: Spread, values: NDArray[np.float64], day: NDArray[np.int64]) -> float:
    return max(spread.moved(spread.counted(values[day == each])) for each in np.unique(day))


def _whole_days(day: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Return the days to look at: all, or as many whole ones as the limit allows."""
    days, n_rows = np.unique(day, return_counts=True)
    order = np.random.default_rng(seed).permutation(days.size)
    fits = np.cumsum(n_rows[order]) <= _MOST_ROWS
    fits[0] = True
    return days[order[fits]]


def _sample(n_rows: int, seed: int) -> NDArray[np.intp] | slice:
    if n_rows <= _MOST_ROWS:
        return slice(None)
    return np.sort(np.random.default_rng(seed).choice(n_rows, _MOST_ROWS, replace=False))
