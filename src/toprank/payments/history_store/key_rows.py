"""The remembered rows of a few keys, such as listed cards, out of very many."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toprank.data.tables.ids import id_texts
from toprank.payments.features import cells

_NO_TIME = int(np.iinfo(np.int64).min)


def rows_of_keys(
    rows: pa.Table, column: str, texts: Sequence[str], time: str, since: Any = None
) -> pa.Table:
    """Return the rows whose key is one of these texts, from a moment on.

    >>> rows = pa.table({"card": [7, 8, 7], "at": ["2025-03-01", "2025-03-02", "2025-03-03"]})
    >>> rows_of_keys(rows, "card", ["7"], "at", since="2025-03-02").to_pydict()
    {'card': [7], 'at': ['2025-03-03']}
    """
    if column not in rows.column_names:
        return rows.slice(0, 0)
    found = rows.filter(_is_among(rows[column], column, texts))
    if since is None or not found.num_rows:
        return found
    moments = cells.instants_or(found[time], time, _NO_TIME)
    return found.filter(pa.array(moments >= cells.instant(since, "since")))


def rows_in_file(
    path: Path, column: str, texts: Sequence[str], time: str, since: Any = None
) -> pa.Table:
    """Return the rows of a Parquet file whose key is one of these texts, group by group."""
    file = pq.ParquetFile(path)
    empty = file.schema_arrow.empty_table()
    if column not in empty.column_names:
        return empty
    found = [empty]
    for group in range(file.num_row_groups):
        keys = file.read_row_group(group, columns=[column])[column]
        is_among = _is_among(keys, column, texts)
        if pc.any(is_among).as_py():
            found.append(file.read_row_group(group).filter(is_among))
    return rows_of_keys(pa.concat_tables(found), column, texts, time, since)


def _is_among(keys: pa.ChunkedArray, column: str, texts: Sequence[str]) -> pa.Array:
    ids = id_texts(keys, column)
    return pc.is_in(ids, pa.array(list(texts), ids.type))
