"""What the rows of a file lack of what a model knows: values at all, or known categories."""

import warnings
from collections import Counter

import numpy as np
import pyarrow as pa

from toprank.data.tables.columns import TableWarning, shortened
from toprank.data.tables.number_formats import MISSING
from toprank.data.tables.schema import Column, Schema
from toprank.data.tables.values import category_counts, finite_numbers


class NewValues:
    """Counts missing and new values in the columns of a schema, batch by batch.

    >>> schema = Schema((Column("country", "category", ("DE", "FR")),))
    >>> watch = NewValues(schema, "today.csv")
    >>> watch.see(pa.table({"country": ["GB", "FR", "GB"]}))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     watch.end()
    >>> print(caught[0].message)
    2 of 3 values of column 'country' in today.csv are new to the model, such as 'GB', and count \
as missing; check that they are written as in the table it was fitted on.
    """

    def __init__(self, schema: Schema | None, source: str) -> None:
        self._columns = () if schema is None else schema.columns
        self._source = source
        self._n_present: Counter[str] = Counter()
        self._new: dict[str, Counter[str]] = {column.name: Counter() for column in self._columns}

    def see(self, batch: pa.Table) -> None:
        """Count the values of the next rows, as they were read."""
        for column in self._columns:
            values = batch[column.name]
            if column.kind == "category":
                self._see_categories(column, values)
            else:
                numbers = finite_numbers(values, column.name)
                self._n_present[column.name] += int(np.count_nonzero(~np.isnan(numbers)))

    def end(self) -> None:
        """Warn of columns without a value, and of those most values of which are new."""
        for column in self._columns:
            n_present, new = self._n_present[column.name], self._new[column.name]
            if not n_present:
                _warn(
                    f"column {column.name!r} in {self._source} has no value in any row; the model "
                    "was fitted on rows that had some, so its scores are not reliable."
                )
            elif 2 * new.total() > n_present:
                ((example, _),) = new.most_common(1)
                _warn(
                    f"{new.total():,} of {n_present:,} values of column {column.name!r} in "
                    f"{self._source} are new to the model, such as {shortened(example)}, and "
                    "count as missing; check that they are written as in the table it was fitted "
                    "on."
                )

    def _see_categories(self, column: Column, values: pa.ChunkedArray) -> None:
        known = set(column.categories)
        for text, count in category_counts(values).items():
            if text in known or text not in MISSING:
                self._n_present[column.name] += count
            if text not in known and text not in MISSING:
                self._new[column.name][text] += count


def _warn(sentence: str) -> None:
    warnings.warn(sentence, TableWarning, stacklevel=3)
