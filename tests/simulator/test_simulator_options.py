"""The options of a simulation: each does what it says, and leaves the rest unchanged."""

from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from toprank.simulator import Simulation, simulate, tables_by_day
from toprank.simulator.frauds import _Compromised

SIZE = {"n_cards": 1_000, "n_terminals": 2_000, "n_days": 60}
LARGER = {"n_cards": 2_000, "n_terminals": 4_000, "n_days": 90}  # for shares of rare frauds
PLAIN = ["paid_at", "card", "terminal", "amount", "is_fraud"]
EVERYTHING = {
    "details": True,
    "keep_pattern": True,
    "worldline": True,
    "test_payments": True,
    "starts": {"card": 3},
    "stops": {"terminal": 9},
    "start": "2024-11-27",
    "christmas": True,
    "claims": True,
    "checks_a_day": 5,
}


def table_of(**options):
    return pa.concat_tables(tables_by_day(Simulation(**{**SIZE, "keep_pattern": True, **options})))


def frame_of(**options):
    frame = table_of(**options).to_pandas()
    return frame.assign(day=(frame.paid_at - frame.paid_at.min().normalize()).dt.days)


@pytest.fixture(scope="module")
def base():
    return frame_of()


@pytest.fixture(scope="module")
def worldline():
    return frame_of(worldline=True)


# The base case


def test_the_base_case_is_the_published_one():
    simulation = Simulation()

    size = simulation.n_cards, simulation.n_terminals, simulation.n_days
    assert size == (5_000, 10_000, 183)
    assert simulation.start == "2018-04-01"
    (first,) = tables_by_day(Simulation(n_days=1))
    assert first.column_names == PLAIN


def test_rows_frauds_and_amounts_are_those_published():
    base = frame_of(**LARGER)
    share = base.pattern.value_counts() / len(base)

    # The rates of 2,000 cards have a mean of 2 within 1.3 %; 3.1 % of the payments leave the day.
    assert len(base) == pytest.approx(2_000 * 90 * 2 * 0.969, rel=0.04)
    # 36 of 10,000 terminals and 39 of 10,000 cards are compromised, fewer in the first weeks.
    assert share[1] == pytest.approx(0.00058, abs=0.00015)
    assert share[2] == pytest.approx(0.0056 * (1 - 13.5 / 90), rel=0.15)
    assert share[3] == pytest.approx(0.0028 * (1 - 6.5 / 90), rel=0.15)
    quantiles = base.amount.quantile([0.05, 0.25, 0.5, 0.75, 0.95])
    assert quantiles.tolist() == pytest.approx([6.3, 21.9, 45.4, 77.7, 131.5], rel=0.06)
    assert base.amount.min() > 0


def test_two_terminals_and_three_cards_a_day_are_compromised_at_full_size():
    terminals = _Compromised(10_000, 2 / 10_000, 28, np.random.default_rng(0))
    cards = _Compromised(5_000, 3 / 5_000, 14, np.random.default_rng(0))
    taken = [(terminals.on(day).sum(), cards.on(day).sum()) for day in range(40)]

    assert taken[0] == (2, 3)
    assert taken[6] == (14, 21)
    # Some are taken once more before they are let go.
    assert all(52 <= n_terminals <= 56 for n_terminals, _ in taken[28:])
    assert all(38 <= n_cards <= 42 for _, n_cards in taken[14:])


def test_a_card_pays_at_most_a_radius_of_five_away_in_a_world_of_full_density():
    table = simulate(n_cards=100, n_terminals=10_000, n_days=10)

    assert 4 < max(table["distance_from_home"].to_pylist()) <= 5


def test_the_demo_shows_the_same_payments_with_features():
    demo = simulate(60, 120, 30, random_state=5, keep_pattern=True)
    simulation = Simulation(60, 120, 30, "2025-01-01", 5, details=True, keep_pattern=True)
    table = pa.concat_tables(tables_by_day(simulation))

    assert demo.select(table.column_names).equals(table)


# The same rows


@pytest.mark.parametrize("options", [{}, EVERYTHING], ids=["base", "everything"])
def test_more_days_begin_with_the_payments_of_fewer(options):
    size = {"n_cards": 700, "n_terminals": 800}
    shorter = table_of(**size, **{**options, "n_days": 12})
    longer = table_of(**size, **{**options, "n_days": 20})

    assert longer.slice(0, shorter.num_rows).equals(shorter)
    assert longer.num_rows > 1.5 * shorter.num_rows
    assert shorter.equals(table_of(**size, **{**options, "n_days": 12}))
    assert not shorter.equals(table_of(**size, **{**options, "n_days": 12, "random_state": 1}))


@pytest.mark.parametrize(
    ("options", "added"),
    [
        ({"details": True}, ["country", "channel", "merchant_type"]),
        ({"claims": True}, ["claimed_on"]),
        ({"checks_a_day": 7}, ["verdict"]),
    ],
    ids=str,
)
def test_an_optional_column_leaves_all_others_unchanged(options, added):
    with_it, without = table_of(n_days=20, **options), table_of(n_days=20)

    assert set(with_it.column_names) - set(without.column_names) == set(added)
    assert with_it.select(without.column_names).equals(without)


