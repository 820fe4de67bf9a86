"""Alert lists: batches give what sorting the whole table gives."""

import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from toprank import AnomalyTreeRank, BoostedRanker
from toprank.data.inputs import Encoded
from toprank.data.tables import Schema, TableError, TableWarning, WrittenBatch
from toprank.rankers.anomaly.anomaly_forest import AnomalyForest
from toprank.rankers.anomaly.listing import rules_of_rows
from toprank.rankers.list_reasons import reasons_for_list
from toprank.workflow.alert_list import most_unusual, top_alerts, top_of_scored
from toprank.workflow.usual_rows import ShiftWatch, UsualRows

N_ROWS = 300


def payments(n=N_ROWS):
    generator = np.random.default_rng(0)
    return pa.table(
        {
            "card": [f"c{i}" for i in range(n)],
            "amount": generator.integers(1, 12, n) * 10.0,  # few values, so that scores tie
            "country": generator.choice(["FR", "DE"], n),
        }
    )


@pytest.fixture(scope="module")
def ranker():
    table = payments()
    labels = table["amount"].to_numpy() >= 100
    return BoostedRanker(n_estimators=8, n_jobs=1).fit(table.select(["amount", "country"]), labels)


def parts(table, borders):
    return [table.slice(a, b - a) for a, b in zip([0, *borders], [*borders, N_ROWS], strict=True)]


@examples(40)
@given(
    st.lists(st.integers(0, N_ROWS), max_size=6).map(sorted),
    st.sampled_from([1, 2, 17, N_ROWS, N_ROWS + 50]),
)
def test_batches_of_any_size_give_the_top_of_the_whole_table(ranker, borders, budget):
    table = payments()
    scores = ranker.suspicion(table)
    order = np.argsort(-scores, kind="stable")[:budget]  # of equals, the earlier
    alerts = top_alerts(ranker, parts(table, borders), budget)

    assert np.array_equal(alerts.row_numbers, order + 1)
    assert np.array_equal(alerts.suspicion, scores[order])
    assert alerts.rows.to_pylist() == table.take(order).to_pylist()
    assert alerts.n_seen == N_ROWS
    assert np.unique(scores).size < N_ROWS / 2  # or ties would not be tried


def test_each_alert_has_its_reasons_and_its_probability(ranker):
    table = payments()
    alerts = top_alerts(ranker, parts(table, [100]), 10, n_reasons=2)
    found = reasons_for_list(ranker, table.take(alerts.row_numbers - 1), 2)
    assert alerts.reasons == [row.reasons for row in found]
    assert alerts.less_suspicious == [row.less_suspicious for row in found]
    assert alerts.probability == approx(ranker.probability(table)[alerts.row_numbers - 1])
    assert alerts.expected.value == approx(alerts.probability.sum())


def test_without_times_the_range_is_wider_for_rows_unlike_those_learned_from():
    generator = np.random.default_rng(3)
    features = generator.normal(size=(4000, 2))
    labels = features[:, 0] + generator.normal(size=4000) > 2
    table = pa.table({"amount": features[:, 0], "hour": features[:, 1]})
    ranker = BoostedRanker(n_estimators=8, n_jobs=1).fit(table, labels)
    suspicion = ranker.suspicion(table)
    usual = UsualRows.of(["amount", "hour"], features, features, suspicion, None)

    def listed(rows):
        watch = ShiftWatch(usual, ["amount", "hour"])
        return top_alerts(ranker, [rows], 50, watch=watch), watch.shifted()

    alike, not_shifted = listed(table.slice(0, 1000))
    later = table.slice(0, 1000).set_column(1, "hour", pa.array(features[:1000, 1] + 5))
    unlike, shifted = listed(later)

    assert not_shifted == {}
    assert alike.expected == ranker.calibration_.expected_positives(alike.suspicion)
    assert "hour" in shifted
    counted = ranker.calibration_.expected_positives(unlike.suspicion)
    assert unlike.expected.low < counted.low
    assert unlike.expected.high > counted.high


def test_fewer_rows_than_the_budget_are_all_listed(ranker):
    alerts = top_alerts(ranker, [payments(5)], 100)
    assert sorted(alerts.row_numbers) == [1, 2, 3, 4, 5]
    assert alerts.expected.high <= 5


