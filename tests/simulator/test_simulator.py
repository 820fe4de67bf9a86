"""The simulator: near its figures, the same by seed, and never looking ahead."""

import time

import numpy as np
import pytest

from toprank.simulator import simulate
from toprank.simulator.demo_table import _earlier

NULLS_ALLOWED = {"amount_to_usual", "hours_since_last", "terminal_foreign_share_last_week"}


@pytest.fixture(scope="module")
def payments():
    return simulate(keep_pattern=True).to_pandas()


@pytest.fixture(scope="module")
def small():
    return simulate(n_cards=30, n_terminals=12, n_days=20, random_state=3)


def test_the_same_seed_gives_the_same_payments_and_another_seed_does_not(small):
    again = simulate(n_cards=30, n_terminals=12, n_days=20, random_state=3)
    other = simulate(n_cards=30, n_terminals=12, n_days=20, random_state=4)

    assert small.equals(again)
    assert not small.equals(other)


def test_a_longer_run_begins_with_the_payments_and_features_of_a_shorter_one():
    shorter = simulate(n_cards=300, n_terminals=400, n_days=20, keep_pattern=True)
    longer = simulate(n_cards=300, n_terminals=400, n_days=45, keep_pattern=True)

    assert longer.slice(0, shorter.num_rows).equals(shorter)
    assert longer.num_rows > 2 * shorter.num_rows


def test_features_are_what_a_slow_look_at_earlier_payments_finds(small):
    table = small.to_pandas()
    day, week = np.timedelta64(1, "D"), np.timedelta64(7, "D")
    for row in table.sample(60, random_state=0).itertuples():
        earlier = table[table.paid_at < row.paid_at]
        of_card = earlier[earlier.card == row.card]
        of_terminal = earlier[earlier.terminal == row.terminal]
        last_week = of_terminal[of_terminal.paid_at >= row.paid_at - week]
        hours = (row.paid_at - of_card.paid_at.max()).total_seconds() / 3600

        assert row.payments_last_day == (of_card.paid_at >= row.paid_at - day).sum()
        assert row.terminal_payments_last_day == (last_week.paid_at >= row.paid_at - day).sum()
        assert same(row.amount_to_usual, row.amount / of_card.amount.mean())
        assert same(row.hours_since_last, hours)
        assert same(row.terminal_foreign_share_last_week, (last_week.country != "FR").mean())


def same(one, other):
    return one == pytest.approx(other, nan_ok=True)


def test_payments_of_the_same_second_or_of_others_do_not_count_as_earlier():
    seconds = np.array([0, 10, 10, 10, 15, 20])
    card = np.array([1, 1, 0, 1, 0, 1])

    assert _earlier(card, seconds).n_payments().tolist() == [0, 1, 0, 1, 1, 3]
    assert _earlier(card, seconds, within=10).n_payments().tolist() == [0, 1, 0, 1, 1, 2]


def test_payments_are_in_order_of_time_within_the_requested_days(payments):
    assert payments.paid_at.is_monotonic_increasing
    assert payments.paid_at.min() >= np.datetime64("2025-01-01")
    assert payments.paid_at.max() < np.datetime64("2025-01-01") + np.timedelta64(100, "D")


def test_only_the_documented_columns_have_missing_values_and_only_where_history_is(payments):
    columns_with_nulls = set(payments.columns[payments.isna().any()])
    first = ~payments.card.duplicated()

    assert columns_with_nulls == NULLS_ALLOWED
    assert payments.amount_to_usual.isna().equals(first)
    assert payments.hours_since_last.isna().equals(first)


def test_the_pattern_of_a_fraud_is_not_in_the_table_by_default(small):
    assert "pattern" not in small.column_names
    assert small.column_names[-1] == "is_fraud"


def test_fraud_is_rare_and_comes_in_the_published_proportions(payments):
    share = payments.pattern.value_counts() / len(payments)

    assert payments.is_fraud.equals(payments.pattern > 0)
    assert payments.is_fraud.mean() == pytest.approx(0.008, abs=0.0015)
    assert share[1] == pytest.approx(0.0006, abs=0.0003)
    assert share[2] == pytest.approx(0.0048, abs=0.0012)
    assert share[3] == pytest.approx(0.0026, abs=0.0008)


