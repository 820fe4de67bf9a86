"""Tables in time: what is labelled, pending and later, and what may be known when."""

import numpy as np
import pyarrow as pa
import pytest

from toprank.simulator import Simulation, tables_by_day
from toprank_bench.in_time.named_tables import TABLES
from toprank_bench.in_time.time_tables import (
    LABEL,
    LabelledFile,
    cards_table,
    plain_table,
    two_files_table,
)
from toprank_bench.reading import find_experiment

ROLES = {"time": "paid_at", "card": "card", "terminal": "terminal", "amount": "amount"}


@pytest.fixture(scope="module")
def payments():
    simulation = Simulation(n_cards=40, n_terminals=20, n_days=40, random_state=3)
    rows = pa.concat_tables(list(tables_by_day(simulation)))
    return rows.rename_columns([*rows.column_names[:-1], LABEL])


def plain(n_rows=100, rows_per_day=7):
    x = np.arange(float(n_rows))
    moments = np.datetime64("2025-01-01", "us") + np.arange(n_rows) * np.timedelta64(
        86_400 // rows_per_day, "s"
    )
    return plain_table(pa.table({"x": x}), x % 5 == 0, moments, 3)


def test_later_rows_are_the_last_days_and_a_day_is_whole():
    table = plain()
    assert table.n_labelled == table.first_later
    assert 0.6 < table.n_labelled / 100 < 0.8
    assert table.day[table.n_labelled - 1] < table.day[table.n_labelled]
    days = table.later_days()
    assert [day.start for day in days[1:]] == [day.stop for day in days[:-1]]
    assert (days[0].start, days[-1].stop) == (table.first_later, 100)
    assert all(len(set(table.day[day])) == 1 for day in days)


def test_settings_are_judged_by_the_latest_labelled_rows():
    table = plain()
    earlier, judged = table.earlier_and_judged(0)
    assert earlier.max() < judged.min() and judged.max() == table.n_labelled - 1


def test_other_methods_get_neither_the_time_nor_the_label_nor_who_paid(payments):
    assert plain().features.column_names == ["x"]
    names = cards_table(payments, ROLES, 5).features.column_names
    assert not {*names} & {"paid_at", "card", "terminal", LABEL} and "amount" in names


def test_the_last_seven_days_before_the_later_rows_have_no_labels_yet(payments):
    table = cards_table(payments, ROLES, 5)
    assert table.day[table.first_later] - table.day[table.n_labelled] == 7


def test_features_know_no_label_of_the_seven_days_before(payments):
    table = cards_table(payments, ROLES, 5)
    is_recent = table.day >= table.day[-1] - 6
    other = pa.array(table.is_positive ^ is_recent)
    changed = payments.set_column(payments.column_names.index(LABEL), LABEL, other)
    assert cards_table(changed, ROLES, 5).features.equals(table.features)


def test_a_later_file_is_cut_into_lists_of_equal_size_and_its_columns_are_matched():
    train = LabelledFile(pa.table({"a": [1, 2], "b": [0.5, 1.5]}), np.array([True, False]), None)
    features = pa.table({"b": np.arange(60) / 2, "a": np.arange(60)})
    test = LabelledFile(features, np.arange(60) % 2 == 0, None)
    table = two_files_table(train, test, 1)
    assert [day.stop - day.start for day in table.later_days()] == [2] * 30
    assert table.features.column_names == ["a", "b"]
    assert table.features["a"].to_pylist()[2:] == list(range(60))


def test_without_times_the_judged_rows_are_drawn_with_both_classes():
    y = np.arange(100) % 10 == 0
    file = LabelledFile(pa.table({"a": np.arange(100)}), y, None)
    earlier, judged = two_files_table(file, file, 1).earlier_and_judged(0)
    assert judged.size == 15 and 1 <= y[judged].sum() <= 2
    assert sorted([*earlier, *judged]) == list(range(100))


def test_the_experiment_has_every_table():
    assert find_experiment("in-time").data == tuple(TABLES)
