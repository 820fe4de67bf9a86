"""What a history remembers: the events of every key, labels, and the rows that have an id."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.files.state import part_of
from toprank.payments.features.event_store import EventStore, Placed
from toprank.payments.features.id_table import RowIds
from toprank.payments.features.key_texts import Codes
from toprank.payments.features.label_store import LabelChange, LabelStore
from toprank.payments.features.questions import LabelTimes, Questions
from toprank.payments.features.remembered import HeldLabels, RememberedRows
from toprank.payments.features.row_labels import (
    Holding,
    RowLabel,
    counts_from,
    holdings,
    positive_holdings,
    with_label,
    with_silence,
)
from toprank.payments.features.row_reader import NEVER, PaymentRows
from toprank.payments.ledger import SOURCES
from toprank.payments.ledger.holding import SILENCE

_ONLY = np.zeros(1, dtype=np.int64)
_NONE = np.zeros(0, dtype=np.int64)
_CLAIM = SOURCES.index("claim")  # the source of a label that came with its row


class Arrivals(NamedTuple):
    """Which rows are new, and which have come before: both in order of time."""

    new: NDArray[np.int64]
    again: NDArray[np.int64]
    number: NDArray[np.int64] | None
    """Of each row among the remembered ones, -1 where it has no id; None where none has."""


class LabelCounts(NamedTuple):
    """What became of labels that were given by id.

    A row is corrected if its label differs from the one before. It was known already if the same
    label came again. A label is overruled if the row has one to the contrary that still holds.
    `unknown` contains the places of the given ids that belong to no row.
    """

    n_new: int = 0
    n_corrected: int = 0
    n_known: int = 0
    n_unknown: int = 0
    unknown: tuple[int, ...] = ()
    n_overruled: int = 0


class Past:
    """The stores that features look back over: for each key one of rows, one of labels.

    `keys` and `values` are the codes of the keys and of the coded columns; `begin` is the moment
    of the last purge, `until` that of the latest row, `n_too_late` the number of rows that were
    older than the last purge, `n_repeated` the number of those that came again.

    With `counts_silence`, each row has an event among the labels from the delay on: negative until
    a positive label is known.
    """

    def __init__(self, questions: Questions, *, counts_silence: bool = False) -> None:
        self._counts_silence = counts_silence
        self.keys = [Codes() for _ in questions.keys]
        self.values = [Codes() for _ in questions.coded]
        self.begin, self.until, self.n_too_late, self.n_repeated = NEVER, NEVER, 0, 0
        self._coded = questions.coded
        place = questions.keys.index
        self._rows = {
            place(key): EventStore(asked, questions.numbers, questions.coded)
            for key, asked in questions.of_rows.items()
        }
        self._labels = {
            (place(key), times): LabelStore(asked)
            for (key, times), asked in questions.of_labels.items()
        }
        self._remembered = RememberedRows(len(self.keys))
        self._undo: list[Callable[[], None]] | None = None

    @property
    def n_events(self) -> int:
        """The number of events kept."""
        return sum(store.n_events for store in self._stores())

    @property
    def longest(self) -> int:
        """The microseconds before a row whose events its features need."""
        return max((store.longest for store in self._stores()), default=0)

    @contextmanager
    def taken_back(self) -> Iterator[None]:
        """Undo, at the end, all that is learned from rows within the block.

        Rows are added to the events and removed again, so this costs as much as learning them
        and adding them once more.
        """
        counts = self.until, self.n_too_late, self.n_repeated
        codes = [(each, len(each)) for each in (*self.keys, *self.values)]
        n_rows = len(self._remembered)
        self._undo = []
        try:
            yield
        finally:
            for undo in reversed(self._undo):
                undo()
            self._undo = None
            self._remembered.take_back(n_rows)
            for each, n_before in codes:
                each.take_back(n_before)
            self.until, self.n_too_late, self.n_repeated = counts

    # What is known of rows by their ids

    def numbers_of(self, ids: RowIds) -> NDArray[np.int64]:
        """Return the number of the remembered row of each id, -1 where there is none."""
        return self._remembered.find(ids)

    def keys_of(self, number: NDArray[np.int64], k: int) -> list[str | None]:
        """Return the text of a key of each row, None where there is no row or no key."""
        codes = np.full(number.size, -1)
        codes[number >= 0] = self._remembered.keys[k][number[number >= 0]]
        texts = self.keys[k].texts()
        return [None if code < 0 else texts[code] for code in codes.tolist()]

    def held_labels(self, number: NDArray[np.int64]) -> HeldLabels:
        """Return the label that holds of each row by now."""
        return self._remembered.held_labels(number)

    # Rows that come in

    def arrive(self, rows: PaymentRows) -> Arrivals:
        """Return which rows are new; those that came before get their first time and keys.

        New rows are known by their ids from now on, except for those older than the last purge.
        """
        order, again, number = _in_order(rows.time), _NONE, None
        if rows.ids is not None:
            may_add = rows.time >= self.begin
            number, was_there = self._remembered.enter(
                rows.ids, order, may_add, rows.time, rows.keys
            )
            if was_there.any():
                was_there = was_there[order]
                order, again = order[~was_there], order[was_there]
                self.n_repeated += again.size
                first = number[again]
                rows.time[again] = self._remembered.time[first]
                for codes, first_codes in zip(rows.keys, self._remembered.keys, strict=True):
                    codes[again] = first_codes[first]
        if order.size and rows.time[order[0]] < self.begin:
            n_too_late = int(np.searchsorted(rows.time[order], self.begin))
            self.n_too_late += n_too_late
            order = order[n_too_late:]
        if order.size:
            self.until = max(self.until, int(rows.time[order[-1]]))
        return Arrivals(order, again, number)

    def learn(
        self, rows: PaymentRows, arrivals: Arrivals, out: NDArray[np.float64] | None = None
    ) -> None:
        """Remember new rows; fill the features of all, a column of `out` for each row."""
        groups = [_grouped(rows.keys[k], arrivals.new) for k in range(len(self.keys))]
        n_values = max(map(len, self.values), default=0)
        # rows that will be removed are kept only if rows that came again look at them
        is_kept = self._undo is None or arrivals.again.size > 0
        for k, store in self._rows.items():
            if not groups[k].size:
                continue
            store.grow(len(self.keys[k]))
            if out is None:
                numbers, codes = rows.numbers, rows.codes
                placed = store.insert(rows.keys[k], rows.time, numbers, codes, groups[k])
            else:
                placed = store.learn(rows, k, groups[k], n_values, out, is_kept)
            if is_kept:
                self._note_placed(k, store, placed, arrivals.number)
        if rows.label is not None or self._counts_silence:
            self._learn_labels_of(rows, arrivals)
        if out is None:
            return
        for (k, _), store in self._labels.items():
            if groups[k].size:
                store.grow(len(self.keys[k]))
                store.look_back(rows, k, groups[k], out)
        if arrivals.again.size:
            self._look_again(rows, arrivals, n_values, out)

    def _note_placed(
        self, k: int, store: EventStore, placed: Placed, number: NDArray[np.int64] | None
    ) -> None:
        if number is not None:
            self._remembered.set_before(k, number, placed.which, placed.n_before)
        if self._undo is not None:
            self._undo.append(partial(store.take_out, placed))

    def _look_again(
        self, rows: PaymentRows, arrivals: Arrivals, n_values: int, out: NDArray[np.float64]
    ) -> None:
        """Fill the features of rows that came before, each from its own place."""
        again = arrivals.again[rows.time[arrivals.again] >= self.begin]
        assert arrivals.number is not None
        for k in range(len(self.keys)):
            which = again[rows.keys[k][again] >= 0]
            n_before = self._remembered.before(k, arrivals.number[which])
            order = np.lexsort((n_before, rows.time[which], rows.keys[k][which]))
            which, n_before = which[order], n_before[order]
            if which.size and k in self._rows:
                self._rows[k].look_again(rows, k, which, n_before, n_values, out)
            for (at, _), store in self._labels.items():
                if which.size and at == k:
                    store.grow(len(self.keys[k]))
                    store.look_back(rows, k, which, out)

    # Labels

    def _learn_labels_of(self, rows: PaymentRows, arrivals: Arrivals) -> None:
        """Add the labels that came with rows; for a row that came again, if it had none."""
        if rows.label is None:  # as a payment comes in: silence is all that is known of it
            silent, never = np.zeros(rows.time.size), _filled(rows.time.size, NEVER)
            self._insert_labels(rows.time, rows.keys, silent, never, arrivals.new)
            return
        label = rows.label
        which = np.concatenate([arrivals.new, arrivals.again])
        which = which[~np.isnan(label[which])]
        if arrivals.number is not None and which.size:
            number = arrivals.number[which]
            if arrivals.again.size:
                is_first = self._is_first_label(number)
                which, number = which[is_first], number[is_first]
            own, number = which[number >= 0], number[number >= 0]
            source = np.full(own.size, _CLAIM)
            self._remembered.set_first_labels(number, label[own], rows.known[own], source)
            if self._undo is not None:
                self._undo.append(partial(self._remembered.clear_labels, number))
        if self._counts_silence:
            self._learn_silence(rows, label, arrivals.new, which)
        else:
            self._insert_labels(rows.time, rows.keys, label, rows.known, which)

    def _learn_silence(
        self,
        rows: PaymentRows,
        label: NDArray[np.float64],
        new: NDArray[np.int64],
        labelled: NDArray[np.int64],
    ) -> None:
        """Add an event for each new row, and correct those that are found positive later."""
        is_known = np.zeros(label.size, dtype=bool)
        is_known[new] = (label[new] == 1) & (rows.known[new] <= rows.time[new])
        known = np.where(is_known, rows.known, NEVER)
        self._insert_labels(rows.time, rows.keys, is_known.astype(np.float64), known, new)
        later = labelled[(label[labelled] == 1) & ~is_known[labelled]]
        if later.size:
            self._break_silence(rows.time[later], [keys[later] for keys in rows.keys],
                                rows.known[later])  # fmt: skip

    def _break_silence(
        self,
        time: NDArray[np.int64],
        keys: Sequence[NDArray[np.int64]],
        known: NDArray[np.int64],
    ) -> None:
        """Let rows count as positive from a moment on that had no label, or a negative one."""
        rows = list(zip(time.tolist(), known.tolist(), strict=True))
        for (k, times), store in self._labels.items():
            changes = [
                self._label_change(key, at, times, [], [RowLabel(since, _CLAIM, True)])
                for key, (at, since) in zip(keys[k].tolist(), rows, strict=True)
            ]
            self._change_labels(k, store, changes)

    def _is_first_label(self, number: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether the label of each row is the first it has; without an id it always is."""
        has_id = np.flatnonzero(number >= 0)
        earliest = has_id[np.unique(number[has_id], return_index=True)[1]]
        is_first = number < 0
        is_first[earliest] = ~self._remembered.has_label(number[earliest])
        return is_first

    def learn_labels(
        self,
        ids: RowIds,
        label: NDArray[np.float64],
        known: NDArray[np.int64],
        source: NDArray[np.int64],
    ) -> LabelCounts:
        """Add labels by id, and return what became of them."""
        number = self._remembered.find(ids)
        found = np.flatnonzero(number >= 0)
        _, place, times = np.unique(number[found], return_inverse=True, return_counts=True)
        # the first label of a row is one more event; any other is a correction
        is_first = (times[place] == 1) & ~self._remembered.has_label(number[found])
        first = found[is_first]
        self._remembered.set_first_labels(number[first], label[first], known[first], source[first])
        time = self._remembered.time[number[first]]
        # each role's keys in one piece: for a stride numba would compile the kernels again
        keys = list(self._remembered.keys[:, number[first]].astype(np.int64, order="C"))
        if self._counts_silence:
            is_found = label[first] == 1
            self._break_silence(
                time[is_found], [codes[is_found] for codes in keys], known[first][is_found]
            )
        else:
            self._insert_labels(time, keys, label[first], known[first], np.arange(first.size))
        others = found[~is_first]
        columns = known[others], source[others], label[others] == 1
        given = [RowLabel(*each) for each in zip(*(c.tolist() for c in columns), strict=True)]
        counts = self._correct(number[others].tolist(), given)
        unknown = tuple(np.flatnonzero(number < 0).tolist())
        n_new = first.size + counts.n_new
        return counts._replace(n_new=n_new, n_unknown=len(unknown), unknown=unknown)

    def _correct(self, numbers: list[int], given: list[RowLabel]) -> LabelCounts:
        """Add labels one by one; return what became of them."""
        kept, before = self._remembered, dict[int, list[RowLabel]]()
        n_new = n_corrected = n_known = n_overruled = 0
        for number, label in zip(numbers, given, strict=True):
            old = kept.labels_of(number)
            before.setdefault(number, old)
            new = with_label(old, label)
            kept.set_labels(number, new)
            if not old:
                n_new += 1
            elif old[-1].is_positive != new[-1].is_positive:
                n_corrected += 1
            elif label.is_positive != new[-1].is_positive and label.source != SILENCE:
                n_overruled += 1
            else:
                n_known += 1
        for (k, times), store in self._labels.items():
            changes = [self._change(k, times, number, old) for number, old in before.items()]
            self._change_labels(k, store, changes)
        return LabelCounts(n_new, n_corrected, n_known, n_overruled=n_overruled)

    def _change(self, k: int, times: LabelTimes, number: int, old: list[RowLabel]) -> LabelChange:
        """Return when the earlier labels of a row held, and when the present ones hold."""
        key, time = int(self._remembered.keys[k, number]), int(self._remembered.time[number])
        return self._label_change(key, time, times, old, self._remembered.labels_of(number))

    def _label_change(
        self, key: int, time: int, times: LabelTimes, old: list[RowLabel], now: list[RowLabel]
    ) -> LabelChange:
        return LabelChange(key, self._held(old, time, times), self._held(now, time, times))

    def _held(self, labels: list[RowLabel], time: int, times: LabelTimes) -> list[Holding]:
        """Return when the labels of a row hold that are events of a store."""
        if times.only_positives:
            return positive_holdings(labels, time, times, self.begin)
        if self._counts_silence:
            labels = with_silence(labels)
        return holdings(labels, time, times, self.begin)

    def _change_labels(self, k: int, store: LabelStore, changes: Sequence[LabelChange]) -> None:
        changes = [each for each in changes if each.key >= 0 and each.before != each.now]
        if not changes:
            return
        store.grow(len(self.keys[k]))
        store.correct(changes)
        if self._undo is not None:
            back = [each._replace(before=each.now, now=each.before) for each in changes]
            self._undo.append(partial(store.correct, back))

    def _insert_labels(
        self,
        time: NDArray[np.int64],
        keys: list[NDArray[np.int64]],
        label: NDArray[np.float64],
        known: NDArray[np.int64],
        which: NDArray[np.int64],
    ) -> None:
        """Add the labels of some rows to the events, at the time from which they are known."""
        no_codes = np.empty((0, time.size), dtype=np.int32)
        for (k, times), store in self._labels.items():
            own = which[label[which] == 1] if times.only_positives else which
            if not own.size:
                continue
            since = counts_from(time, known, times)
            grouped = _grouped(keys[k], own[_in_order(since[own])])
            if grouped.size:
                store.grow(len(self.keys[k]))
                placed = store.insert(keys[k], since, label[np.newaxis], no_codes, grouped)
                if self._undo is not None:
                    self._undo.append(partial(store.take_out, placed))

    # Forgetting

    def purge(self, before: int) -> None:
        """Forget what no row from this moment on can need."""
        self.begin = max(self.begin, before)
        for store in self._stores():
            store.purge(self.begin)
        if self._labels:
            self._settle_corrections()
        else:  # no feature needs their labels, and if sent again they come too late
            self._remembered.forget(self.begin)

    def _settle_corrections(self) -> None:
        """Forget labels that were replaced before any row that can still come."""
        if self._counts_silence or any(times.only_positives for _, times in self._labels):
            return  # since when a row has been what it is depends on its earlier labels
        kept, latest = self._remembered, max(times.assumed for _, times in self._labels)
        for number, labels in list(kept.corrected.items()):
            earliest = int(kept.time[number]) + max(latest, 1)
            n_over = sum(max(earliest, each.known) <= self.begin for each in labels[1:])
            if n_over:
                kept.set_labels(number, labels[n_over:])

    def forget(self, before: int) -> None:
        """Forget keys last seen before this moment, and rows that are older."""
        self._remembered.forget(before)
        for k, codes in enumerate(self.keys):
            stores = [self._rows[k]] if k in self._rows else []
            stores += [store for (at, _), store in self._labels.items() if at == k]
            is_kept = np.zeros(len(codes), dtype=bool)
            for store in stores:
                store.grow(len(codes))
                is_kept |= store.last_seen()[: len(codes)] >= before
            in_use = self._remembered.keys[k]
            is_kept[in_use[in_use >= 0]] = True
            if not is_kept.all():
                new_code = codes.keep(is_kept)
                for store in stores:
                    store.keep(new_code)
                self._remembered.recode(k, new_code)

    def drop_values(self) -> None:
        """Forget the values of coded columns that no event holds any more."""
        for column, codes in zip(self._coded, self.values, strict=True):
            is_kept = np.zeros(len(codes), dtype=bool)
            stores = [store for store in self._rows.values() if column in store.coded]
            for store in stores:
                store.note_codes(column, is_kept)
            if not is_kept.all():
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
        parts["ids"] = self._remembered.to_arrays()
        return {
            f"{part}-{name}": array for part, own in parts.items() for name, array in own.items()
        }

    def restore(self, arrays: Mapping[str, NDArray]) -> None:
        """Restore what `to_arrays` returned; ValueError where it is not valid."""
        for i, codes in enumerate(self.values):
            codes.restore(part_of(arrays, f"values{i}"))
        for k, codes in enumerate(self.keys):
            codes.restore(part_of(arrays, f"keys{k}"))
        n_values = dict(zip(self._coded, map(len, self.values), strict=True))
        for name, k, store in self._named_stores():
            store.restore(part_of(arrays, name), len(self.keys[k]), n_values)
        n_keys = [len(codes) for codes in self.keys]
        if "waiting-time" in arrays:  # a file from before labels could be corrected
            pending = part_of(arrays, "waiting")
            self._remembered = RememberedRows.from_pending(pending, n_keys)
        else:
            self._remembered = RememberedRows.from_arrays(part_of(arrays, "ids"), n_keys)

    def _named_stores(self) -> list[tuple[str, int, EventStore]]:
        rows = [(f"rows{k}", k, store) for k, store in self._rows.items()]
        pairs = enumerate(self._labels.items())
        return rows + [(f"labels{i}", k, store) for i, ((k, _), store) in pairs]


def _filled(size: int, value: int) -> NDArray[np.int64]:
    """Return what `np.full` does, which takes ten times as long for a single row."""
    array = np.empty(size, dtype=np.int64)
    array.fill(value)
    return array


def _in_order(time: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows in order of time, those of equal time in the order they came."""
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
