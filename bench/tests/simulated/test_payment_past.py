"""Features of bare payments: the past alone, and labels only once they are known."""

import numpy as np
import pyarrow as pa
import pytest

from toprank_bench.datasets import Dataset
from toprank_bench.simulated.payment_past import CardPast, past_of_payments, sum_of_days

ROLES = {"time": "at", "card": "card", "terminal": "terminal", "amount": "amount"}


def payments(n=400, seed=0, **changed):
    """Payments of 50 days in the order of their times."""
    generator = np.random.default_rng(seed)
    columns = {
        "at": np.datetime64("2025-03-03T00:00", "us")
        + np.sort(generator.integers(0, 50 * 86_400, n)).astype("timedelta64[s]"),
        "card": generator.integers(0, 6, n),
        "terminal": generator.integers(0, 4, n),
        "amount": generator.uniform(1, 90, n),
        "y": generator.random(n) < 0.3,
        **changed,
    }
    y = columns.pop("y")
    return Dataset("some", pa.table(columns), y, "a fraud", "made up", pa.table({}), ROLES)


def days_of(dataset):
    time = dataset.features["at"].to_numpy()
    return (time - time.min().astype("datetime64[D]")) // np.timedelta64(1, "D")


def test_windows_hold_what_a_loop_over_all_payments_finds():
    dataset = payments()
    past = past_of_payments(dataset, CardPast())
    day, y = days_of(dataset), dataset.is_positive
    card, terminal, amount = (
        dataset.features[name].to_numpy() for name in ("card", "terminal", "amount")
    )
    for i in range(0, y.size, 7):
        mine = (card == card[i]) & (day < day[i]) & (day >= day[i] - 7)
        assert past.features["card_count_7"][i] == mine.sum()
        mean = amount[mine].sum() / max(mine.sum(), 1)
        assert past.features["card_amount_7"][i] == pytest.approx(mean)
        there = (terminal == terminal[i]) & (day < day[i] - 7) & (day >= day[i] - 37)
        assert past.features["terminal_count_30"][i] == there.sum()
        share = y[there].sum() / max(there.sum(), 1)
        assert past.features["terminal_risk_30"][i] == pytest.approx(share)


def test_labels_of_the_last_seven_days_and_of_the_future_change_nothing():
    dataset = payments()
    late = days_of(dataset) >= 30
    changed = payments(y=np.where(late, ~dataset.is_positive, dataset.is_positive))
    before = days_of(dataset) <= 37
    one, other = (past_of_payments(each, CardPast()) for each in (dataset, changed))
    for name, values in one.features.items():
        np.testing.assert_array_equal(values[before], other.features[name][before])
    assert (one.features["terminal_risk_1"] != other.features["terminal_risk_1"]).any()


def test_only_the_asked_cards_and_days_are_kept_but_all_are_part_of_the_past():
    dataset = payments()
    some, every = (past_of_payments(dataset, each) for each in (CardPast(2, 3, 10), CardPast()))
    card = dataset.features["card"].to_numpy()
    kept = (card >= 2) & (card < 5) & (days_of(dataset) >= 10)
    np.testing.assert_array_equal(some.is_positive, dataset.is_positive[kept])
    for name, values in every.features.items():
        np.testing.assert_array_equal(values[kept], some.features[name])


def test_hours_run_from_midnight():
    at = np.array(["2025-03-03T00:30", "2025-03-04T18:00"], dtype="datetime64[us]")
    dataset = payments(2, at=at, y=np.array([True, False]))
    assert past_of_payments(dataset, CardPast()).features["hour"].tolist() == [0.5, 18.0]


def test_a_sum_may_end_days_before():
    key, day, value = np.zeros(4, int), np.array([0, 1, 5, 6]), np.array([1.0, 2.0, 4.0, 8.0])
    assert sum_of_days(key, day, value, n_days=5, gap=1).tolist() == [0, 0, 3, 3]


def test_what_is_no_payment_gets_a_sentence():
    dataset = payments()
    with pytest.raises(ValueError, match=r"some must have payments of the cards from 9 on"):
        past_of_payments(dataset, CardPast(9))
    bare = Dataset("some", dataset.features, dataset.is_positive, "", "", pa.table({}), {})
    with pytest.raises(ValueError, match=r"columns known as time, card, terminal, amount"):
        past_of_payments(bare, CardPast())
    numbered = payments(2, at=np.array([0.0, 1.0]), y=np.array([True, False]))
    with pytest.raises(ValueError, match=r"the time of some must be given in dates"):
        past_of_payments(numbered, CardPast())
