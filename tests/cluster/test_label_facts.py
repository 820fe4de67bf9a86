"""The labels of a table in partitions are those of the whole."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank.cluster.label_facts import ClassCounts, classes_of, facts_of_labels
from toprank.data import inputs

PARTS = st.lists(st.lists(st.sampled_from(["fraud", "usual"]), max_size=6), min_size=1, max_size=4)


@examples(100)
@given(PARTS, st.sampled_from([None, "fraud", "usual"]))
def test_the_classes_of_the_partitions_are_those_of_the_whole(parts, positive_label):
    facts = [facts_of(part) for part in parts]
    whole = np.array([label for part in parts for label in part])
    if np.unique(whole).size < 2:
        with pytest.raises(ValueError, match=r"X must have|y must hold"):
            classes_of(facts, positive_label)
        return
    expected = inputs.read_labels(whole, positive_label)
    classes, positive = classes_of(facts, positive_label)
    counts = ClassCounts.of(facts, positive)

    assert classes.tolist() == expected.classes.tolist()
    assert positive == expected.positive
    assert counts.n_rows.tolist() == [len(part) for part in parts]
    assert counts.positives.tolist() == [part.count(positive) for part in parts]
    assert counts.with_rows().n_rows.tolist() == [len(part) for part in parts if part]


def facts_of(part):
    return facts_of_labels(pd.DataFrame(index=range(len(part))), pd.Series(part, dtype=str), None)
