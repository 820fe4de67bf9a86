"""How methods rank over many data sets: mean ranks, and tests of all methods and of each pair.

The seeds of a data set are averaged first, so that each data set counts once. The tests are those
that are usual for methods over data sets (Demšar 2006): Friedman's asks whether any method differs
from the others, Nemenyi's critical difference says how far apart two mean ranks must be, and
Wilcoxon's looks at one pair of methods.
"""

import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from toprank.data import checks
from toprank.data.tables.columns import as_frame
from toprank.metrics import Interval
from toprank.metrics.resampling import percentile_band
from toprank.wording import listed
from toprank.workflow.comparison.differences import SURE

FEW_DATASETS = 5

Runs = dict[tuple[str, str], dict[Any, float]]
"""Values by data set and method, then by seed."""

_COLUMNS = ("data", "seed", "method", "value")
_N_RESAMPLES = 10_000
_DIGITS = 12  # values that agree in so many are ties: what is beyond is rounding
_MOST_NAMED = 5
_MOST_EXACT = 100  # data sets; beyond, the normal approximation is as good and much faster


class ComparisonWarning(UserWarning):
    """Something that limits what a comparison shows."""


class MeanAndSpread(NamedTuple):
    """A method on one data set: the mean over its seeds and half the 95 % interval of that mean.

    With one seed nothing is known of the interval, and `half_width` is NaN.
    """

    mean: float
    n_seeds: int
    half_width: float


class FriedmanTest(NamedTuple):
    """Whether all methods could be alike: Friedman's chi-squared, and Iman and Davenport's F.

    The F is the sharper of the two and, over few data sets, a little too sure. Ties are not
    corrected for, which errs towards alike. No p value is below the chance that so many data sets
    all agree by luck.
    """

    chi_squared: float
    p_value: float
    f: float
    f_p_value: float


class Versus(NamedTuple):
    """One method against another over all data sets; a lead above 0 speaks for `method`.

    `lead` is the mean difference with its 95 % interval, from resampled data sets. The p values
    are those of Wilcoxon's signed-rank test, two-sided, for this pair alone and, by Holm, for all
    pairs together; exact for up to 100 data sets. Data sets where the two tie keep their rank but
    count for neither (Pratt).
    """

    method: str
    against: str
    wins: int
    ties: int
    losses: int
    lead: Interval
    p_value: float
    holm_p_value: float


