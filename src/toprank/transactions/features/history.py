"""Features of payments as of their own time, for tables and for one row at a time.

Rows are taken in, and each is told what was known at its time: of rows, those at or before it; of
labels, those known by then. Whatever comes later changes no feature that was given.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from toprank import checks
from toprank.metrics.score_histogram import flags
from toprank.model_file import archive, arrays, manifest
from toprank.model_file.faults import BROKEN
from toprank.model_file.learners import Saved
from toprank.tables.columns import check_columns, required_frame
from toprank.tables.times import time_column
from toprank.transactions.features import cells, kernel
from toprank.transactions.features.event_store import Asked, EventStore
from toprank.transactions.features.kernel import Incoming
from toprank.transactions.features.keys import Codes, entries, text_of
from toprank.transactions.features.kinds import (
    Feature,
    FirstTime,
    Key,
    LabelRisk,
    Night,
    Recent,
    SinceLast,
    ToUsual,
    Value,
    Weekend,
    as_json,
    checked,
    columns_of,
    from_json,
    microseconds,
)
from toprank.transactions.features.waiting import WaitingRows

_WHAT = {
    "count": kernel.COUNT,
    "sum": kernel.SUM,
    "mean": kernel.MEAN,
    "max": kernel.LARGEST,
    "distinct": kernel.DISTINCT,
    "share": kernel.SHARE,
}
_LABEL = "label"  # the one column of the events that labels are
_NEVER = np.iinfo(np.int64).min


class History:
    """The past of every key, as far back as the features look.

    `batch` and `one` give the features of rows and remember the rows; both run the same code, and
    a table gives to the last bit what its rows give one by one in order of time.

    Times are instants: those with a zone are turned to UTC, those without are taken as UTC. Local
    times that jump back when clocks change make late rows; give them their zone.

    - Rows of equal time stand in the order they came: in a table, its order.
    - The rows of one table are taken in order of time. A row older than rows that came with an
      earlier call is late: its features see what came at or before its own time, and later rows
      find it there. What was given before it came stays as it was.
    - Every row counts, an exact copy of another too.
    - A row whose key is missing has no features of this key, and is remembered under its other
      keys only. A missing amount counts as a row, and in no sum, mean or max.
    - A number and its digits are one key: 7, 7.0 and "7".

    Parameters
    ----------
    features
        What to give: see `handbook_features` and `default_features`, or make a list of your own.
    time
        The column of times: timestamps, dates, ISO text, or seconds since 1970.
    label, known_at
        The columns of labels, true or false, and of when each became known. Either may be missing
        from a table or hold missing values; without a time, a label counts from the delay of the
        feature on. Labels that come later are given to `label`.
    row_id
        The column of ids, by which late labels find their rows.

    Attributes
    ----------
    n_too_late
        How many rows were older than the last purge: features that look back are missing, and
        the row is not remembered.

    Examples
    --------
    >>> history = History([Recent("count", "card", "1d"), SinceLast("card")], time="at")
    >>> payments = {"at": ["2025-03-01 10:00", "2025-03-01 10:05"], "card": ["A", "A"]}
    >>> history.batch(pa.table(payments)).to_pydict()
    {'card_count_1d': [1.0, 2.0], 'card_seconds_since_last': [None, 300.0]}
    >>> history.one({"at": "2025-03-01 10:06", "card": "A"})
    {'card_count_1d': 3.0, 'card_seconds_since_last': 60.0}
    """

    def __init__(
        self,
        features: Iterable[Feature],
        *,
        time: str = "time",
        label: str | None = None,
        known_at: str | None = None,
        row_id: str | None = None,
    ) -> None:
        self.features = checked(features)
        self.time, self.label_column, self.known_at, self.row_id = time, label, known_at, row_id
        self.names = [feature.name for feature in self.features]
        self.n_too_late = 0
        self._begin: int | None = None  # rows must not be older: what they need may be gone
        self._asked = _asked_of(self.features)
        self._coded = sorted({_column_of(each) for each in self.features if _is_distinct(each)})
        others = {_column_of(each) for each in self.features if not _is_distinct(each)}
        self._numbers = sorted(others - {""})
        self._keys: list[Key] = list(dict.fromkeys(key for key, _ in self._asked if key))
        self._codes = [Codes() for _ in self._keys]
        self._values = [Codes() for _ in self._coded]
        self._rows = {
            self._keys.index(key): EventStore(asked, self._numbers, self._coded)
            for (key, delay), asked in self._asked.items()
            if delay is None
        }
        self._labels = {
            (self._keys.index(key), delay): EventStore(asked, [_LABEL], [])
            for (key, delay), asked in self._asked.items()
            if delay is not None
        }
        self._waiting = WaitingRows(len(self._keys))
        self._own = _own_of(self.features, self._numbers)
        self._key_columns = [columns_of(key) for key in self._keys]
        named = [name for columns in self._key_columns for name in columns]
        self._texts = list(dict.fromkeys([*named, *self._coded]))
        self._columns = [self.time, *self._numbers, *self._texts]
        self._check_label_columns()

    @property
    def n_remembered(self) -> int:
        """How many events are kept: each row once under every key, and each label."""
        return sum(store.n_events for store in self._stores())

    def batch(self, table: Any) -> pa.Table:
        """Return the features of a table's rows, in its order, and remember the rows."""
        out = self._learn(self._read_table(table))
        columns = [pa.array(column, from_pandas=True) for column in np.ascontiguousarray(out.T)]
        return pa.table(columns, names=self.names)

    def one(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, NaN where missing, and remember the row."""
        out = self._learn(self._read_row(row))
        return dict(zip(self.names, out[0].tolist(), strict=True))

    def label(
        self,
        row_id: ArrayLike,
        is_positive: ArrayLike,
        known_at: Any = None,
    ) -> int:
        """Take in late labels, one or many; return how many of the rows waited for theirs.

        A row waits if it came with an id and without a label, and takes one label. `known_at` is
        when each became known; left out, it counts from the delay of the feature on.
        """
        ids = [cells.id_text(each) for each in np.atleast_1d(np.asarray(row_id)).tolist()]
        label = flags(np.atleast_1d(is_positive), "is_positive", len(ids)).astype(np.float64)
        known = np.full(len(ids), _NEVER)
        if known_at is not None:
            known[:] = cells.instants(known_at, "known_at")
        self._check_known(label, known)
        found = self._waiting.take(ids)
        self._learn_labels(found.time, found.keys, label[found.which], known[found.which])
        return found.which.size

    def purge(self, before: Any, forget: Any = None) -> None:
        """Let go of what no row from `before` on can need: memory then follows the windows.

        The features of rows from `before` on stay what they would have been. Older rows come too
        late from now on. Keys last seen before `forget`, if it is given, are forgotten, as are
        rows that have waited for a label since.
        """
        self._begin = max(cells.instant(before, "before"), self._begin or _NEVER)
        for store in self._stores():
            store.purge(self._begin)
        if forget is not None:
            self._forget(min(cells.instant(forget, "forget"), self._begin))
        for column, codes in zip(self._coded, self._values, strict=True):
            self._drop_values(column, codes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the history to a file; one already there is replaced in one step."""
        saved, target = self._to_saved(), Path(path).resolve()
        members = {
            f"{name}.npy": arrays.npy_bytes(name, array) for name, array in saved.arrays.items()
        }
        told = manifest.manifest_bytes(
            type(self).__name__, saved.parameters or {}, saved.state, {}, members
        )
        with archive.replaced_in_one_step(target) as beside:
            archive.write_archive(beside, {archive.MANIFEST: told, **members})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the history that `save` wrote; it goes on as if it had never stopped."""
        with archive.opened_archive(path) as opened:
            told = manifest.checked_manifest(opened)
            if told["learner"] != cls.__name__:
                raise ValueError(f"it holds a {told['learner']}, not a history; use toprank.load.")
            kept = {
                name.removesuffix(".npy"): arrays.array_of(
                    name, manifest.hashed_member(opened, name, told)
                )
                for name in told["members"]
            }
            try:
                return cls._from_saved(told["parameters"], Saved(told["state"], kept, {}))
            except BROKEN as error:
                raise ValueError(f"its contents do not make a history: {error}") from error

    # Rows in

    def _read_table(self, table: Any) -> "_Rows":
        frame = required_frame(table)
        check_columns(self._columns, frame.names)
        n_rows = frame.n_rows
        time = time_column(table, self.time).view(np.int64).copy()  # Arrow's may not be written
        found = {name: entries(frame.column(name), name) for name in self._texts}
        keys = [
            codes.many([found[name] for name in columns])
            for columns, codes in zip(self._key_columns, self._codes, strict=True)
        ]
        values = [
            codes.many([found[name]])
            for name, codes in zip(self._coded, self._values, strict=True)
        ]
        numbers = [cells.numbers(frame.column(name), name) for name in self._numbers]
        label, known, ids = np.full(n_rows, np.nan), np.full(n_rows, _NEVER), None
        if self.label_column in frame.names:
            label = cells.labels(frame.column(self.label_column), self.label_column)
        if self.known_at in frame.names:
            known = cells.instants_or(frame.column(self.known_at), self.known_at, _NEVER)
        if self.row_id in frame.names:
            ids = cells.id_texts(frame.column(self.row_id))
        self._check_known(label, known)
        return _Rows(
            time,
            np.array(keys, dtype=np.int64).reshape(len(keys), n_rows),
            np.array(numbers, dtype=np.float64).reshape(len(numbers), n_rows),
            np.array(values, dtype=np.int32).reshape(len(values), n_rows),
            label,
            known,
            ids,
        )

    def _read_row(self, row: Mapping[str, Any]) -> "_Rows":
        for name in self._columns:
            if name not in row:
                check_columns([name], [str(each) for each in row], "the row")
        time = cells.instant(row[self.time], self.time)
        numbers = [cells.number(row[name], name) for name in self._numbers]
        label = cells.label(_cell(row, self.label_column), self.label_column)
        known, row_id = _cell(row, self.known_at), _cell(row, self.row_id)
        since = _NEVER if known is None else cells.instant(known, str(self.known_at))
        labels, knowns = np.array([label]), np.array([since])
        if label == label:
            self._check_known(labels, knowns)
        texts = {name: text_of(row[name], name) for name in self._texts}
        keys = [
            codes.one([texts[name] for name in columns])
            for columns, codes in zip(self._key_columns, self._codes, strict=True)
        ]
        values = [
            codes.one([texts[name]]) for name, codes in zip(self._coded, self._values, strict=True)
        ]
        return _Rows(
            np.array([time], dtype=np.int64),
            np.array(keys, dtype=np.int64).reshape(-1, 1),
            np.array(numbers, dtype=np.float64).reshape(-1, 1),
            np.array(values, dtype=np.int32).reshape(-1, 1),
            labels,
            knowns,
            None if row_id is None else [cells.id_text(row_id)],
        )

    def _check_label_columns(self) -> None:
        if not self._labels:
            return
        if self.label_column is None and self.row_id is None:
            raise ValueError(
                "label must name the column of labels, or row_id that of ids for late labels, "
                "since some features look at labels; got neither."
            )

    def _check_known(self, label: NDArray[np.float64], known: NDArray[np.int64]) -> None:
        """Raise where a label would count from no time on that anyone gave."""
        if not any(delay == 0 for _, delay in self._labels):
            return
        n_without = int(np.count_nonzero(~np.isnan(label) & (known == _NEVER)))
        if n_without:
            raise ValueError(
                f"known_at must say when each label became known, since a feature has no delay; "
                f"{n_without} of {label.size} labels have no such time; give it or set a delay."
            )

    # Features out

    def _learn(self, rows: "_Rows") -> NDArray[np.float64]:
        """Remember rows; return their features, a row each."""
        out = np.full((rows.time.size, len(self.features)), np.nan)
        kernel.fill_own(self._own, rows.time, rows.numbers, out)
        order = self._in_time(rows.time)
        n_values = max([len(codes) for codes in self._values], default=0)
        n_keys = [len(codes) for codes in self._codes]
        groups = [_grouped(*each) for each in zip(rows.keys, repeat(order), n_keys, strict=False)]
        for k, store in self._rows.items():
            if groups[k].size:
                incoming = Incoming(rows.keys[k], rows.time, rows.numbers, rows.codes)
                store.learn(incoming, groups[k], n_keys[k], n_values, out)
        if self._labels and (rows.ids is not None or not np.isnan(rows.label).all()):
            self._learn_labels_of(rows, order)
        for (k, _), store in self._labels.items():
            if groups[k].size:
                incoming = Incoming(rows.keys[k], rows.time, rows.numbers, rows.codes)
                store.look_back(incoming, groups[k], n_keys[k], out)
        return out

    def _in_time(self, time: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which rows are taken in, in order of time."""
        order = _order(time)
        if self._begin is not None:
            is_in_time = time[order] >= self._begin
            self.n_too_late += int(np.count_nonzero(~is_in_time))
            order = order[is_in_time]
        return order

    def _learn_labels_of(self, rows: "_Rows", order: NDArray[np.int64]) -> None:
        is_known = ~np.isnan(rows.label[order])
        known, waiting = order[is_known], order[~is_known]
        if known.size:
            self._learn_labels(
                rows.time[known], rows.keys[:, known], rows.label[known], rows.known[known]
            )
        if waiting.size and rows.ids is not None:
            ids = [rows.ids[row] for row in waiting.tolist()]
            self._waiting.add(ids, rows.time[waiting], rows.keys[:, waiting])

    def _learn_labels(
        self,
        time: NDArray[np.int64],
        keys: NDArray[np.int64],
        label: NDArray[np.float64],
        known: NDArray[np.int64],
    ) -> None:
        """Put labels among the events of the time from which on they are known."""
        no_codes = np.empty((0, time.size), dtype=np.int32)
        for (k, delay), store in self._labels.items():
            # not known to its own row, even if found at once
            since = np.maximum(np.maximum(time + delay, known), time + 1)
            codes, n_keys = np.ascontiguousarray(keys[k]), len(self._codes[k])
            incoming = Incoming(codes, since, label[np.newaxis], no_codes)
            grouped = _grouped(codes, _order(since), n_keys)
            if grouped.size:
                store.insert(incoming, grouped, n_keys)

    # What is forgotten

    def _stores(self) -> list[EventStore]:
        return [*self._rows.values(), *self._labels.values()]

    def _forget(self, before: int) -> None:
        self._waiting.forget(before)
        for k, codes in enumerate(self._codes):
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

    def _drop_values(self, column: str, codes: Codes) -> None:
        """Forget the values of a coded column that no event holds any more."""
        is_kept = np.zeros(len(codes), dtype=bool)
        stores = [store for store in self._rows.values() if column in store.coded]
        for store in stores:
            in_use = store.codes_in_use(column)
            is_kept[in_use[in_use >= 0]] = True
        new_code = codes.keep(is_kept)
        for store in stores:
            store.recode(column, new_code)

    # To and from files

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a history."""
        parts = {f"values{i}": codes.to_arrays() for i, codes in enumerate(self._values)}
        parts |= {f"keys{k}": codes.to_arrays() for k, codes in enumerate(self._codes)}
        for name, k, store in self._named_stores():
            parts[name] = store.to_arrays(len(self._codes[k]))
        parts["waiting"] = self._waiting.to_arrays()
        kept = {
            f"{part}-{name}": array for part, own in parts.items() for name, array in own.items()
        }
        parameters = {
            "features": as_json(self.features),
            "time": self.time,
            "label": self.label_column,
            "known_at": self.known_at,
            "row_id": self.row_id,
        }
        return Saved({"begin": self._begin, "n_too_late": self.n_too_late}, kept, {}, parameters)

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the history that `_to_saved` described; ValueError where that does not fit."""
        features = from_json(parameters["features"])
        history = cls(features, **{name: parameters[name] for name in _PARAMETERS})
        history.n_too_late = checks.whole_number(saved.state["n_too_late"], "n_too_late", 0)
        if saved.state["begin"] is not None:
            history._begin = checks.whole_number(saved.state["begin"], "begin", -(2**62), 2**62)
        history._values = [
            Codes.from_arrays(_part_of(saved.arrays, f"values{i}"))
            for i in range(len(history._values))
        ]
        history._codes = [
            Codes.from_arrays(_part_of(saved.arrays, f"keys{k}"))
            for k in range(len(history._codes))
        ]
        n_values = dict(zip(history._coded, map(len, history._values), strict=True))
        for name, k, store in history._named_stores():
            store.restore(_part_of(saved.arrays, name), len(history._codes[k]), n_values)
        history._waiting = WaitingRows.from_arrays(
            _part_of(saved.arrays, "waiting"), [len(codes) for codes in history._codes]
        )
        return history

    def _named_stores(self) -> list[tuple[str, int, EventStore]]:
        rows = [(f"rows{k}", k, store) for k, store in self._rows.items()]
        pairs = enumerate(self._labels.items())
        return rows + [(f"labels{i}", k, store) for i, ((k, _), store) in pairs]


_PARAMETERS = ("time", "label", "known_at", "row_id")


class _Rows(NamedTuple):
    """Rows as arrays, in the order they came."""

    time: NDArray[np.int64]
    keys: NDArray[np.int64]  # key, row: codes, -1 where missing
    numbers: NDArray[np.float64]  # column, row: NaN where missing
    codes: NDArray[np.int32]  # coded column, row
    label: NDArray[np.float64]  # NaN where not known
    known: NDArray[np.int64]  # _NEVER where not said
    ids: list[str] | None


def _cell(row: Mapping[str, Any], name: str | None) -> Any:
    return None if name is None else row.get(name)


def _order(time: NDArray[np.int64]) -> NDArray[np.int64]:
    if time.size == 1 or (time[1:] >= time[:-1]).all():
        return np.arange(time.size)
    return np.argsort(time, kind="stable")


def _grouped(codes: NDArray[np.int64], order: NDArray[np.int64], n_keys: int) -> NDArray[np.int64]:
    """Return the rows that have a key, grouped by it, each group in the order given."""
    ordered = codes[order]
    if order.size == 1:
        return order if ordered[0] >= 0 else order[:0]
    if (ordered < 0).any():
        order = order[ordered >= 0]
        ordered = codes[order]
    if n_keys <= 2**16:
        ordered = ordered.astype(np.uint16)  # so short that NumPy sorts in one pass
    return order[np.argsort(ordered, kind="stable")]


def _asked_of(features: Sequence[Feature]) -> dict[tuple[Key, int | None], list[Asked]]:
    """Return what each store is asked: by key, and for labels by their delay too."""
    asked: dict[tuple[Key, int | None], list[Asked]] = {}
    for out, each in enumerate(features):
        if isinstance(each, Recent):
            is_own = each.until == "row"
            delay = 0 if is_own else 1  # the moment before is a microsecond earlier
            if each.until not in ("row", "before"):
                delay = microseconds(each.until, "until")
            query = Asked(_WHAT[each.what], each.of, _length(each.window), delay, is_own, out)
        elif isinstance(each, ToUsual):
            query = Asked(kernel.RATIO, each.of, _length(each.window), 1, False, out)
        elif isinstance(each, SinceLast | FirstTime):
            what = kernel.SINCE if isinstance(each, SinceLast) else kernel.FIRST
            query = Asked(what, None, 0, 0, True, out)
        elif isinstance(each, LabelRisk):
            query = Asked(_WHAT[each.what], _LABEL, _length(each.window), 0, False, out)
            since = microseconds(each.delay, "delay")
            asked.setdefault((each.key, since), []).append(query)
            continue
        else:
            continue
        asked.setdefault((each.key, None), []).append(query)
    return asked


def _own_of(features: Sequence[Feature], numbers: list[str]) -> NDArray[np.int64]:
    """Return what the kernel is asked that a row tells by itself."""
    own = []
    for out, each in enumerate(features):
        if isinstance(each, Value):
            own.append((kernel.VALUE, numbers.index(each.of), 0, out))
        elif isinstance(each, Weekend):
            own.append((kernel.WEEKEND, 0, 0, out))
        elif isinstance(each, Night):
            own.append((kernel.NIGHT, each.start, each.stop, out))
    return np.array(own, dtype=np.int64).reshape(-1, kernel.N_OWN_FIELDS)


def _length(window: str | None) -> int:
    return kernel.ALL if window is None else microseconds(window, "window")


def _is_distinct(feature: Any) -> bool:
    return isinstance(feature, Recent) and feature.what == "distinct"


def _column_of(feature: Feature) -> str:
    return getattr(feature, "of", None) or ""


def _part_of(kept: dict[str, NDArray], part: str) -> dict[str, NDArray]:
    prefix = f"{part}-"
    return {
        name.removeprefix(prefix): array for name, array in kept.items() if name.startswith(prefix)
    }
