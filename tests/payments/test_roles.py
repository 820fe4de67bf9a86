"""Payments with the features of their past as further columns."""

import numpy as np
import pyarrow as pa
import pytest

from toprank.data.tables import TableError
from toprank.payments.features import FirstTime, LabelRisk, Recent, SinceLast, Value
from toprank.payments.features.kinds import key_columns, number_columns
from toprank.payments.roles import Roles, new_history, rows_of, with_columns

ROLES = Roles("at", "card", "shop", "amount")
COUNTS = (Value("amount"), Recent("count", "card", "1d"))


def with_features(history, table, classes):
    """The table with the features of its rows as further columns; the rows are remembered."""
    return with_columns(table, history.batch(rows_of(history, table, classes)))


def payments(**changed):
    columns = {
        "at": ["2025-03-01 10:00", "2025-03-01 11:00", "2025-03-12 09:00"],
        "card": ["A", "A", "B"],
        "shop": ["S", "S", "S"],
        "amount": [10.0, 20.0, 30.0],
        "country": ["FR", "FR", "DE"],
        "is_fraud": ["yes", "no", "no"],
    }
    return pa.table(columns | changed)


def test_features_come_after_the_columns_which_do_not_change():
    history = new_history(ROLES, "is_fraud", features=COUNTS)
    table = with_features(history, payments(), ("yes", "no"))
    assert table.column_names == [*payments().column_names, "card_count_1d"]
    assert table.select(payments().column_names).equals(payments())
    assert table["card_count_1d"].to_pylist() == [1, 2, 1]


def test_labels_count_from_the_delay_on_whatever_they_are_called():
    history = new_history(ROLES, "is_fraud", delay="7d")
    table = with_features(history, payments(), ("yes", "no"))
    assert table["shop_risk_30d_delay_7d"].to_pylist() == [0, 0, 0.5]
    other = with_features(new_history(ROLES, "is_fraud"), payments(), ("no", "yes"))
    assert other["shop_risk_30d_delay_7d"].to_pylist() == [0, 0, 0.5]


def test_a_part_with_one_class_only_is_learned_from():
    history = new_history(ROLES, "is_fraud")
    with_features(history, payments().slice(0, 1), ("yes", "no"))
    later = with_features(history, payments().slice(2), ("yes", "no"))
    assert later["shop_risk_30d_delay_7d"].to_pylist() == [1]


def test_rows_without_the_label_column_have_features_too():
    history = new_history(ROLES, "is_fraud")
    table = with_features(history, payments().drop_columns(["is_fraud"]), ("yes", "no"))
    assert table["card_count_1h"].to_pylist() == [1, 1, 1]


@pytest.mark.parametrize("empty", ["", "NA", None])
def test_a_missing_card_is_no_card(empty):
    history = new_history(ROLES, "is_fraud", features=COUNTS)
    table = with_features(history, payments(card=["A", empty, empty]), ("yes", "no"))
    assert table["card_count_1d"].to_pylist() == [1, None, None]


def test_a_column_with_the_name_of_a_feature_is_refused():
    history = new_history(ROLES, "is_fraud", features=COUNTS)
    with pytest.raises(TableError, match="it has 'card_count_1d'; rename or drop it"):
        with_features(history, payments(card_count_1d=[0, 0, 0]), ("yes", "no"))


def test_one_column_cannot_have_two_roles():
    with pytest.raises(ValueError, match="a column of its own; got at, card, card, amount"):
        new_history(ROLES._replace(terminal="card"), "is_fraud")


def test_keys_and_numbers_are_distinguished():
    features = [
        FirstTime(("card", "shop")),
        SinceLast("card"),
        Recent("distinct", "card", "1d", of="country"),
        Recent("sum", "card", "1d", of="amount"),
        Recent("count", "device", "1d"),
        Value("hour"),
    ]
    assert key_columns(features) == ["card", "shop", "country", "device"]
    assert number_columns(features) == ["amount", "hour"]


@pytest.mark.parametrize("empty", ["", "NA"])
def test_an_empty_category_is_no_card_either(empty):
    history = new_history(ROLES, "is_fraud", features=COUNTS)
    cards = pa.array(["A", empty, empty]).dictionary_encode()
    table = with_features(history, payments(card=cards), ("yes", "no"))
    assert table["card_count_1d"].to_pylist() == [1, None, None]


@pytest.mark.parametrize(
    "feature",
    [
        Recent("sum", "shop", "30d", of="is_fraud"),
        Recent("distinct", "shop", "30d", of="is_fraud"),
        Value("is_fraud"),
        SinceLast(("card", "is_fraud")),
    ],
)
def test_a_feature_that_would_contain_a_rows_own_label_is_refused(feature):
    with pytest.raises(ValueError, match="must not use the label 'is_fraud'"):
        new_history(ROLES, "is_fraud", features=[feature])


def test_a_delay_shorter_than_labels_take_is_refused():
    feature = LabelRisk("share", "shop", "30d", delay="1s")
    with pytest.raises(ValueError, match="must have a delay of at least '14d'"):
        new_history(ROLES, "is_fraud", delay="14d", features=[feature])


def test_labels_of_another_kind_are_refused():
    with pytest.raises(TableError, match="must hold 1 and 0"):
        with_features(new_history(ROLES, "is_fraud"), payments(), (1, 0))


def test_a_table_in_parts_gives_what_it_gives_whole():
    generator = np.random.default_rng(0)
    n_rows = 400
    table = pa.table(
        {
            "at": np.sort(generator.integers(0, 40 * 86_400, n_rows)),
            "card": generator.integers(0, 9, n_rows).astype(str),
            "shop": generator.integers(0, 5, n_rows).astype(str),
            "amount": generator.gamma(2.0, 20.0, n_rows),
            "is_fraud": generator.random(n_rows) < 0.1,
        }
    )
    whole = with_features(new_history(ROLES, "is_fraud"), table, (True, False))
    history = new_history(ROLES, "is_fraud")
    parts = [
        with_features(history, table.slice(i, 37), (True, False)) for i in range(0, n_rows, 37)
    ]
    assert pa.concat_tables(parts).combine_chunks().equals(whole.combine_chunks())
