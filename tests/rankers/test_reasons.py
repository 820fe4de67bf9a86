"""Reasons: the words, what is usual, and contributions that add up to the suspicion."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from sklearn.base import clone
from sklearn.ensemble import IsolationForest

from examples import examples
from toprank import BoostedRanker, MetaAP, RankForest
from toprank.data.tables import Column, Schema
from toprank.rankers import reasons
from toprank.rankers.anomaly.anomaly_forest import AnomalyForest
from toprank.rankers.anomaly.borrowed import BorrowedDetector
from toprank.rankers.reasons import (
    Difference,
    Reason,
    Usual,
    explain,
    number_text,
    score_and_explain,
    value_text,
    why_above,
)

AMOUNT, COUNTRY = Column("amount", "number"), Column("country", "category", ("DE", "FR"))
ONLINE = Column("online", "boolean")
N_ALL = 4


@pytest.fixture(scope="module")
def payments():
    generator = np.random.default_rng(0)
    n = 1500
    amount = generator.gamma(2.0, 40.0, n).round(2)
    country = generator.choice(["FR", "DE", "US"], n, p=[0.85, 0.1, 0.05])
    online = generator.random(n) < 0.3
    hours = np.where(generator.random(n) < 0.1, np.nan, generator.exponential(10, n))
    is_fraud = ((amount > 170) & online) | ((country == "US") & (generator.random(n) < 0.7))
    table = pa.table({"amount": amount, "country": country, "online": online, "hours": hours})
    return table, is_fraud


@pytest.fixture(scope="module")
def ranker(payments):
    return BoostedRanker(n_estimators=40, n_jobs=1).fit(*payments)


def test_a_reason_gives_the_value_and_what_is_usual():
    usual = Usual(low=float(np.float32(3.1)), high=180.0)
    value = value_text(np.float32(912.5), AMOUNT)
    assert str(Reason("amount", value, str(usual), 1.2)) == "amount 912.50; usual 3.10-180"


def test_a_reason_has_its_own_words_where_somebody_knows_better():
    reason = Reason("amount", "20", "3.10-180", -0.4, own="12-60 before", words="amount 20")
    assert str(reason) == "amount 20"
    assert reason.to_json() == {
        "feature": "amount", "value": "20", "usual": "3.10-180", "contribution": -0.4,
        "own": "12-60 before", "text": "amount 20",
    }  # fmt: skip
    assert "own" not in Reason("amount", "20", "3.10-180", -0.4).to_json()


def test_a_difference_names_both_values():
    assert str(Difference("amount", "912.50", "20", 1.2)) == "amount 912.50 against 20"


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (912.5, AMOUNT, "912.50"),
        (np.nan, AMOUNT, "missing"),
        (1.0, COUNTRY, "FR"),
        (np.nan, COUNTRY, "missing or new"),
        (1.0, ONLINE, "yes"),
        (0.0, ONLINE, "no"),
        (np.nan, ONLINE, "missing"),
    ],
)
def test_an_encoded_value_reads_as_the_table_showed_it(value, column, text):
    assert value_text(np.float32(value), column) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (7.0, "7"),
        (-3.5, "-3.50"),
        (float(np.float32(0.1)), "0.10"),
        (0.0149, "0.0149"),
        (float(np.float32(0.05)), "0.05"),
        (0.00123, "0.00123"),
        (-0.00123, "-0.00123"),
        (1234.5, "1,234.50"),
        (9999.5, "9,999.50"),
        (9999.999, "10,000"),
        (48210.4, "48,210"),
        (-48210.4, "-48,210"),
        (2.5e15, "2.5e+15"),
    ],
)
def test_numbers_read_as_people_write_them(value, text):
    assert number_text(value) == text


@examples(200)
@given(st.floats(-1e18, 1e18) | st.floats(-2, 2) | st.floats(-2e4, 2e4))
def test_the_text_of_a_number_is_true_to_three_digits_or_half_a_hundredth(value):
    text = number_text(value)
    tolerance = 0.00501 if 0.1 <= abs(value) < 10_000 else 0.00501 * abs(value)
    assert abs(float(text.replace(",", "")) - value) <= tolerance
    assert text != "-0"


@pytest.mark.parametrize(
    ("usual", "text"),
    [
        (Usual(low=3.1, high=180.0), "3.10-180"),
        (Usual(low=5.0, high=5.0), "5"),
        (Usual(low=-12.5, high=3.0), "-12.50 to 3"),
        (Usual(low=-12.5, high=-3.0), "-12.50 to -3"),
        (Usual(low=0.00001, high=0.5), "1e-05 to 0.50"),
        (Usual(low=0.0, high=2.0), "0-2"),
        (Usual(values=("FR", "DE"), share=0.913), "FR, DE (91 %)"),
        (Usual(values=("no",), share=0.9996), "no (>99 %)"),
        (Usual(values=("no",), share=1.0), "no (100 %)"),
        (Usual(), "missing"),
    ],
)
def test_what_is_usual_reads_well(usual, text):
    assert str(usual) == text
    assert Usual.from_json(usual.to_json()) == usual


@pytest.mark.parametrize("wrong", [{"low": np.nan}, {"high": np.inf}, {"share": np.nan}], ids=str)
def test_usual_values_that_are_no_numbers_are_refused(wrong):
    facts = Usual(low=1.0, high=2.0).to_json() | wrong
    with pytest.raises(ValueError, match="usual values must be finite"):
        Usual.from_json(facts)


def usual_of(values, column=AMOUNT, is_positive=None):
    values = np.array(values, dtype=np.float32)[:, None]
    chosen = np.zeros(len(values), dtype=bool) if is_positive is None else is_positive
    return reasons.usual_values(values, chosen, Schema((column,)))[0]


def test_the_usual_range_holds_nine_tenths_of_the_negatives_and_no_positive():
    values = np.concatenate([np.arange(1, 1002), np.full(500, 1e6)])
    usual = usual_of(values, is_positive=values == 1e6)
    assert (usual.low, usual.high) == (51, 951)


def test_missing_values_do_not_move_the_usual_range():
    values = [*range(1, 102), *[np.nan] * 50]
    assert usual_of(values) == usual_of(range(1, 102))


def test_where_most_negatives_have_no_value_missing_is_usual():
    assert usual_of([1.0, np.nan, np.nan]) == Usual()
    assert usual_of([1.0, np.nan]).low == 1
    assert usual_of([np.nan, np.nan]) == Usual()


def test_the_usual_categories_are_the_most_frequent_until_they_cover_most():
    column = Column("c", "category", ("a", "b", "c", "d", "e"))
    codes = [0] * 10 + [1] * 50 + [2] * 35 + [3] * 5
    assert usual_of(codes, column) == Usual(values=("b", "c"), share=0.85)
    spread = usual_of([0, 1, 2, 3, 4] * 20, column)
    assert spread.values == ("a", "b", "c")
    assert spread.share == approx(0.6)
    assert usual_of([1] * 9 + [0], ONLINE) == Usual(values=("yes",), share=0.9)


def test_large_data_are_thinned_evenly():
    values = np.arange(250_000) % 101
    assert usual_of(values) == usual_of(np.arange(101))


def test_contributions_and_the_start_add_up_to_the_suspicion(payments, ranker):
    table, _ = payments
    start = ranker.contributions(table)[:, -1]
    sums = [sum(each.contribution for each in row) for row in explain(ranker, table, N_ALL)]
    assert sums + start == approx(ranker.suspicion(table), abs=1e-4)


def test_reasons_come_largest_first_and_none_for_what_moved_nothing(payments, ranker):
    table, _ = payments
    for row in explain(ranker, table, N_ALL):
        sizes = [abs(reason.contribution) for reason in row]
        assert sizes == sorted(sizes, reverse=True)
        assert 0 not in sizes


def test_fewer_reasons_are_the_first_of_more(payments, ranker):
    table = payments[0].slice(0, 50)
    whole = explain(ranker, table, N_ALL)
    for n_reasons in (0, 1, 3, 9):
        assert explain(ranker, table, n_reasons) == [row[:n_reasons] for row in whole]


def test_the_values_of_a_row_are_those_of_the_table(payments, ranker):
    row = {"amount": 912.5, "country": "US", "online": True, "hours": None}
    given_reasons = explain(ranker, pa.table({name: [value] for name, value in row.items()}))[0]
    values = {reason.feature: reason.value for reason in given_reasons}
    expected = {"amount": "912.50", "country": "US", "online": "yes", "hours": "missing"}
    assert values == {name: expected[name] for name in values}
    assert {"amount", "country"} <= set(values)
    unseen = pa.table({**{name: [value] for name, value in row.items()}, "country": ["XX"]})
    texts = [reason.value for reason in explain(ranker, unseen)[0] if reason.feature == "country"]
    assert texts in ([], ["missing or new"])


@pytest.mark.parametrize(
    "unfitted",
    [
        BoostedRanker("ap-exp", n_estimators=10, n_jobs=1),
        BoostedRanker("ap-exp", n_estimators=10, engine="paper", n_jobs=1),
        MetaAP(),
        RankForest(n_estimators=5, n_jobs=1),
    ],
    ids=str,
)
def test_scores_and_reasons_at_once_are_those_of_both_calls(payments, unfitted):
    table, is_fraud = payments
    ranker = clone(unfitted).fit(table, is_fraud)
    explained = score_and_explain(ranker, table, 3)
    assert [row.suspicion for row in explained] == ranker.suspicion(table).tolist()
    assert [row.reasons for row in explained] == explain(ranker, table, 3)
    assert score_and_explain(ranker, table.slice(5, 1), 3) == explained[5:6]


def test_a_row_scored_and_explained_at_once_is_read_once(payments, ranker, monkeypatch):
    n_read, encode = [], Schema.encode
    monkeypatch.setattr(Schema, "encode", lambda *given: n_read.append(1) or encode(*given))
    row = payments[0].slice(0, 1)
    ranker.suspicion(row), explain(ranker, row)
    assert len(n_read) == 2
    score_and_explain(ranker, row)
    assert len(n_read) == 3


def test_the_gaps_of_all_features_add_up_to_the_gap_in_suspicion(payments, ranker):
    table, _ = payments
    suspicion = ranker.suspicion(table)
    order = np.argsort(-suspicion)
    for row, other in ((order[0], order[-1]), (order[3], order[200]), (order[-1], order[0])):
        differences = why_above(ranker, table, row, other, N_ALL)
        total = sum(each.contribution for each in differences)
        assert total == approx(suspicion[row] - suspicion[other], abs=1e-4)
        sizes = [abs(each.contribution) for each in differences]
        assert sizes == sorted(sizes, reverse=True)


def test_two_equal_rows_differ_in_nothing(payments, ranker):
    table = payments[0].take([5, 5])
    assert why_above(ranker, table, 0, 1) == []


def test_swapping_the_rows_turns_the_reasons_around(payments, ranker):
    table, _ = payments
    one, other = why_above(ranker, table, 3, 8, N_ALL), why_above(ranker, table, 8, 3, N_ALL)
    assert [each.contribution for each in one] == [-each.contribution for each in other]
    assert [each.value for each in one] == [each.other_value for each in other]


@pytest.mark.parametrize(("row", "other", "name"), [(2, 0, "row"), (0, -1, "other")])
def test_rows_that_are_not_there_are_named(payments, ranker, row, other, name):
    with pytest.raises(ValueError, match=f"{name} must be between 0 and 1; got "):
        why_above(ranker, payments[0].slice(0, 2), row, other)


def test_a_negative_number_of_reasons_is_refused(payments, ranker):
    for explained in (explain, score_and_explain):
        with pytest.raises(ValueError, match="n_reasons must be at least 0; got -1"):
            explained(ranker, payments[0].slice(0, 2), -1)


def test_an_array_has_reasons_too_and_nothing_warns():
    X = np.random.default_rng(0).normal(size=(400, 3))
    ranker = BoostedRanker(n_estimators=20, n_jobs=1).fit(X, X[:, 1] > 1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = explain(ranker, [[0.0, 2.5, 0.0]])[0][0]
    assert (first.feature, first.value) == ("x1", "2.50")
    assert first.contribution > 0


# Without labels


def test_what_is_unusual_raises_the_suspicion_and_the_most_so_comes_first():
    rows = np.random.default_rng(0).normal(size=(500, 4))
    detector = AnomalyForest(n_estimators=30).fit(rows)
    explained = reasons.what_is_unusual(detector, rows[:50])

    for row, shares in zip(explained, detector.contributions(rows[:50])[:, :-1], strict=True):
        raising = shares[(shares > 0) & (shares >= 0.05 * shares.max())]
        assert [reason.contribution for reason in row] == sorted(raising, reverse=True)
    assert {len(row) for row in explained} >= {0, 1, 2}


def test_what_is_most_usual_about_a_row_takes_no_place_among_its_reasons():
    rows = np.random.default_rng(0).normal(size=(500, 4))
    detector = AnomalyForest(n_estimators=30).fit(rows)

    all_rows = zip(
        reasons.what_is_unusual(detector, rows, 1), detector.contributions(rows), strict=True
    )
    for row, shares in all_rows:
        if shares[:-1].max() > 0:
            assert [reason.feature for reason in row] == [f"x{shares[:-1].argmax()}"]


def test_a_detector_without_contributions_gives_no_reasons():
    rows = np.random.default_rng(0).normal(size=(30, 2))
    detector = BorrowedDetector(IsolationForest(n_estimators=5, random_state=0)).fit(rows)

    assert reasons.what_is_unusual(detector, rows[:3]) == [[], [], []]