def test_the_pattern_is_left_out_by_default():
    small = {"n_cards": 50, "n_terminals": 100, "n_days": 5}

    assert table_of(**small).drop_columns("pattern").equals(table_of(**small, keep_pattern=False))


# Worldline's rates


def test_frauds_are_as_rare_as_at_worldline_on_all_but_the_first_days():
    worldline = frame_of(worldline=True, **LARGER)
    later = worldline[worldline.day >= 7]
    by_weeks = later.groupby((later.day - 7) // 21).is_fraud.mean()

    assert later.is_fraud.mean() == pytest.approx(0.0018, rel=0.1)
    assert by_weeks.between(0.0013, 0.0024).all()


def test_nine_frauds_in_ten_are_online_and_zero_amounts_as_frequent_as_there(worldline):
    online = (worldline.channel == "online").groupby(worldline.is_fraud).mean()
    is_zero = (worldline.amount == 0).groupby(worldline.is_fraud).mean()

    assert online[True] == pytest.approx(0.9, abs=0.04)
    assert online[False] == pytest.approx(0.35, abs=0.01)
    assert is_zero[True] == pytest.approx(0.12, abs=0.04)
    assert is_zero[False] == pytest.approx(0.03, abs=0.002)
    assert worldline.amount[worldline.pattern == 1].min() > 220


def test_worldlines_frauds_are_some_of_the_base_case_in_the_same_payments(base, worldline):
    same = ["paid_at", "card", "terminal"]
    pd.testing.assert_frame_equal(worldline[same], base[same])
    is_zero = worldline.amount == 0
    undone = (base.pattern == 3) & (worldline.pattern != 3)

    assert not (worldline.is_fraud & ~base.is_fraud).any()
    assert (worldline.amount == base.amount)[~is_zero & ~undone].all()
    assert (5 * worldline.amount)[undone & ~is_zero].to_numpy() == pytest.approx(
        base.amount[undone & ~is_zero].to_numpy()
    )


# Test payments


def test_a_small_payment_comes_before_the_first_large_one_of_a_compromised_card_in_a_day(base):
    with_tests = frame_of(test_payments=True)
    tests = with_tests[with_tests.is_fraud & ~in_both(with_tests, base)]
    others = with_tests.drop(tests.index).reset_index(drop=True)
    pd.testing.assert_frame_equal(others, base)

    first_large = base[base.pattern == 3].drop_duplicates(["card", "day"])
    pairs = first_large.merge(tests, on=["card", "day"], suffixes=("", "_of_test"))
    seconds = (pairs.paid_at - pairs.paid_at_of_test).dt.total_seconds()
    assert len(pairs) == len(tests) > 0.97 * len(first_large)
    assert seconds.between(60, 3_600).all()
    assert tests.amount.between(0.01, 2).all()
    assert (tests.pattern == 3).all()
    assert tests.is_fraud.all()
    assert tests.terminal.nunique() > 0.8 * len(tests)
    assert with_tests.paid_at.is_monotonic_increasing


def in_both(frame, other):
    """Return which rows of a frame are in the other one too."""
    keys = ["paid_at", "card", "terminal", "amount", "pattern"]
    return pd.MultiIndex.from_frame(frame[keys]).isin(pd.MultiIndex.from_frame(other[keys]))


# Drift


def test_a_pattern_appears_on_its_day_and_another_stops_on_its_own(base):
    drift = frame_of(starts={"card": 30}, stops={"terminal": 60})
    both = (drift.day >= 30) & (drift.day < 60)

    assert drift.day[drift.pattern == 3].min() == 30
    assert drift.day[drift.pattern == 2].max() == 59
    pd.testing.assert_frame_equal(drift[both], base[both])
    untouched = (base.pattern == 0) | (base.pattern == 1)
    pd.testing.assert_frame_equal(drift[untouched], base[untouched])


def test_large_amounts_are_genuine_where_their_pattern_has_stopped(base):
    drift = frame_of(stops={"amount": 0})

    assert (drift.pattern != 1).all()
    assert (drift.amount == base.amount).all()
    assert not drift.is_fraud[base.pattern == 1].any()


def test_half_as_many_payments_again_come_before_christmas_and_other_days_are_unchanged():
    options = {"n_days": 90, "start": "2024-11-01"}
    usual, christmas = frame_of(**options), frame_of(**options, christmas=True)
    before = christmas.paid_at.between("2024-12-01", "2024-12-25", inclusive="left")
    ordinary = usual.paid_at.between("2024-12-01", "2024-12-25", inclusive="left")

    assert before.sum() / ordinary.sum() == pytest.approx(1.5, abs=0.02)
    assert christmas[before].day.nunique() == 24
    assert (
        christmas[~before].reset_index(drop=True).equals(usual[~ordinary].reset_index(drop=True))
    )
    assert in_both(usual, christmas).all()
    assert christmas.paid_at.is_monotonic_increasing


# Labels


def test_frauds_are_claimed_about_a_week_later_and_one_in_ten_never():
    frame = frame_of(claims=True)
    frauds = frame[frame.is_fraud]
    days = (pd.to_datetime(frauds.claimed_on) - frauds.paid_at.dt.normalize()).dt.days

    assert frame.claimed_on[~frame.is_fraud].isna().all()
    assert frauds.claimed_on.isna().mean() == pytest.approx(0.1, abs=0.02)
    assert days.min() == 1
    # Whole days of an exponential wait of 7, from the day after: 1 / (1 - exp(-1 / 7)).
    assert days.mean() == pytest.approx(7.51, abs=0.5)
    assert (days > 30).mean() == pytest.approx(np.exp(-30 / 7), abs=0.01)


def test_a_claim_is_a_date_that_may_be_after_the_last_payment():
    frame = table_of(claims=True, n_days=60).to_pandas()
    last = frame.paid_at.max().date()

    assert all(isinstance(day, date) for day in frame.claimed_on.dropna())
    assert frame.claimed_on.dropna().max() > last


def test_verdicts_are_true_and_only_on_cards_that_paid_furthest_above_their_usual():
    frame = frame_of(checks_a_day=20, n_days=60)
    is_checked = frame.verdict.notna()
    cards = frame[is_checked].groupby("day").card.nunique()
    usual = frame[~frame.is_fraud].groupby("card").amount.mean()
    furthest = (frame.amount / frame.card.map(usual)).groupby([frame.day, frame.card]).max()
    checked = is_checked.groupby([frame.day, frame.card]).agg(["any", "all"])

    assert (cards == 20).all()
    assert (frame.verdict[is_checked].astype(bool) == frame.is_fraud[is_checked]).all()
    assert (checked["any"] == checked["all"]).all()
    assert furthest[checked["any"]].quantile(0.1) > furthest[~checked["any"]].quantile(0.97)
    # Amounts far above the usual are mostly frauds of compromised cards.
    assert frame.is_fraud[is_checked].mean() > 10 * frame.is_fraud.mean()


def test_all_cards_of_a_day_are_checked_where_there_is_time_for_more():
    (day,) = tables_by_day(Simulation(10, 20, 1, checks_a_day=100))

    assert day["verdict"].null_count == 0
    assert day["verdict"].equals(day["is_fraud"])


# Small worlds and wrong settings


def test_the_smallest_world_runs_with_every_option():
    options = {**EVERYTHING, "n_cards": 1, "n_terminals": 1, "n_days": 40, "random_state": 7}
    days = list(tables_by_day(Simulation(**options)))

    assert len(days) == 40
    assert min(day.num_rows for day in days) == 0
    assert {str(day.schema) for day in days} == {str(days[0].schema)}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_terminals": 0}, ValueError, "n_terminals must be at least 1; got 0"),
        ({"n_days": 2.5}, TypeError, "n_days must be a whole number; got 2.5"),
        ({"random_state": -1}, ValueError, "random_state must be at least 0; got -1"),
        ({"checks_a_day": -3}, ValueError, "checks_a_day must be at least 0; got -3"),
        ({"start": "1 April"}, ValueError, "start must be a date such as '2025-01-01'"),
        ({"spells": {"crad": [(3, 5)]}}, ValueError, "spells must name one of"),
        (
            {"spells": {"card": [(9, 9)]}},
            ValueError,
            "the day after a spell of 'card' must be",
        ),
        ({"starts": {"crad": 3}}, ValueError, "got 'crad'; did you mean 'card'?"),
        ({"stops": {"online": 3}}, ValueError, "must name one of 'amount', 'terminal', 'card'"),
        ({"stops": {"card": -1}}, ValueError, "the day in stops for 'card' must be at least 0"),
        (
            {"starts": {"card": 9}, "stops": {"card": 9}},
            ValueError,
            "pattern 'card' must stop after the day it starts, 9; got 9",
        ),
        (
            {"christmas": True},
            ValueError,
            "the run is from 2018-04-01 to 2018-09-30: choose another start or more days",
        ),
    ],
    ids=str,
)
def test_settings_are_checked(options, error, message):
    with pytest.raises(error) as raised:
        Simulation(**options)

    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("start", "n_days"), [("2024-12-24", 1), ("2024-11-30", 2), ("2024-12-25", 342)]
)
def test_one_day_before_christmas_is_enough(start, n_days):
    assert Simulation(start=start, n_days=n_days, christmas=True).christmas
    with pytest.raises(ValueError, match="between 1 and 24 December"):
        Simulation(start="2024-12-25", n_days=341, christmas=True)


def test_volume_says_how_often_cards_pay():
    usual, twice = (table_of(volume=volume).num_rows for volume in (1.0, 2.0))
    assert twice == pytest.approx(2 * usual, rel=0.03)
    with pytest.raises(ValueError, match="volume must be greater than 0"):
        Simulation(volume=0)
