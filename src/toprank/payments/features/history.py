"""Features of payments as of their own time, for tables and for one row at a time.

The features of a row describe what was known at its time: the rows at or before it, and the
labels known by then. Whatever comes later changes no feature that was returned before.
"""

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.data.checks import flags
from toprank.data.tables.ids import id_texts
from toprank.files.saved_learners import Saved
from toprank.payments.features import cells, history_file, window_kernel
from toprank.payments.features.id_table import RowIds
from toprank.payments.features.kinds import (
    Feature,
    as_json,
    checked,
    from_json,
    key_columns,
    number_columns,
)
from toprank.payments.features.past import LabelCounts, Past
from toprank.payments.features.questions import questions_of
from toprank.payments.features.remembered import HeldLabels
from toprank.payments.features.row_reader import NEVER, PaymentRows, RowColumns, RowReader
from toprank.payments.ledger import SOURCES


class History:
    """The past of every key, as far back as the features look.

    `batch` and `one` return the features of rows and remember the rows; both run the same code,
    and a table gives bit for bit what its rows give one by one in order of time. `look_batch` and
    `look` return the same features and remember nothing; `commit` remembers a row.

    Times are instants: those with a zone are converted to UTC, those without are taken as UTC.
    Local times that jump back when clocks change make late rows; give them their zone.

    - Rows of equal time count in the order they came: in a table, its order.
    - The rows of one table are taken in order of time. A row older than rows that came with an
      earlier call is late: its features see what came at or before its own time, and later rows
      find it there. Features returned before it came do not change.
    - An id counts once, however often it is sent. A row whose id is known already changes
      nothing; its features are those of the row that came first, at its time and with its keys,
      as the history is now. Only its label is used, if the row had none so far.
    - A row without an id cannot be recognised: it counts every time, an exact copy too.
    - A row whose key is missing has no features of this key, and is remembered only under its
      other keys. A missing amount counts as a row, but in no sum, mean or max.
    - A number and its digits are one key: 7, 7.0 and "7".
    - A row's label at a moment is the one that holds by the rules of the ledger, of those that
      count by then; it counts in a window if it began to hold in it.

    It is not safe for several threads at once, not even `look`, which adds the row to the others
    and removes it again.

    Parameters
    ----------
    features
        The features: `handbook_features()`, `default_features()` or a list of your own.
    time
        The column of times: timestamps, dates, ISO text, or seconds since 1970.
    label, known_at
        The columns of labels, true or false, and of when each became known. Either may be missing
        from a table or contain missing values; without a time, a label counts from the delay of
        the feature on. Labels that come later, and corrections, are passed to `label`.
    row_id
        The column of ids, by which rows sent again are recognised and labels find their rows. An
        empty id is missing. Rows with an id take some 60 bytes and their id, until `purge`
        forgets them.
    counts_silence
        Whether a row without a label counts as negative, from the delay of the feature on, until
        a positive label is known. So the share of frauds means the same whether every row gets its
        label in the end, or only the frauds that someone reports.

    Examples
    --------
    >>> from toprank.payments.features import Recent, SinceLast
    >>> history = History([Recent("count", "card", "1d"), SinceLast("card")], time="at")
    >>> payments = {"at": ["2025-03-01 10:00", "2025-03-01 10:05"], "card": ["A", "A"]}
    >>> history.batch(pa.table(payments)).to_pydict()
    {'card_count_1d': [1.0, 2.0], 'card_seconds_since_last': [None, 300.0]}
    >>> history.one({"at": "2025-03-01 10:06", "card": "A"})
    {'card_count_1d': 3.0, 'card_seconds_since_last': 60.0}
    >>> history.look({"at": "2025-03-01 10:07", "card": "A"})
    {'card_count_1d': 4.0, 'card_seconds_since_last': 60.0}
    >>> history.commit({"at": "2025-03-01 10:07", "card": "A"})
    True
    """

    def __init__(
        self,
        features: Iterable[Feature],
        *,
        time: str = "time",
        label: str | None = None,
        known_at: str | None = None,
        row_id: str | None = None,
        counts_silence: bool = False,
    ) -> None:
        self.features = checked(features)
        self.counts_silence = counts_silence
        self.time, self.label_column, self.known_at, self.row_id = time, label, known_at, row_id
        self.names = [feature.name for feature in self.features]
        self.key_columns = key_columns(self.features)
        self.id = uuid.uuid4().hex
        _check_label_unread(self.features, label)
        questions = questions_of(self.features)
        if questions.of_labels and label is None and row_id is None:
            raise ValueError(
                "label must name the column of labels, or row_id that of ids for late labels, "
                "since some features use labels; got neither."
            )
        self._own, self._keys = questions.own, questions.keys
        self._past = Past(questions, counts_silence=counts_silence)
        columns = RowColumns(time, label, known_at, row_id)
        self._reader = RowReader(questions, columns, self._past.keys, self._past.values)

    @property
    def columns(self) -> list[str]:
        """The columns that a table or a row must have; those of labels and ids are optional."""
        return list(self._reader.columns)

    @property
    def until(self) -> np.datetime64 | None:
        """The time of the latest remembered row; None before the first."""
        return None if self._past.until == NEVER else np.datetime64(self._past.until, "us")

    @property
    def since(self) -> np.datetime64 | None:
        """The moment of the last purge, before which the past is not known; None without one."""
        return None if self._past.begin == NEVER else np.datetime64(self._past.begin, "us")

    @property
    def n_remembered(self) -> int:
        """The number of events kept: each row once under every key, and each label."""
        return self._past.n_events

    @property
    def look_back(self) -> np.timedelta64:
        """How far back before a row its features look."""
        return np.timedelta64(self._past.longest, "us")

    @property
    def n_too_late(self) -> int:
        """The number of rows that were older than the last purge.

        Their features of the past are missing, and they are not remembered.
        """
        return self._past.n_too_late

    @property
    def n_repeated(self) -> int:
        """The number of rows that came again with a known id, and did not count."""
        return self._past.n_repeated

    def batch(self, table: Any) -> pa.Table:
        """Return the features of a table's rows, in its order, and remember the rows."""
        return self._as_table(self._learn(self._reader.table(table)))

    def one(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, NaN where missing, and remember the row.

        This is `look` and `commit` in one call, as fast as either.
        """
        return self._as_dict(self._learn(self._reader.row(row)))

    def one_row(self, row: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return what `one` does as an array, in the order of `names`."""
        return self._learn(self._reader.row(row))[:, 0]

    def look_batch(self, table: Any) -> pa.Table:
        """Return what `batch` would, and remember nothing.

        Rows see earlier rows of the same table, as in `batch`. For that they are added to the
        others and removed again: it takes as much memory as `batch`, and up to twice its time.
        """
        with self._past.taken_back():
            return self._as_table(self._learn(self._reader.table(table)))

    def look(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return what `one` would, and remember nothing."""
        with self._past.taken_back():
            return self._as_dict(self._learn(self._reader.row(row)))

    def commit(self, row: Mapping[str, Any]) -> bool:
        """Remember one row; return False if its id is known already or it comes too late."""
        rows = self._reader.row(row)
        arrivals = self._past.arrive(rows)
        self._past.learn(rows, arrivals)
        return arrivals.new.size > 0

    def label(
        self,
        row_id: ArrayLike,
        is_positive: ArrayLike,
        known_at: Any = None,
        source: Any = "claim",
    ) -> LabelCounts:
        """Add labels, one or many, of rows that came with an id; return what became of them.

        A label counts from the moment it became known, and not before the delay of the feature.
        Where a row has several, the one that holds is chosen by the rules of the ledger, in
        whatever order they are given: the one known last; at equal times an investigator's before
        a claim, then the one given last; silence only where there is no other. So a correction
        does not change features from before it was known, only those from then on.

        `known_at` is when each became known. A label without it counts as known before all that
        have one. `source` is "investigator", "claim" or "silence", one for all or one each; a
        label that came with its row is a claim.

        >>> from toprank.payments.features import LabelRisk
        >>> history = History([LabelRisk("share", "card", None, "0s")], row_id="tx")
        >>> history.commit({"time": 0, "card": "A", "tx": 7})
        True
        >>> history.label(7, False, known_at=100, source="investigator")
        LabelCounts(n_new=1, n_corrected=0, n_known=0, n_unknown=0, unknown=(), n_overruled=0)
        >>> history.label([7, 8], [True, True], known_at=900)
        LabelCounts(n_new=0, n_corrected=1, n_known=0, n_unknown=1, unknown=(1,), n_overruled=0)
        >>> [history.look({"time": t, "card": "A"})["card_risk_all_delay_0s"] for t in (899, 900)]
        [0.0, 1.0]
        """
        given = np.atleast_1d(np.asarray(row_id)).tolist()
        ids = RowIds.of([cells.id_text(each, "row_id") for each in given])
        label = flags(np.atleast_1d(is_positive), "is_positive", len(ids)).astype(np.float64)
        known = np.full(len(ids), NEVER)
        if known_at is not None:
            known[:] = cells.instants(known_at, "known_at")
        self._reader.check_known(label, known)
        return self._past.learn_labels(ids, label, known, _source_codes(source, len(ids)))

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Let `batch` and `one` return features, and forget their rows at the end.

        So several tables can be looked at, one after the other, of which later ones see earlier.
        """
        with self._past.taken_back():
            yield

    def knows(self, row_id: Any) -> NDArray[np.bool_]:
        """Return for each id whether a row with it is remembered."""
        return self._numbers(row_id) >= 0

    def keys_of(self, row_id: Any, key: str) -> list[str | None] | None:
        """Return the value of a key, such as the card, of each remembered row, by the rows' ids.

        None for rows that are not remembered; None altogether where no feature has this key.
        """
        if key not in self._keys:
            return None
        return self._past.keys_of(self._numbers(row_id), self._keys.index(key))

    def n_values(self, key: str) -> int | None:
        """Return how many values of a key, such as cards, are known; None if it is no key."""
        return len(self._past.keys[self._keys.index(key)]) if key in self._keys else None

    def held_labels(self, row_id: Any) -> HeldLabels:
        """Return the label that holds of each row by now, by the rows' ids."""
        return self._past.held_labels(self._numbers(row_id))

    def _numbers(self, row_id: Any) -> NDArray[np.int64]:
        return self._past.numbers_of(RowIds.of(id_texts(row_id, "row_id")))

    def purge(self, before: Any, forget: Any = None) -> None:
        """Forget what no row from `before` on can need, so that memory follows the windows.

        The features of rows from `before` on do not change. Older rows come too late from now on.
        Keys last seen before `forget`, if it is given, are forgotten, as are the ids of older
        rows: labels no longer find them. Without features of labels, ids of rows older than
        `before` are forgotten at once.
        """
        self._past.purge(cells.instant(before, "before"))
        if forget is not None:
            self._past.forget(min(cells.instant(forget, "forget"), self._past.begin))
        self._past.drop_values()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the history to a file; one already there is replaced in one step."""
        history_file.write(self._to_saved(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the history that `save` wrote, in the state in which it was saved."""
        return history_file.read(path, cls._from_saved)

    def _learn(self, rows: PaymentRows) -> NDArray[np.float64]:
        """Remember rows; return their features, one column per row."""
        arrivals = self._past.arrive(rows)
        out = np.empty((len(self.features), rows.time.size))
        out.fill(np.nan)  # `np.full` takes longer than this for a single row
        window_kernel.fill_own(self._own, rows.time, rows.numbers, out)
        self._past.learn(rows, arrivals, out)
        return out

    def _as_table(self, out: NDArray[np.float64]) -> pa.Table:
        return pa.table([pa.array(column, from_pandas=True) for column in out], names=self.names)

    def _as_dict(self, out: NDArray[np.float64]) -> dict[str, float]:
        return dict(zip(self.names, out[:, 0].tolist(), strict=True))

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a history."""
        past = self._past
        state = {
            "begin": None if past.begin == NEVER else past.begin,
            "until": None if past.until == NEVER else past.until,
            "n_too_late": past.n_too_late,
            "n_repeated": past.n_repeated,
            "id": self.id,
        }
        parameters = {
            "features": as_json(self.features),
            "time": self.time,
            "label": self.label_column,
            "known_at": self.known_at,
            "row_id": self.row_id,
            "counts_silence": self.counts_silence,
        }
        return Saved(state, past.to_arrays(), {}, parameters)

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the history that `_to_saved` described; ValueError where that does not fit."""
        named = {name: parameters[name] for name in ("time", "label", "known_at", "row_id")}
        # earlier files do not have it
        silence = parameters.get("counts_silence", False) is True
        history = cls(from_json(parameters["features"]), counts_silence=silence, **named)
        past, state = history._past, saved.state
        history.id = str(state.get("id", ""))
        past.begin = _moment(state["begin"], "begin")
        past.until = _moment(state.get("until"), "until")
        past.n_too_late = checks.whole_number(state["n_too_late"], "n_too_late", 0)
        n_repeated = state.get("n_repeated", 0)  # earlier files do not have it
        past.n_repeated = checks.whole_number(n_repeated, "n_repeated", 0)
        past.restore(saved.arrays)
        return history


def _check_label_unread(features: Iterable[Feature], label: str | None) -> None:
    """Raise for a feature that would contain a row's own label; LabelRisk does not."""
    for each in features:
        if label is not None and label in (*key_columns([each]), *number_columns([each])):
            raise ValueError(
                f"feature {each.name!r} must not use the label {label!r}, which is not known yet "
                "when its row comes; use LabelRisk, which uses labels once they are known."
            )


def _source_codes(source: Any, n_labels: int) -> NDArray[np.int64]:
    """Return the place of each source in `SOURCES`; one source may be given for all labels."""
    names = np.atleast_1d(np.asarray(source, dtype=str))
    if names.size != n_labels and np.ndim(source):
        raise ValueError(f"source must have {n_labels} values, one per id; got {names.size}.")
    known = [SOURCES.index(checks.one_of(name, "source", SOURCES)) for name in names.tolist()]
    return np.broadcast_to(np.array(known, dtype=np.int64), n_labels)


def _moment(stored: Any, name: str) -> int:
    return NEVER if stored is None else checks.whole_number(stored, name, -(2**62), 2**62)
