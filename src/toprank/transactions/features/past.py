"""What a history remembers: the events of every key, labels, and rows that wait for theirs."""

import numpy as np
from numpy.typing import NDArray

from toprank.model_file.state import part_of as _part_of
from toprank.transactions.features.event_store import EventStore
from toprank.transactions.features.keys import Codes
from toprank.transactions.features.questions import LABEL, Questions
from toprank.transactions.features.rows import NEVER, Rows
from toprank.transactions.features.waiting import WaitingRows

_ONLY = np.zeros(1, dtype=np.int64)
_NONE = np.zeros(0, dtype=np.int64)


class Past:
    """The stores that features look back over: for each key one of rows, one of labels.

    `keys` and `values` are the codes of the keys and of the coded columns; `begin` is the moment
    of the last purge, `until` that of the latest row taken in, `n_too_late` how many rows were
    older than the purge before them.
    """

    def __init__(self, questions: Questions) -> None:
        self.keys = [Codes() for _ in questions.keys]
        self.values = [Codes() for _ in questions.coded]
        self.begin, self.until, self.n_too_late = NEVER, NEVER, 0
        self._coded = questions.coded
        place = questions.keys.index
        self._rows = {
            place(key): EventStore(asked, questions.numbers, questions.coded)
            for key, asked in questions.of_rows.items()
        }
        self._labels = {
            (place(key), delay): EventStore(asked, [LABEL], [])
            for (key, delay), asked in questions.of_labels.items()
        }
        self._waiting = WaitingRows(len(self.keys))

    @property
    def n_events(self) -> int:
        """How many events are kept."""
        return sum(store.n_events for store in self._stores())

    # What comes in

    def learn(self, rows: Rows, out: NDArray[np.float64]) -> None:
        """Remember rows; fill their features, a column of `out` for each row."""
        order = self._taken_in(rows.time)
        if not order.size:
            return
        n_values = max(map(len, self.values), default=0)
        groups = [_grouped(rows.keys[k], order) for k in range(len(self.keys))]
        for k, store in self._rows.items():
            if groups[k].size:
                store.grow(len(self.keys[k]))
                store.learn(rows, k, groups[k], n_values, out)
        if self._labels and (rows.label is not None or rows.ids is not None):
            self._learn_labels_of(rows, order)
        for (k, _), store in self._labels.items():
            if groups[k].size:
                store.grow(len(self.keys[k]))
                store.look_back(rows, k, groups[k], out)

    def learn_labels(
        self, ids: list[str], label: NDArray[np.float64], known: NDArray[np.int64]
    ) -> int:
        """Take in the labels of rows that wait for them; return how many did."""
        found = self._waiting.take(ids)
        n_found = found.which.size
        keys = list(np.ascontiguousarray(found.keys))
        label, known = label[found.which], known[found.which]
        self._insert_labels(found.time, keys, label, known, np.arange(n_found))
        return n_found

    def _taken_in(self, time: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which rows are taken in, in order of time."""
        order = _in_order(time)
        if order.size and time[order[0]] < self.begin:
            n_too_late = int(np.searchsorted(time[order], self.begin))
            self.n_too_late += n_too_late
            order = order[n_too_late:]
        if order.size:
            self.until = max(self.until, int(time[order[-1]]))
        return order

    def _learn_labels_of(self, rows: Rows, order: NDArray[np.int64]) -> None:
        """Take in the labels that rows came with; those with an id and without a label wait."""
        waiting = order
        if rows.label is not None:
            is_missing = np.isnan(rows.label[order])
            known, waiting = order[~is_missing], order[is_missing]
            self._insert_labels(rows.time, rows.keys, rows.label, rows.known, known)
        if rows.ids is not None and waiting.size:
            ids = {row: rows.ids[row] for row in waiting.tolist()}
            waiting = np.array([row for row in ids if ids[row] is not None], dtype=np.int64)
            keys = np.array([found[waiting] for found in rows.keys])
            self._waiting.add(
                [str(ids[row]) for row in waiting.tolist()], rows.time[waiting], keys
            )

    def _insert_labels(
        self,
        time: NDArray[np.int64],
        keys: list[NDArray[np.int64]],
        label: NDArray[np.float64],
        known: NDArray[np.int64],
        which: NDArray[np.int64],
    ) -> None:
        """Put the labels of some rows among the events of the time from which they are known."""
        no_codes = np.empty((0, time.size), dtype=np.int32)
        for (k, delay), store in self._labels.items():
            # not known to its own row, even if found at once
            since = np.maximum(time + max(delay, 1), known)
            grouped = _grouped(keys[k], which[_in_order(since[which])])
            if grouped.size:
                store.grow(len(self.keys[k]))
                store.insert(keys[k], since, label[np.newaxis], no_codes, grouped)

    # What is let go

    def purge(self, before: int) -> None:
        """Let go of what no row from this moment on can need."""
        self.begin = max(self.begin, before)
        for store in self._stores():
            store.purge(self.begin)

    def forget(self, before: int) -> None:
        """Forget keys last seen before this moment, and rows that have waited since."""
        self._waiting.forget(before)
        for k, codes in enumerate(self.keys):
            stores = [self._rows[k]] if k in self._rows else []
            stores += [store for (at, _), store in self._labels.items() if at == k]
            is_kept = np.zeros(len(codes), dtype=bool)
            for store in stores:
                store.grow(len(codes))
                is_kept |= store.last_seen()[: len(codes)] >= before
            waiting = self._waiting.keys[k]
            is_kept[waiting[waiting >= 0]] = True
            new_code = codes.keep(is_kept)
            for store in stores:
                store.keep(new_code)
            self._waiting.recode(k, new_code)

    def drop_values(self) -> None:
        """Forget the values of coded columns that no event holds any more."""
        for column, codes in zip(self._coded, self.values, strict=True):
            is_kept = np.zeros(len(codes), dtype=bool)
            stores = [store for store in self._rows.values() if column in store.coded]
            for store in stores:
                in_use = store.codes_in_use(column)
                is_kept[in_use[in_use >= 0]] = True
            new_code = codes.keep(is_kept)
            for store in stores:
                store.recode(column, new_code)

    def _stores(self) -> list[EventStore]:
        return [*self._rows.values(), *self._labels.values()]

    # To and from files

    def to_arrays(self) -> dict[str, NDArray]:
        """Return all that is remembered, for `restore`."""
        parts = {f"values{i}": codes.to_arrays() for i, codes in enumerate(self.values)}
        parts |= {f"keys{k}": codes.to_arrays() for k, codes in enumerate(self.keys)}
        for name, k, store in self._named_stores():
            parts[name] = store.to_arrays(len(self.keys[k]))
        parts["waiting"] = self._waiting.to_arrays()
        return {
            f"{part}-{name}": array for part, own in parts.items() for name, array in own.items()
        }

    def restore(self, arrays: dict[str, NDArray]) -> None:
        """Take what `to_arrays` gave; ValueError where it is not sound."""
        for i, codes in enumerate(self.values):
            codes.restore(_part_of(arrays, f"values{i}"))
        for k, codes in enumerate(self.keys):
            codes.restore(_part_of(arrays, f"keys{k}"))
        n_values = dict(zip(self._coded, map(len, self.values), strict=True))
        for name, k, store in self._named_stores():
            store.restore(_part_of(arrays, name), len(self.keys[k]), n_values)
        n_keys = [len(codes) for codes in self.keys]
        self._waiting = WaitingRows.from_arrays(_part_of(arrays, "waiting"), n_keys)

    def _named_stores(self) -> list[tuple[str, int, EventStore]]:
        rows = [(f"rows{k}", k, store) for k, store in self._rows.items()]
        pairs = enumerate(self._labels.items())
        return rows + [(f"labels{i}", k, store) for i, ((k, _), store) in pairs]


def _in_order(time: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows in order of time, those of equal time as they came."""
    if time.size == 1:
        return _ONLY
    if (time[1:] >= time[:-1]).all():
        return np.arange(time.size)
    return np.argsort(time, kind="stable")


def _grouped(codes: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows that have a key, grouped by it, each group in the order given."""
    if order.size == 1:
        return order if codes[order[0]] >= 0 else _NONE
    has_key = codes[order] >= 0
    if not has_key.all():
        order = order[has_key]
    largest = int(codes.max(initial=0))
    for bits in range(0, largest.bit_length(), 16):
        digits = (codes[order] >> bits).astype(np.uint16)  # so short that NumPy sorts in one pass
        order = order[np.argsort(digits, kind="stable")]
    return order
