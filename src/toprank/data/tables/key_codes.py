"""A column that says whose row each is, such as the card, as whole numbers."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data.tables.columns import check_columns, required_frame
from toprank.data.tables.ids import comparable_ids


def key_codes(table: Any, name: str) -> NDArray[np.int64]:
    """Return a whole number for each row, the same for rows whose value of column `name` is.

    A row without a value shares it with no other. Values are ids as `tables.ids` has them.

    >>> key_codes(pa.table({"card": ["b", None, "a", "b", None]}), "card").tolist()
    [0, 5, 1, 0, 6]
    """
    frame = required_frame(table)
    check_columns([name], frame.names)
    return codes_of(frame.column(name), name)


def codes_of(values: Any, name: str) -> NDArray[np.int64]:
    """Return a whole number for each of these values, as `key_codes` does for a column.

    >>> codes_of(["b", "a", "b"], "groups").tolist()
    [0, 1, 0]
    """
    encoded = comparable_ids(values, name).dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy().copy()
    is_missing = codes < 0
    codes[is_missing] = len(codes) + np.arange(np.count_nonzero(is_missing))
    return codes