@dataclass(frozen=True)
class MethodComparison:
    """Methods over data sets; made by `MethodComparison.of`.

    `datasets` are those with a value of every method, which alone are ranked and tested; the
    others are `incomplete`. `remarks` are sentences on what to be careful about.

    >>> values = {"ours": [0.9, 0.8, 0.7, 0.8, 0.6], "theirs": [0.8, 0.7, 0.6, 0.7, 0.7]}
    >>> comparison = MethodComparison.of(
    ...     {"data": f"set {number}", "seed": 0, "method": method, "value": value}
    ...     for method in values
    ...     for number, value in enumerate(values[method])
    ... )
    >>> comparison.mean_ranks
    {'ours': 1.2, 'theirs': 1.8}
    >>> comparison.versus("ours", "theirs")[2:5]
    (4, 0, 1)
    """

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    incomplete: tuple[str, ...]
    cells: Mapping[tuple[str, str], MeanAndSpread]
    higher_is_better: bool
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, rows: Any, *, higher_is_better: bool = True) -> "MethodComparison":
        """Return the comparison from rows with the columns data, seed, method and value.

        The rows are dicts or a pandas, polars or Arrow table. A value that is missing or NaN is a
        run that failed. Remarks are also given as a `ComparisonWarning` each.
        """
        runs = _runs(_columns(rows))
        bare = cls._gathered(runs, higher_is_better)
        if len(bare.methods) < 2:
            raise ValueError(
                f"rows must hold at least two methods to compare; got {len(bare.methods)}."
            )
        if not bare.datasets:
            raise ValueError(_nothing_complete(bare.cells, bare.methods, len(bare.incomplete)))
        remarks = [*_gaps(bare), *_uneven_seeds(bare, runs), *_cautions(bare)]
        for remark in remarks:
            warnings.warn(remark, ComparisonWarning, stacklevel=2)
        return replace(bare, remarks=tuple(remarks))

    @classmethod
    def side_by_side(cls, rows: Any, *, higher_is_better: bool = True) -> "MethodComparison":
        """Return the means of rows as `of` takes them, for tables of methods that are no rivals.

        One method is enough, and no data set needs a value of all of them.
        """
        return cls._gathered(_runs(_columns(rows)), higher_is_better)

    @classmethod
    def _gathered(cls, runs: Runs, higher_is_better: bool) -> "MethodComparison":
        methods = _distinct(method for _, method in runs)
        names = _distinct(data for data, _ in runs)
        cells = {place: _cell(by_seed) for place, by_seed in runs.items() if by_seed}
        datasets = [name for name in names if all((name, each) in cells for each in methods)]
        incomplete = [name for name in names if name not in datasets]
        return cls(tuple(methods), tuple(datasets), tuple(incomplete), cells, higher_is_better, ())

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Means over seeds: a row per data set, a column per method."""
        return np.array(
            [[self.cells[data, method].mean for method in self.methods] for data in self.datasets]
        )

    @cached_property
    def ranks(self) -> NDArray[np.float64]:
        """The rank of each method on each data set: 1 is best, ties share their mean rank."""
        return stats.rankdata(-self._merits, axis=1)

    @cached_property
    def mean_ranks(self) -> dict[str, float]:
        """The mean over data sets of each method's rank, the best method first."""
        means = [fmean(column) for column in self.ranks.T]
        by_rank = sorted(zip(means, self.methods, strict=True), key=lambda each: each[0])
        return {method: mean for mean, method in by_rank}

    @cached_property
    def friedman(self) -> FriedmanTest:
        """Whether the methods could all be alike."""
        return _friedman(self.ranks)

    @cached_property
    def pairs(self) -> list[Versus]:
        """Each method against each that comes after it."""
        numbers = list(combinations(range(len(self.methods)), 2))
        differences = np.column_stack([self._differences(a, b) for a, b in numbers])
        leads = _leads(differences)
        p_values = [_wilcoxon(column) for column in differences.T]
        adjusted = _holm(p_values)
        return [
            Versus(
                self.methods[a],
                self.methods[b],
                int(np.sum(differences[:, place] > 0)),
                int(np.sum(differences[:, place] == 0)),
                int(np.sum(differences[:, place] < 0)),
                leads[place],
                p_values[place],
                adjusted[place],
            )
            for place, (a, b) in enumerate(numbers)
        ]

    def versus(self, method: str, against: str) -> Versus:
        """Return how one method compares with another."""
        for name in (method, against):
            if name not in self.methods:
                hint = checks.nearest_name(name, list(self.methods)) or "."
                raise ValueError(f"no rows are of the method {name!r}{hint}")
        if method == against:
            raise ValueError(f"a method is compared with another; got {method!r} twice.")
        pairs = {(each.method, each.against): each for each in self.pairs}
        if (method, against) in pairs:
            return pairs[method, against]
        return _turned(pairs[against, method])

    def critical_difference(self, alpha: float = 0.05) -> float:
        """Return how far apart two mean ranks must be to differ significantly (Nemenyi).

        All pairs are tested; the chance that any two equal ones are called different is `alpha` or
        less.
        """
        alpha = checks.number_above(alpha, "alpha", 0, 0.5)
        k, n = len(self.methods), len(self.datasets)
        # a mean rank has the variance k (k + 1) / (12 n), a difference of two twice as much
        width = stats.studentized_range.isf(alpha, k, np.inf)
        return float(width * math.sqrt(k * (k + 1) / (12 * n)))

    def groups(self, alpha: float = 0.05) -> list[tuple[str, ...]]:
        """Return groups of methods that do not differ significantly, the best first.

        A group is as large as can be; a method may be in several, or in none.
        """
        apart = self.critical_difference(alpha)
        names, means = list(self.mean_ranks), list(self.mean_ranks.values())
        groups: list[tuple[str, ...]] = []
        end_before = 1
        for begin, mean in enumerate(means):
            end = sum(other - mean < apart for other in means)
            if end > max(end_before, begin + 1):
                groups.append(tuple(names[begin:end]))
            end_before = max(end_before, end)
        return groups

    @cached_property
    def _merits(self) -> NDArray[np.float64]:
        """Values without the rounding errors of sums, turned so that higher is better."""
        merits = _rounded(self.values, like=self.values)
        return merits if self.higher_is_better else -merits

    def _differences(self, a: int, b: int) -> NDArray[np.float64]:
        difference = self._merits[:, [a]] - self._merits[:, [b]]
        return _rounded(difference, like=self._merits)[:, 0]


