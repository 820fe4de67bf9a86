"""Which keys go through the days together: features by key, and keys by a hash of their text.

All features of a key need the rows of that key alone. Features of several columns, such as a card
at a terminal, go with one of these columns: rows that share both share that one.
"""

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data.tables.spans import DAY
from toprank.payments.features import Feature, History
from toprank.payments.features.key_texts import entries
from toprank.payments.features.kinds import OF_LABELS, columns_of

FORGET = np.timedelta64(400, "D")
"""Keys that were not seen for this long are forgotten, as in the history of a model on disk."""

_EVENT_BYTES, _LABEL_BYTES = 220, 120  # of a payment in the windows: measured, with slack
_PAIR_BYTES = 350  # of a key of several columns, which is kept beyond the windows
_PAIRS_A_ROW = 0.5
_MOST_PARTS = 250
_GIGABYTE = 1e9
_LEAST_SHARE = 0.1  # of the memory: where the rest does not fit, parts are small at least
_OTHER_BYTES = 1.2e9  # the program itself, and one day of rows with their features


class KeyGroup(NamedTuple):
    """Features whose rows are split by the values of one column."""

    column: str
    features: tuple[Feature, ...]
    n_parts: int = 1

    @property
    def part_column(self) -> str:
        """The column of the days that says to which part a row belongs."""
        return f"part of {self.column}"


class DayRows(NamedTuple):
    """A day and the number of its payments."""

    day: np.datetime64
    n_rows: int


def key_groups(history: History) -> list[KeyGroup]:
    """Return the features of keys by the column that splits their rows."""
    by_key: dict[tuple[str, ...], list[Feature]] = {}
    for feature in history.features:
        if key := _columns(feature):
            by_key.setdefault(key, []).append(feature)
    single = [key[0] for key in by_key if len(key) == 1]
    groups: dict[str, list[Feature]] = {column: [] for column in single}
    for key, features in by_key.items():
        column = next((each for each in key if each in groups), key[0])
        groups.setdefault(column, []).extend(features)
    return [KeyGroup(column, tuple(features)) for column, features in groups.items()]


def own_features(history: History) -> tuple[Feature, ...]:
    """Return the features of the row itself, such as whether it is night."""
    return tuple(each for each in history.features if not _columns(each))


def with_parts(
    groups: Sequence[KeyGroup], days: Sequence[DayRows], history: History, gigabytes: float
) -> list[KeyGroup]:
    """Return the groups with so many parts each that one of them fits into this much memory."""
    look_back = history.look_back // DAY + 1
    in_windows = _most_rows(days, int(look_back.astype(int)))
    remembered = _most_rows(days, int((FORGET // DAY).astype(int)))
    room = max(gigabytes * _GIGABYTE - _OTHER_BYTES, _LEAST_SHARE * gigabytes * _GIGABYTE)
    found = []
    for group in groups:
        n_bytes = float(in_windows * _bytes_a_row(group))
        if any(len(_columns(each)) > 1 for each in group.features):
            n_bytes += remembered * _PAIRS_A_ROW * _PAIR_BYTES
        n_parts = int(np.clip(np.ceil(n_bytes / room), 1, _MOST_PARTS))
        found.append(group._replace(n_parts=n_parts))
    return found


def part_numbers(values: pa.ChunkedArray, name: str, n_parts: int) -> NDArray[np.uint8]:
    """Return the part of each row by the text of its key; rows without a key are in the first.

    >>> part_numbers(pa.chunked_array([[7, 8, 7]]), "card", 10).tolist()
    [6, 1, 6]
    """
    places, texts = entries(values, name)
    parts = [
        0 if text is None else zlib.crc32(text.encode("utf-8", "surrogatepass")) % n_parts
        for text in texts
    ]
    return np.array(parts, dtype=np.uint8)[places]


def _columns(feature: Feature) -> tuple[str, ...]:
    """Return the columns of a feature's key; none for a feature of the row itself."""
    key = getattr(feature, "key", None)
    return () if key is None else columns_of(key)


def _bytes_a_row(group: KeyGroup) -> int:
    """Return the memory of a row in the windows of a group: one event per key, one per label."""
    keys = {_columns(each) for each in group.features}
    labels = {_columns(each) for each in group.features if isinstance(each, OF_LABELS)}
    single = [key for key in keys if len(key) == 1]
    return _EVENT_BYTES * len(single) + _LABEL_BYTES * len(labels)


def _most_rows(days: Sequence[DayRows], n_days: int) -> int:
    """Return the most rows in any span of so many days."""
    day = np.array([each.day for each in days]).astype(np.int64)
    total = np.concatenate([[0], np.cumsum([each.n_rows for each in days])])
    first = np.searchsorted(day, day - n_days, side="right")
    return int((total[1:] - total[first]).max(initial=0))
