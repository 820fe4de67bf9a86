"""Lists of later days: what the model is given, and what counts as found."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa

from toprank_bench.in_time.daily_lists import DailyList, daily_lists
from toprank_bench.in_time.time_tables import LABEL, TimeTable


class FirstRows:
    """A model that lists the first rows of a day and expects half of them to be positive."""

    def __init__(self):
        self.given = []

    def remember(self, rows):
        self.given.append(("remember", rows))

    def rank(self, rows, k, *, n_reasons, remember):
        self.given.append(("rank and remember" if remember else "rank", rows))
        listed = np.arange(1, min(k, rows.num_rows) + 1)
        return SimpleNamespace(row_numbers=listed, expected=(k / 2, 0.0, 1.0))


def table(roles):
    rows = pa.table({"x": range(8), LABEL: [False, True, False, True, True, False, True, True]})
    return TimeTable(rows, roles, rows, np.array([0, 0, 1, 1, 2, 2, 2, 3]), 2, 4, 2)


def test_without_cards_no_label_is_given_and_nothing_is_remembered():
    model = FirstRows()
    lists = daily_lists(model, table({"time": "t"}))
    assert lists == [DailyList(1, 0, 1, found=1), DailyList(1, 0, 1, found=1)]
    assert [each.is_covered for each in lists] == [True, True]
    assert [(what, rows["x"].to_pylist()) for what, rows in model.given] == [
        ("rank", [4, 5, 6]),
        ("rank", [7]),
    ]
    assert all(rows.column_names == ["x"] for _, rows in model.given)


def test_with_cards_pending_days_are_remembered_before_the_lists_and_each_day_after_its_list():
    model = FirstRows()
    daily_lists(model, table({"time": "t", "card": "c"}))
    assert [(what, rows["x"].to_pylist()) for what, rows in model.given] == [
        ("remember", [2, 3]),
        ("rank and remember", [4, 5, 6]),
        ("rank and remember", [7]),
    ]
