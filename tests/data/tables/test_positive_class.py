"""Which of two labels is positive: the same answer through every door."""

from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toprank.cluster.label_facts import LabelFacts, classes_of
from toprank.data import inputs
from toprank.data.tables import split_label
from toprank.data.tables.positive_class import (
    named_by_itself,
    positive_of_classes,
    positive_of_table,
)
from toprank.rankers.online.classes import Classes

NAMED = [
    (0, 1), (-1, 1), (0.0, 1.0), (False, True), ("0", "1"), ("no", "yes"), ("N", "Y"), ("f", "t"),
    ("False", "True"), ("genuine", "fraud"), ("ok", "FRAUD"), ("legit", "fraudulent"),
    ("negative", "positive"), ("zero", "yes"),
]  # fmt: skip
UNNAMED = [(1, 2), (0, 5), ("bad", "good"), ("a", "b"), ("yes", "true"), ("c", "t"), ("-1", "0")]


@pytest.mark.parametrize(("negative", "positive"), NAMED, ids=str)
@pytest.mark.parametrize("n_positive", [1, 9])
def test_what_names_itself_is_positive_through_every_door(negative, positive, n_positive):
    values = [negative] * (10 - n_positive) + [positive] * n_positive
    assert (
        named_by_itself([positive, negative]) == named_by_itself([negative, positive]) == positive
    )
    assert positive_of_table(Counter(values)) == positive
    assert split_label(pa.table({"y": values}), "y").positive == positive
    assert inputs.read_labels(np.array(values)).positive == positive
    facts = [
        LabelFacts(*np.unique(np.array(part), return_counts=True)) for part in (values, values[:1])
    ]
    assert classes_of(facts)[1] == positive
    for order in (values, values[::-1]):
        classes = Classes()
        classes.places_of(order)
        assert classes.positive == positive
        assert classes.places[positive] == 1


@pytest.mark.parametrize(("earlier", "later"), UNNAMED, ids=str)
def test_what_says_nothing_is_decided_by_rarity_in_a_table_and_by_order_in_a_fit(earlier, later):
    assert named_by_itself([earlier, later]) is None
    assert positive_of_table({earlier: 3, later: 97}) == earlier
    assert positive_of_table({earlier: 97, later: 3}) == later
    assert positive_of_table({earlier: 5, later: 5}) == max(earlier, later)
    assert positive_of_classes([later, earlier]) == max(earlier, later)
    classes = Classes()
    classes.places_of([earlier, later])
    assert classes.positive is None


@given(st.sampled_from(NAMED + UNNAMED), st.data())
def test_a_fit_never_depends_on_how_many_rows_a_class_has(pair, data):
    counts = [data.draw(st.integers(1, 9)) for _ in pair]
    y = np.repeat(np.array(pair), counts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs.warnings, "warn", lambda *_, **__: None)
        assert inputs.read_labels(y).positive == positive_of_classes(np.unique(y).tolist())


def test_numbers_of_any_type_name_themselves():
    assert named_by_itself([Decimal(0), Decimal(1)]) == 1
    assert named_by_itself([np.float32(1), np.float32(0)]) == 1
    assert named_by_itself([np.True_, np.False_])
    assert named_by_itself(["1.0", "0.0"]) == "1.0"
