"""Listed rows against the past of their card: only what was known before, and cheap."""

import numpy as np
import pyarrow as pa
import pytest

from toprank.data.tables import Column, TableWarning
from toprank.payments.card_pasts import CardPasts, OwnValues
from toprank.payments.features import History, Recent, SinceLast, ToUsual, Value
from toprank.payments.history_store import HistoryStore
from toprank.payments.payment_state import MemoryState
from toprank.payments.payment_words import PaymentWords
from toprank.payments.roles import Roles
from toprank.rankers.reasons import Usual

ROLES = Roles("at", "card", "shop", "amount", "tx")
FEATURES = [
    Value("amount"),
    Recent("count", "card", "1h"),
    Recent("sum", "card", "7d", of="amount"),
    ToUsual("card", "amount"),
    SinceLast("card"),
    Recent("count", "shop", "1d"),
]
START = np.datetime64("2025-03-01T00:00", "us")
HOUR = np.timedelta64(3_600_000_000, "us")


def payments(n=300):
    generator = np.random.default_rng(0)
    return pa.table(
        {
            "tx": [f"T{i}" for i in range(n)],
            "at": START + np.sort(generator.integers(0, 24 * 30, n)) * HOUR,
            "card": generator.choice(["A", "B", "C"], n),
            "shop": generator.choice(["S", "T"], n),
            "amount": generator.gamma(2.0, 20.0, n).round(2),
            "country": generator.choice(["FR", "DE"], n, p=[0.9, 0.1]),
            "is_fraud": [False] * n,
        }
    )


def history():
    return History(FEATURES, time="at", label="is_fraud", row_id="tx")


def in_memory(rows):
    state = MemoryState(history())
    with state.remembering() as features_of:
        features_of(rows)
    return state


def instants(moments):
    return np.asarray(moments, dtype="datetime64[us]").astype(np.int64)


@pytest.mark.parametrize("listed", [150, 299])
def test_earlier_values_are_the_features_each_row_had_up_to_a_day_before(listed):
    rows = payments()
    made = history().batch(rows)
    card, moment = rows["card"][listed].as_py(), rows["at"].to_numpy()[listed]
    pasts = CardPasts(in_memory(rows), ROLES, [card], instants([moment]))
    is_before = (rows["card"].to_numpy() == card) & (
        rows["at"].to_numpy() < moment - np.timedelta64(1, "D")
    )

    for each in FEATURES[:-1]:
        found = pasts.values(0, Column(each.name, "number"))
        expected = made[each.name].to_numpy()[is_before].astype(np.float32)
        np.testing.assert_array_equal(found.numbers, expected)
    assert is_before.sum() > 20
    assert pasts.values(0, Column("shop_count_1d", "number")) is None  # of rows of other cards
    found = pasts.values(0, Column("country", "category", ("DE", "FR")))
    assert found.n_equal(1.0) == (rows["country"].to_numpy()[is_before] == "FR").sum()


def test_what_comes_later_changes_nothing():
    rows = payments()
    moment = rows["at"].to_numpy()[200]
    column = Column("card_count_1h", "number")
    before, after = (
        CardPasts(in_memory(known), ROLES, ["A"], instants([moment])).values(0, column).numbers
        for known in (rows.slice(0, 200), rows)
    )
    assert before.tolist() == after.tolist()


def test_a_folder_and_the_memory_give_the_same_past(tmp_path):
    rows = payments()
    column, moments = Column("card_amount_to_usual_all", "number"), instants([START + 800 * HOUR])
    state = in_memory(rows)
    expected = CardPasts(state, ROLES, ["B"], moments).values(0, column).numbers
    with HistoryStore.create(tmp_path / "h", history()) as store:
        for start in (0, 120):
            store.remember(rows.slice(start, 120))
        for row in rows.slice(240).to_pylist():
            store.one(row)
        found = CardPasts(store, ROLES, ["B"], moments).values(0, column).numbers
        assert store.rows_of("card", ["B"]).num_rows == rows["card"].to_pylist().count("B")
        since = store.rows_of("card", ["B", "C"], since=START + 300 * HOUR)
    np.testing.assert_array_equal(found, expected)
    assert set(since["card"].to_pylist()) == {"B", "C"}
    assert since["at"].to_numpy().min() >= START + 300 * HOUR


