"""Buckets are split into train, validation and test as rows are on one machine."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from toprank import splits
from toprank.cluster import bucket_split
from toprank.cluster.bucket_split import BucketCounts


@examples(100)
@given(
    st.dictionaries(st.integers(0, 60), st.integers(1, 9), min_size=2, max_size=40),
    st.none() | st.floats(0, 20).map(lambda days: round(days * 4) / 4),
)
def test_days_are_split_as_on_one_machine(rows_of_day, gap_days):
    days = np.array(sorted(rows_of_day))
    assume(days[-1] - days[0] >= 20)  # shorter spans are split within days on one machine
    n_rows = np.array([rows_of_day[day] for day in days])
    counts = BucketCounts(days, n_rows, n_rows)
    gap = None if gap_days is None else np.timedelta64(round(gap_days * 86_400), "s")
    whole_gap = bucket_split._gap_days(days, gap) * splits.DAY

    time = np.repeat(days, n_rows).astype("datetime64[D]").astype("datetime64[us]")
    try:
        expected = splits.chronological(time, gap=whole_gap)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error).split(":")[0]):
            bucket_split._split(days, n_rows, int(whole_gap / splits.DAY))
        return
    parts = bucket_split._split(days, n_rows, int(whole_gap / splits.DAY))
    for part, rows in expected.parts().items():
        assert counts.inside(parts[part]).size == rows.size
        assert bucket_split.period(parts[part])[0] == expected.periods[part][0]
    if gap is not None:
        assert gap <= whole_gap < gap + splits.DAY


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 200), st.integers(0, 9)
)
def test_as_many_whole_lots_are_scored_as_the_limit_allows(n_rows, limit, seed):
    buckets = np.arange(len(n_rows)) * 3
    counts = BucketCounts(buckets, np.array(n_rows), np.array(n_rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bucket_split, "_MOST_SCORED", limit)
        chosen = bucket_split._sample(buckets, counts, np.random.default_rng(seed))

    assert set(chosen) <= set(buckets)
    n_scored = counts.inside(chosen).size
    assert n_scored <= limit or chosen.size == 1
    if sum(n_rows) <= limit:
        assert chosen.size == buckets.size
