"""Why a row is on a list: reasons to check it, and apart from them what makes it less suspicious.

A value that is usual is no reason.
"""

import math
from typing import Any, NamedTuple

from toprank.data import checks, inputs
from toprank.rankers.reasons import (
    LEAST_REASON,
    USUAL_SHARE,
    ColumnNames,
    Described,
    Describer,
    Reason,
    Usual,
    shares_of,
    value_text,
)

_MOST_AGAINST = 2
_MOST_TOGETHER = 3

NO_REASON = "a combination of ordinary values"
"""What a list says where no single value is unusual."""


class RowReasons(NamedTuple):
    """Why a row is on a list, and what makes it less suspicious; the largest first.

    Where no single value is unusual, `together` has those that make the row suspicious together.
    """

    reasons: list[Reason]
    less_suspicious: list[Reason]
    together: list[str]


class ScoredRow(NamedTuple):
    """A row's suspicion and probability, and its reasons as on a list: those against it apart."""

    suspicion: float
    probability: float | None
    reasons: list[Reason]
    less_suspicious: list[Reason]


def reasons_for_list(
    ranker: Any, X: Any, n_reasons: int = 5, describer: Describer | None = None
) -> list[RowReasons]:
    """Return, for every row of `X`, why it should be checked and what speaks against it.

    A value that is usual, for everyone and for the row's own card, is no reason either way; nor is
    what adds less than a twentieth of the largest reason, or says again what a larger reason says.
    At most two features are named that make the row less suspicious.

    >>> import numpy as np
    >>> from toprank import BoostedRanker
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> ranker = BoostedRanker(n_estimators=20).fit(X, X[:, 0] > 1.5)
    >>> [reason.feature for reason in reasons_for_list(ranker, [[2.5, 0.0]])[0].reasons]
    ['x0']
    """
    checks.whole_number(n_reasons, "n_reasons", 0)
    features = inputs.read_features(ranker, X)
    if not n_reasons or not hasattr(ranker, "contributions"):
        return [RowReasons([], [], []) for _ in features]
    describer = describer or ColumnNames({})
    shares = shares_of(ranker, features)
    return [
        _chosen(_ListedRow(place, ranker, describer, *each), n_reasons)
        for place, each in enumerate(zip(features.tolist(), shares.tolist(), strict=True))
    ]


class _ListedRow:
    """The encoded values of a listed row, and what each of them adds to its suspicion."""

    def __init__(
        self, place: int, ranker: Any, describer: Describer, row: list[float], shares: list[float]
    ) -> None:
        self.values, self.shares, self._place, self._describer = row, shares, place, describer
        self.columns, self.usual = ranker.schema_.columns, ranker.usual_

    def by_size(self) -> list[int]:
        """Return the features by the size of their shares, without those that add very little."""
        least = LEAST_REASON * max(self.shares, default=0.0)
        large = [i for i, share in enumerate(self.shares) if share and abs(share) >= least]
        return sorted(large, key=lambda i: -abs(self.shares[i]))

    def about(self, i: int) -> str:
        return self._describer.about(self.columns[i])

    def is_missing_as_usual(self, i: int) -> bool:
        """Return whether nothing is missing that others have."""
        return math.isnan(self.values[i]) and self.usual[i] == Usual()

    def is_ordinary(self, i: int) -> bool:
        """Return whether a value is usual for everyone, and for the row's own card if known.

        Where the most frequent categories are few of all, the card's own past decides.
        """
        value, column, usual = self.values[i], self.columns[i], self.usual[i]
        if usual.holds(value, column):
            return self._describer.is_own_usual(self._place, column, value) is not False
        is_vague = bool(usual.values) and usual.share < USUAL_SHARE
        return is_vague and self._describer.is_own_usual(self._place, column, value) is True

    def described(self, i: int) -> Described:
        return self._describer.describe(
            self._place, self.columns[i], self.values[i], self.usual[i]
        )

    def reason(self, i: int) -> Reason:
        said, column = self.described(i), self.columns[i]
        text, usual = value_text(self.values[i], column), str(self.usual[i])
        return Reason(column.name, text, usual, self.shares[i], said.own, said.words)


def _chosen(row: _ListedRow, n_reasons: int) -> RowReasons:
    """Return the reasons of one listed row, those against it apart."""
    order = [i for i in row.by_size() if not row.is_missing_as_usual(i)]
    said: set[str] = set()
    raising, ordinary = _first_unusual(row, [i for i in order if row.shares[i] > 0], n_reasons, said)
    lowering, _ = _first_unusual(
        row, [i for i in order if row.shares[i] < 0], min(n_reasons, _MOST_AGAINST), said
    )
    together = [] if raising else ordinary[:_MOST_TOGETHER]
    return RowReasons(
        [row.reason(i) for i in raising],
        [row.reason(i) for i in lowering],
        [row.described(i).words.partition("; ")[0] for i in together],
    )


def _first_unusual(
    row: _ListedRow, order: list[int], most: int, said: set[str]
) -> tuple[list[int], list[int]]:
    """Return the first features that are reasons, and those on the way that are ordinary.

    What is `said` already is neither; the reasons are added to it.
    """
    chosen: list[int] = []
    ordinary: list[int] = []
    for i in order:
        if len(chosen) == most:
            break
        about = row.about(i)
        if about in said:
            continue
        if row.is_ordinary(i):
            ordinary.append(i)
        else:
            said.add(about)
            chosen.append(i)
    return chosen, ordinary
