"""Labels with where they came from and when they became known.

An investigator's verdict comes within the day, a card holder's claim weeks later, and most
payments are never spoken of again. What a ranker may learn from on a day, and how good it was,
are questions about the labels known by then. So labels are only ever added to a ledger, a
correction is one more label, and `as_known` tells what they came to at any moment:

1. labels known before the moment count, later ones do not;
2. of one row's labels the one known last holds; of those known at the same time an investigator's
   goes before a claim and a claim before silence; of those equal in this too, the one added last;
3. silence holds only where nobody has spoken, however late it is dated.

A label dated by day alone, as `2025-03-01`, is therefore not yet known as that day begins.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from toprank import checks
from toprank.splits.moments import moment_of, moments_of, span_of

SOURCES = ("investigator", "claim", "silence")  # the first goes before the others
SILENCE = SOURCES.index("silence")
NO_SOURCE = -1


class Entry(NamedTuple):
    """One label as it was added."""

    id: int | str
    is_positive: bool
    known: np.datetime64
    source: str
    confidence: float
    who: str


@dataclass(frozen=True, eq=False)
class Known:
    """The labels of rows as known at a moment, one entry per row in the order of `ids`.

    Where `has_label` is False, `is_positive` is False, `confidence` 0 and `known` NaT.
    `source_code` is the place of the source in `SOURCES`, or -1.
    """

    moment: np.datetime64
    ids: NDArray
    has_label: NDArray[np.bool_]
    is_positive: NDArray[np.bool_]
    source_code: NDArray[np.int8]
    confidence: NDArray[np.float64]
    known: NDArray[np.datetime64]

    @cached_property
    def source(self) -> NDArray[np.str_]:
        """The source of each label in words, empty where there is none."""
        return np.array([*SOURCES, ""])[self.source_code]

    def maturity(self, rows: ArrayLike | None = None) -> float:
        """Return the share of the rows that have a label; `rows` narrows it to some of them."""
        labelled = self.has_label if rows is None else self.has_label[np.asarray(rows)]
        if not labelled.size:
            raise ValueError("maturity must be asked of at least one row; got none.")
        return float(labelled.mean())

    def silence(self, time: ArrayLike, after: Any = "30d") -> "Known":
        """Return the view in which rows without a label count as genuine after so long.

        `time` is the moment of each row. Their label is of source "silence", known `after` it.

        >>> ledger = MemoryLedger()
        >>> time = np.array(["2025-01-01", "2025-02-20"], dtype="datetime64[us]")
        >>> ledger.as_known("2025-03-01", ids=[7, 8]).silence(time, after="30d").source
        array(['silence', ''], dtype='<U12')
        """
        since = moments_of(time) + span_of(after, "after")
        if since.size != self.ids.size:
            raise ValueError(
                f"time must have {self.ids.size} moments, one per row; got {since.size}."
            )
        silent = ~self.has_label & (since < self.moment)
        return replace(
            self,
            has_label=self.has_label | silent,
            source_code=np.where(silent, np.int8(SILENCE), self.source_code),
            confidence=np.where(silent, 1.0, self.confidence),
            known=np.where(silent, since, self.known),
        )


class Matured(NamedTuple):
    """A metric on the rows whose label is known, beside the share of rows that is."""

    value: float
    maturity: float
    n_labelled: int
    n_rows: int

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.maturity:.0%} of {self.n_rows} labels known)"


def mature(
    metric: Callable[..., float],
    known: Known,
    suspicion: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    **options: Any,
) -> Matured:
    """Return `metric` on the labels known, beside the share of the rows that have one.

    `rows`, a mask or row numbers, are those the metric is about; left alone, all. `options` are
    what the metric takes besides labels and suspicions; those with a value per row, such as
    cards, are cut to the rows used. At a low maturity the metric speaks of the labels that come
    early, and those are not like the others: checked rows were chosen by suspicion.

    >>> from toprank.metrics import average_precision
    >>> ledger = MemoryLedger()
    >>> ledger.append([1, 2], [True, False], known="2025-01-03", source="investigator")
    2
    >>> print(mature(average_precision, ledger.as_known("2025-02-01", [1, 2, 3]), [0.9, 0.5, 0.1]))
    1.000 (67% of 3 labels known)
    """
    n_rows = known.ids.size
    suspicions = checks.finite_vector(suspicion, "suspicion")
    if suspicions.size != n_rows:
        raise ValueError(f"suspicion must have {n_rows} values; got {suspicions.size}.")
    asked = np.arange(n_rows) if rows is None else np.arange(n_rows)[np.asarray(rows)]
    used = asked[known.has_label[asked]]
    options = {name: _cut(value, n_rows, used) for name, value in options.items()}
    value = metric(known.is_positive[used], suspicions[used], **options)
    return Matured(float(value), known.maturity(asked), used.size, asked.size)


class Entries(NamedTuple):
    """Labels as columns, in the order they were added."""

    ids: pa.Array  # int64 or large_string
    is_positive: NDArray[np.bool_]
    known: NDArray[np.datetime64]
    source_code: NDArray[np.int8]
    confidence: NDArray[np.float64]
    who: pa.Array

    @classmethod
    def of(cls, ids, is_positive, known, source, confidence, who) -> "Entries":
        """Return the columns, each checked and as long as `ids`."""
        ids = ids_of(ids)
        n_rows = len(ids)
        return cls(
            ids,
            _filled(_labels(is_positive), n_rows, "is_positive"),
            _filled(_moments(known), n_rows, "known"),
            _filled(_source_codes(source), n_rows, "source"),
            _filled(_confidences(confidence), n_rows, "confidence"),
            _names(who, n_rows),
        )

    @classmethod
    def joined(cls, parts: "list[Entries]") -> "Entries":
        """Return the entries of all parts, one after the other."""
        columns = zip(*parts, strict=True)
        return cls(
            *(
                pa.concat_arrays(column)
                if isinstance(column[0], pa.Array)
                else np.concatenate(column)
                for column in columns
            )
        )


class Ledger(ABC):
    """Labels that are only ever added, and what they come to at a moment.

    A ledger's ids are either all whole numbers or all text. Moments are UTC.
    """

    def __init__(self) -> None:
        self._parts: list[Entries] = []
        self._index: _Index | None = None

    def append(
        self,
        ids: ArrayLike,
        is_positive: ArrayLike,
        *,
        known: Any,
        source: Any,
        confidence: ArrayLike = 1.0,
        who: Any = "",
    ) -> int:
        """Add a label for each of `ids` and return how many; either all are added or none.

        `known` is when it became known and `source` one of "investigator", "claim" and "silence".
        Everything but `ids` may be one value for all. To correct a label, append the right one.
        """
        if np.size(ids) == 0:
            return 0
        entries = Entries.of(ids, is_positive, known, source, confidence, who)
        self._store(entries)
        return len(entries.ids)

    def as_known(self, moment: Any, ids: ArrayLike | None = None) -> Known:
        """Return the labels known before `moment` of the rows `ids`, or of all that have one.

        A date is the moment its day begins.
        """
        moment = moment_of(moment, "moment")
        index = self._indexed()
        if ids is None:
            holding = index.holding(moment) if index else np.empty(0, dtype=np.int64)
            labelled = np.flatnonzero(holding >= 0)
            all_ids = index.ids.take(pa.array(labelled)) if index else pa.array([], pa.int64())
            return _view(moment, _as_numpy(all_ids), index, holding[labelled])
        rows = np.atleast_1d(np.asarray(ids))
        if index is None or rows.size == 0:
            return _view(moment, rows, None, np.full(rows.size, -1))
        place = index.places(ids_of(ids))
        # one more place at the end, for rows the ledger has never seen: -1 leads there
        return _view(moment, rows, index, np.append(index.holding(moment), -1)[place])

    def history(self, row_id: int | str) -> list[Entry]:
        """Return all labels of one row in the order they were added."""
        index = self._indexed()
        if index is None:
            return []
        place = index.places(ids_of([row_id]))[0]
        return [_entry(index.entries, i) for i in np.flatnonzero(index.place == place)]

    def __len__(self) -> int:
        index = self._indexed()
        return 0 if index is None else len(index.entries.ids)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of what the ledger holds open."""

    @abstractmethod
    def _store(self, entries: Entries) -> None:
        """Keep the entries, or none of them."""

    @abstractmethod
    def _catch_up(self) -> None:
        """Take in what others have added."""

    def _take_in(self, entries: Entries) -> None:
        if self._parts:
            check_kind(entries.ids, self._parts[0].ids.type)
        self._parts.append(entries)
        self._index = None

    def _indexed(self) -> "_Index | None":
        self._catch_up()
        if self._index is None and self._parts:
            self._parts = [Entries.joined(self._parts)]
            self._index = _Index.of(self._parts[0])
        return self._index


