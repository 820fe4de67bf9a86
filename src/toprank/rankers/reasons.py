"""Why a row is on the list, in words.

A row's suspicion is the sum of what its features contribute (exact for trees). The features
that moved it most are named with their value and what is usual among the negatives.

`Describer` is the place where someone who knows more of the columns, such as whose row it is,
chooses the words.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from toprank.data import checks, inputs
from toprank.data.tables import Column, Schema
from toprank.wording import percent

_ROWS_FOR_USUAL = 100_000
USUAL_SHARE = 0.8
"""The most frequent values are usual if so large a share of the rows has them."""
LEAST_REASON = 0.05
"""What adds less than this share of the largest reason is none."""


@dataclass(frozen=True)
class Usual:
    """What a column holds in most negatives: a range of numbers, or the most frequent values.

    Without either, most of them have no value there. `share` is of those that have one.
    """

    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()
    share: float = 0.0

    def __str__(self) -> str:
        return self._text

    @cached_property  # the same for every row
    def _text(self) -> str:
        if self.low is not None and self.high is not None:
            return range_text(number_text(self.low), number_text(self.high))
        if self.values:
            return f"{', '.join(self.values)} ({percent(self.share)})"
        return "missing"

    def holds(self, value: float, column: Column) -> bool:
        """Return whether an encoded value is one of the usual.

        >>> Usual(low=3.0, high=180.0).holds(912.5, Column("amount", "number"))
        False
        """
        if math.isnan(value):
            return self == MISSING
        if self.low is not None and self.high is not None:
            return self.low <= value <= self.high
        return value_text(value, column) in self.values

    def to_json(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, "values": self.values, "share": self.share}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Self:
        low, high = (
            None if (end := facts[name]) is None else float(end) for name in ("low", "high")
        )
        share = float(facts["share"])
        if not np.isfinite([low or 0.0, high or 0.0, share]).all():
            raise ValueError(f"usual values must be finite; got {low}, {high} and {share}.")
        return cls(low, high, tuple(map(str, facts["values"])), share)


MISSING = Usual()
"""Of a column in which most negatives have no value."""


@dataclass(frozen=True)
class Reason:
    """One feature's share of a row's suspicion; below 0, it makes the row less suspicious.

    `own` is what is usual for the row's own card, and `words` the sentence, where someone knows
    better than to name the column.
    """

    feature: str
    value: str
    usual: str
    contribution: float
    own: str = ""
    words: str = ""

    def __str__(self) -> str:
        return self.words or f"{self.feature} {self.value}; usual {self.usual}"

    def to_json(self) -> dict[str, Any]:
        """Return the reason in plain values, with its sentence as `text`; `own` only if known."""
        facts = dict(vars(self))
        del facts["words"]
        if not self.own:
            del facts["own"]
        return facts | {"text": str(self)}


class Described(NamedTuple):
    """A value in words, and what is usual for the row's own card, where that is known."""

    words: str
    own: str = ""


class Describer(Protocol):
    """Puts the values of listed rows into words.

    Most values of a row are no reason, so what decides that is apart from the words, which take
    longer.
    """

    def name(self, column: str) -> str | None:
        """Return what a column is called; None where only a sentence makes sense of its value."""

    def about(self, column: Column) -> str:
        """Return what a column says of a row.

        Of those that say the same, such as payments in an hour and in a day, a list names one.
        """

    def is_own_usual(self, row: int, column: Column, value: float) -> bool | None:
        """Return whether a value is usual for the row's own card; None if that is not known."""

    def describe(self, row: int, column: Column, value: float, usual: Usual) -> Described:
        """Return what is said of one encoded value of the row at this place of the list."""


@dataclass(frozen=True)
class ColumnNames:
    """A `Describer` that calls columns by the names given for them.

    >>> amount, usual = Column("TX_AMOUNT", "number"), Usual(low=3.0, high=180.0)
    >>> ColumnNames({"TX_AMOUNT": "amount in euros"}).describe(0, amount, 912.5, usual).words
    'amount in euros 912.50; usual 3-180'
    """

    names: Mapping[str, str]

    def name(self, column: str) -> str | None:
        """Return what a column is called."""
        return self.names.get(column, column)

    def about(self, column: Column) -> str:
        """Return the column's name: each says something of its own."""
        return column.name

    def is_own_usual(self, row: int, column: Column, value: float) -> bool | None:
        """Return None: no row is known to belong to a card."""
        return None

    def describe(self, row: int, column: Column, value: float, usual: Usual) -> Described:
        """Return the value under the column's name in words, and what is usual."""
        return Described(f"{self.name(column.name)} {value_text(value, column)}; usual {usual}")