def test_the_table_has_rank_row_suspicion_probability_and_reasons_first(ranker):
    alerts = top_alerts(ranker, [payments()], 3)
    listed = alerts.to_table()
    assert listed.column_names == [
        *("rank", "row", "suspicion", "probability", "reasons", "less_suspicious"),
        *("card", "amount", "country"),
    ]
    assert listed["rank"].to_pylist() == [1, 2, 3]
    assert listed["row"].to_pylist() == alerts.row_numbers.tolist()
    assert listed["reasons"][0].as_py() == " | ".join(map(str, alerts.reasons[0]))
    assert "; usual " in listed["reasons"][0].as_py()


def test_columns_named_like_ours_are_kept_under_a_free_name(ranker):
    table = payments(20)
    for name in ("rank", "data_rank", "data_data_rank", "suspicion"):
        table = table.append_column(name, [[f"own {name}"] * 20])
    listed = top_alerts(ranker, [table], 4).to_table()
    assert listed["rank"].to_pylist() == [1, 2, 3, 4]
    assert listed["data_rank"][0].as_py() == "own data_rank"
    assert listed["data_data_rank"][0].as_py() == "own data_data_rank"
    assert listed["data_data_data_rank"][0].as_py() == "own rank"
    assert listed["data_suspicion"][0].as_py() == "own suspicion"
    assert listed.num_columns == 6 + table.num_columns


@pytest.mark.parametrize(
    "odd",
    [
        pa.nulls(50),
        pa.array([7] * 50, pa.int32()),
        pa.array([7.5] * 50),
        pa.array([None] * 50, pa.float64()),
    ],
    ids=lambda values: str(values.type),
)
def test_a_column_may_change_its_kind_of_number_or_be_missing_in_a_batch(ranker, odd):
    table = payments()
    whole = table.append_column("points", [np.arange(N_ROWS)])
    batches = [
        whole.slice(0, 250),
        table.slice(250).append_column("points", [odd]),
    ]
    alerts = top_alerts(ranker, batches, N_ROWS)
    for number, points in zip(alerts.row_numbers, alerts.rows["points"].to_pylist(), strict=True):
        assert points == (number - 1 if number <= 250 else odd[number - 251].as_py())


def test_a_scored_column_may_be_empty_in_a_batch_but_not_absent(ranker):
    table = payments()
    emptied = table.slice(200).set_column(2, "country", [pa.nulls(100)])
    alerts = top_alerts(ranker, [table.slice(0, 200), emptied], 50)
    assert alerts.suspicion[0] == max(
        ranker.suspicion(table.slice(0, 200)).max(), ranker.suspicion(emptied).max()
    )
    with pytest.raises(TableError, match="column 'country' is not in the table"):
        top_alerts(ranker, [table.slice(0, 200), table.drop_columns(["country"])], 5)


def test_a_column_only_some_batches_have_is_missing_in_the_others(ranker):
    table = payments()
    noted = table.slice(0, 10).append_column("note", [["seen"] * 10])
    alerts = top_alerts(ranker, [noted, table.slice(10)], N_ROWS)
    notes = dict(zip(alerts.row_numbers.tolist(), alerts.rows["note"].to_pylist(), strict=True))
    assert all(notes[number] == ("seen" if number <= 10 else None) for number in notes)


def test_numbers_and_text_in_one_column_are_refused_by_name(ranker):
    table = payments()
    numbers = table.slice(0, 9).append_column("note", [range(9)])
    texts = table.slice(9, 9).append_column("note", [["x"] * 9])
    with pytest.raises(TableError, match=r"one type of values in all batches; .*Field note has"):
        top_alerts(ranker, [numbers, texts], 50)


def test_batches_without_rows_are_passed_over(ranker):
    table = payments()
    batches = [table.slice(0, 0), table.slice(0, 100), table.slice(0, 0), table.slice(100)]
    expected = top_alerts(ranker, [table], 7)
    assert np.array_equal(top_alerts(ranker, batches, 7).row_numbers, expected.row_numbers)


@pytest.mark.parametrize("batches", [[], [payments().slice(0, 0)]], ids=["none", "empty"])
def test_no_rows_at_all_are_refused(ranker, batches):
    with pytest.raises(ValueError, match="there are no rows to rank"):
        top_alerts(ranker, batches, 5)