class MemoryLedger(Ledger):
    """A ledger that lasts as long as the process.

    >>> ledger = MemoryLedger()
    >>> ledger.append(["a", "b"], [False, True], known="2025-01-05", source="investigator")
    2
    >>> ledger.append("a", True, known="2025-02-01", source="claim")  # a correction
    1
    >>> ledger.as_known("2025-01-20", ids=["a", "b", "c"]).is_positive
    array([False,  True, False])
    >>> ledger.as_known("2025-03-01", ids=["a", "b", "c"]).source
    array(['claim', 'investigator', ''], dtype='<U12')
    """

    def close(self) -> None:
        """Do nothing: memory needs no closing."""

    def _store(self, entries: Entries) -> None:
        self._take_in(entries)

    def _catch_up(self) -> None:
        pass  # nobody else can add to it


class _Index(NamedTuple):
    """The entries, the distinct ids, and the order that decides which entry holds."""

    entries: Entries
    ids: pa.Array
    place: NDArray[np.int64]  # of each entry's id among the distinct ones
    order: NDArray[np.int64]  # entries by rising claim to be the label

    @classmethod
    def of(cls, entries):
        encoded = entries.ids.dictionary_encode()
        place = encoded.indices.to_numpy().astype(np.int64)
        speaks = entries.source_code != SILENCE
        # equal in all three, the entry added last comes last
        order = np.lexsort((-entries.source_code, entries.known, speaks))
        return cls(entries, encoded.dictionary, place, order)

    def holding(self, moment):
        """Return for each distinct id the entry that holds, or -1."""
        known = self.order[self.entries.known[self.order] < moment]
        entry = np.full(len(self.ids), -1)
        entry[self.place[known]] = known  # of several for one id the last one stays
        return entry

    def places(self, ids):
        """Return the place of each id among the distinct ones, or -1."""
        check_kind(ids, self.ids.type)
        found = pc.index_in(ids, value_set=self.ids)
        return pc.fill_null(found, -1).to_numpy().astype(np.int64)


