"""Card precision and recall: how many of a day's checks go to the right cards.

Each day the `k` most suspicious cards are checked, a card being as suspicious as its most
suspicious row of that day. A check finds the card if any of its rows of that day is positive, and
a card counts once a day however many rows it has. A card that was found is blocked: it leaves the
days after. This is the card precision of the Fraud Detection Handbook.

Cards tied at the k-th place are checked in equal shares, and the share of a card that is not found
stays for the days after. So no order of the rows or the cards changes a figure, and without ties
every card is checked whole or not at all.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.metrics.intervals import Comparison, Interval
from toprank.metrics.resampling import Seed, percentile_band
from toprank.splits.card_numbers import card_numbers


class CardChecks(NamedTuple):
    """The results of each day's checks, in order of the days.

    `checked` and `found` count cards; `positive` counts the cards that could have been found:
    those with a positive row that day and not found before. `money` is the amount of that day's
    positive rows of the cards found that day, and 0 throughout if no amounts were given.
    """

    day: NDArray
    checked: NDArray[np.float64]
    found: NDArray[np.float64]
    positive: NDArray[np.float64]
    money: NDArray[np.float64]


def checks_by_day(
    y: ArrayLike,
    suspicion: ArrayLike,
    card: ArrayLike,
    day: ArrayLike,
    k: int,
    amount: ArrayLike | None = None,
) -> CardChecks:
    """Return the results of checking `k` cards per day, day by day.

    `day` contains whole numbers or moments, of which only the date counts; `card` whole numbers or
    text. Days without rows are skipped.

    >>> y, suspicion = [1, 0, 1, 1], [0.9, 0.5, 0.8, 0.4]
    >>> checks_by_day(y, suspicion, card=["a", "b", "a", "b"], day=[0, 0, 1, 1], k=1).found
    array([1., 1.])
    """
    k = checks.whole_number(k, "k", 1)
    rows = _Rows.of(y, suspicion, card, day, amount)
    order, starts = _by_day(rows.day, rows.days.size)
    columns = (rows.card, rows.suspicion, rows.is_positive, rows.amount)
    cards = _join_rows(order, starts, *columns, rows.n_cards)
    return CardChecks(rows.days, *_check_days(*cards, rows.n_cards, k))


def card_precision_at_k(
    y: ArrayLike, suspicion: ArrayLike, card: ArrayLike, day: ArrayLike, k: int
) -> float:
    """Return the mean over days of the cards found divided by `k`.

    On a day with fewer than `k` cards the missing checks count as finding nothing.

    >>> y, suspicion = [1, 0, 1, 1], [0.9, 0.5, 0.8, 0.4]
    >>> card_precision_at_k(y, suspicion, card=["a", "b", "a", "b"], day=[0, 0, 1, 1], k=2)
    0.5
    """
    return float(np.mean(checks_by_day(y, suspicion, card, day, k).found) / k)


def card_precision_ceiling(y: ArrayLike, card: ArrayLike, day: ArrayLike, k: int) -> float:
    """Return the highest card precision at `k` that any suspicion could reach.

    There may be fewer positive cards than checks, and a card can be found only once. Where a day
    has more positive cards than checks, those that no later day has room for are found first.

    >>> card_precision_ceiling([1, 0, 1, 1], card=["a", "b", "a", "b"], day=[0, 0, 1, 1], k=2)
    0.5
    """
    k = checks.whole_number(k, "k", 1)
    is_positive = checks.positives(y)
    rows = _Rows.of(is_positive, np.zeros(is_positive.size), card, day, None)
    found = _most_found(rows.card[is_positive], rows.day[is_positive], rows.n_cards, k)
    return found / (k * rows.days.size)


def card_recall(
    y: ArrayLike, suspicion: ArrayLike, card: ArrayLike, day: ArrayLike, k: int
) -> float:
    """Return the share of the cards with a positive row that `k` checks per day find, on any day.

    >>> y, suspicion = [1, 0, 1, 1], [0.9, 0.5, 0.8, 0.4]
    >>> card_recall(y, suspicion, card=["a", "b", "c", "b"], day=[0, 0, 1, 1], k=1)
    0.6666666666666666
    """
    found = checks_by_day(y, suspicion, card, day, k).found.sum()
    is_positive = checks.positives(y)
    number, n_cards = card_numbers(card, is_positive.size)
    return float(found / np.count_nonzero(np.bincount(number[is_positive], minlength=n_cards)))


def money_at_k(
    y: ArrayLike,
    suspicion: ArrayLike,
    card: ArrayLike,
    day: ArrayLike,
    amount: ArrayLike,
    k: int,
) -> float:
    """Return the money caught by checking `k` cards per day, over all days.

    A card found brings the amount of its positive rows of the day it is found on, before and after
    the check alike. What it would have lost on later days is not counted.

    >>> y, suspicion, amount = [1, 0, 1, 1], [0.9, 0.5, 0.8, 0.4], [10, 20, 30, 40]
    >>> money_at_k(y, suspicion, ["a", "b", "a", "b"], [0, 0, 1, 1], amount, k=1)
    50.0
    """
    return float(checks_by_day(y, suspicion, card, day, k, amount).money.sum())


def card_precision_interval(
    y: ArrayLike,
    suspicion: ArrayLike,
    card: ArrayLike,
    day: ArrayLike,
    k: int,
    *,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Seed = 0,
) -> Interval:
    """Return the card precision at `k` with its interval, from days drawn with replacement.

    Cards are blocked as on the original days; what is drawn is each day's precision. With fewer
    than about 20 days the interval is too narrow.

    >>> y, suspicion = [1, 0, 1, 1], [0.9, 0.5, 0.8, 0.4]
    >>> print(card_precision_interval(y, suspicion, ["a", "b", "a", "b"], [0, 0, 1, 1], k=1))
    1.00 (1.00-1.00)
    """
    n_resamples = checks.whole_number(n_resamples, "n_resamples", 1)
    by_day = checks_by_day(y, suspicion, card, day, k).found / k
    drawn = np.random.default_rng(random_state).integers(
        0, by_day.size, (n_resamples, by_day.size)
    )
    low, high = percentile_band(by_day[drawn].mean(axis=1), level)
    return Interval(float(by_day.mean()), float(low), float(high))


def compare_card_precision(
    y: ArrayLike,
    suspicion_a: ArrayLike,
    suspicion_b: ArrayLike,
    card: ArrayLike,
    day: ArrayLike,
    k: int,
    *,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Seed = 0,
) -> Comparison:
    """Return how far `suspicion_a` is ahead in card precision at `k`, both on the same drawn days.

    With fewer than about 20 days the interval is too narrow.

    >>> y, good, bad = [1, 0, 1, 0], [0.9, 0.5, 0.8, 0.4], [0.1, 0.5, 0.8, 0.4]
    >>> compare_card_precision(y, good, bad, ["a", "b", "c", "b"], [0, 0, 1, 1], k=1).difference
    0.5
    """
    n_resamples = checks.whole_number(n_resamples, "n_resamples", 1)
    found = [checks_by_day(y, each, card, day, k).found / k for each in (suspicion_a, suspicion_b)]
    difference = found[0] - found[1]
    drawn = np.random.default_rng(random_state).integers(
        0, difference.size, (n_resamples, difference.size)
    )
    resampled = difference[drawn].mean(axis=1)
    low, high = percentile_band(resampled, level)
    share_above = np.mean((resampled > 0) + (resampled == 0) / 2)
    return Comparison(float(difference.mean()), float(low), float(high), float(share_above))


class _Rows(NamedTuple):
    """The rows, cards and days as numbers from 0."""

    is_positive: NDArray[np.bool_]
    suspicion: NDArray[np.float64]
    card: NDArray[np.int64]
    n_cards: int
    day: NDArray[np.int64]
    days: NDArray
    amount: NDArray[np.float64]

    @classmethod
    def of(cls, y, suspicion, card, day, amount):
        suspicion = checks.finite_vector(suspicion, "suspicion")
        is_positive = checks.positives(y, like=suspicion)
        number, n_cards = card_numbers(card, suspicion.size)
        days, day = np.unique(_dates(day, suspicion.size), return_inverse=True)
        amount = np.zeros(suspicion.size) if amount is None else _amounts(amount, suspicion.size)
        return cls(is_positive, suspicion, number, n_cards, day, days, amount)


def _dates(day, n_rows):
    dates = np.asarray(day)
    if dates.shape != (n_rows,):
        raise ValueError(f"day must have {n_rows} values, one per row; got {dates.shape}.")
    if dates.dtype.kind == "M":
        if np.isnat(dates).any():
            raise ValueError(
                f"day must not be missing; got {np.isnat(dates).sum()} missing of {n_rows} rows."
            )
        return dates.astype("datetime64[D]")
    if dates.dtype.kind not in "iu":
        raise TypeError(f"day must contain whole numbers or moments; got {dates.dtype}.")
    return dates


def _amounts(amount, n_rows):
    amounts = checks.finite_vector(amount, "amount")
    if amounts.size != n_rows:
        raise ValueError(f"amount must have {n_rows} values, one per row; got {amounts.size}.")
    return amounts


def _by_day(day, n_days):
    """Return the rows in order of their day, and where in that order each day begins."""
    narrow = day.astype(np.uint16) if n_days < 2**16 else day  # sorts 16 bits without comparing
    starts = np.append(0, np.cumsum(np.bincount(day, minlength=n_days)))
    return np.argsort(narrow, kind="stable"), starts


@njit(cache=True)
def _join_rows(order, starts, card, suspicion, is_positive, amount, n_cards):
    """Return where each day's cards begin, and the cards with their totals of that day."""
    n_days = starts.size - 1
    joined_starts = np.zeros(n_days + 1, dtype=np.int64)
    joined_card = np.empty(order.size, dtype=np.int64)
    joined_suspicion = np.empty(order.size)
    joined_positive = np.zeros(order.size, dtype=np.bool_)
    money = np.zeros(order.size)
    place = np.full(n_cards, -1)  # of each card, its latest one
    n_joined = 0
    for day in range(n_days):
        for row in order[starts[day] : starts[day + 1]]:
            at = place[card[row]]
            if at < joined_starts[day]:  # of an earlier day, or of none
                at = place[card[row]] = n_joined
                joined_card[at], joined_suspicion[at] = card[row], suspicion[row]
                n_joined += 1
            joined_suspicion[at] = max(joined_suspicion[at], suspicion[row])
            if is_positive[row]:
                joined_positive[at] = True
                money[at] += amount[row]
        joined_starts[day + 1] = n_joined
    return joined_starts, joined_card, joined_suspicion, joined_positive, money


