"""Rows in blocks, so that intermediate results take little memory."""

_ROWS_AT_ONCE = 4096


def row_blocks(n_rows: int) -> list[slice]:
    """Return the rows in blocks small enough for 40 float64 columns to fit into the cache.

    >>> row_blocks(5000)
    [slice(0, 4096, None), slice(4096, 8192, None)]
    """
    return [slice(begin, begin + _ROWS_AT_ONCE) for begin in range(0, n_rows, _ROWS_AT_ONCE)]
