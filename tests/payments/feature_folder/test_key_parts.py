"""Keys are split into parts by their text, and into as many as the memory asks for."""

import numpy as np
import pyarrow as pa

from payments.feature_folder.folder_payments import SETTINGS
from toprank.payments.feature_folder.key_parts import (
    DayRows,
    key_groups,
    own_features,
    part_numbers,
    with_parts,
)


def days_of(n_days, n_rows):
    """Return days with so many rows each."""
    first = np.datetime64("2018-04-01", "D")
    return [DayRows(first + day, n_rows) for day in range(n_days)]


def test_equal_ids_are_in_the_same_part_however_they_are_written():
    written = [pa.array([7, 11, 7]), pa.array([7.0, 11.0, 7.0]), pa.array(["7", "11", "7"])]
    parts = [part_numbers(pa.chunked_array([each]), "card", 50).tolist() for each in written]
    assert parts[0] == parts[1] == parts[2]


def test_missing_keys_are_in_the_first_part_and_parts_are_of_about_equal_size():
    cards = pa.chunked_array([[None, *(f"card-{i}" for i in range(9_000))]])
    parts = part_numbers(cards, "card", 9)
    assert parts[0] == 0
    assert np.bincount(parts).min() > 850


def test_every_feature_is_in_one_group_or_of_the_row_itself():
    history = SETTINGS.history()
    groups = key_groups(history)
    features = [each for group in groups for each in group.features]
    assert sorted(each.name for each in (*features, *own_features(history))) == sorted(
        history.names
    )


def test_parts_follow_the_rows_of_the_windows_and_the_memory():
    history = SETTINGS.history()
    groups = key_groups(history)

    def n_parts(days, gigabytes):
        return {
            group.column: group.n_parts for group in with_parts(groups, days, history, gigabytes)
        }

    assert set(n_parts(days_of(60, 1_000), 4.0).values()) == {1}
    a_month, half_a_year = days_of(60, 680_000), days_of(180, 680_000)
    assert n_parts(a_month, 8.0)["card"] < n_parts(a_month, 4.0)["card"]
    # terminals need their windows alone; pairs of card and terminal are kept beyond
    assert n_parts(a_month, 4.0)["terminal"] == n_parts(half_a_year, 4.0)["terminal"]
    assert n_parts(a_month, 4.0)["card"] < n_parts(half_a_year, 4.0)["card"]