@njit(cache=True)
def _check_days(starts, card, suspicion, is_positive, money, n_cards, k):
    n_days = starts.size - 1
    checked, found = np.zeros(n_days), np.zeros(n_days)
    positive, caught = np.zeros(n_days), np.zeros(n_days)
    present = np.ones(n_cards)  # the share of each card that is not blocked
    for day in range(n_days):
        falling = starts[day] + np.argsort(-suspicion[starts[day] : starts[day + 1]])
        left = float(k)
        begin = 0
        while begin < falling.size:
            end, tied = begin, 0.0
            while end < falling.size and suspicion[falling[end]] == suspicion[falling[begin]]:
                tied += present[card[falling[end]]]
                end += 1
            share = min(1.0, left / tied) if tied > 0 else 0.0
            left = max(0.0, left - share * tied)
            for i in falling[begin:end]:
                if is_positive[i]:
                    part = share * present[card[i]]
                    positive[day] += present[card[i]]
                    found[day] += part
                    caught[day] += part * money[i]
                    present[card[i]] -= part
            begin = end
        checked[day] = k - left
    return checked, found, positive, caught


def _most_found(card, day, n_cards, k):
    """Return how many cards can be found, each on one of its positive days and `k` per day."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    pairs = np.unique(np.stack([card, day]), axis=1)
    cards, days = np.unique(pairs[0]), np.unique(pairs[1])
    per_day = np.unique(pairs[1], return_counts=True)[1]
    # nodes = [source | cards | days | sink]
    first_day, sink = 1 + cards.size, 1 + cards.size + days.size
    card_node = 1 + np.searchsorted(cards, pairs[0])
    day_node = first_day + np.searchsorted(days, pairs[1])
    tails = np.concatenate([np.zeros(cards.size), card_node, first_day + np.arange(days.size)])
    heads = np.concatenate([1 + np.arange(cards.size), day_node, np.full(days.size, sink)])
    room = np.concatenate([np.ones(cards.size + card_node.size), np.minimum(per_day, k)])
    places = (tails.astype(np.int32), heads.astype(np.int32))
    network = coo_array((room.astype(np.int32), places), shape=(sink + 1, sink + 1)).tocsr()
    return int(maximum_flow(network, 0, sink).flow_value)