def _columns(rows: Any) -> list[list[Any]]:
    """Return the four columns as lists, whatever holds the rows."""
    frame = as_frame(rows)
    if frame is not None:
        return [frame.column(name).to_pylist() for name in _COLUMNS]
    if isinstance(rows, Mapping | str) or not isinstance(rows, Iterable):
        raise TypeError(
            "rows must be a list of dicts or a pandas, polars or Arrow table; "
            f"got {type(rows).__name__}."
        )
    dicts = list(rows)
    for number, row in enumerate(dicts):
        if not isinstance(row, Mapping):
            raise TypeError(f"every row must be a dict; row {number} is {type(row).__name__}.")
        missing = [name for name in _COLUMNS if name not in row]
        if missing:
            needed = listed(list(_COLUMNS))
            raise ValueError(f"every row must have {needed}; row {number} has no {missing[0]}.")
    return [[row[name] for row in dicts] for name in _COLUMNS]


def _runs(columns: list[list[Any]]) -> Runs:
    """Return the values by seed of each data set and method; failed runs leave no value."""
    runs: Runs = defaultdict(dict)
    seen = set()
    for number, (data, seed, method, value) in enumerate(zip(*columns, strict=True)):
        if data is None or method is None:
            raise ValueError(f"data and method must be named in every row; row {number} is not.")
        place = str(data), str(method)
        if (*place, seed) in seen:
            raise ValueError(
                "rows must hold one value per data set, seed and method; there are two of "
                f"{method} on {data} with seed {seed}."
            )
        seen.add((*place, seed))
        by_seed = runs[place]  # made even when the run failed: the method was there
        measured = _number(value, number)
        if not math.isnan(measured):
            by_seed[seed] = measured
    return dict(runs)


def _number(value: Any, row: int) -> float:
    if value is None:
        return math.nan
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"value must be a number; got {value!r} in row {row}.") from None
    if math.isinf(number):
        raise ValueError(f"value must be finite, or NaN for a run that failed; row {row} is not.")
    return number


def _cell(by_seed: dict[Any, float]) -> MeanAndSpread:
    values = list(by_seed.values())
    n = len(values)
    if n == 1:
        return MeanAndSpread(values[0], 1, math.nan)
    half_width = stats.t.isf((1 - SURE) / 2, n - 1) * stdev(values) / math.sqrt(n)
    return MeanAndSpread(fmean(values), n, float(half_width))


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _nothing_complete(cells: Mapping, methods: Sequence[str], n_datasets: int) -> str:
    n_values = {each: sum(method == each for _, method in cells) for each in methods}
    fewest = min(n_values, key=n_values.__getitem__)
    return (
        f"no data set has a value of every method; {fewest} has values on {n_values[fewest]} of "
        f"{n_datasets}, the fewest. Leave it out, or complete its runs."
    )


def _gaps(comparison: MethodComparison) -> list[str]:
    """Return a sentence on the data sets left out, if any."""
    parts = []
    for data in comparison.incomplete:
        lacking = [each for each in comparison.methods if (data, each) not in comparison.cells]
        parts.append(f"{data} (no value of {_named(lacking)})")
    return [f"Left out, as not every method has a value: {_named(parts)}."] if parts else []


def _uneven_seeds(comparison: MethodComparison, runs: Mapping) -> list[str]:
    uneven = [
        data
        for data in comparison.datasets
        if len({frozenset(runs[data, method]) for method in comparison.methods}) > 1
    ]
    if not uneven:
        return []
    return [f"Methods differ in their seeds on {_named(uneven)}: each mean is over those it has."]


