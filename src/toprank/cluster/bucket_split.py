"""Whole buckets of rows split into train, validation and test, by the counts of each bucket.

    buckets ->   [ train | validation | gap | test ]

Buckets are days in order of time, or drawn at random, and then there is no gap.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank import splits
from toprank.cluster.buckets import PartCounts, SplitColumns

_VALIDATION_SHARE, _TEST_SHARE = 0.15, 0.25
_MOST_SCORED = 1_000_000
_MICROSECOND = np.timedelta64(1, "us")


class Counted(NamedTuple):
    """How many rows there are and how many positives: all the client knows of the labels.

    `size`, `sum` and `mean` are what an array of the labels would give.
    """

    size: int
    n_positive: int

    def sum(self) -> int:
        """Return how many positives there are."""
        return self.n_positive

    def mean(self) -> float:
        """Return the share of the positives."""
        return self.n_positive / self.size


class BucketCounts(NamedTuple):
    """All buckets with rows, in ascending order, with the numbers of rows and positives."""

    buckets: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    n_positive: NDArray[np.int64]

    @classmethod
    def of(cls, found: list[PartCounts], positive: Any) -> BucketCounts:
        """Return the buckets of all partitions together."""
        rows: Counter[int] = Counter()
        positives: Counter[int] = Counter()
        for part in found:
            for value, (buckets, n_rows) in part.by_label.items():
                here = dict(zip(buckets.tolist(), n_rows.tolist(), strict=True))
                rows.update(here)
                if value == positive:
                    positives.update(here)
        order = sorted(rows)
        columns = (
            order,
            [rows[bucket] for bucket in order],
            [positives[bucket] for bucket in order],
        )
        return cls(*(np.array(column, dtype=np.int64) for column in columns))

    def inside(self, buckets: NDArray[np.int64]) -> Counted:
        """Return how many rows some of the buckets have in total."""
        here = np.isin(self.buckets, buckets)
        return Counted(int(self.n_rows[here].sum()), int(self.n_positive[here].sum()))


@dataclass(frozen=True, eq=False)
class BucketSplit:
    """The buckets of each part, with the rows in them.

    `scored` has the buckets whose scores are fetched: all of validation and test, or a sample.
    `everything` has those of all rows, also of the gap.
    `periods` gives the first and the last moment of each part's days.
    """

    buckets: dict[str, NDArray[np.int64]]
    scored: dict[str, NDArray[np.int64]]
    rows: dict[str, Counted]
    scored_rows: dict[str, Counted]
    periods: dict[str, tuple[np.datetime64, np.datetime64]] | None
    everything: NDArray[np.int64]

    def parts(self) -> dict[str, Counted]:
        """Return the rows of train, validation and test under their names."""
        return self.rows


def split_buckets(
    counts: BucketCounts, roles: SplitColumns, gap: np.timedelta64 | None
) -> BucketSplit:
    """Return the buckets of each part; every part must have both classes."""
    n_days = 0 if roles.time is None else _gap_days(counts.buckets, gap)
    buckets = _split(counts.buckets, counts.n_rows, n_days)
    generator = np.random.default_rng(roles.seed)
    scored = {part: _sample(buckets[part], counts, generator) for part in ("validation", "test")}
    split = BucketSplit(
        buckets,
        scored,
        {part: counts.inside(each) for part, each in buckets.items()},
        {part: counts.inside(each) for part, each in scored.items()},
        None if roles.time is None else {part: period(each) for part, each in buckets.items()},
        counts.buckets,
    )
    _check_classes("train", split.rows["train"])
    for part, rows in split.scored_rows.items():
        _check_classes(part, rows)
    return split


def period(days: NDArray[np.int64]) -> tuple[np.datetime64, np.datetime64]:
    """Return the first and the last moment of the days from the first to the last of these."""
    begin, end = days[[0, -1]].astype("datetime64[D]").astype("datetime64[us]")
    return begin, end + splits.DAY - _MICROSECOND


def _gap_days(days: NDArray[np.int64], gap: np.timedelta64 | None) -> int:
    """Return the length of the gap in days, rounded up."""
    span = (days[-1] - days[0]) * splits.DAY.astype("timedelta64[us]")
    return int(np.ceil(splits.checked_gap(gap, span) / splits.DAY))


def _split(
    buckets: NDArray[np.int64], n_rows: NDArray[np.int64], gap: int
) -> dict[str, NDArray[np.int64]]:
    """Return the buckets of each part, by the rule of `splits.chronological`.

    >>> buckets = np.arange(100)
    >>> parts = _split(buckets, np.full(100, 5), gap=7)
    >>> {part: (int(buckets[0]), int(buckets[-1])) for part, buckets in parts.items()}
    {'train': (0, 52), 'validation': (53, 67), 'test': (75, 99)}
    """
    total = n_rows.sum()
    test = _first_bucket(n_rows, (1 - _TEST_SHARE) * total, "test", gap)
    validation_end = int(np.searchsorted(buckets, buckets[test] - gap))
    before = n_rows[:validation_end]
    emptied = "train" if before.size else "validation"
    validation = _first_bucket(before, before.sum() - _VALIDATION_SHARE * total, emptied, gap)
    return {
        "train": buckets[:validation],
        "validation": buckets[validation:validation_end],
        "test": buckets[test:],
    }


def _first_bucket(n_rows: NDArray[np.int64], n_before: float, part: str, gap: int) -> int:
    """Return the index of the bucket that has the closest to `n_before` rows before it."""
    if n_before <= 0 or n_rows.size < 2:
        way_out = f"; choose a shorter `gap` (it is {gap} days), or" if gap else ";"
        raise ValueError(f"there would be no {part} rows{way_out} bring rows of more days.")
    rows_before = np.cumsum(n_rows)[:-1]
    return 1 + int(np.abs(rows_before - n_before).argmin())


def _sample(
    buckets: NDArray[np.int64], counts: BucketCounts, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the buckets whose rows are scored: as many as the limit allows, at least one.

    Days are scored whole: without some of its rows, a day would have another top.
    """
    n_rows = counts.n_rows[np.isin(counts.buckets, buckets)]
    order = generator.permutation(buckets.size)
    fits = np.cumsum(n_rows[order]) <= _MOST_SCORED
    fits[0] = True
    return np.sort(buckets[order[fits]])


def _check_classes(part: str, rows: Counted) -> None:
    if rows.n_positive in (0, rows.size):
        raise ValueError(
            f"the {part} part must have both classes; got {rows.n_positive} positives in "
            f"{rows.size} rows. Add data, or data of a longer period."
        )
