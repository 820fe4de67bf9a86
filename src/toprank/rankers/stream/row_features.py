"""From rows of a stream to the features that trees take.

A column with numbers has a feature, a column with texts another one, whose values are the codes of
its most frequent texts. All other texts, and cells of the other kind, are missing there. So no
text is ever unknown, and a column may have both kinds.
"""

from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from toprank.files.state import stored_vector
from toprank.rankers.online.stream_columns import MOST_COLUMNS, EncodedEvent
from toprank.rankers.stream.reservoir import StoredRows

_MOST_TEXTS = 254  # per column; bins of the trees' histograms are as many
_LARGEST = float(np.finfo(np.float32).max)


class RowFeatures(NamedTuple):
    """The features of a set of trees: which cells they read, and the codes of texts.

    `code_row` is -1 for numbers; `codes` has a row for each feature of texts and a place for each
    bucket, -1 where a bucket has no code.
    """

    column: NDArray[np.int32]
    code_row: NDArray[np.int32]
    codes: NDArray[np.int16]

    @classmethod
    def of(cls, rows: StoredRows, n_buckets: int) -> Self:
        """Return the features of rows to learn from."""
        column, code_row = [], []
        codes: list[NDArray[np.int16]] = []
        for place in range(rows.values.shape[1]):
            if not np.isnan(rows.values[:, place]).all():
                column.append(place)
                code_row.append(-1)
            buckets = rows.buckets[:, place]
            if (buckets >= 0).any():
                column.append(place)
                code_row.append(len(codes))
                codes.append(_codes_of(buckets[buckets >= 0], n_buckets))
        return cls(
            np.array(column, dtype=np.int32),
            np.array(code_row, dtype=np.int32),
            np.array(codes, dtype=np.int16).reshape(-1, n_buckets),
        )

    @property
    def types(self) -> list[str]:
        """Return the type of each feature as XGBoost names it: "q" or "c"."""
        return ["q" if row < 0 else "c" for row in self.code_row.tolist()]

    def of_rows(self, rows: EncodedEvent | StoredRows) -> NDArray[np.float32]:
        """Return the features of rows; columns that they do not have are missing."""
        features = np.empty((len(rows.values), self.column.size), dtype=np.float32)
        _fill(rows.values, rows.buckets, *self, features)
        return features

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray], n_columns: int, n_buckets: int) -> Self:
        """Return the features in arrays of a file; raises ValueError if they are invalid."""
        column = stored_vector(arrays, "column", np.int32)
        code_row = stored_vector(arrays, "code_row", np.int32, column.size)
        codes = arrays["codes"]
        if column.size > 2 * MOST_COLUMNS or ((column < 0) | (column >= n_columns)).any():
            raise ValueError(f"column must be between 0 and {n_columns - 1}.")
        n_texts = np.count_nonzero(code_row >= 0)
        if codes.dtype != np.int16 or codes.shape != (n_texts, n_buckets):
            raise ValueError(f"codes must be int16 of {n_texts} rows and {n_buckets} columns.")
        if not np.array_equal(code_row[code_row >= 0], np.arange(n_texts)):
            raise ValueError("code_row must count the features of texts from 0 on.")
        if codes.min(initial=-1) < -1 or codes.max(initial=-1) >= _MOST_TEXTS:
            raise ValueError(f"codes must be between -1 and {_MOST_TEXTS - 1}.")
        return cls(column, np.maximum(code_row, -1), np.ascontiguousarray(codes))


def _codes_of(buckets: NDArray[np.int16], n_buckets: int) -> NDArray[np.int16]:
    """Return the code of each bucket, -1 for those that do not occur or are too many."""
    counts = np.bincount(buckets, minlength=n_buckets)
    by_count = np.argsort(-counts, kind="stable")[:_MOST_TEXTS]
    known = by_count[counts[by_count] > 0]
    codes = np.full(n_buckets, -1, dtype=np.int16)
    codes[known] = np.arange(known.size)
    return codes


@njit(cache=True, nogil=True)
def _fill(values, buckets, column, code_row, codes, features):
    n_columns = values.shape[1]
    for i in range(features.shape[0]):
        for j in range(column.size):
            cell = column[j]
            features[i, j] = np.nan
            if cell >= n_columns:
                continue
            if code_row[j] < 0:
                value = values[i, cell]
                if value > _LARGEST:
                    value = _LARGEST
                elif value < -_LARGEST:
                    value = -_LARGEST
                features[i, j] = value
            elif buckets[i, cell] >= 0:
                code = codes[code_row[j], buckets[i, cell]]
                if code >= 0:
                    features[i, j] = code
