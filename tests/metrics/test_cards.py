"""Card precision: what a day's checks find, against slow twins and by hand."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from toprank import metrics

pytestmark = pytest.mark.kernel


@st.composite
def payments(draw, tied=True):
    """Labels, suspicions, cards, days and amounts of a few rows over a few days, in any order."""
    n = draw(st.integers(2, 30))

    def column(values):
        return np.array(draw(st.lists(values, min_size=n, max_size=n)))

    y = column(st.booleans())
    first, second = draw(st.permutations(range(n)))[:2]
    y[first], y[second] = True, False
    suspicion = column(st.integers(0, 4)) if tied else np.array(draw(st.permutations(range(n))))
    return y, suspicion.astype(float), column(st.integers(0, 5)), column(st.integers(0, 3)), n


budgets = st.integers(1, 8)


def checked_one_by_one(y, suspicion, card, day, amount, k):
    """Found cards and money of each day, for suspicions without ties: a plain loop over cards."""
    blocked, found_by_day, money_by_day = set(), [], []
    for today in sorted(set(day)):
        highest = {}
        for row in np.flatnonzero(day == today):
            if card[row] not in blocked:
                highest[card[row]] = max(highest.get(card[row], -np.inf), suspicion[row])
        checked = sorted(highest, key=highest.get, reverse=True)[:k]
        of_today = {each: y & (card == each) & (day == today) for each in checked}
        found = {each for each in checked if of_today[each].any()}
        blocked |= found
        found_by_day.append(len(found))
        money_by_day.append(sum(amount[of_today[each]].sum() for each in found))
    return found_by_day, money_by_day


@examples(150)
@given(payments(tied=False), budgets)
def test_without_ties_each_day_finds_what_a_plain_loop_finds(sample, k):
    y, suspicion, card, day, n = sample
    amount = np.arange(1.0, n + 1)
    by_day = metrics.checks_by_day(y, suspicion, card, day, k, amount)
    found, money = checked_one_by_one(y, suspicion, card, day, amount, k)

    assert by_day.day.tolist() == sorted(set(day))
    assert by_day.found == approx(np.array(found))
    assert by_day.money == approx(np.array(money))
    assert metrics.card_precision_at_k(y, suspicion, card, day, k) == approx(np.mean(found) / k)
    assert metrics.money_at_k(y, suspicion, card, day, amount, k) == approx(sum(money))
    n_positive_cards = len(set(card[y]))
    recall = metrics.card_recall(y, suspicion, card, day, k)
    assert recall == approx(sum(found) / n_positive_cards)


@examples(60)
@given(payments(), budgets)
def test_on_one_day_ties_count_as_the_mean_over_all_their_orders(sample, k):
    y, suspicion, card, _, _ = sample
    cards = np.unique(card)
    assume(cards.size <= 5)
    highest = np.array([suspicion[card == each].max() for each in cards])
    positive = np.array([y[card == each].any() for each in cards])
    found = []
    for order in permutations(range(cards.size)):
        ranked = sorted(order, key=lambda at: -highest[at])  # stable: ties stay as permuted
        found.append(positive[ranked[:k]].sum())

    value = metrics.checks_by_day(y, suspicion, card, np.zeros(y.size, int), k).found
    assert value == approx([np.mean(found)])


@examples(100)
@given(payments(), budgets, st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_the_names_of_cards_matter(sample, k, random):
    y, suspicion, card, day, n = sample
    shuffle = np.array(random.sample(range(n), n))
    renamed = np.array(random.sample(["a", "b", "c", "d", "e", "f"], 6))[card]
    before = metrics.checks_by_day(y, suspicion, card, day, k, suspicion)
    after = metrics.checks_by_day(
        y[shuffle], suspicion[shuffle], renamed[shuffle], day[shuffle], k, suspicion[shuffle]
    )

    for one, other in zip(before, after, strict=True):
        assert one == approx(other)


@examples(100)
@given(payments(), budgets)
def test_no_day_checks_more_than_k_or_finds_more_than_there_is(sample, k):
    y, suspicion, card, day, _ = sample
    by_day = metrics.checks_by_day(y, suspicion, card, day, k)

    assert np.all(by_day.checked <= k + 1e-9)
    assert np.all(by_day.found <= np.minimum(by_day.checked, by_day.positive) + 1e-9)
    assert by_day.found.sum() <= np.unique(card[y]).size + 1e-9
    assert not by_day.money.any()


def most_found(positive_days, k, room=None):
    """The most cards found, by trying every day for every card, or none."""
    if not positive_days:
        return 0
    room = room or {}
    first, *others = positive_days
    best = most_found(others, k, room)
    for day in first:
        if room.get(day, 0) < k:
            taken = {**room, day: room.get(day, 0) + 1}
            best = max(best, 1 + most_found(others, k, taken))
    return best


@examples(80)
@given(payments(), st.integers(1, 3))
def test_the_ceiling_is_the_best_of_all_choices_and_no_suspicion_passes_it(sample, k):
    y, suspicion, card, day, _ = sample
    ceiling = metrics.card_precision_ceiling(y, card, day, k)
    positive_days = [sorted(set(day[y & (card == each)])) for each in set(card[y])]

    assert ceiling == approx(most_found(positive_days, k) / (k * np.unique(day).size))
    for order in (suspicion, y.astype(float)):
        assert metrics.card_precision_at_k(y, order, card, day, k) <= ceiling + 1e-9


def test_the_ceiling_finds_first_the_card_that_no_later_day_has():
    y, card, day = [1, 1, 1, 0], ["a", "b", "a", "c"], [0, 0, 1, 1]

    assert metrics.card_precision_ceiling(y, card, day, k=1) == 1


def test_two_days_come_to_what_is_worked_out_by_hand():
    # day 0: a .9 (fraud in its weaker row), b .8, c .1 (fraud); day 1: a again, c .7, d .6
    y = np.array([0, 1, 0, 1, 1, 1, 0])
    suspicion = [0.9, 0.2, 0.8, 0.1, 0.95, 0.7, 0.6]
    card = ["a", "a", "b", "c", "a", "c", "d"]
    day = [0, 0, 0, 0, 1, 1, 1]
    amount = [1, 2, 4, 8, 16, 32, 64]
    by_day = metrics.checks_by_day(y, suspicion, card, day, k=2, amount=amount)

    assert by_day.checked.tolist() == [2, 2]
    assert by_day.found.tolist() == [1, 1]
    assert by_day.positive.tolist() == [2, 1]
    assert by_day.money.tolist() == [2, 32]  # a's fraud of day 1 is not caught: it has left
    assert metrics.card_precision_at_k(y, suspicion, card, day, k=2) == 0.5
    assert metrics.card_precision_ceiling(y, card, day, k=2) == 0.5
    assert metrics.card_recall(y, suspicion, card, day, k=2) == 1


def test_a_day_with_fewer_cards_than_checks_still_counts_k():
    assert metrics.card_precision_at_k([1, 0], [2, 1], ["a", "b"], [0, 0], k=10) == 0.1


def test_what_is_not_found_of_a_tied_card_stays_for_the_next_day():
    # Two tied cards and one check: half of a is found on day 0, the other half on day 1.
    y, card, day = [1, 0, 1], ["a", "b", "a"], [0, 0, 1]
    by_day = metrics.checks_by_day(y, [1, 1, 1], card, day, k=1)

    assert by_day.found.tolist() == [0.5, 0.5]
    assert by_day.positive.tolist() == [1, 0.5]
    assert by_day.checked.tolist() == [1, 0.5]


def test_moments_count_by_their_date():
    time = np.array(["2025-01-01T01:00", "2025-01-01T23:00", "2025-01-02T00:00"], "datetime64[s]")
    by_day = metrics.checks_by_day([1, 0, 1], [3, 2, 1], [1, 2, 3], time, k=2)

    assert by_day.day.astype(str).tolist() == ["2025-01-01", "2025-01-02"]


def test_the_interval_covers_the_value_and_narrows_with_more_days():
    rng = np.random.default_rng(0)

    def interval(n_days):
        day = np.repeat(np.arange(n_days), 50)
        y = rng.random(day.size) < 0.2
        suspicion = y + rng.normal(size=day.size)
        return metrics.card_precision_interval(y, suspicion, np.arange(day.size), day, k=5)

    few, many = interval(10), interval(1000)
    assert few.low < few.value < few.high
    assert many.high - many.low < (few.high - few.low) / 4


def test_the_interval_holds_the_true_mean_about_as_often_as_its_level_says():
    rng = np.random.default_rng(1)
    n_covered = 0
    for _ in range(200):
        day = np.repeat(np.arange(40), 4)  # of each day's 4 cards one is checked, at random
        y = np.tile([True, False, False, False], 40)
        low, high = metrics.card_precision_interval(
            y, rng.random(day.size), np.arange(day.size), day, k=1, n_resamples=200
        )[1:]
        n_covered += low <= 0.25 <= high

    assert 170 <= n_covered <= 199


def test_two_rankings_are_compared_on_the_same_days():
    rng = np.random.default_rng(2)
    day = np.repeat(np.arange(60), 50)
    y = rng.random(day.size) < 0.2
    card = np.arange(day.size)
    good, bad = y + rng.normal(size=day.size), 0.2 * y + rng.normal(size=day.size)
    ahead = metrics.compare_card_precision(y, good, bad, card, day, k=5)
    single = [metrics.card_precision_at_k(y, each, card, day, k=5) for each in (good, bad)]

    assert ahead.difference == approx(single[0] - single[1])
    assert 0 < ahead.low < ahead.difference < ahead.high
    assert ahead.share_above == 1
    same = metrics.compare_card_precision(y, good, good, card, day, k=5)
    assert same == (0, 0, 0, 0.5)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be at least 1; got 0"),
        ({"card": [1, 2]}, ValueError, "card must have 3 values"),
        ({"card": [1.0, 2.5, 3.0]}, ValueError, r"card must .*got 2\.5"),
        ({"card": ["a", None, "b"]}, ValueError, "card must .*1 of 3"),
        ({"card": [True, False, True]}, ValueError, "card must .*got True"),
        ({"day": [0, 1]}, ValueError, "day must have 3 values"),
        ({"day": [0.5, 1, 2]}, TypeError, "day must .* got float64"),
        (
            {"day": np.array(["2025-01-01", "NaT", "NaT"], "M8[D]")},
            ValueError,
            "day must .*got 2 missing of 3",
        ),
        ({"amount": [1, 2]}, ValueError, "amount must have 3 values"),
        ({"y": [1, 1, 1]}, ValueError, "both classes"),
    ],
)
def test_what_cannot_be_measured_is_refused(change, error, message):
    given_ = {"y": [1, 0, 0], "suspicion": [3, 2, 1], "card": [1, 2, 3], "day": [0, 0, 1], "k": 1}
    with pytest.raises(error, match=message):
        metrics.checks_by_day(**{**given_, **change})
