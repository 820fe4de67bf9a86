"""Folds that walk through time: train on a stretch, skip the labels' delay, test on the next.

    time ->   [ train | delay | test ]
                     [ train | delay | test ]
                            [ train | delay | test ]

Each fold tests on the stretch after the one before it. In the delay no label is known yet.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.data.tables.spans import DAY, in_words, span_of
from toprank.splits.card_numbers import card_numbers
from toprank.splits.moments import moment_of, moments_of

CARD_RULES = ("known", "one-side")


@dataclass(frozen=True, eq=False)
class Fold:
    """The row numbers of train and test, ascending; `gap` holds the rows neither may use.

    Those are the rows between the two and the rows left out on account of their card. `periods`
    gives the first and the last moment of train and of test.
    """

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    gap: NDArray[np.int64]
    periods: dict[str, tuple[np.datetime64, np.datetime64]]


def prequential(
    time: ArrayLike,
    *,
    n_folds: int = 4,
    train: Any = "7d",
    delay: Any = "7d",
    test: Any = "7d",
    start: Any = None,
    cards: ArrayLike | None = None,
    is_positive: ArrayLike | None = None,
    card_rule: str = "known",
    random_state: int = 0,
) -> list[Fold]:
    """Return folds in order of time, each later than the one before by the length of `test`.

    `train`, `delay` and `test` are spans such as "7d" or "12h", or timedeltas. `start` is the
    moment the first training begins, and the folds walk forward from it. By default, they walk
    back from the end of the rows: the last test ends with the last day, or with the last row if
    not all spans are whole days.

    With `cards`, one per row, rows are left out by `card_rule`:

    - "known": a test day does without the cards whose positive was known when it began: one of
      between the beginning of training and `delay` before that day. Such a card is blocked by
      then, and finding it again is no achievement. Needs `is_positive`. This is the protocol of
      the Fraud Detection Handbook, whose days begin at midnight.
    - "one-side": no card is on both sides. Each is drawn for one of the two, the same in every
      fold, and its rows on the other are left out.

    >>> time = np.datetime64("2025-01-01T12:00", "us") + np.arange(60) * np.timedelta64(1, "D")
    >>> folds = prequential(time, n_folds=2, start="2025-01-10")
    >>> [(fold.train[0].item(), fold.test[0].item()) for fold in folds]
    [(9, 23), (16, 30)]
    """
    moments = moments_of(time)
    spans = _Spans.of(train, delay, test)
    begins = _begins(moments, spans, checks.whole_number(n_folds, "n_folds", 1), start)
    rule = _card_rule(moments, spans.delay, cards, is_positive, card_rule, random_state)
    return [_fold(moments, begin, spans, rule, n + 1) for n, begin in enumerate(begins)]


class _Spans(NamedTuple):
    train: np.timedelta64
    delay: np.timedelta64
    test: np.timedelta64

    @classmethod
    def of(cls, train, delay, test):
        spans = cls(span_of(train, "train"), span_of(delay, "delay"), span_of(test, "test"))
        for name, value in (("train", spans.train), ("test", spans.test)):
            if value == np.timedelta64(0, "us"):
                raise ValueError(f"{name} must be longer than nothing; got {value}.")
        return spans

    @property
    def total(self):
        return self.train + self.delay + self.test


def _begins(moments, spans, n_folds, start):
    """Return the moment each fold's training begins."""
    steps = np.arange(n_folds) * spans.test
    if start is not None:
        return moment_of(start, "start") + steps
    whole_days = all(span % DAY == np.timedelta64(0, "us") for span in spans)
    unit = DAY if whole_days else np.timedelta64(1, "us")
    end = moments.max().astype(f"datetime64[{np.datetime_data(unit)[0]}]") + unit
    begins = end.astype("datetime64[us]") - spans.total - steps[::-1]
    if begins[0] < moments.min() - unit:
        raise ValueError(
            f"{n_folds} folds need {in_words(spans.total + steps[-1])} from the first training to "
            f"the last test; the rows span {in_words(moments.max() - moments.min())}. Choose "
            f"fewer folds or shorter spans."
        )
    return begins


class _KnownCards(NamedTuple):
    """Leaves out of a test day the cards with a positive known when it began."""

    moments: NDArray[np.datetime64]
    delay: np.timedelta64
    card: NDArray[np.int64]
    n_cards: int
    is_positive: NDArray[np.bool_]

    def kept(self, train, test, train_begin, test_begin):
        end = self.moments[test].max(initial=test_begin)
        inside = (self.moments >= train_begin) & (self.moments < end)
        positives = np.flatnonzero(self.is_positive & inside)
        first_positive = np.full(self.n_cards, end)  # the end itself means never
        np.minimum.at(first_positive, self.card[positives], self.moments[positives])
        day = test_begin + (self.moments[test] - test_begin) // DAY * DAY
        return train, test[first_positive[self.card[test]] >= day - self.delay]


class _OneSide(NamedTuple):
    """Leaves every card on the side that was drawn for it."""

    in_test: NDArray[np.bool_]  # of each row

    def kept(self, train, test, train_begin, test_begin):
        return train[~self.in_test[train]], test[self.in_test[test]]


def _card_rule(moments, delay, cards, is_positive, card_rule, random_state):
    checks.one_of(card_rule, "card_rule", CARD_RULES)
    if cards is None:
        return None
    card, n_cards = card_numbers(cards, moments.size, "cards")
    if card_rule == "one-side":
        chances = np.random.default_rng(random_state).random(n_cards)
        return _OneSide((chances < 0.5)[card])
    if is_positive is None:
        raise ValueError(
            "is_positive must be given to know which cards are known; to keep every card on one "
            "side without it, pass card_rule='one-side'."
        )
    labels = checks.positives(is_positive, "is_positive", like=moments)
    return _KnownCards(moments, delay, card, n_cards, labels)


def _fold(moments, begin, spans, rule, number):
    train_end = begin + spans.train
    test_begin = train_end + spans.delay
    test_end = test_begin + spans.test
    inside = np.flatnonzero((moments >= begin) & (moments < test_end))
    train, test = inside[moments[inside] < train_end], inside[moments[inside] >= test_begin]
    if rule is not None:
        train, test = rule.kept(train, test, begin, test_begin)
    parts = {"train": train, "test": test}
    bounds = {"train": (begin, train_end), "test": (test_begin, test_end)}
    for part, rows in parts.items():
        if not rows.size:
            first, end = (str(moment).removesuffix(".000000") for moment in bounds[part])
            raise ValueError(
                f"fold {number} must have rows to {part} on; there is none from {first} to {end}. "
                f"Choose another start, fewer folds or longer spans."
            )
    gap = np.setdiff1d(inside, np.concatenate([train, test]), assume_unique=True)
    periods = {part: (moments[rows].min(), moments[rows].max()) for part, rows in parts.items()}
    return Fold(train, test, gap, periods)
