"""Why a row is on a list: reasons to check it, and apart from them what makes it less suspicious.

A value that is usual is no reason.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from toprank.data import checks, inputs
from toprank.rankers.reasons import (
    LEAST_REASON,
    MISSING,
    USUAL_SHARE,
    ColumnNames,
    Described,
    Describer,
    Reason,
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
    orders = np.argsort(-np.abs(shares), axis=1, kind="stable")
    rows = zip(features.tolist(), shares.tolist(), orders.tolist(), strict=True)
    return [
        _chosen(_ListedRow(place, ranker, describer, *each), n_reasons)
        for place, each in enumerate(rows)
    ]


class _Reasons(NamedTuple):
    """The numbers of features that are reasons, and of those that are ordinary."""

    unusual: list[int]
    ordinary: list[int]


class _ListedRow:
    """The encoded values of a listed row, and what each of them adds to its suspicion."""

    def __init__(
        self,
        place: int,
        ranker: Any,
        describer: Describer,
        values: list[float],
        shares: list[float],
        by_size: list[int],
    ) -> None:
        self.values, self.shares, self._by_size = values, shares, by_size
        self._place, self._describer = place, describer
        self.columns, self.usual = ranker.schema_.columns, ranker.usual_

    def raising_and_lowering(self) -> tuple[list[int], list[int]]:
        """Return the features that add to the suspicion, and those that lower it, by their size.

        Those that add very little, or are missing as in most rows, are left out.
        """
        raising: list[int] = []
        lowering: list[int] = []
        least = LEAST_REASON * max(self.shares, default=0.0)
        for i in self._by_size:
            share = self.shares[i]
            if not share or abs(share) < least:
                break
            if not (math.isnan(self.values[i]) and self.usual[i] == MISSING):
                (raising if share > 0 else lowering).append(i)
        return raising, lowering

    def first_unusual(self, order: list[int], most: int, said: set[str]) -> _Reasons:
        """Return the first features that are reasons, and those on the way that are ordinary.

        What is `said` already is no reason; reasons are added to it.
        """
        found = _Reasons([], [])
        for i in order:
            if len(found.unusual) == most:
                break
            if self._is_ordinary(i):
                found.ordinary.append(i)
            elif (about := self._describer.about(self.columns[i])) not in said:
                said.add(about)
                found.unusual.append(i)
        return found

    def described(self, i: int) -> Described:
        """Return what is said of a value."""
        return self._describer.describe(
            self._place, self.columns[i], self.values[i], self.usual[i]
        )

    def reason(self, i: int) -> Reason:
        """Return a value as a reason."""
        said, column = self.described(i), self.columns[i]
        text, usual = value_text(self.values[i], column), str(self.usual[i])
        return Reason(column.name, text, usual, self.shares[i], said.own, said.words)

    def _is_ordinary(self, i: int) -> bool:
        """Return whether a value is usual for everyone, and for the row's own card if known.

        Where the most frequent categories are few of all, the card's own past decides.
        """
        value, column, usual = self.values[i], self.columns[i], self.usual[i]
        if usual.holds(value, column):
            return self._describer.is_own_usual(self._place, column, value) is not False
        is_vague = bool(usual.values) and usual.share < USUAL_SHARE
        return is_vague and self._describer.is_own_usual(self._place, column, value) is True


def _chosen(row: _ListedRow, n_reasons: int) -> RowReasons:
    """Return the reasons of one listed row, those against it apart."""
    said: set[str] = set()
    up, down = row.raising_and_lowering()
    raising = row.first_unusual(up, n_reasons, said)
    lowering = row.first_unusual(down, min(n_reasons, _MOST_AGAINST), said)
    together = [] if raising.unusual else raising.ordinary[:_MOST_TOGETHER]
    return RowReasons(
        [row.reason(i) for i in raising.unusual],
        [row.reason(i) for i in lowering.unusual],
        [row.described(i).words.partition("; ")[0] for i in together],
    )