def ids_of(ids: ArrayLike) -> pa.Array:
    """Return row ids, one or many, as int64 or text, none of them missing."""
    values = np.atleast_1d(np.asarray(ids))
    if values.ndim != 1:
        raise ValueError(f"ids must have one dimension; got shape {values.shape}.")
    if values.dtype.kind in "iu":
        if values.dtype == np.uint64 and values.max(initial=0) > np.iinfo(np.int64).max:
            raise ValueError(f"ids must be below 2^63; got {values.max()}. Pass them as text.")
        return pa.array(values.astype(np.int64))
    if values.dtype.kind not in "UOT":
        raise TypeError(f"ids must be whole numbers or text; got {values.dtype}.")
    if not isinstance(ids, np.ndarray):
        values = np.atleast_1d(np.asarray(ids, dtype=object))  # numbers among text stay numbers
    try:
        texts = pa.array(values.tolist(), pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TypeError(f"ids must be all whole numbers or all text; {error}.") from None
    if texts.null_count:
        raise ValueError(f"ids must not be missing; {texts.null_count} of {len(texts)} are.")
    return texts


def check_kind(ids: pa.Array, kind: pa.DataType) -> None:
    """Raise a TypeError unless the ids are of the kind that the ledger holds."""
    if ids.type != kind:
        names = {True: "whole numbers", False: "text"}
        raise TypeError(
            f"ids must be {names[pa.types.is_integer(kind)]}, as in the rest of this ledger; got "
            f"{names[pa.types.is_integer(ids.type)]}."
        )


def _view(moment, ids, index, holding):
    """Return what the entries `holding`, one per id and -1 for none, say."""
    has_label = holding >= 0
    if index is None:
        n_rows = holding.size
        no_time = np.full(n_rows, np.datetime64("NaT", "us"))
        no_source = np.full(n_rows, NO_SOURCE, dtype=np.int8)
        return Known(
            moment, ids, has_label, np.zeros(n_rows, bool), no_source, np.zeros(n_rows), no_time
        )
    entries = index.entries
    return Known(
        moment,
        ids,
        has_label,
        entries.is_positive[holding] & has_label,
        np.where(has_label, entries.source_code[holding], np.int8(NO_SOURCE)),
        np.where(has_label, entries.confidence[holding], 0.0),
        np.where(has_label, entries.known[holding], np.datetime64("NaT", "us")),
    )


def _entry(entries, i):
    return Entry(
        entries.ids[i].as_py(),
        bool(entries.is_positive[i]),
        entries.known[i],
        SOURCES[entries.source_code[i]],
        float(entries.confidence[i]),
        entries.who[i].as_py(),
    )


def _as_numpy(ids):
    if pa.types.is_integer(ids.type):
        return ids.to_numpy()
    return np.array(ids.to_pylist(), dtype=str)


def _filled(values, n_rows, name):
    """Return a value per row, where one was given for all as well."""
    if values.ndim == 0:
        return np.full(n_rows, values)
    if values.shape != (n_rows,):
        raise ValueError(f"{name} must have {n_rows} values, one per id; got {values.shape}.")
    return values


def _labels(is_positive):
    labels = np.asarray(is_positive)
    if labels.dtype == bool:
        return labels
    values = set(np.unique(labels).tolist())
    if not (values <= {0, 1} or values <= {-1, 1}):
        raise ValueError(
            f"is_positive must be bool, 0/1 or -1/1; got {sorted(values, key=str)[:4]}."
        )
    return labels == 1


def _moments(known):
    if np.ndim(known) == 0:
        return np.asarray(moment_of(known, "known"))
    return moments_of(known, "known")


def _source_codes(source):
    names, place = np.unique(np.asarray(source, dtype=str), return_inverse=True)
    codes = [SOURCES.index(checks.one_of(str(name), "source", SOURCES)) for name in names]
    return np.array(codes, dtype=np.int8)[place].reshape(np.shape(source))


def _confidences(confidence):
    values = np.asarray(confidence, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():  # NaN is neither
        worst = values[~((values >= 0) & (values <= 1))].flat[0]
        raise ValueError(f"confidence must be between 0 and 1; got {worst:g}.")
    return values


def _names(who, n_rows):
    values = _filled(np.asarray(who, dtype=object), n_rows, "who")
    if not all(isinstance(name, str) for name in values):
        raise TypeError("who must be text, such as a name; leave it out where nobody is known.")
    return pa.array(values, pa.large_string())


def _cut(value, n_rows, used):
    per_row = np.ndim(value) == 1 and len(value) == n_rows
    return np.asarray(value)[used] if per_row else value
