"""What listed cards did before: their rows from the history, and the features of each of them.

The features of an earlier row are those it had at its own time. For features whose key has the
card in it, the rows of the card are all that it takes, so the past of a few cards is cheap.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data.tables import Column, Schema, TableError, TableWarning
from toprank.data.tables.ids import id_texts
from toprank.payments.features import History, cells
from toprank.payments.features.kinds import OF_LABELS, Feature, columns_of
from toprank.payments.payment_state import PaymentState
from toprank.payments.roles import Roles

APART = 86_400_000_000
"""Microseconds: a row of the same day is no past to compare with, it may be the same fraud."""
FEW_ROWS = 5
"""With fewer earlier rows, nothing is usual for a card yet."""
MANY_CARDS = 5
"""With as many listed cards, at least one of them has paid before."""

_NO_TIME = int(np.iinfo(np.int64).min)
_USUAL_SHARE = 0.1


class OwnValues(NamedTuple):
    """The values that a column had in a card's earlier rows, encoded as for the ranker."""

    numbers: NDArray[np.float32]
    is_code: bool  # of a category, or of yes and no

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.numbers.size

    @property
    def present(self) -> NDArray[np.float32]:
        """The values that are there, in order of size."""
        return np.sort(self.numbers[~np.isnan(self.numbers)])

    def n_equal(self, value: float) -> int:
        """Return how many rows had this very value."""
        if np.isnan(value):
            return int(np.count_nonzero(np.isnan(self.numbers)))
        return int(np.count_nonzero(self.numbers == np.float32(value)))

    def is_usual(self, value: float) -> bool | None:
        """Return whether the card usually had such a value; None where it has hardly a past."""
        if self.n_rows < FEW_ROWS:
            return None
        if self.is_code or np.isnan(value):
            return self.n_equal(value) >= _USUAL_SHARE * self.n_rows
        if not self.present.size:
            return False
        low, high = self.usual_range()
        return low <= value <= high

    def usual_range(self) -> tuple[float, float]:
        """Return the range of most of the values."""
        places = np.rint((self.present.size - 1) * np.array([0.05, 0.95])).astype(int)
        low, high = self.present[places].tolist()
        return low, high


class CardPasts:
    """The earlier rows of listed cards, one card for each place of the list.

    Only rows more than a day before the listed row count: what the card did on the same day may
    be part of what is suspected.
    """

    def __init__(
        self,
        state: PaymentState,
        roles: Roles,
        cards: Sequence[str | None],
        times: NDArray[np.int64],
    ) -> None:
        self._cards, self._times = list(cards), times
        known = sorted({card for card in self._cards if card is not None})
        rows = state.rows_of(roles.card, known)
        moments = np.empty(0, dtype=np.int64)
        if rows.num_rows:
            moments = cells.instants_or(rows[roles.time], roles.time, _NO_TIME)
        order = np.argsort(moments, kind="stable")
        order = order[moments[order] != _NO_TIME]
        self._rows, self._moments = rows.take(order), moments[order]
        self._places = _places_of(self._rows, roles.card) if order.size else {}
        self._encoded: dict[str, NDArray[np.float32] | None] = {}
        if order.size:
            self._add_features(state.history, roles)
        if len(known) >= MANY_CARDS and not any(map(self._has_past, range(len(self._cards)))):
            warnings.warn(
                f"none of the {len(known):,} listed cards is in the history; if they should be, "
                f"column {roles.card!r} is written in another way than before.",
                TableWarning,
                stacklevel=2,
            )

    def values(self, place: int, column: Column, is_flag: bool = False) -> OwnValues | None:
        """Return what a column held in the earlier rows of a listed card; None if not known."""
        card = self._cards[place]
        if card is None or not self._moments.size:
            return None
        if column.name not in self._encoded:
            self._encoded[column.name] = _encoded(self._rows, column)
        encoded = self._encoded[column.name]
        if encoded is None:
            return None
        rows = self._places.get(card, np.empty(0, dtype=np.intp))
        rows = rows[self._moments[rows] < self._times[place] - APART]
        return OwnValues(encoded[rows], is_code=is_flag or column.kind != "number")

    def _has_past(self, place: int) -> bool:
        """Return whether the history has an earlier row of a listed card."""
        rows = self._places.get(self._cards[place] or "", np.empty(0, dtype=np.intp))
        return bool((self._moments[rows] < self._times[place] - APART).any())

    def _add_features(self, history: History, roles: Roles) -> None:
        """Give each earlier row the features it had, where the card's rows are enough for that."""
        features = [each for each in history.features if _is_own(each, roles.card)]
        if features:
            own = History(features, time=roles.time)
            made = own.batch(self._rows.select(own.columns))
            for name in made.column_names:
                # in 32 bits as the ranker has them: what is equal must be equal here, too
                self._encoded[name] = made[name].to_numpy().astype(np.float32)
        for each in history.features:
            if each not in features:
                self._encoded[each.name] = None


def _is_own(feature: Feature, card: str) -> bool:
    """Return whether the rows of a card are all that a feature looks at."""
    if isinstance(feature, OF_LABELS):
        return False
    key = getattr(feature, "key", None)
    return key is None or card in columns_of(key)


def _places_of(rows: pa.Table, card: str) -> dict[str, NDArray[np.intp]]:
    """Return for each card the places of its rows."""
    codes = id_texts(rows[card], card).dictionary_encode()
    numbers = codes.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(len(codes.dictionary) + 1))
    return {
        text: order[ends[code] : ends[code + 1]]
        for code, text in enumerate(codes.dictionary.to_pylist())
    }


def _encoded(rows: pa.Table, column: Column) -> NDArray[np.float32] | None:
    """Return a column as the ranker would have it; None where it cannot be compared."""
    if column.name not in rows.column_names:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values that are new: those were warned of before
        try:
            return Schema((column,)).encode(rows.select([column.name]))[:, 0]
        except (TableError, pa.ArrowException):
            return None
