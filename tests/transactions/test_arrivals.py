"""The times of a file's rows beside those that a history remembers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toprank.transactions.arrivals import Arrivals

BATCHES = st.lists(st.lists(st.integers(0, 9), min_size=1), min_size=1)


def moments(days):
    return np.datetime64("2025-03-01", "us") + np.array(days) * np.timedelta64(1, "D")


@given(BATCHES, st.integers(0, 9))
def test_batch_by_batch_gives_what_all_times_at_once_do(batches, until):
    arrivals = Arrivals(moments([until])[0])
    for batch in batches:
        arrivals.see(moments(batch))
    days = [day for batch in batches for day in batch]
    n_old = sum(day <= until for day in days)
    assert (arrivals.n_rows, arrivals.n_old) == (len(days), n_old)
    assert arrivals.days_between == min(batches[0]) - until
    assert arrivals.is_in_order == all(
        min(batch) >= max(day for before in batches[:i] for day in before)
        for i, batch in enumerate(batches)
        if i
    )
    if 2 * n_old > len(days):
        with pytest.raises(ValueError, match=rf"today.csv must have rows after .*; {n_old} of"):
            arrivals.check_new("today.csv")
    else:
        arrivals.check_new("today.csv")


def test_a_history_without_rows_takes_any():
    arrivals = Arrivals(None)
    arrivals.see(moments([3, 1]))
    arrivals.check_new("today.csv")
    assert (arrivals.n_old, arrivals.days_between) == (0, None)
