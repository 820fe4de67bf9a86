import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import rankings
from toprank.metrics import Ranking


@given(rankings())
def test_a_ranking_counts_the_rows_at_and_above_each_distinct_suspicion(sample):
    is_positive, suspicion = sample
    ranking = Ranking.of(is_positive, suspicion)

    assert ranking.threshold.tolist() == sorted(set(suspicion), reverse=True)
    for threshold, found, checked in zip(
        ranking.threshold, ranking.found, ranking.checked, strict=True
    ):
        assert checked == np.sum(suspicion >= threshold)
        assert found == np.sum(is_positive & (suspicion >= threshold))


@given(rankings(), st.integers(-4, 4))
def test_merging_keeps_the_rows_in_at_most_two_groups_per_positive_and_two_more(sample, border):
    is_positive, suspicion = sample
    ranking = Ranking.of(is_positive, suspicion)
    merged, with_border = ranking.merged(), ranking.merged(border)

    assert merged.threshold.size <= 2 * is_positive.sum() + 1
    assert with_border.threshold.size <= merged.threshold.size + 1
    for each in (merged, with_border):
        group = each.group_of(suspicion)
        assert np.array_equal(
            np.bincount(group[is_positive], minlength=group.max() + 1), each.n_positive
        )
        assert np.array_equal(
            np.bincount(group[~is_positive], minlength=group.max() + 1), each.n_negative
        )
    assert np.array_equal(
        with_border.threshold[with_border.group_of(suspicion)] >= border, suspicion >= border
    )


@pytest.mark.parametrize("labels", [[1, 0, 1], [1, -1, 1], [True, False, True]])
def test_labels_may_be_bool_or_01_or_minus1_and_1(labels):
    assert Ranking.of(labels, [3, 2, 1]).n_positive.tolist() == [1, 0, 1]
