import itertools
import json
import math
import os
import zipfile
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toprank
from examples import examples
from payments.features.slow_history import (
    EVERY_KIND,
    PAIR,
    SECOND,
    START,
    SlowHistory,
    assert_same,
)
from toprank.data.tables import TableError
from toprank.files import ModelFileError, archive
from toprank.payments.features import (
    FirstTime,
    History,
    KnownPositives,
    LabelRisk,
    Night,
    Recent,
    SinceLast,
    ToUsual,
    Value,
    Weekend,
    as_json,
    default_features,
    from_json,
    handbook_features,
)

pytestmark = pytest.mark.kernel

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") != "1"


def timestamps(values):
    start = int(START.astype(np.int64))
    since = pa.array([None if value is None else start + value for value in values], pa.int64())
    return since.cast(pa.timestamp("us"))


def table_of(rows):
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return pa.table(
        {
            "time": timestamps(columns["time"]),
            "card": pa.array(columns["card"], pa.string()),
            "terminal": pa.array(columns["terminal"], pa.int64()),
            "amount": pa.array(columns["amount"], pa.float64()),
            "label": pa.array(columns["label"], pa.bool_()),
            "known_at": timestamps(columns["known_at"]),
        }
    )


def as_given(row):
    """A row as `one` takes it."""
    moments = {
        name: None if row[name] is None else (START + np.timedelta64(row[name], "us")).item()
        for name in ("time", "known_at")
    }
    return row | moments


def fresh(features=EVERY_KIND, **options):
    return History(features, **{"label": "label", "known_at": "known_at"} | options)


def answers(history, **row):
    return list(history.one(row).values())


def features_at(rows, which):
    """The features of some rows, all of which come in one table."""
    found = fresh().batch(table_of(rows)).to_pylist() if rows else []
    return [found[i] for i in which]


def some_rows(least=1, most=12):
    """Rows rich in ties, copies and missing cells, in any order."""
    whole_seconds = st.integers(0, 40).map(lambda second: second * SECOND)
    row = st.fixed_dictionaries(
        {
            "time": whole_seconds,
            "card": st.sampled_from(["A", "B", None]),
            "terminal": st.sampled_from([1, 2, 3, None]),
            "amount": st.sampled_from([None, 0.0, 0.1, 1.0, 7.3, 900.0]),
            "label": st.sampled_from([None, False, True]),
            "known_at": st.one_of(st.none(), whole_seconds),
        }
    )
    return st.lists(row, min_size=least, max_size=most)


