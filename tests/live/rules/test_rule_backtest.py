from datetime import date, datetime, timedelta
from math import isnan

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from toprank.live.rules.rule_backtest import AtCapacity, Outcomes, backtest
from toprank.live.rules.rule_fields import RuleError, RuleFields
from toprank.live.rules.rule_language import parse

FIELDS = RuleFields({"amount": "number", "card": "text", "paid_at": "time"})
MONDAY = datetime(2025, 3, 3)
COLUMNS = {
    "id": pl.String, "card": pl.String, "paid_at": pl.Datetime("us"), "amount": pl.Float64,
    "is_fraud": pl.Boolean, "suspicion": pl.Float64,
}  # fmt: skip


def rule(text):
    return parse(text, FIELDS, "alert")


LARGE = rule("amount > 500")


def table(*rows):
    """Return payments from (day, card, amount, is_fraud, suspicion)."""
    full = [
        (str(number), card, MONDAY + timedelta(days=day), amount, is_fraud, suspicion)
        for number, (day, card, amount, is_fraud, suspicion) in enumerate(rows)
    ]
    return pl.LazyFrame(full, schema=COLUMNS, orient="row")


def test_matches_are_counted_by_what_became_known_of_them():
    payments = table(
        (0, "a", 900.0, True, None), (0, "b", 900.0, False, None), (0, "c", 1.0, True, None),
        (1, "a", 900.0, None, None), (1, "d", None, False, None), (1, "e", 1.0, False, None),
    )  # fmt: skip
    found = backtest(payments, LARGE, FIELDS)
    assert found.payments == (2, 3, 1)
    assert found.matches == (1, 1, 1)
    assert found.payments.maturity == approx(5 / 6)
    assert found.detection_rate == approx(1 / 2)
    assert found.false_alert_rate == approx(1 / 3)
    assert [each.day for each in found.days] == [date(2025, 3, 3), date(2025, 3, 4)]
    assert [each.matches for each in found.days] == [(1, 1, 0), (0, 0, 1)]
    assert found.at_capacity is None


def test_mature_and_provisional_days_are_counted_apart():
    known = [(0, str(number), 900.0, number == 0, None) for number in range(10)]
    pending = [(1, "x", 900.0, True, None), (1, "y", 900.0, None, None)]
    found = backtest(table(*known, *pending), LARGE, FIELDS)
    assert found.mature == Outcomes(1, 9, 0)
    assert found.provisional == Outcomes(1, 0, 1)
    assert (found.mature.precision, found.provisional.precision) == (0.1, 1.0)


def test_an_immature_period_is_refused_unless_allowed():
    payments = table(
        *[(0, "a", 900.0, None if number < 3 else False, None) for number in range(10)]
    )
    with pytest.raises(RuleError, match="at least 80 % of the labels known; 70 % are"):
        backtest(payments, LARGE, FIELDS)
    assert backtest(payments, LARGE, FIELDS, least_maturity=0).matches == (0, 7, 3)


def test_frauds_of_no_other_rule_are_counted():
    payments = table(
        (0, "a", 900.0, True, None), (0, "b", 600.0, True, None), (0, "c", 700.0, False, None)
    )
    found = backtest(payments, LARGE, FIELDS, others=[rule("amount > 800"), rule("card = 'c'")])
    assert found.only_fraud == 1
    assert backtest(payments, LARGE, FIELDS).only_fraud == 2


def test_the_list_with_the_rule_first_is_compared_with_the_model_alone():
    payments = table(
        (0, "a", 900.0, True, 0.1), (0, "b", 900.0, False, 0.9), (0, "c", 1.0, True, 0.8),
        (0, "d", 1.0, False, 0.2),
    )  # fmt: skip
    found = backtest(payments, LARGE, FIELDS, k=1)
    # the model checks b; with the rule first b again, then a
    assert found.at_capacity == AtCapacity(1, 1, 0.0, 0.0, 0.5, 1, 1.0)
    assert backtest(payments, LARGE, FIELDS, k=2).at_capacity == AtCapacity(
        2, 1, 0.5, 0.5, 0.5, 1, 1.0
    )
    only_a = backtest(payments, rule("card = 'a'"), FIELDS, k=1).at_capacity
    assert only_a == AtCapacity(1, 1, 0.0, 1.0, 0.0, 1, 1.0)


def test_example_cards_are_the_newest_of_each_outcome():
    rows = [(day, f"c{day}", 900.0, day % 2 == 0, None) for day in range(14)]
    found = backtest(table(*rows, (13, "c13", 900.0, False, None)), LARGE, FIELDS).examples
    assert [each.card for each in found if each.outcome == "fraud"] == [
        "c12", "c10", "c8", "c6", "c4",
    ]  # fmt: skip
    assert next(each.card for each in found if each.outcome == "genuine") == "c13"
    assert len(found) == 10


def test_no_payments_and_missing_columns_get_a_sentence():
    with pytest.raises(RuleError, match="there are none"):
        backtest(table(), LARGE, FIELDS)
    with pytest.raises(RuleError, match="column 'amount'"):
        backtest(table((0, "a", 1.0, True, None)).drop("amount"), LARGE, FIELDS)


def test_a_rule_that_matches_nothing_has_no_precision():
    found = backtest(table((0, "a", 1.0, True, 0.5)), LARGE, FIELDS)
    assert found.matches == (0, 0, 0)
    assert isnan(found.mature.precision)
    assert found.to_json()["detection_rate"] == 0


rows = st.lists(
    st.tuples(
        st.integers(0, 3), st.sampled_from("abcd"), st.sampled_from([None, 1.0, 900.0]),
        st.sampled_from([True, False, None]), st.sampled_from([None, 0.1, 0.5, 0.9]),
    ),
    min_size=1, max_size=12,
)  # fmt: skip


@given(rows)
def test_counts_equal_those_of_a_loop(rows):
    found = backtest(table(*rows), LARGE, FIELDS, k=2, least_maturity=0)

    def outcomes(those):
        labels = [label for *_, label, _ in those]
        return (labels.count(True), labels.count(False), labels.count(None))

    matched = [row for row in rows if row[2] == 900.0]
    assert found.payments == outcomes(rows)
    assert found.matches == outcomes(matched)
    assert found.only_fraud == outcomes(matched)[0]
    for each in found.days:
        day = (each.day - MONDAY.date()).days
        assert each.payments == outcomes([row for row in rows if row[0] == day])
        assert each.matches == outcomes([row for row in matched if row[0] == day])


def test_a_parquet_file_gives_what_the_table_does(tmp_path):
    payments = table(
        (0, "a", 900.0, True, 0.1), (0, "b", 900.0, False, 0.9), (1, "c", 1.0, False, 0.8)
    )
    payments.sink_parquet(tmp_path / "payments.parquet")
    stored = pl.scan_parquet(tmp_path / "payments.parquet")
    assert backtest(stored, LARGE, FIELDS, k=1) == backtest(payments, LARGE, FIELDS, k=1)
