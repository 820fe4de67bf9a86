"""Buckets drawn at random."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank.cluster.buckets import SplitColumns, buckets_of
from toprank.data.tables.labels import rows_by_value


@examples(50)
@given(
    st.lists(st.sampled_from(["usual", "usual", "fraud", None]), min_size=1, max_size=300),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_drawn_buckets_have_their_share_of_every_label(labels, seed, number):
    part = pa.table({"y": pa.array(labels, pa.string())})
    rows = rows_by_value(part, "y")
    drawn = [
        buckets_of(SizedTable(part), number, SplitColumns("y", None, seed), rows) for _ in range(2)
    ]

    np.testing.assert_array_equal(*drawn)
    for value, each in rows.items():
        assert each.size == labels.count(value)
        for share in (0.25, 0.6):
            below = np.count_nonzero(drawn[0][each] < 1000 * share)
            assert abs(below - share * each.size) <= 1


class SizedTable(SimpleNamespace):
    """A table with the length that a pandas partition has."""

    def __init__(self, table):
        super().__init__(table=table)

    def __len__(self):
        return self.table.num_rows
