"""Bare payments with features of their past, day by day, for sets that come without features.

Whole days are summed, so that a payment knows nothing of its own day but itself. Shares of frauds
at a terminal end 7 days before, when the labels of those payments are known.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank_bench.datasets import Dataset

_NEEDED = ("time", "card", "terminal", "amount")
_DELAY = 7  # days until a label is known
_DAY = np.timedelta64(1, "D")


class CardPast(NamedTuple):
    """Whose payments are kept: so many cards from a number on, from a day on.

    The others are part of the past of a terminal all the same.
    """

    first_card: int = 0
    n_cards: int | None = None
    first_day: int = 0


class PastOfPayments(NamedTuple):
    """Payments in the order of the data set, their features by name."""

    moments: NDArray[np.datetime64]
    features: dict[str, NDArray[np.float64]]
    is_positive: NDArray[np.bool_]


def past_of_payments(dataset: Dataset, cards: CardPast) -> PastOfPayments:
    """Return the payments of some cards with what was known when each was made.

    The features are the amount, the hour, whether the day is one of the last two of its seven,
    counted from the first; the card's payments and their mean amount over the 7 and 30 days
    before; the terminal's payments and their share of frauds over 1, 7 and 30 days.
    """
    moments, card, terminal, amount = _columns(dataset)
    first_midnight = moments.min().astype("datetime64[D]")
    day = (moments - first_midnight) // _DAY
    features = {
        "amount": amount,
        "hour": (moments - moments.astype("datetime64[D]")) / np.timedelta64(1, "s") / 3_600,
        "is_end_of_seven_days": (day % 7 >= 5).astype(float),
    }
    ones, frauds = np.ones(day.size), dataset.is_positive.astype(float)
    for n_days in (7, 30):
        count = sum_of_days(card, day, ones, n_days)
        features[f"card_count_{n_days}"] = count
        mean = sum_of_days(card, day, amount, n_days) / np.maximum(count, 1)
        features[f"card_amount_{n_days}"] = mean
    for n_days in (1, 7, 30):
        count = sum_of_days(terminal, day, ones, n_days, _DELAY)
        features[f"terminal_count_{n_days}"] = count
        share = sum_of_days(terminal, day, frauds, n_days, _DELAY) / np.maximum(count, 1)
        features[f"terminal_risk_{n_days}"] = share
    end = np.inf if cards.n_cards is None else cards.first_card + cards.n_cards
    kept = (card >= cards.first_card) & (card < end) & (day >= cards.first_day)
    if not kept.any():
        raise ValueError(
            f"{dataset.name} must have payments of the cards from {cards.first_card} on, from day "
            f"{cards.first_day} on; it has none. Its cards go from {card.min()} to {card.max()}, "
            f"its days to {day.max()}."
        )
    return PastOfPayments(
        moments[kept],
        {name: values[kept] for name, values in features.items()},
        dataset.is_positive[kept],
    )


def sum_of_days(
    key: NDArray[np.int64],
    day: NDArray[np.int64],
    value: NDArray[np.float64],
    n_days: int,
    gap: int = 0,
) -> NDArray[np.float64]:
    """Return the sum of values with the same key over n days that end `gap` days before.

    >>> sum_of_days(np.array([4, 4, 4]), np.array([0, 1, 2]), np.array([1.0, 2.0, 4.0]), 2)
    array([0., 1., 3.])
    """
    keys, row = np.unique(key, return_inverse=True)
    sums = np.zeros((keys.size, day.max() + 2))
    np.add.at(sums, (row, day + 1), value)
    until = np.cumsum(sums, axis=1)  # until[k, d]: over the days before d
    end = np.maximum(day - gap, 0)
    return until[row, end] - until[row, np.maximum(end - n_days, 0)]


def _columns(
    dataset: Dataset,
) -> tuple[NDArray[np.datetime64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return time, card, terminal and amount of every payment."""
    missing = [role for role in _NEEDED if role not in dataset.roles]
    if missing:
        raise ValueError(
            f"{dataset.name} must have columns known as {', '.join(_NEEDED)} to be taken for bare "
            f"payments; it has none for {', '.join(missing)}."
        )
    time, card, terminal, amount = (
        dataset.features[dataset.roles[role]].to_numpy() for role in _NEEDED
    )
    if time.dtype.kind != "M":
        raise ValueError(
            f"the time of {dataset.name} must be given in dates, since its days are counted; it "
            f"is of type {time.dtype}."
        )
    return (
        time.astype("datetime64[us]"),
        card.astype(np.int64),
        terminal.astype(np.int64),
        amount.astype(np.float64),
    )