def random_rows(n_rows, seed, n_cards=300, n_terminals=500, late=0.05):
    """Rows in order of arrival: a share of them late, many at the moment of another, copies.

    Halfway the clock is put back, by a tenth of the whole time, and later put forward again.
    """
    random = np.random.default_rng(seed)
    time = np.sort(random.integers(0, n_rows // 3, n_rows)) * SECOND
    time[n_rows // 2 : n_rows * 3 // 4] -= n_rows // 30 * SECOND
    is_late = random.random(n_rows) < late
    time[is_late] = np.maximum(time[is_late] - random.integers(1, 90, is_late.sum()) * SECOND, 0)
    card = random.integers(n_cards, size=n_rows)
    terminal = random.integers(n_terminals, size=n_rows)
    amount = random.gamma(1.0, 50.0, n_rows).round(2)
    label, is_labelled = random.random(n_rows) < 0.1, random.random(n_rows) < 0.7
    known_at = time + random.integers(0, 60, n_rows) * SECOND
    card = np.where(card > 0, np.char.add("c", card.astype(str)), None)
    columns = {
        "time": time,
        "card": card,
        "terminal": np.where(terminal > 0, terminal.astype(object), None),
        "amount": np.where(random.random(n_rows) < 0.98, amount.astype(object), None),
        "label": np.where(is_labelled, label.astype(object), None),
        "known_at": np.where(random.random(n_rows) < 0.5, known_at.astype(object), None),
    }
    cells = zip(*(column.tolist() for column in columns.values()), strict=True)
    rows = [dict(zip(columns, row, strict=True)) for row in cells]
    for i in random.integers(1, n_rows, n_rows // 50):
        rows[i] = dict(rows[i - 1])
    return rows


# What features are


@examples(80)
@given(st.lists(some_rows(), min_size=1, max_size=4))
def test_tables_give_what_looking_at_every_row_gives(batches):
    history, slow = fresh(), SlowHistory(EVERY_KIND)
    for rows in batches:
        assert_same(history.batch(table_of(rows)).to_pylist(), slow.batch(rows))


@examples(60)
@given(some_rows(most=25))
def test_rows_one_by_one_give_what_looking_at_every_row_gives(rows):
    history, slow = fresh(), SlowHistory(EVERY_KIND)
    for row in rows:
        assert_same([history.one(as_given(row))], [slow.one(row)])


# every kind of window on one key, so that 100,000 rows one by one take seconds
ON_CARDS = (
    *(
        each
        for each in EVERY_KIND
        if getattr(each, "key", "card") == "card"
        and not isinstance(each, KnownPositives | LabelRisk)
    ),
    Recent("count", "card", "10s", until="4s"),
)


@pytest.mark.parametrize(
    ("features", "n_rows"),
    [
        (ON_CARDS, 5_000),
        (EVERY_KIND, 3_000),
        pytest.param(ON_CARDS, 100_000, marks=pytest.mark.slow),
    ],
)
def test_tables_and_single_rows_give_the_same_to_the_last_bit(features, n_rows):
    n_rows = n_rows if IS_COMPILED else n_rows // 50
    table = table_of(random_rows(n_rows, seed=5))
    rows, time = table.to_pylist(), table["time"].to_numpy()
    by_table, by_row = fresh(features), fresh(features)
    cuts = np.unique(np.random.default_rng(6).integers(1, n_rows, 30)).tolist()
    for begin, end in zip([0, *cuts], [*cuts, n_rows], strict=True):
        found = by_table.batch(table.slice(begin, end - begin))
        wanted = np.column_stack([column.to_numpy() for column in found.columns])
        got = np.empty_like(wanted)
        for i in np.argsort(time[begin:end], kind="stable").tolist():
            got[i] = list(by_row.one(rows[begin + i]).values())
        np.testing.assert_array_equal(got, wanted)


def test_the_random_rows_contain_all_special_cases_of_times():
    rows = random_rows(100_000, seed=5)
    time = np.array([row["time"] for row in rows])
    steps = np.diff(time)
    assert (steps == 0).mean() > 0.2  # ties
    assert (steps < 0).mean() > 0.04  # late rows
    assert steps.min() < -3000 * SECOND  # the clock put back
    assert steps.max() > 3000 * SECOND  # and forward
    assert sum(a == b for a, b in itertools.pairwise(rows)) > 1000  # copies


def handbook_by_rolling(payments):
    """The Handbook's windows the pandas way, rows in order of time."""
    by_row = {}
    for key in ("card", "terminal"):
        for _, rows in payments.groupby(key):
            rows = rows.set_index("time")
            for days in (1, 7, 30):
                if key == "card":
                    amounts = rows["amount"].rolling(f"{days}D")
                    found = {"card_count": amounts.count(), "card_mean_amount": amounts.mean()}
                else:
                    labels = rows["label"].astype(float)
                    late, all_of = labels.rolling("7D"), labels.rolling(f"{days + 7}D")
                    count = all_of.count() - late.count()
                    share = ((all_of.sum() - late.sum()).round() / count).fillna(0)
                    found = {"terminal_count": count, "terminal_risk": share}
                for name, values in found.items():
                    for row, value in zip(rows["row"], values, strict=True):
                        by_row.setdefault((name, days), {})[row] = value
    return {
        name: np.array([values[row] for row in range(len(payments))])
        for name, values in by_row.items()
    }


def test_the_handbooks_features_are_what_pandas_rolling_gives():
    random = np.random.default_rng(0)
    n_rows = 2_000
    seconds = np.sort(random.integers(0, 60 * 86_400, n_rows))
    payments = pd.DataFrame(
        {
            "row": np.arange(n_rows),
            "time": pd.Timestamp("2018-04-01") + pd.to_timedelta(seconds, unit="s"),
            "card": random.integers(20, size=n_rows),
            "terminal": random.integers(30, size=n_rows),
            "amount": random.gamma(1, 50, n_rows).round(2),
            "label": random.random(n_rows) < 0.1,
        }
    )
    wanted = handbook_by_rolling(payments)
    features = History(handbook_features(), label="label").batch(payments).to_pandas()

    np.testing.assert_array_equal(features["weekend"], payments["time"].dt.day_of_week >= 5)
    np.testing.assert_array_equal(features["night_0_7"], payments["time"].dt.hour <= 6)
    for days in (1, 7, 30):
        for name, end in (
            ("card_count", ""),
            ("card_mean_amount", ""),
            ("terminal_count", "_until_7d"),
            ("terminal_risk", "_delay_7d"),
        ):
            got = features[f"{name}_{days}d{end}"].to_numpy()
            np.testing.assert_allclose(got, wanted[name, days], rtol=1e-9, atol=1e-12)


def test_windows_with_the_row_and_before_it_differ_at_both_ends():
    features = [
        Recent("count", "card", "10s"),
        Recent("count", "card", "10s", until="before"),
        Recent("count", "card", "10s", until="10s"),
    ]
    history = History(features)
    table = pa.table({"time": [0, 10, 10, 20], "card": ["A"] * 4})
    assert [list(row.values()) for row in history.batch(table).to_pylist()] == [
        [1, 0, 0],
        [1, 1, 1],
        [2, 1, 1],
        [1, 2, 2],
    ]


def test_sums_do_not_drift_on_long_streams():
    n_rows = 200_000 if IS_COMPILED else 3_000
    amounts = np.tile([0.1, 1e9, 0.1, -1e9, 0.3], n_rows // 5)
    table = pa.table({"time": np.arange(n_rows), "card": np.zeros(n_rows, int), "amount": amounts})
    history = History([Recent("sum", "card", "3s", of="amount")])
    got = history.batch(table)[0].to_numpy()
    wanted = [math.fsum(amounts[max(i - 2, 0) : i + 1]) for i in range(n_rows)]
    np.testing.assert_array_equal(got, wanted)


def test_a_mean_of_equal_amounts_is_that_amount():
    n_rows = 50_000 if IS_COMPILED else 2_000
    table = pa.table(
        {"time": np.arange(n_rows), "card": ["A"] * n_rows, "amount": np.full(n_rows, 0.1)}
    )
    features = [Recent("mean", "card", "1h", of="amount"), ToUsual("card", "amount")]
    out = History(features).batch(table)
    np.testing.assert_allclose(out[0].to_numpy(), 0.1, rtol=3e-16)
    np.testing.assert_allclose(out[1].to_numpy()[1:], 1.0, rtol=3e-16)


# Nothing looks ahead


@examples(100)
@given(some_rows(least=2), some_rows(least=2), st.integers(0, 40), st.data())
def test_what_comes_after_a_moment_changes_no_feature_at_or_before_it(rows, others, second, data):
    moment = second * SECOND
    changed = [
        other if row["time"] > moment and other["time"] > moment else row
        for row, other in zip(rows, others, strict=False)
    ] + rows[len(others) :]
    changed += [row for row in others if row["time"] > moment]
    # and a verdict that is not known yet may be another, or none
    changed = [
        row | {"label": data.draw(st.sampled_from([None, False, True]))}
        if row["known_at"] is not None and row["known_at"] > moment
        else row
        for row in changed
    ]
    kept = [i for i, row in enumerate(rows) if row["time"] <= moment]
    if data.draw(st.booleans()):
        changed = [row for row in changed if row["time"] <= moment]
        kept_there = list(range(len(changed)))
    else:
        kept_there = [i for i, row in enumerate(changed) if row["time"] <= moment]
    before = features_at(rows, kept)
    after = features_at(changed, kept_there)
    assert_same(after, before, exactly=True)


@examples(60)
@given(some_rows(), st.integers(0, 40), st.data())
def test_a_label_not_known_at_a_moment_changes_no_feature_at_or_before_it(rows, second, data):
    moment, delay = second * SECOND, 2 * SECOND  # the shortest delay of EVERY_KIND
    changed = [
        row | {"label": data.draw(st.sampled_from([None, False, True]))}
        if max(row["known_at"] or 0, row["time"] + delay) > moment
        else row
        for row in rows
    ]
    kept = [i for i, row in enumerate(rows) if row["time"] <= moment]
    assert_same(features_at(changed, kept), features_at(rows, kept), exactly=True)


def test_a_rows_own_label_is_never_known_to_it():
    features = [LabelRisk("count", "card", "1d", "0s")]
    history = fresh(features)
    row = {"time": 100, "card": "A", "label": True, "known_at": 100}
    assert list(history.one(row).values()) == [0.0]
    assert list(history.one(row).values()) == [0.0]  # nor at the same moment
    assert list(history.one(row | {"time": 101}).values()) == [2.0]


def test_known_positives_count_from_the_moment_they_are_known_and_no_sooner():
    features = [KnownPositives("shop", "1h", "7d"), KnownPositives("shop", None, "7d")]
    history = History(features, row_id="id", counts_silence=True)
    at = {"card": "A", "shop": "S"}
    for place, second in enumerate((0, 10, 20)):
        assert answers(history, time=second, id=place, **at) == [0.0, 0.0]
    history.label([0, 1, 2], [True, True, False], known_at=[100, 200, 100])
    assert answers(history, time=99, **at) == [0.0, 0.0]
    assert answers(history, time=100, **at) == [1.0, 1.0]
    assert answers(history, time=200, **at) == [2.0, 2.0]
    assert answers(history, time=3700, **at) == [1.0, 2.0]  # the first was known an hour ago
    history.label(1, True, known_at=5000)  # what is known already begins no window again
    assert answers(history, time=5000, **at) == [0.0, 2.0]
    history.label(0, False, known_at=6000, source="investigator")
    assert answers(history, time=5999, **at) == [0.0, 2.0]
    assert answers(history, time=6000, **at) == [0.0, 1.0]


def test_positives_without_a_time_are_known_after_the_delay_and_negatives_take_no_memory():
    history = History([KnownPositives("shop", None, "1h")], label="label", counts_silence=True)
    rows = {"time": range(100), "shop": ["S"] * 100, "label": [False] * 99 + [True]}
    history.batch(pa.table(rows))
    assert answers(history, time=3698, shop="S") == [0.0]
    assert answers(history, time=3699, shop="S") == [1.0]
    assert history.n_remembered == 1


# Late rows and labels, odd cells


def test_a_late_row_sees_its_own_past_and_is_seen_by_rows_after_it():
    features = [Recent("count", "card", "1h"), SinceLast("card"), FirstTime("card")]
    history = History(features)
    counts = [answers(history, time=t, card="A") for t in (100, 300, 200, 400)]
    np.testing.assert_array_equal(
        counts, [[1, math.nan, 1], [2, 200, 0], [2, 100, 0], [4, 100, 0]]
    )


def test_local_times_that_jump_back_are_late_rows_and_zones_are_instants():
    features = [SinceLast("card")]
    local = ["2025-10-26 02:30:00", "2025-10-26 02:10:00"]  # 40 minutes later, clocks put back
    naive, aware = History(features), History(features)
    times = zip(local, ("+02:00", "+01:00"), strict=True)
    by_local = [naive.one({"time": t, "card": 1})["card_seconds_since_last"] for t in local]
    zoned = [t + zone for t, zone in times]
    by_zone = [aware.one({"time": t, "card": 1})["card_seconds_since_last"] for t in zoned]
    assert np.isnan(by_local).all()
    assert by_zone[1] == 2400.0
    table = pa.table({"time": zoned, "card": [1, 1]})
    assert History(features).batch(table)[0].to_pylist() == [None, 2400.0]


def test_times_of_every_kind_are_the_same_instant():
    when = datetime(2025, 3, 1, 23, 30, tzinfo=UTC)
    given_as = [
        when,
        when.replace(tzinfo=None),
        when.isoformat(),
        when.astimezone(tz=datetime.strptime("+0530", "%z").tzinfo),
        np.datetime64("2025-03-01T23:30"),
        pd.Timestamp(when),
        when.timestamp(),
    ]
    history = History([SinceLast("card"), Night(22, 6), Weekend()])
    got = [answers(history, time=t, card="A") for t in given_as]
    assert got[1:] == [[0.0, 1.0, 1.0]] * (len(given_as) - 1)


def test_a_number_and_its_digits_are_one_key():
    history = History([Recent("count", ("card", "terminal"), "1d")])
    keys = [
        (7, "x"),
        ("7", "x"),
        (7.0, "x"),
        (np.int16(7), "x"),
        ("7x", ""),
        (None, "x"),
    ]  # an empty key is missing, too
    got = [answers(history, time=0, card=a, terminal=b)[0] for a, b in keys]
    np.testing.assert_array_equal(got, [1, 2, 3, 4, math.nan, math.nan])
    table = pd.DataFrame({"time": [0, 0], "card": [7.0, None], "terminal": ["x", "x"]})
    assert history.batch(table)[0].to_pylist() == [5.0, None]


@examples(40)
@given(some_rows(), some_rows())
def test_labels_that_come_by_id_count_as_those_that_come_with_their_rows(rows, more):
    together, apart = fresh(), fresh(row_id="id")
    table = table_of(rows)
    together.batch(table)
    ids = pa.array([f"p{i}" for i in range(len(rows))])
    apart.batch(table.drop_columns(["label", "known_at"]).append_column("id", ids))
    for i, row in enumerate(as_given(row) for row in rows):
        if row["label"] is not None:
            assert apart.label(f"p{i}", row["label"], row["known_at"]).n_new == 1
    assert_same(
        apart.batch(table_of(more)).to_pylist(),
        together.batch(table_of(more)).to_pylist(),
        exactly=True,
    )


def test_labels_come_many_at_once_and_are_counted_by_what_became_of_them():
    history = History([LabelRisk("share", "card", "1d", "1h")], label="label", row_id="id")
    history.batch(pa.table({"time": [0, 0, 0], "card": ["A"] * 3, "id": [1, 2, 3]}))
    assert history.label([1, 2, 9], [True, False, True])[:5] == (2, 0, 0, 1, (2,))
    assert history.label("1", True)[:5] == (0, 0, 1, 0, ())
    assert answers(history, time=3600, card="A") == [0.5]
    known_at = np.array(["1970-01-01T02:00"], dtype="datetime64[s]")
    assert history.label([3], [False], known_at=known_at).n_new == 1
    assert answers(history, time=7199, card="A") == [0.5]
    assert answers(history, time=7200, card="A") == [1 / 3]


def test_more_keys_than_fit_into_two_bytes_are_distinguished():
    n_cards = 70_000 if IS_COMPILED else 66_000
    cards = np.random.default_rng(0).permutation(np.tile(np.arange(n_cards), 2))
    table = pa.table({"time": np.arange(cards.size), "card": cards})
    is_first = History([FirstTime("card")]).batch(table)[0].to_numpy()
    np.testing.assert_array_equal(is_first, ~pd.Series(cards).duplicated())


def test_an_empty_table_gives_no_rows():
    assert fresh().batch(table_of(random_rows(50, 0)).slice(0, 0)).num_rows == 0


# What is kept


@examples(50)
@given(some_rows(most=20), some_rows(most=20), st.integers(0, 40))
def test_a_purge_changes_no_feature_of_rows_from_then_on(rows, more, second):
    whole, purged = fresh(), fresh()
    for history in (whole, purged):
        history.batch(table_of(rows))
    purged.purge(START + np.timedelta64(second, "s"))
    more = [row for row in more if row["time"] >= second * SECOND]
    if more:
        assert_same(
            purged.batch(table_of(more)).to_pylist(),
            whole.batch(table_of(more)).to_pylist(),
            exactly=True,
        )


def test_memory_follows_the_windows_when_purged():
    features = [Recent("max", "card", "1h", of="amount"), Recent("distinct", "card", "1h", of="t")]
    history = History(features)
    kept = []
    for hour in range(30):
        seconds = hour * 3600 + np.arange(0, 3600, 10)
        table = {"time": seconds, "card": seconds % 7, "amount": seconds * 1.0, "t": seconds}
        history.batch(pa.table(table))
        history.purge(float(seconds[-1]))
        kept.append((history.n_remembered, len(history._past.values[0])))
    assert max(kept) == kept[1] == kept[-1]
    assert kept[-1][0] < 400
    (store,) = history._past._rows.values()
    assert store._events.time.size < 4 * 400  # places, among them those left by earlier events


def test_rows_older_than_a_purge_come_too_late_and_are_not_remembered():
    history = History([Value("amount"), Recent("count", "card", "1h")])
    row = {"card": "A", "amount": 3.0}
    history.one(row | {"time": 1000})
    history.purge(500)
    np.testing.assert_array_equal(list(history.one(row | {"time": 499}).values()), [3.0, math.nan])
    assert history.n_too_late == 1
    assert list(history.one(row | {"time": 1001}).values()) == [3.0, 2.0]


def test_until_is_the_time_of_the_latest_row():
    history = History([Recent("count", "card", "1h")])
    assert history.until is None
    history.batch(pa.table({"time": [50, 70, 60], "card": ["A", None, "A"]}))
    assert history.until == np.datetime64(70, "s")
    history.one({"time": 40, "card": "A"})  # late
    assert history.until == np.datetime64(70, "s")
    history.purge(1000)
    history.one({"time": 999, "card": "A"})  # too late
    assert history.until == np.datetime64(70, "s")
    history.one({"time": 1000.5, "card": "A"})
    assert history.until == np.datetime64(1_000_500, "ms")


def test_columns_are_those_without_which_a_table_is_refused():
    history = fresh()
    assert sorted(history.columns) == ["amount", "card", "terminal", "time"]
    table = table_of(random_rows(50, 0))
    history.batch(table.select(history.columns))
    for name in history.columns:
        with pytest.raises(TableError, match=f"column '{name}' is not in the table"):
            history.batch(table.drop_columns([name]))


def test_keys_not_seen_for_long_are_forgotten_and_start_again():
    features = [FirstTime("card"), FirstTime(PAIR), LabelRisk("count", "terminal", "30d", "1s")]
    history = History(features, label="label", row_id="id")
    row = {"card": "old", "terminal": 1}
    history.one(row | {"time": 0, "label": True})
    history.one(row | {"time": 1, "card": "waits", "id": "w"})
    history.one({"time": 900, "card": "new", "terminal": 2, "id": "n"})
    history.purge(1000, forget=500)
    assert history.label(["w", "n"], [True, True]).unknown == (0,)
    assert list(history.one(row | {"time": 1000}).values()) == [1.0, 1.0, 0.0]
    assert answers(history, time=1001, card="new", terminal=2) == [0.0, 0.0, 1.0]


@examples(40)
@given(rows=some_rows(most=20), more=some_rows(), second=st.one_of(st.none(), st.integers(0, 40)))
def test_a_saved_history_continues_as_if_never_interrupted(tmp_path_factory, rows, more, second):
    path = tmp_path_factory.mktemp("saved") / "history.toprank"
    history = fresh(row_id="id")
    ids = pa.array([f"p{i}" for i in range(len(rows))])
    history.batch(table_of(rows).append_column("id", ids))
    if second is not None:
        history.purge(START + np.timedelta64(second, "s"))
    history.save(path)
    loaded = History.load(path)
    assert loaded.features == history.features
    assert loaded.until == history.until
    for each in (history, loaded):
        each.label(ids.to_pylist(), [True] * len(rows))
    assert_same(
        loaded.batch(table_of(more)).to_pylist(),
        history.batch(table_of(more)).to_pylist(),
        exactly=True,
    )
    assert loaded.n_too_late == history.n_too_late


def test_a_history_that_cannot_be_saved_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "history.toprank"
    history = History([FirstTime("card")])
    history.one({"time": 0, "card": "A"})
    history.save(path)
    before = path.read_bytes()

    def stopped(self, target):
        raise OSError("the disk is full")

    monkeypatch.setattr(type(path), "replace", stopped)
    with pytest.raises(OSError, match="disk is full"):
        history.save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["history.toprank"]


@pytest.mark.parametrize("limit_of_zip", [zipfile.ZIP64_LIMIT, 500])
def test_a_history_may_be_larger_than_any_model(tmp_path, monkeypatch, limit_of_zip):
    path = tmp_path / "history.toprank"
    history = fresh()
    history.batch(table_of(random_rows(60, 0)))
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit_of_zip)  # from where on sizes take 64 bits
    for limit in ("_MOST_WRITTEN_BYTES", "_MOST_FILE_BYTES", "_MOST_MEMBER_BYTES"):
        monkeypatch.setattr(archive, limit, 1000)

    history.save(path)

    assert path.stat().st_size > 10_000
    for loaded in (History.load(path), toprank.load(path)):
        assert_same_arrays(loaded, history)


def assert_same_arrays(one, other):
    found, expected = one._to_saved(), other._to_saved()
    assert found.state == expected.state
    assert found.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array, err_msg=name, strict=True)


def test_a_damaged_file_is_refused_with_a_reason(tmp_path):
    path = tmp_path / "history.toprank"
    history = fresh()
    history.batch(table_of(random_rows(60, 0)))
    saved = history._to_saved()
    for name, spoil in (
        ("rows0-time", lambda array: array[::-1].copy()),
        ("rows0-size", lambda array: array + 1),
        ("rows0-codes", lambda array: array + 1000),
        ("rows0-values", lambda array: array * np.inf),
        ("rows0-base_total", lambda array: array + np.nan),
        ("keys0-lengths", lambda array: array - 1),
        ("rows0-purged", lambda array: array - 1),
        ("ids-keys", lambda array: array[1:]),
    ):
        arrays = dict(saved.arrays)
        arrays[name] = spoil(arrays[name])
        with pytest.raises(ValueError):
            History._from_saved(saved.parameters, saved._replace(arrays=arrays))
    history.save(path)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ModelFileError, match=r"history\.toprank cannot be loaded"):
        History.load(path)


# Descriptions and errors


def test_features_go_through_json_unchanged():
    for features in (EVERY_KIND, default_features(), handbook_features()):
        assert from_json(json.loads(json.dumps(as_json(features)))) == tuple(features)
        assert len({feature.name for feature in features}) == len(features)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Recent("count", "card", "7 days"), "window must be a span of time such as '7d'"),
        (lambda: Recent("count", "card", "0d"), "window must be a span longer than 0; got '0d'"),
        (lambda: Recent("median", "card", "1d"), "what must be one of 'count', 'sum'"),
        (lambda: Recent("sum", "card", "1d"), "of must name a column for 'sum'; got None"),
        (lambda: Recent("count", "card", "1d", of="x"), "of must be left out for 'count'"),
        (lambda: Recent("max", "card", None, of="x"), "the memory would have no bound"),
        (lambda: Recent("count", "card", "1d", until="now"), "until must be a span"),
        (lambda: FirstTime(("card", "card")), "key must name each column once"),
        (lambda: LabelRisk("mean", "card", "1d", "7d"), "what must be one of 'count', 'share'"),
        (lambda: Night(3, 25), "stop must be between 0 and 24; got 25"),
        (lambda: History([]), "features must contain at least one"),
        (lambda: History([Weekend(), Weekend()]), "'weekend' comes twice"),
        (lambda: History([LabelRisk("count", "a", "1d", "7d")]), "label must name the column"),
        (lambda: from_json([{"kind": "Moon"}]), "the kind of a feature must be one of Value"),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_described(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"time": None}, "time must be a time"),
        ({"time": "yesterday"}, "time must be an ISO time such as 2018-04-01 10:30:00"),
        ({"time": 1e20}, "time must be a time"),
        ({"amount": "12"}, "amount must be a finite number"),
        ({"amount": math.inf}, "amount must be a finite number"),
        ({"label": 3}, "label must be true or false, or 1 or 0; got 3"),
        ({"card": ["A"]}, "column 'card' must hold text or numbers to be a key"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused_and_leaves_no_trace(changes, message):
    history = fresh()
    row = {"time": 0, "card": "A", "terminal": 1, "amount": 1.0, "label": True, "known_at": 5}
    with pytest.raises(TableError, match=message):
        history.one(row | changes)
    assert history.n_remembered == 0


def test_a_column_that_is_not_there_is_named():
    history = History([Recent("sum", "card", "1d", of="amount")])
    with pytest.raises(TableError, match="column 'amount' is not in the row; did you mean"):
        history.one({"time": 0, "card": "A", "amuont": 1.0})
    with pytest.raises(TableError, match="column 'card' is not in the table"):
        history.batch(pa.table({"time": [0], "amount": [1.0]}))


def test_labels_without_delay_need_the_time_they_were_known():
    history = fresh([LabelRisk("share", "card", "1d", "0s")], row_id="id")
    table = pa.table({"time": [0], "card": ["A"], "label": [True], "id": [1]})
    with pytest.raises(ValueError, match="known_at must say when each label became known"):
        history.batch(table)
    history.batch(table.drop_columns(["label"]))
    with pytest.raises(ValueError, match="known_at must say when each label became known"):
        history.label(1, True)
    assert history.label(1, True, known_at=timedelta(seconds=5) + datetime(1970, 1, 1)).n_new == 1


@pytest.mark.parametrize(
    "at",
    [
        *("20250101", "20250101093000", "1700000000", "1700000000000", "1.5e9"),
        *("2025-01-01 10:00", 1_700_000_000_123, 1_700_000_000.25, 20250101),
    ],
)
def test_a_time_in_text_is_the_same_in_a_table_and_in_a_row(at):
    table, row = (History([SinceLast("card")], time="at") for _ in range(2))
    table.batch(pa.table({"at": [at], "card": ["A"]}))
    row.one({"at": at, "card": "A"})
    assert table.until == row.until


@pytest.mark.parametrize(("row_id", "asked"), [(7.0, 7), ("7", 7), (7, "7"), ("007", "007")])
def test_labels_find_their_rows_by_the_digits_of_the_id_and_never_rows_without_one(row_id, asked):
    features = [LabelRisk("count", "shop", None, "0s")]
    rows = {"at": [0, 1], "shop": ["S", "S"], "tx": [row_id, None]}
    for form in ("table", "rows"):
        history = History(features, time="at", row_id="tx")
        if form == "table":
            history.batch(pa.table(rows))
        else:
            for i in range(2):
                history.one({name: values[i] for name, values in rows.items()})
        assert history.label([asked], [True], known_at=np.datetime64(2, "s")).n_new == 1
        assert history.one({"at": 3, "shop": "S"})["shop_labels_all_delay_0s"] == 1


def test_an_invalid_id_is_reported_with_its_column():
    history = History([LabelRisk("count", "shop", None, "1d")], time="at", row_id="tx")
    with pytest.raises(TableError, match=r"tx must hold ids, text or whole numbers; got 1\.5"):
        history.batch(pa.table({"at": [0], "shop": ["S"], "tx": [1.5]}))
