"""Rows that came with an id: their time, their keys and their labels, until they are forgotten.

By its id a row is recognised when it is sent again, and found by labels that come later. About 60
bytes are kept per row, and the id.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from toprank.files.state import stored_vector
from toprank.payments.features.id_table import IdTable, RowIds, enlarged
from toprank.payments.features.row_labels import RowLabel
from toprank.payments.ledger import SOURCES

NO_LABEL = -1
_MOST_BEFORE = 65_535  # the largest of two bytes


class HeldLabels(NamedTuple):
    """The label of each row that holds now; its source is "" where there is none."""

    has_label: NDArray[np.bool_]
    is_positive: NDArray[np.bool_]
    source: NDArray[np.str_]


class _Columns(NamedTuple):
    """What is kept of each row, by its number: the last axis of every array."""

    time: NDArray[np.int64]
    keys: NDArray[np.int32]  # key, row: codes
    n_before: NDArray[np.uint16]  # key, row: rows of its key and moment before it, up to 65,535
    label: NDArray[np.int8]  # source and value of the label that holds in the end
    known: NDArray[np.int64]  # and when that became known


class RememberedRows:
    """The rows by id, numbered in the order they came.

    Most rows have no label or one, which is kept in an array. For the few whose labels were
    corrected, `corrected` contains all labels that hold at some time, including the last one.
    """

    def __init__(self, n_keys: int) -> None:
        self._ids = IdTable()
        self._columns = _Columns(
            np.empty(0, dtype=np.int64),
            np.empty((n_keys, 0), dtype=np.int32),
            np.empty((n_keys, 0), dtype=np.uint16),
            np.empty(0, dtype=np.int8),
            np.empty(0, dtype=np.int64),
        )
        self.corrected: dict[int, list[RowLabel]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def n_bytes(self) -> int:
        """The memory of the rows, without the labels that were corrected."""
        return self._ids.n_bytes + sum(column.nbytes for column in self._columns)

    @property
    def time(self) -> NDArray[np.int64]:
        """The time of each row."""
        return self._columns.time[: len(self)]

    @property
    def keys(self) -> NDArray[np.int32]:
        """The codes of the keys of each row: key, row."""
        return self._columns.keys[:, : len(self)]

    # Rows

    def find(self, ids: RowIds) -> NDArray[np.int64]:
        """Return the number of the row of each id, -1 where there is none."""
        return self._ids.find(ids)

    def enter(
        self,
        ids: RowIds,
        rows: NDArray[np.int64],
        may_add: NDArray[np.bool_],
        time: NDArray[np.int64],
        keys: Sequence[NDArray[np.int64]],
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the number of each row, and whether its id was there when its turn came.

        `rows` are entered in their order, new ones where `may_add` allows it; the number is -1
        where a row has no id or may not be added.
        """
        number, was_there = self._ids.enter(ids, rows, may_add)
        if len(self) > self._columns.time.size:
            grown = [enlarged(column, len(self)) for column in self._columns]
            self._columns = _Columns._make(grown)
        own = self._columns
        _begin_rows(number, was_there, time, own.time, own.n_before, own.label)
        for k, codes in enumerate(keys):
            _fill_codes(number, was_there, codes, own.keys, k)
        return number, was_there

    def set_before(
        self,
        k: int,
        number: NDArray[np.int64],
        which: NDArray[np.int64],
        n_before: NDArray[np.int64],
    ) -> None:
        """Store how many rows of a key came before each of `which` at the same moment."""
        _fill_before(number, which, n_before, self._columns.n_before, k)

    def before(self, k: int, number: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what `set_before` stored."""
        return self._columns.n_before[k, number].astype(np.int64)

    def take_back(self, size: int) -> None:
        """Forget all but the first `size` rows, the others having no corrected labels."""
        self._ids.take_back(size)

    def forget(self, before: int) -> None:
        """Forget rows older than this moment."""
        is_kept = self.time >= before
        if is_kept.all():
            return
        kept = np.flatnonzero(is_kept)
        new_number = np.cumsum(is_kept) - 1
        self._ids.keep(is_kept)
        self._columns = _Columns._make(column[..., kept] for column in self._columns)
        self.corrected = {
            int(new_number[old]): labels for old, labels in self.corrected.items() if is_kept[old]
        }

    def recode(self, k: int, new_code: NDArray[np.int64]) -> None:
        """Give the values of a key their new codes."""
        codes = self.keys[k]
        codes[codes >= 0] = new_code[codes[codes >= 0]]

    # Labels

    def has_label(self, number: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each of these rows has a label."""
        return self._columns.label[number] != NO_LABEL

    def set_first_labels(
        self,
        number: NDArray[np.int64],
        label: NDArray[np.float64],
        known: NDArray[np.int64],
        source: NDArray[np.int64],
    ) -> None:
        """Give rows that have none their label, each row at most once."""
        self._columns.label[number] = 2 * source + label.astype(np.int64)
        self._columns.known[number] = known

    def clear_labels(self, number: NDArray[np.int64]) -> None:
        """Remove the only label of each of these rows."""
        self._columns.label[number] = NO_LABEL

    def held_labels(self, number: NDArray[np.int64]) -> HeldLabels:
        """Return the label that holds for each of these rows; none where the number is -1."""
        code = np.full(number.size, NO_LABEL, dtype=np.int64)
        code[number >= 0] = self._columns.label[number[number >= 0]]
        has_label = code != NO_LABEL
        source = np.where(has_label, code // 2, -1)
        return HeldLabels(has_label, has_label & (code % 2 == 1), np.array([*SOURCES, ""])[source])

    def labels_of(self, number: int) -> list[RowLabel]:
        """Return the labels of a row that hold at some time, in that order."""
        if number in self.corrected:
            return self.corrected[number]
        code = int(self._columns.label[number])
        if code == NO_LABEL:
            return []
        return [RowLabel(int(self._columns.known[number]), code // 2, bool(code % 2))]

    def set_labels(self, number: int, labels: list[RowLabel]) -> None:
        """Store the labels of a row, of which there is at least one."""
        known, source, is_positive = labels[-1]
        self._columns.label[number] = 2 * source + is_positive
        self._columns.known[number] = known
        if len(labels) > 1:
            self.corrected[number] = labels
        else:
            self.corrected.pop(number, None)

    # To and from files

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the rows, for `from_arrays`."""
        kept = {
            name: column[..., : len(self)].copy()
            for name, column in self._columns._asdict().items()
        }
        kept["known"][kept["label"] == NO_LABEL] = 0
        rows = [(number, *each) for number, labels in self.corrected.items() for each in labels]
        corrected = np.array(sorted(rows), dtype=np.int64).reshape(-1, 1 + len(RowLabel._fields))
        return {**self._ids.to_arrays(), **kept, "corrected": corrected}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], n_codes: Sequence[int]) -> Self:
        """Return the rows that `to_arrays` returned; ValueError where they are not valid."""
        rows = cls(len(n_codes))
        rows._ids = IdTable.from_arrays(arrays)
        size = len(rows)
        rows._columns = _Columns(
            stored_vector(arrays, "time", np.int64, size).copy(),
            _stored_keys(arrays, n_codes, size, np.int32),
            _stored(arrays, "n_before", np.uint16, (len(n_codes), size)),
            stored_vector(arrays, "label", np.int8, size).copy(),
            stored_vector(arrays, "known", np.int64, size).copy(),
        )
        label = rows._columns.label
        if label.min(initial=0) < NO_LABEL or label.max(initial=0) >= 2 * len(SOURCES):
            raise ValueError(f"labels of rows must be between -1 and {2 * len(SOURCES) - 1}.")
        rows._restore_corrected(arrays)
        return rows

    @classmethod
    def from_pending(cls, arrays: Mapping[str, NDArray], n_codes: Sequence[int]) -> Self:
        """Return the rows of a file written when only rows without a label were kept."""
        rows = cls(len(n_codes))
        lengths = stored_vector(arrays, "lengths", np.int64)
        has_id = lengths > 0  # an empty id was allowed then, and is missing now
        rows._ids = IdTable.from_arrays({**arrays, "lengths": lengths[has_id]})
        time = stored_vector(arrays, "time", np.int64, lengths.size)
        keys = _stored_keys(arrays, n_codes, lengths.size, np.int64)
        size = len(rows)
        rows._columns = _Columns(
            time[has_id],
            keys[:, has_id].astype(np.int32),
            np.zeros((len(n_codes), size), dtype=np.uint16),
            np.full(size, NO_LABEL, dtype=np.int8),
            np.zeros(size, dtype=np.int64),
        )
        return rows

    def _restore_corrected(self, arrays: Mapping[str, NDArray]) -> None:
        stored = _stored(arrays, "corrected", np.int64, (-1, 1 + len(RowLabel._fields)))
        for number, known, source, is_positive in stored.tolist():
            if not (0 <= number < len(self) and 0 <= source < len(SOURCES)):
                raise ValueError(
                    "array 'corrected' must contain numbers of existing rows and sources."
                )
            label = RowLabel(known, source, bool(is_positive))
            self.corrected.setdefault(number, []).append(label)
        for number, labels in self.corrected.items():
            times = [each.known for each in labels]
            if times != sorted(set(times)) or not self.has_label(np.array([number])).all():
                raise ValueError("corrected labels of a row must be in order of time.")


# For one row, a kernel takes less time than the three or four calls of NumPy it replaces.


@njit(cache=True)
def _begin_rows(number, was_there, time, own_time, n_before, label):
    for row in range(number.size):
        if number[row] >= 0 and not was_there[row]:
            own_time[number[row]] = time[row]
            label[number[row]] = NO_LABEL
            n_before[:, number[row]] = 0


@njit(cache=True)
def _fill_codes(number, was_there, codes, own_codes, k):
    for row in range(number.size):
        if number[row] >= 0 and not was_there[row]:
            own_codes[k, number[row]] = codes[row]


@njit(cache=True)
def _fill_before(number, which, n_before, own_before, k):
    for g in range(which.size):
        if number[which[g]] >= 0:
            own_before[k, number[which[g]]] = min(n_before[g], _MOST_BEFORE)


def _stored(
    arrays: Mapping[str, NDArray], name: str, kind: type, shape: tuple[int, int]
) -> NDArray:
    array = arrays.get(name)
    wanted = shape if array is None or shape[0] >= 0 else (len(array), shape[1])
    if array is None or array.dtype != kind or array.shape != wanted:
        raise ValueError(f"array {name!r} must be {np.dtype(kind)} of shape {shape}.")
    return np.array(array, order="C")


def _stored_keys(
    arrays: Mapping[str, NDArray], n_codes: Sequence[int], size: int, kind: type
) -> NDArray:
    keys = _stored(arrays, "keys", kind, (len(n_codes), size))
    for codes, n_known in zip(keys, n_codes, strict=True):
        if codes.min(initial=0) < -1 or codes.max(initial=-1) >= n_known:
            raise ValueError(f"keys of remembered rows must be between -1 and {n_known - 1}.")
    return keys
