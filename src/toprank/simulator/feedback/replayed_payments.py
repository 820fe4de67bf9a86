"""Payments in order of time, with the truth that only checks and claims reveal."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data import checks
from toprank.data.tables import check_columns, split_label
from toprank.data.tables.spans import DAY
from toprank.data.tables.times import time_column
from toprank.simulator.simulated_columns import CLAIM_SHARE
from toprank.splits.card_numbers import card_numbers
from toprank.splits.moments import days

NEVER = np.iinfo(np.int64).max
LAST_MOMENT = np.timedelta64(1, "us")  # of a day, before the next one begins


@dataclass(frozen=True, eq=False)
class ReplayedPayments:
    """The payments as arrays, in order of time; days are counted from the first one.

    `is_positive` is the truth, and `claim_day` the day on which the holder claims the payment if
    no check finds it before, `NEVER` for the others. No strategy may read either of them.
    """

    table: pa.Table
    time: NDArray[np.datetime64]
    day: NDArray[np.int64]
    card: NDArray[np.int64]
    n_cards: int
    amount: NDArray[np.float64]
    is_positive: NDArray[np.bool_]
    claim_day: NDArray[np.int64]

    @cached_property
    def first_date(self) -> np.datetime64:
        """The date of day 0."""
        return self.time[0].astype("datetime64[D]")

    @property
    def n_days(self) -> int:
        """The number of days, from that of the first payment to that of the last."""
        return int(self.day[-1]) + 1

    def rows_of(self, day: int, until: int | None = None) -> NDArray[np.int64]:
        """Return the rows of a day, or of the days from it on and before `until`."""
        bounds = np.searchsorted(self.day, [day, day + 1 if until is None else until])
        return np.arange(*bounds)

    def rows_since(self, moment: np.datetime64, day: int) -> NDArray[np.int64]:
        """Return the rows from a moment on to the end of a day."""
        return np.arange(np.searchsorted(self.time, moment), np.searchsorted(self.day, day + 1))

    def begin_of(self, day: int) -> np.datetime64:
        """Return the moment at which a day begins."""
        return (self.first_date + day * DAY).astype("datetime64[us]")

    def end_of(self, day: int) -> np.datetime64:
        """Return the last moment of a day: when its verdicts and claims are known."""
        return self.begin_of(day + 1) - LAST_MOMENT

    def money_saved(self, cards: NDArray[np.int64], day: int, *, claims_block: bool) -> float:
        """Return the amount of later frauds that do not happen to cards blocked after a day.

        If `claims_block`, the first claim would have blocked each of them later anyway.
        """
        frauds = np.flatnonzero(self.is_positive & np.isin(self.card, cards))
        is_later = self.day[frauds] > day
        if claims_block:
            first_claim = np.full(self.n_cards, NEVER)
            np.minimum.at(first_claim, self.card[frauds], self.claim_day[frauds])
            is_later &= self.day[frauds] <= first_claim[self.card[frauds]]
        return float(self.amount[frauds[is_later]].sum())


def read_payments(
    table: Any,
    *,
    time: str,
    card: str,
    terminal: str,
    amount: str,
    label: str,
    claimed: str | None,
    claim_days: float,
    random_state: int,
) -> ReplayedPayments:
    """Return the payments of a table; raise for columns that cannot be replayed.

    `claimed` names the column with the date of each fraud's claim; without it, claims are drawn
    at random, `claim_days` days late on average.
    """
    named = [time, card, terminal, amount, label, *([] if claimed is None else [claimed])]
    check_columns(named, table.column_names)
    for name in named:
        if named.count(name) > 1:
            raise ValueError(f"each column must have one role; {name!r} has {named.count(name)}.")
    order = np.argsort(time_column(table, time), kind="stable")
    table = table.select(named).take(pa.array(order))
    moments, truth = time_column(table, time), split_label(table, label)
    if not truth.known.all():
        raise ValueError(
            f"label {label!r} must be known of every payment, since a replay needs the truth; "
            f"{np.count_nonzero(~truth.known)} of {truth.known.size} are missing; leave them out."
        )
    number, n_cards = card_numbers(_plain(table[card]), table.num_rows, card)
    day = days(moments)
    return ReplayedPayments(
        table.select([time, card, terminal, amount]),
        moments,
        day,
        number,
        n_cards,
        checks.finite_vector(table[amount].to_numpy(), amount),
        truth.is_positive,
        _drawn_claims(truth.is_positive, day, claim_days, random_state)
        if claimed is None
        else _claims_in_column(table, claimed, truth.is_positive, day, moments),
    )


def _drawn_claims(
    is_positive: NDArray[np.bool_], day: NDArray[np.int64], claim_days: float, random_state: int
) -> NDArray[np.int64]:
    """Return the day of each fraud's claim: from the day after on, and one in ten never."""
    checks.number_above(claim_days, "claim_days", 0)
    # drawn for every payment, so that one label more or less moves no other claim
    chance, wait = np.random.default_rng([random_state, 1]).random((2, is_positive.size))
    claim_day = day + 1 + (-claim_days * np.log1p(-wait)).astype(np.int64)
    return np.where(is_positive & (chance < CLAIM_SHARE), claim_day, NEVER)


def _claims_in_column(
    table: pa.Table,
    claimed: str,
    is_positive: NDArray[np.bool_],
    day: NDArray[np.int64],
    moments: NDArray[np.datetime64],
) -> NDArray[np.int64]:
    is_claimed = is_positive & table[claimed].is_valid().to_numpy()
    claim_day = np.full(day.size, NEVER)
    if is_claimed.any():
        dates = time_column(table.filter(pa.array(is_claimed)), claimed).astype("datetime64[D]")
        since = (dates - moments[0].astype("datetime64[D]")).astype(np.int64)
        if (since < day[is_claimed]).any():
            n_early = np.count_nonzero(since < day[is_claimed])
            raise ValueError(
                f"column {claimed!r} must hold dates on or after the payment; {n_early} are "
                "before it; correct them or leave the column out."
            )
        claim_day[is_claimed] = since
    return claim_day


def _plain(column: pa.ChunkedArray) -> NDArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.to_numpy()
