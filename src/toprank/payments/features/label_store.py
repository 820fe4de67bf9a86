"""The labels of one key as events at the time from which they are known, and corrections."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from toprank.files.state import stored_vector
from toprank.payments.features import window_kernel
from toprank.payments.features.event_store import EventStore
from toprank.payments.features.questions import LABEL, Asked
from toprank.payments.features.row_labels import Holding
from toprank.payments.features.row_reader import PaymentRows


class LabelChange(NamedTuple):
    """When the labels of one row of a key held before a correction, and when they hold now."""

    key: int
    before: list[Holding]
    now: list[Holding]


class Ended(NamedTuple):
    """Labels that hold only for a time, in order of their keys."""

    key: NDArray[np.int64]
    since: NDArray[np.int64]
    until: NDArray[np.int64]
    label: NDArray[np.float64]

    @classmethod
    def of(cls, spans: Iterable[tuple[int, Holding]]) -> "Ended":
        """Return the spans of some keys."""
        listed = [(key, each.since, each.until, each.is_positive) for key, each in spans]
        key, since, until, label = np.array(listed, dtype=np.int64).reshape(-1, 4).T
        return cls(key, since, until, label.astype(np.float64)).picked(
            np.argsort(key, kind="stable")
        )

    def picked(self, which: NDArray) -> "Ended":
        """Return a selection of them."""
        return Ended(*(np.ascontiguousarray(array[which]) for array in self))

    def joined(self, more: "Ended") -> "Ended":
        """Return these and others."""
        both = Ended(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))
        return both.picked(np.argsort(both.key, kind="stable"))

    def without(self, gone: "Ended") -> "Ended":
        """Return these without some of them."""
        is_kept = np.ones(self.key.size, dtype=bool)
        for key, *span in zip(*(array.tolist() for array in gone), strict=True):
            begin, end = np.searchsorted(self.key, [key, key + 1])
            for i in range(begin, end):
                if is_kept[i] and [array[i] for array in self[1:]] == span:
                    is_kept[i] = False
                    break
        return self.picked(is_kept)


class LabelStore(EventStore):
    """Labels of a key's rows, each among the events from the moment it counts.

    A label that is replaced by another stays among the events, for rows before that moment, and
    its end is kept separately: what has ended by the time of a row is subtracted. Labels that
    ended before the last purge are removed.
    """

    def __init__(self, asked: Sequence[Asked]) -> None:
        super().__init__(asked, [LABEL], [])
        self._ended = Ended.of([])

    def look_back(
        self, rows: PaymentRows, k: int, which: NDArray[np.int64], out: NDArray[np.float64]
    ) -> None:
        """Fill the features of rows, each by the labels that hold at its time."""
        super().look_back(rows, k, which, out)
        if not self._ended.key.size:
            return
        keys = rows.keys[k][which]
        first = np.searchsorted(self._ended.key, keys)
        has_ended = np.append(self._ended.key, -1)[first] == keys
        if has_ended.any():
            window_kernel.look_past_ended(
                self._query,
                which[has_ended],
                rows.keys[k],
                rows.time,
                rows.numbers,
                rows.codes,
                out,
                *self._ended,
                *self._events,
            )

    def correct(self, changes: Sequence[LabelChange]) -> None:
        """Replace the earlier labels of some rows by the present ones."""
        come, gone = _events_of(changes)
        if come.key.size:
            no_codes = np.empty((0, come.key.size), dtype=np.int32)
            grouped = np.lexsort((come.since, come.key))
            self.insert(come.key, come.since, come.label[np.newaxis], no_codes, grouped)
        self._remove(gone)
        ended = [(each.key, span) for each in changes for span in each.now if span.is_ended]
        no_more = [(each.key, span) for each in changes for span in each.before if span.is_ended]
        if ended or no_more:
            self._ended = self._ended.joined(Ended.of(ended)).without(Ended.of(no_more))

    def purge(self, before: int) -> None:
        """Forget what no row from this moment on can need."""
        is_over = self._ended.until <= before
        if is_over.any():
            self._remove(self._ended.picked(is_over))
            self._ended = self._ended.picked(~is_over)
        super().purge(before)

    def keep(self, new_code: NDArray[np.int64]) -> None:
        """Give each key its new code, and forget those whose code is -1."""
        super().keep(new_code)
        ended = self._ended._replace(key=new_code[self._ended.key])
        self._ended = ended.picked(ended.key >= 0)

    def to_arrays(self, n_keys: int) -> dict[str, NDArray]:
        """Return the events of the first `n_keys` keys, for `restore`."""
        ended = {f"ended_{name}": array.copy() for name, array in self._ended._asdict().items()}
        return {**super().to_arrays(n_keys), **ended}

    def restore(self, arrays: Mapping[str, NDArray], n_keys: int, n_codes: dict[str, int]) -> Self:
        """Take the labels that `to_arrays` returned; ValueError where they are not valid."""
        super().restore(arrays, n_keys, n_codes)
        if "ended_key" in arrays:  # files had none before labels could be corrected
            self._ended = _stored_ended(arrays, n_keys)
        return self

    def _remove(self, gone: Ended) -> None:
        if gone.key.size:
            window_kernel.remove(gone.key, gone.since, gone.label, *self._events)


def _events_of(changes: Sequence[LabelChange]) -> tuple[Ended, Ended]:
    """Return the labels that come among the events, and those that leave them."""
    come, gone = [], []
    for key, before, now in changes:
        old = {(each.since, each.is_positive): each for each in before}
        new = {(each.since, each.is_positive): each for each in now}
        come += [(key, each) for at, each in new.items() if at not in old]
        gone += [(key, each) for at, each in old.items() if at not in new]
    return Ended.of(come), Ended.of(gone)


def _stored_ended(arrays: Mapping[str, NDArray], n_keys: int) -> Ended:
    key = stored_vector(arrays, "ended_key", np.int64)
    since = stored_vector(arrays, "ended_since", np.int64, key.size)
    until = stored_vector(arrays, "ended_until", np.int64, key.size)
    label = stored_vector(arrays, "ended_label", np.float64, key.size)
    if key.min(initial=0) < 0 or key.max(initial=-1) >= n_keys or (np.diff(key) < 0).any():
        raise ValueError(f"array 'ended_key' must be sorted, from 0 to at most {n_keys - 1}.")
    if (since >= until).any() or not np.isin(label, (0.0, 1.0)).all():
        raise ValueError("labels that ended must be 0 or 1, and have begun before they ended.")
    return Ended(key.copy(), since.copy(), until.copy(), label.copy())