@dataclass(frozen=True)
class Difference:
    """One feature's share of the gap between two rows."""

    feature: str
    value: str
    other_value: str
    contribution: float

    def __str__(self) -> str:
        return f"{self.feature} {self.value} against {self.other_value}"

    def to_json(self) -> dict[str, Any]:
        """Return the difference in plain values, with its sentence as `text`."""
        return vars(self) | {"text": str(self)}


class Explained(NamedTuple):
    """A row's suspicion, its probability of being positive, the features that moved it most.

    The probability is None where a detector, which learns without labels, gave the suspicion.
    """

    suspicion: float
    probability: float | None
    reasons: list[Reason]


def explain(
    ranker: Any, X: Any, n_reasons: int = 5, describer: Describer | None = None
) -> list[list[Reason]]:
    """Return, for every row of `X`, the features that moved its suspicion most, up or down.

    >>> import numpy as np
    >>> from toprank import BoostedRanker
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> ranker = BoostedRanker(n_estimators=20).fit(X, X[:, 0] > 1.5)
    >>> explain(ranker, [[2.5, 0.0]], n_reasons=1)[0][0].feature
    'x0'
    """
    checks.whole_number(n_reasons, "n_reasons", 0)
    return _reasons(ranker, inputs.read_features(ranker, X), n_reasons, describer)


def score_and_explain(ranker: Any, X: Any, n_reasons: int = 5) -> list[Explained]:
    """Return suspicion, probability and reasons of every row of `X`, which is read once for all.

    Where rows come one at a time, `ranker.explain_one` does the same without a table.

    >>> from toprank import BoostedRanker
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> ranker = BoostedRanker(n_estimators=20).fit(X, X[:, 0] > 1.5)
    >>> row = score_and_explain(ranker, [[2.5, 0.0]])[0]
    >>> bool(row.suspicion == ranker.suspicion([[2.5, 0.0]])[0]), row.reasons[0].feature
    (True, 'x0')
    """
    checks.whole_number(n_reasons, "n_reasons", 0)
    return explain_encoded(ranker, inputs.read_features(ranker, X), n_reasons)


def explain_encoded(ranker: Any, features: NDArray[np.float32], n_reasons: int) -> list[Explained]:
    """Return suspicion, probability and reasons of rows that the ranker's schema has encoded."""
    scores, probability = scores_of(ranker, features)
    chances = [None] * len(scores) if probability is None else probability.tolist()
    found: list[list[Reason]] = [[] for _ in scores]
    if n_reasons and hasattr(ranker, "contributions"):
        found = _reasons(ranker, features, n_reasons)
    return [Explained(*row) for row in zip(scores.tolist(), chances, found, strict=True)]