def test_ids_of_cards_are_found_as_numbers_and_as_text(tmp_path):
    rows = payments(20).set_column(2, "card", [pa.array([7, 8] * 10)])
    with HistoryStore.create(tmp_path / "h", history()) as store:
        store.remember(rows)
        store.remember(rows.set_column(2, "card", [pa.array(["7", "8"] * 10)]).set_column(
            0, "tx", [pa.array([f"U{i}" for i in range(20)])]
        ))  # fmt: skip
        assert store.rows_of("card", ["7"]).num_rows == 20


def test_a_card_without_a_past_and_a_row_without_a_card_are_compared_with_others_only():
    pasts = CardPasts(in_memory(payments()), ROLES, ["new", None, "A"], instants([START] * 3))
    column = Column("amount", "number")
    assert pasts.values(0, column).n_rows == 0
    assert pasts.values(0, column).is_usual(5.0) is None
    assert pasts.values(1, column) is None
    words = PaymentWords(FEATURES, ROLES, "is_fraud", None, pasts)
    said = words.describe(0, column, 414.85, Usual(5.0, 60.0))
    assert said.words == "amount 414.85; others: 5-60"
    assert (said.own, words.is_own_usual(0, column, 414.85)) == ("", None)


class Given:
    """A past of these values."""

    def __init__(self, numbers):
        self.numbers = np.array(numbers, dtype=np.float32)

    def values(self, place, column, is_flag=False):
        return OwnValues(self.numbers, is_flag or column.kind != "number")


@pytest.mark.parametrize(
    ("name", "past", "value", "own", "is_usual"),
    [
        ("card_count_1h", [1] * 8 + [2, 2], 9.0, "at most 2", False),
        ("amount", [12, 20, 30, 45, 60], 414.85, "12-60 before", False),
        ("amount", [12, 20, 30, 45, 60], 2.0, "12-60 before", False),
        ("amount", [*range(10, 50), 400], 414.85, "usually 12-48, at most 400", False),
        ("amount", [*range(10, 50), 400], 300.0, "usually 12-48", False),
        ("amount", [*range(10, 50), 400], 30.0, "usually 12-48", True),
        ("amount", [12, 60], 30.0, "12-60 in 2 payments before", None),
        ("amount", [15] * 9, 99.0, "at most 15", False),
        ("amount", [15] * 9, 1.0, "at least 15", False),
        ("card_seconds_since_last", [7_200, 86_400] * 5, 9.0, "2 hours to 1 day before", False),
        ("country", [1] * 20, 0.0, "never in 20 payments before", False),
        ("country", [1] * 18 + [0, 0], 0.0, "2 of 20 payments before", True),
    ],
)
def test_the_own_past_is_said_so_that_the_difference_shows(name, past, value, own, is_usual):
    column = Column(name, "number")
    if name == "country":
        column = Column(name, "category", ("DE", "FR"))
    words = PaymentWords(FEATURES, ROLES, "is_fraud", None, Given(past))
    said = words.describe(0, column, value, Usual(1.0, 2.0))
    assert (said.own, words.is_own_usual(0, column, value)) == (own, is_usual)
    assert f"; this card: {own}; others: " in said.words


def test_cards_written_in_another_way_than_before_are_noted(recwarn):
    state, end = in_memory(payments()), START + 24 * 40 * HOUR
    CardPasts(state, ROLES, list("ABCDE"), instants([end] * 5))
    assert not recwarn.list

    with pytest.warns(TableWarning, match=r"none of the 5 listed cards.*'card'"):
        CardPasts(state, ROLES, list("abcde"), instants([end] * 5))