def _cautions(comparison: MethodComparison) -> list[str]:
    """Return what makes the tests say little: few data sets, methods that are the same."""
    remarks = []
    n, merits = len(comparison.datasets), comparison._merits
    if n < FEW_DATASETS:
        remarks.append(
            f"Only {n} data set{'' if n == 1 else 's'}: mean ranks and tests over fewer than "
            f"{FEW_DATASETS} say little, and no p value of Wilcoxon's can be below "
            f"{2.0 ** (1 - n):g}."
        )
    if np.all(merits == merits[:, :1]):
        return [*remarks, "All methods tie on every data set: there is no difference to test."]
    same = [
        f"{comparison.methods[a]} and {comparison.methods[b]}"
        for a, b in combinations(range(len(comparison.methods)), 2)
        if np.array_equal(merits[:, a], merits[:, b])
    ]
    return [*remarks, *(f"{each} have the same value on every data set." for each in same)]


def _named(words: list[str]) -> str:
    """Return the first few words as a sentence has them, and how many more there are."""
    more = len(words) - _MOST_NAMED
    return listed([*words[:_MOST_NAMED], f"{more} more"] if more > 0 else words)


def _rounded(values: NDArray[np.float64], like: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values with the decimals that make up `_DIGITS` digits of the row's largest."""
    largest = np.abs(like).max(axis=1, keepdims=True)
    decimals = _DIGITS - np.ceil(np.log10(np.where(largest > 0, largest, 1.0)))
    unit = 10.0**decimals
    return np.rint(values * unit) / unit


def _friedman(ranks: NDArray[np.float64]) -> FriedmanTest:
    n, k = ranks.shape
    # ranks are halves of whole numbers: in fractions, full agreement is met exactly
    squares = sum(round(2 * total) ** 2 for total in ranks.sum(axis=0).tolist())
    chi_squared = Fraction(3 * squares, n * k * (k + 1)) - 3 * n * (k + 1)
    room = n * (k - 1) - chi_squared
    f = math.inf if room == 0 else float((n - 1) * chi_squared / room)
    least = math.exp((1 - n) * math.lgamma(k + 1))  # all data sets order k methods alike
    p_value = float(stats.chi2.sf(float(chi_squared), k - 1))
    if n == 1:  # no data set to agree with
        return FriedmanTest(float(chi_squared), 1.0, math.nan, 1.0)
    f_p_value = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    return FriedmanTest(float(chi_squared), max(p_value, least), f, max(f_p_value, least))


def _wilcoxon(differences: NDArray[np.float64]) -> float:
    """Return the two-sided p value, with Pratt's rule for zeros; exact but for many data sets."""
    if not differences.any():
        return 1.0
    if differences.size > _MOST_EXACT:
        return float(stats.wilcoxon(differences, zero_method="pratt").pvalue)
    # SciPy's exact test knows no ties and its permutations take seconds: count the signs instead
    counts = differences != 0
    doubled = np.rint(2 * stats.rankdata(np.abs(differences))[counts]).astype(int)
    above = int(doubled[differences[counts] > 0].sum())
    chances = np.ones(1)  # of each sum of the ranks above 0, every sign being as likely
    for rank in doubled.tolist():
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    smaller = min(above, int(doubled.sum()) - above)
    return min(1.0, 2 * float(chances[: smaller + 1].sum()))


def _holm(p_values: Sequence[float]) -> list[float]:
    """Return p values that hold together: the smallest times their number, and so on upwards."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for n_before, place in enumerate(np.argsort(p_values, kind="stable").tolist()):
        highest = max(highest, (len(p_values) - n_before) * p_values[place])
        adjusted[place] = min(highest, 1.0)
    return adjusted


def _leads(differences: NDArray[np.float64]) -> list[Interval]:
    """Return the mean of each column with its interval, all from the same resampled rows."""
    n = len(differences)
    times_drawn = np.random.default_rng(0).multinomial(n, [1 / n] * n, size=_N_RESAMPLES)
    low, high = percentile_band(times_drawn.astype(float) @ differences / n, SURE)
    middle = [fmean(column) for column in differences.T]
    return [Interval(*map(float, each)) for each in zip(middle, low, high, strict=True)]


def _turned(pair: Versus) -> Versus:
    """Return the same pair seen from the other side."""
    value, low, high = pair.lead
    return pair._replace(
        method=pair.against,
        against=pair.method,
        wins=pair.losses,
        losses=pair.wins,
        lead=Interval(-value, -high, -low),
    )
