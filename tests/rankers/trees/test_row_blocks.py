"""Rows in blocks: every row in one, in order."""

import numpy as np
import pytest

from toprank.rankers.trees.row_blocks import row_blocks


@pytest.mark.parametrize("n_rows", [0, 1, 4096, 4097, 10_000])
def test_every_row_is_in_one_block_in_order(n_rows):
    rows = np.arange(n_rows)
    parts = [rows[block] for block in row_blocks(n_rows)]
    assert [row for part in parts for row in part] == rows.tolist()
    assert all(0 < part.size <= 4096 for part in parts)
