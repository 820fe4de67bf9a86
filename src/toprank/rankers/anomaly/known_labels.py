"""Labels of some rows: a column that is empty where nobody has looked."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.data.tables import TableError
from toprank.data.tables.columns import shortened
from toprank.data.tables.labels import rows_by_value

_ANOMALY = ("1", "1.0", "yes", "true")
_ORDINARY = ("0", "0.0", "no", "false")


def known_labels(table: Any, label: str) -> NDArray[np.float64]:
    """Return 1 for rows known to be anomalies, 0 for those known not to be, NaN for all others.

    Unlike a training label, one of the two may be absent, and a value is not taken for an anomaly
    because it is rarer: the rows that people look at are not a random sample.

    >>> import pyarrow as pa
    >>> known_labels(pa.table({"checked": ["yes", None, "No"]}), "checked").tolist()
    [1.0, nan, 0.0]
    """
    rows = rows_by_value(table, label)
    n_rows = sum(map(len, rows.values()))
    known = np.full(len(table), np.nan)
    for value, numbers in rows.items():
        word = str(value).lower()
        if word not in (*_ANOMALY, *_ORDINARY):
            raise TableError(
                f"label column {label!r} must contain 1 or yes for anomalies, 0 or no for other "
                f"rows, and nothing where that is not known; got {shortened(value)} in "
                f"{len(numbers):,} of {n_rows:,} rows."
            )
        known[numbers] = word in _ANOMALY
    return known