def test_payments_come_at_the_published_rate_and_time_of_day(payments):
    seconds = (payments.paid_at - payments.paid_at.dt.normalize()).dt.total_seconds()
    a_day = payments.groupby("card").size() / 100

    # Three in a hundred draws of N(12 h, 20,000 s) fall outside the day and are left out.
    assert len(payments) / (800 * 100) == pytest.approx(0.97 * 2, rel=0.05)
    assert 3.5 < a_day.max() < 4.5
    assert seconds.mean() == pytest.approx(12 * 3600, rel=0.01)
    assert seconds.std() == pytest.approx(18_500, rel=0.03)


def test_amounts_vary_by_half_of_each_cards_mean(payments):
    honest = payments[~payments.is_fraud].groupby("card").amount
    busy = honest.count() > 100
    relative = (honest.std() / honest.mean())[busy]

    assert payments.amount.min() > 0
    assert honest.mean()[busy].between(4.5, 105).all()
    assert honest.mean()[busy].mean() == pytest.approx(1.027 * 52.5, rel=0.05)
    # N(1, 1/2) with its negative part, 2.3 %, drawn anew from U(0, 2) has sd / mean = 0.461.
    assert relative.mean() == pytest.approx(0.461, abs=0.01)


def test_every_honest_payment_is_at_most_the_limit(payments):
    assert payments.amount[~payments.is_fraud].max() <= 220
    assert payments.amount[payments.pattern == 1].min() > 220


def test_every_payment_at_a_compromised_terminal_is_a_fraud_for_28_days(payments):
    cases = single_cases(payments, "terminal", pattern=2, lasting=28)

    assert max(last - first for _, first, last in cases) >= 25
    for of_terminal, first, last in cases:
        assert of_terminal.is_fraud[of_terminal.day.between(first, last)].all()


def test_a_third_of_the_payments_of_a_compromised_card_are_five_times_as_large_for_14_days(
    payments,
):
    cases = single_cases(payments, "card", pattern=3, lasting=14)
    held = [of_card[of_card.day.between(first, last)] for of_card, first, last in cases]
    frauds = [of_card[of_card.pattern == 3] for of_card, _, _ in cases]
    ratios = [
        amounts.amount.mean() / of_card.amount[~of_card.is_fraud].mean()
        for amounts, (of_card, _, _) in zip(frauds, cases, strict=True)
    ]

    assert max(last - first for _, first, last in cases) >= 11
    assert sum(map(len, frauds)) / sum(map(len, held)) == pytest.approx(1 / 3, abs=0.1)
    assert np.mean(ratios) == pytest.approx(5, abs=0.5)


def single_cases(payments, member, pattern, lasting):
    """Return payments, first and last day of fraud of each member that was compromised once."""
    cases = []
    days = payments.assign(day=(payments.paid_at - payments.paid_at.min().normalize()).dt.days)
    names = days[member][days.pattern == pattern].unique()
    for _, of_member in days[days[member].isin(names)].groupby(member):
        taken = of_member.day[of_member.pattern == pattern]
        if taken.max() - taken.min() < lasting:
            cases.append((of_member, taken.min(), taken.max()))
    assert len(cases) > 0.7 * len(names)
    return cases


def test_frauds_come_from_abroad_and_online_more_than_other_payments(payments):
    abroad = (payments.country != "FR").groupby(payments.is_fraud).mean()
    online = (payments.channel == "online").groupby(payments.is_fraud).mean()

    assert abroad[False] < 0.03 < 0.25 < abroad[True] < 0.45
    assert online[False] + 0.1 < online[True] < 0.7


def test_cards_pay_near_home_and_every_card_can_reach_a_terminal():
    payments = simulate(n_cards=400, n_terminals=10_000, n_days=5)
    lonely = simulate(n_cards=20, n_terminals=1, n_days=5)

    assert max(payments["distance_from_home"].to_pylist()) <= 5
    assert lonely.num_rows > 0


def test_the_smallest_world_makes_a_table_with_every_column(small):
    table = simulate(n_cards=1, n_terminals=1, n_days=1)

    assert table.schema.equals(small.schema)


@pytest.mark.slow
def test_a_hundred_and_fifty_thousand_payments_take_less_than_three_seconds():
    began = time.perf_counter()
    table = simulate(random_state=1)

    assert time.perf_counter() - began < 3
    assert table.num_rows > 140_000


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_cards": 0}, ValueError, "n_cards must be at least 1; got 0"),
        ({"n_days": 2.5}, TypeError, "n_days must be a whole number; got 2.5"),
        ({"start": "tomorrow"}, ValueError, "start must be a date such as '2025-01-01'"),
    ],
)
def test_arguments_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        simulate(**options)