def test_a_budget_of_nothing_is_refused_before_any_batch_is_read(ranker):
    def never():
        raise AssertionError("a batch was read")
        yield

    with pytest.raises(ValueError, match="budget must be at least 1; got 0"):
        top_alerts(ranker, never(), 0)
    with pytest.raises(ValueError, match="n_reasons must be at least 0; got -1"):
        top_alerts(ranker, never(), 5, n_reasons=-1)


def test_a_column_that_is_gone_is_warned_of():
    generator = np.random.default_rng(0)
    table = pa.table({"amount": generator.normal(size=300), "hour": generator.normal(size=300)})
    ranker = BoostedRanker(n_estimators=5, n_jobs=1).fit(table, generator.random(300) < 0.1)
    gone = table.set_column(0, "amount", pa.nulls(300, pa.float64()))
    with pytest.warns(TableWarning, match="column 'amount' is missing or new in every listed row"):
        top_alerts(ranker, [gone], 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        top_alerts(ranker, [table], 10)


# Without labels


@pytest.fixture(scope="module")
def forest():
    return AnomalyForest(n_estimators=20).fit(payments().select(["amount", "country"]))


@pytest.fixture(scope="module")
def tree():
    return AnomalyTreeRank().fit(payments().select(["amount", "country"]))


def test_a_detector_lists_without_probabilities(forest):
    alerts = top_alerts(forest, parts(payments(), [100]), 10)

    assert alerts.probability is None
    assert alerts.expected is None
    assert alerts.rules is None
    assert alerts.to_table().column_names[:5] == ["rank", "row", "suspicion", "reasons", "card"]


@pytest.mark.parametrize("budget", [1, 17, N_ROWS + 50])
def test_the_rows_learned_from_are_listed_as_if_they_were_scored_again(forest, tree, budget):
    for detector in (forest, tree):
        again = top_alerts(detector, [payments()], budget)
        alerts = most_unusual(detector, payments(), budget)

        assert alerts.row_numbers.tolist() == again.row_numbers.tolist()
        assert alerts.suspicion == approx(again.suspicion)
        assert alerts.to_table().equals(again.to_table())
        assert alerts.n_seen == N_ROWS


def test_a_tree_adds_the_rule_of_each_row(tree):
    alerts = most_unusual(tree, payments(), 4)

    assert alerts.rules == rules_of_rows(tree, alerts.rows)
    assert alerts.to_table()["rule"].to_pylist() == alerts.rules


def test_another_table_than_the_one_learned_from_is_refused(forest):
    with pytest.raises(ValueError, match="300 rows that the detector learned from; it has 299"):
        most_unusual(forest, payments(299), 5)


@examples(30)
@given(st.lists(st.integers(0, N_ROWS), max_size=4).map(sorted), st.integers(1, 40))
def test_one_row_of_each_card_is_listed_its_most_suspicious_whatever_the_batches(
    ranker, borders, budget
):
    table = payments()
    cards = np.array([f"card-{i % 23}" for i in range(N_ROWS)])
    table = table.set_column(0, "card", pa.array(cards))
    alerts = top_alerts(ranker, parts(table, borders), budget, n_reasons=0, one_per="card")
    falling = np.argsort(-ranker.suspicion(table), kind="stable")
    _, first = np.unique(cards[falling], return_index=True)
    assert (alerts.row_numbers - 1).tolist() == falling[np.sort(first)][:budget].tolist()


@examples(20)
@given(st.lists(st.integers(0, N_ROWS), max_size=4).map(sorted), st.booleans())
def test_rows_are_scored_as_read_and_listed_as_written(ranker, borders, is_one_per_card):
    table = payments()
    written = pa.table({"card": table["card"], "amount": table["amount"].cast(pa.string())})
    batches = map(WrittenBatch, parts(table, borders), parts(written, borders))
    one_per = "card" if is_one_per_card else None
    alerts = top_alerts(ranker, batches, 20, one_per=one_per)
    expected = top_alerts(ranker, [table], 20, one_per=one_per)
    assert np.array_equal(alerts.row_numbers, expected.row_numbers)
    assert alerts.reasons == expected.reasons
    assert alerts.rows.equals(written.take(expected.row_numbers - 1).combine_chunks())


@pytest.mark.parametrize("is_encoded", [False, True])
def test_rows_scored_before_are_listed_as_if_they_were_scored_again(ranker, is_encoded):
    table, expected = payments(), top_alerts(ranker, [payments()], 15)
    encoded = Encoded(ranker.schema_.encode(table)) if is_encoded else None
    alerts = top_of_scored(ranker, table, ranker.suspicion(table), 15, encoded=encoded)
    assert np.array_equal(alerts.row_numbers, expected.row_numbers)
    assert np.array_equal(alerts.probability, expected.probability)
    assert alerts.reasons == expected.reasons
    assert alerts.rows.to_pylist() == expected.rows.to_pylist()
    assert (alerts.expected, alerts.n_seen) == (expected.expected, N_ROWS)


def test_every_row_is_encoded_once(ranker, monkeypatch):
    n_encoded = []
    encode = Schema.encode
    monkeypatch.setattr(
        Schema, "encode", lambda self, X: n_encoded.append(X.num_rows) or encode(self, X)
    )
    top_alerts(ranker, parts(payments(), [100, 200]), 20)
    assert n_encoded == [100, 100, 100]


def with_cards(n_cards=23):
    table = payments()
    cards = [None if i % 31 == 0 else f"{i % n_cards:03d}" for i in range(N_ROWS)]
    return table.set_column(0, "card", pa.array(cards)), np.array(cards, dtype=object)


@examples(20)
@given(
    st.lists(st.integers(0, N_ROWS), max_size=4).map(sorted),
    st.sets(st.integers(0, 25).map(lambda card: f"{card:03d}"), min_size=1),
)
def test_cards_left_out_are_not_listed_and_others_take_their_place(ranker, borders, left_out):
    table, cards = with_cards()
    alerts = top_alerts(
        ranker, parts(table, borders), 9, n_reasons=0, one_per="card", left_out=left_out
    )
    is_in = np.array([card not in left_out for card in cards])
    rest = table.filter(pa.array(is_in))
    expected = top_alerts(ranker, [rest], 9, n_reasons=0, one_per="card")
    assert (
        alerts.row_numbers.tolist()
        == (np.flatnonzero(is_in)[expected.row_numbers - 1] + 1).tolist()
    )
    assert alerts.suspicion.tolist() == expected.suspicion.tolist()
    assert alerts.n_left_out == np.count_nonzero(~is_in)
    assert alerts.n_seen == N_ROWS


def test_numbers_are_left_out_by_their_digits(ranker):
    table, _ = with_cards()
    numbers = table.set_column(0, "card", pa.array(np.arange(N_ROWS) % 3))
    alerts = top_alerts(ranker, [numbers], 5, one_per="card", left_out={"0", "2"})
    assert alerts.rows["card"].to_pylist() == [1]


def test_all_rows_left_out_give_an_empty_list(ranker):
    table, _ = with_cards(2)
    rows = table.filter(pa.array([card is not None for card in table["card"].to_pylist()]))
    alerts = top_alerts(ranker, [rows], 5, one_per="card", left_out={"000", "001"})
    assert (alerts.n_seen, alerts.n_left_out) == (rows.num_rows, rows.num_rows)
    assert alerts.reasons == []
    assert alerts.expected is None
    listed = alerts.to_table(for_verdicts=True)
    assert listed.num_rows == 0
    assert listed.column_names[:6] == [
        *("rank", "row", "suspicion", "probability", "reasons", "verdict")
    ]


def test_a_column_for_verdicts_is_empty_and_one_of_the_data_keeps_its_values(ranker):
    table = payments().append_column("verdict", pa.array(["old"] * N_ROWS))
    alerts = top_alerts(ranker, [table], 3)
    assert alerts.to_table()["verdict"].to_pylist() == ["old"] * 3
    for_verdicts = alerts.to_table(for_verdicts=True)
    assert for_verdicts["verdict"].to_pylist() == [None] * 3
    assert for_verdicts["data_verdict"].to_pylist() == ["old"] * 3


def test_cleared_cards_have_a_column_where_there_are_any(ranker):
    alerts = top_alerts(ranker, [payments()], 3)
    assert "cleared" not in alerts.to_table().column_names
    never = np.full(3, np.datetime64("NaT", "us"))
    assert "cleared" not in replace(alerts, cleared=never).to_table().column_names
    some = never.copy()
    some[1] = np.datetime64("2025-03-01T00:00:00", "us")
    column = replace(alerts, cleared=some).to_table()["cleared"].to_pylist()
    assert column == [None, some[1].item(), None]
