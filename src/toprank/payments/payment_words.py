"""Reasons of payments in plain words, against the card's own past and against everyone's.

9 payments in the last hour; this card: at most 2; others: 1-2
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from toprank.data.tables import Column
from toprank.data.tables.ids import id_texts
from toprank.payments.card_pasts import FEW_ROWS, CardPasts, OwnValues
from toprank.payments.feature_words import FeatureWords, Nouns
from toprank.payments.features import cells
from toprank.payments.payment_state import PaymentState
from toprank.payments.roles import Roles
from toprank.rankers.reasons import Described, Usual, value_text
from toprank.wording import plural

_NO_TIME = int(np.iinfo(np.int64).min)


class PaymentWords:
    """A `Describer` of listed payments; without `pasts`, values are compared with everyone's."""

    def __init__(
        self,
        features: Any,
        roles: Roles,
        label: str,
        names: Mapping[str, str] | None = None,
        pasts: CardPasts | None = None,
    ) -> None:
        nouns = Nouns.of(roles, label, names)
        self._words, self._nouns = FeatureWords(features, nouns, roles), nouns
        self._names, self._pasts = dict(names or {}), pasts

    def name(self, column: str) -> str | None:
        """Return what a column is called; a feature of the past only if a name was given."""
        if column in self._names or not self._words.knows(column):
            return self._names.get(column, column)
        return self._nouns.columns.get(column)

    def about(self, column: Column) -> str:
        """Return what a column says of a payment; features that differ in their window say one."""
        return self._words.about(column.name) if self._words.knows(column.name) else column.name

    def is_own_usual(self, row: int, column: Column, value: float) -> bool | None:
        """Return whether a value is usual for the payment's card; None if that is not known."""
        if self._pasts is None:  # as for single payments, which are to be quick
            return None
        own = self._own(row, column)
        return None if own is None else own.is_usual(value)

    def describe(self, row: int, column: Column, value: float, usual: Usual) -> Described:
        """Return what one value says, what the card did before, and what others do."""
        name, words, own = column.name, self._words, self._own(row, column)
        if not words.knows(name):
            said = f"{self._names.get(name, name)} {value_text(value, column)}"
            others = "mostly none" if usual == Usual() else str(usual)
        else:
            others = words.others(name, usual)
            said = words.said(name, value)
            if name in self._names:
                said = f"{self._names[name]} {words.amount(name, value)}"
        own_text = "" if own is None else self._own_text(own, column, value)
        parts = [said]
        parts += [f"this {self._nouns.card}: {own_text}"] if own_text else []
        parts += [f"others: {others}"] if others else []
        return Described("; ".join(parts), own_text)

    def _own(self, row: int, column: Column) -> OwnValues | None:
        """Return what a column held in earlier payments of a listed card; None if not known."""
        if self._pasts is None:
            return None
        return self._pasts.values(row, column, self._words.is_flag(column.name))

    def _own_text(self, own: OwnValues, column: Column, value: float) -> str:
        """Return what the card did before, in the words that show the difference."""
        n_rows = own.n_rows
        if not n_rows:
            return ""
        payments = f"{n_rows:,} {plural('payment', n_rows)} before"
        if own.is_code or np.isnan(value):
            n_equal = own.n_equal(value)
            return f"never in {payments}" if not n_equal else f"{n_equal:,} of {payments}"
        if not own.present.size:
            return f"none in {payments}"
        words, name = self._words, column.name
        least, most = float(own.present[0]), float(own.present[-1])
        if n_rows < FEW_ROWS:
            return f"{words.range(name, least, most)} in {payments}"
        if least <= value <= most:
            return f"usually {words.range(name, *own.usual_range())}"
        low, high = own.usual_range()
        end = f"at most {words.amount(name, most)}"
        if value < least:
            end = f"at least {words.amount(name, least)}"
        if words.is_count(name) or least == most:
            return end
        if (high if value > most else low) == (most if value > most else least):
            return f"{words.range(name, low, high)} before"
        return f"usually {words.range(name, low, high)}, {end}"


def words_of_list(
    state: PaymentState,
    roles: Roles,
    label: str,
    names: Mapping[str, str] | None,
    facts: pa.Table,
    is_compared: bool = True,
) -> PaymentWords:
    """Return who puts the reasons of listed payments into words.

    `facts` has the columns card and time of the listed rows. With `is_compared`, their earlier
    rows are read from the history.
    """
    pasts = None
    if is_compared:
        cards = id_texts(facts["card"], roles.card).to_pylist()
        times = cells.instants_or(facts["time"], roles.time, _NO_TIME)
        pasts = CardPasts(state, roles, cards, times)
    return PaymentWords(state.history.features, roles, label, names, pasts)
