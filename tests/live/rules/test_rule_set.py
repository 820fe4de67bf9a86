from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import polars as pl
import pytest

from toprank.live.rules.rule_fields import RuleFields
from toprank.live.rules.rule_language import parse
from toprank.live.rules.rule_rows import RuleRows, typed_columns
from toprank.live.rules.rule_set import ActiveRule, RuleSet

FIELDS = RuleFields(
    {
        "amount": "number", "country": "text", "online": "boolean", "at": "time",
        "card_count_1h": "number", "card_sum_1h": "number",
    }
)  # fmt: skip
FEATURES = ["card_count_1h", "unused", "card_sum_1h"]


def rule(name, text, kind="block", state="live"):
    return ActiveRule(name, 1, state, parse(text, FIELDS, kind))


def frame_of(payments, features, only=None):
    rows = RuleRows(FEATURES, FIELDS, only)
    return rows.frame(rows.records(payments, features))


def one_row(payment, features=(1.0, 2.0, 3.0), only=None):
    return frame_of([payment], np.array([features]), only).row(0, named=True)


def test_each_row_gets_the_rules_that_it_matches_in_their_order():
    rules = RuleSet(
        [
            rule("all", "TRUE"),
            rule("large", "amount > 500", state="shadow"),
            rule("often", "card_count_1h > 3", kind="alert"),
        ]
    )
    payments = [{"amount": 900}, {"amount": 1}, {}]
    features = np.array([[5.0, 0, 0], [5.0, 0, 0], [np.nan, 0, 0]])
    found = rules.matches(frame_of(payments, features, rules.names))
    assert [[each.name for each in row] for row in found] == [
        ["all", "large", "often"], ["all", "often"], ["all"],
    ]  # fmt: skip
    assert found[0][1][1:] == (1, "block", "shadow")
    assert [each.name for each in rules.of_kind("alert").rules] == ["often"]


@pytest.mark.parametrize("n_rows", [0, 1, 3])
@pytest.mark.parametrize("texts", [[], ["TRUE"], ["TRUE", "amount > 1"]])
def test_there_is_one_list_per_row(texts, n_rows):
    rules = RuleSet([rule(str(place), text) for place, text in enumerate(texts)])
    frame = frame_of([{}] * n_rows, np.zeros((n_rows, 3)))
    assert [len(row) for row in rules.matches(frame)] == [min(len(texts), 1)] * n_rows


@pytest.mark.parametrize("only", [None, {"amount", "card_sum_1h"}, set()])
@pytest.mark.parametrize("n_rows", [1, 40])
def test_a_table_of_many_payments_is_the_frame_of_their_records(only, n_rows):
    values = [5, True, "5", np.nan, 1e200, -1e200, None, "FR", 0, 1, "2025-03-01", 10**6, 2.5]
    random = np.random.default_rng(n_rows)
    payments = [
        {
            name: values[random.integers(len(values))]
            for name in FIELDS.types
            if random.random() < 0.8
        }
        for _ in range(n_rows)
    ]
    numbers = random.choice([1.0, -0.0, np.nan, np.inf, -np.inf, 1e100, -1e100, 1e99], (n_rows, 3))
    rows = RuleRows(FEATURES, FIELDS, only)
    expected, found = rows.frame(rows.records(payments, numbers)), rows.table(payments, numbers)
    assert found.height == expected.height == n_rows
    assert dict(found.schema) == dict(expected.schema)
    assert found.to_dict(as_series=False) == expected.to_dict(as_series=False)


NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("amount", 5, 5.0),
        ("amount", True, None),
        ("amount", "5", None),
        ("amount", float("nan"), None),
        ("amount", 1e200, None),
        ("amount", 10**400, None),
        ("amount", [1], None),
        ("country", "FR", "FR"),
        ("country", 5411, "5411"),
        ("country", 1.5, None),
        ("country", True, None),
        ("online", True, True),
        ("online", 0, False),
        ("online", 2, None),
        ("online", "yes", None),
        ("at", NOON, NOON),
        ("at", NOON.replace(tzinfo=None), NOON),
        ("at", NOON.astimezone(timezone(timedelta(hours=2))), NOON),
        ("at", "2025-03-01T12:00:00", NOON),
        ("at", "2025-03-01T13:00:00+01:00", NOON),
        ("at", int(NOON.timestamp()) * 1_000_000, NOON),
        ("at", 10**30, None),
        ("at", "noon", None),
    ],
)
def test_values_of_another_type_are_missing(name, value, expected):
    assert one_row({name: value})[name] == expected


def test_undefined_and_huge_features_are_missing():
    row = one_row({}, (np.nan, 1.0, np.inf))
    assert row["card_count_1h"] is None and row["card_sum_1h"] is None


def test_a_frame_can_have_only_the_columns_that_rules_use():
    assert list(one_row({"amount": 1}, only={"amount", "card_sum_1h"})) == [
        "amount",
        "card_sum_1h",
    ]


def test_a_stored_table_gives_the_values_that_payments_do():
    payments = [
        {"amount": 1.5, "country": "FR", "online": True, "at": NOON},
        {"amount": np.nan, "country": None, "online": False, "at": None},
        {"amount": 1e200, "country": "DE", "online": None, "at": NOON},
    ]
    features = np.array([[1.0, 0, np.inf], [np.nan, 0, 2], [3, 0, 4]])
    live = frame_of(payments, features)
    stored = pl.DataFrame(payments).with_columns(pl.from_numpy(features, FEATURES))
    assert stored.select(typed_columns(FIELDS, live.columns)).rows() == live.rows()
    local = stored.with_columns(pl.col("at").dt.convert_time_zone("Europe/Paris"))
    assert local.select(typed_columns(FIELDS, live.columns)).rows() == live.rows()
    naive = stored.with_columns(pl.col("at").dt.replace_time_zone(None))
    assert naive.select(typed_columns(FIELDS, live.columns)).rows() == live.rows()