def scores_of(
    ranker: Any, features: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return suspicion and probability of encoded rows; no probability without calibration."""
    # not the sum of all contributions, whose rounding would separate rows that are tied
    scores = ranker.suspicion(inputs.Encoded(features))
    if not hasattr(ranker, "calibration_"):
        return scores, None
    return scores, ranker.calibration_.probability(scores)


def what_is_unusual(detector: Any, X: Any, n_reasons: int = 5) -> list[list[Reason]]:
    """Return, for every row of `X`, the features that make it unusual, the most so first.

    Those that add less than a twentieth of the largest are left out. A detector that cannot say
    what each feature adds gives no reasons.

    >>> from toprank import AnomalyTreeRank
    >>> hours = np.append(np.arange(100) % 12 + 1.0, 24.0)[:, None]
    >>> print(what_is_unusual(AnomalyTreeRank().fit(hours), [[24.0]])[0][0])
    x0 24; usual 1-12
    """
    if not hasattr(detector, "contributions"):
        return [[] for _ in range(len(inputs.read_features(detector, X)))]
    # reasons come by size, and what is usual about a row may be the largest of all
    found = explain(detector, X, len(detector.schema_.columns))
    checks.whole_number(n_reasons, "n_reasons", 0)
    chosen = []
    for row in found:
        raising = [reason for reason in row if reason.contribution > 0]
        least = LEAST_REASON * max((reason.contribution for reason in raising), default=0.0)
        chosen.append([reason for reason in raising if reason.contribution >= least][:n_reasons])
    return chosen


def why_above(ranker: Any, X: Any, row: int, other: int, n_reasons: int = 5) -> list[Difference]:
    """Return what puts one row of `X` above another: the features with the largest gaps.

    Rows count from 0. Contributions above 0 speak for `row`, those below 0 for `other`; over all
    features they add up to the gap in suspicion.

    >>> from toprank import BoostedRanker
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> ranker = BoostedRanker(n_estimators=20).fit(X, X[:, 0] > 1.5)
    >>> print(why_above(ranker, [[2.5, 0.0], [-1.0, 0.0]], row=0, other=1)[0])
    x0 2.50 against -1
    """
    checks.whole_number(n_reasons, "n_reasons", 0)
    features = inputs.read_features(ranker, X)
    for place, name in ((row, "row"), (other, "other")):
        checks.whole_number(place, name, 0, len(features) - 1)
    features = features[[row, other]]
    shares = shares_of(ranker, features)
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
    step = max(-(-ordinary.size // _ROWS_FOR_USUAL), 1)
    sample: Any = features[ordinary[::step]]
    if issparse(sample):
        return _usual_of_sparse(sample.tocsc(), schema)
    by_column = np.ascontiguousarray(sample.T)
    return [_usual(*each) for each in zip(by_column, schema.columns, strict=True)]


def value_text(value: float, column: Column) -> str:
    """Return an encoded value as the table showed it."""
    if math.isnan(value):
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
    if size >= 1e15 or 0 < size < 0.1:
        return f"{value:.3g}"
    # from where the second decimal would round to a fifth digit, there are no decimals
    is_whole = value == round(value) or size >= 9_999.995
    return f"{value + 0.0:,.{0 if is_whole else 2}f}"  # adding 0 turns -0 into 0


def _reasons(
    ranker: Any,
    features: NDArray[np.float32],
    n_reasons: int,
    describer: Describer | None = None,
) -> list[list[Reason]]:
    """Return the reasons of every encoded row."""
    shares = shares_of(ranker, features)
    columns, usual = ranker.schema_.columns, ranker.usual_

    def reason(place: int, i: int) -> Reason:
        value = float(features[place, i])
        said = Described("")
        if describer is not None:
            said = describer.describe(place, columns[i], value, usual[i])
        text, share = value_text(value, columns[i]), float(shares[place, i])
        return Reason(columns[i].name, text, str(usual[i]), share, said.own, said.words)

    return [
        [reason(place, i) for i in _largest(share, n_reasons)]
        for place, share in enumerate(shares)
    ]


def shares_of(ranker: Any, features: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return what each feature adds to each row's suspicion."""
    return ranker.contributions(inputs.Encoded(features))[:, :-1]


def range_text(low: str, high: str) -> str:
    """Return two ends as a range; a sign or an exponent must not run into the dash.

    >>> range_text("3.10", "180"), range_text("-2", "5"), range_text("0", "0")
    ('3.10-180', '-2 to 5', '0')
    """
    if low == high:
        return low
    return f"{low} to {high}" if "-" in low + high else f"{low}-{high}"


def _usual_of_sparse(by_column: Any, schema: Schema) -> list[Usual]:
    """Return what is usual in each column of CSC, one column dense at a time."""
    return [
        _usual(by_column[:, [j]].toarray()[:, 0], column)
        for j, column in enumerate(schema.columns)
    ]


def _usual(values: NDArray[np.float32], column: Column) -> Usual:
    present = np.sort(values)[: values.size - np.count_nonzero(np.isnan(values))]
    if 2 * present.size < max(values.size, 1):
        return Usual()
    if column.kind == "number":
        # what np.quantile gives by its method "nearest", at a fraction of the time
        places = np.rint((present.size - 1) * np.array([0.05, 0.95])).astype(int)
        low, high = present[places]
        return Usual(low=float(low), high=float(high))
    return _usual_categories(present, column)


def _usual_categories(present: NDArray[np.float32], column: Column) -> Usual:
    """Return the most frequent values, at most three, until they cover most rows."""
    values, counts = np.unique(present, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:3]
    covered = np.cumsum(counts[order]) / present.size
    n_named = min(int(np.searchsorted(covered, USUAL_SHARE)) + 1, order.size)
    names = tuple(value_text(values[i], column) for i in order[:n_named])
    return Usual(values=names, share=float(covered[n_named - 1]))


def _largest(shares: NDArray[np.float64], n_reasons: int) -> Sequence[int]:
    """Return the indices of the largest sizes, leaving out features that moved nothing."""
    order = np.argsort(-np.abs(shares), kind="stable")[:n_reasons]
    return [int(i) for i in order if shares[i] != 0]
