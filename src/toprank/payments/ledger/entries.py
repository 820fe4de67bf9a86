"""Labels to be added to a ledger, as checked columns."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.data.tables.ids import comparable_ids
from toprank.payments.ledger.holding import FIRST_KNOWN, LAST_KNOWN, SOURCES
from toprank.splits.moments import moment_of, moments_of

NO_SOURCE = -1
_CODES = {source: code for code, source in enumerate(SOURCES)}
NO_NUMBERS: NDArray[np.int64] = np.empty(0, dtype=np.int64)


class Entry(NamedTuple):
    """One label of a ledger."""

    id: str
    is_positive: bool
    known: np.datetime64
    source: str
    confidence: float
    who: str


class Entries(NamedTuple):
    """Labels as columns, in the order they were added."""

    ids: pa.Array  # int64 or large_string; out of a ledger they are texts
    is_positive: NDArray[np.bool_]
    known: NDArray[np.datetime64]
    source_code: NDArray[np.int8]
    confidence: NDArray[np.float64]
    who: pa.Array
    numbers: NDArray[np.int64] = NO_NUMBERS
    """The number of each label in its ledger: the first has 1."""

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
        if len({part.ids.type for part in parts}) > 1:
            parts = [part._replace(ids=part.ids.cast(pa.large_string())) for part in parts]
        columns = zip(*parts, strict=True)
        return cls(
            *(
                pa.concat_arrays(column)
                if isinstance(column[0], pa.Array)
                else np.concatenate(column)
                for column in columns
            )
        )

    def stored(self) -> "list[StoredLabel]":
        """Return the labels as rows of the table."""
        columns = (
            self.ids.cast(pa.large_string()).to_pylist(),
            self.is_positive.tolist(),
            self.known.view(np.int64).tolist(),
            [SOURCES[code] for code in self.source_code.tolist()],
            self.confidence.tolist(),
            self.who.to_pylist(),
        )
        return list(map(StoredLabel._make, zip(*columns, strict=True)))

    @classmethod
    def of_stored(cls, rows: list[tuple[Any, ...]]) -> "Entries":
        """Return rows of the table, each with its number at the end."""
        columns = zip(*rows, strict=True) if rows else ((),) * 7
        ids, labels, known, sources, confidences, who, numbers = columns
        return cls(
            pa.array(ids, pa.large_string()),
            np.array(labels, dtype=bool),
            np.array(known, dtype=np.int64).view("datetime64[us]"),
            np.array([_CODES[source] for source in sources], dtype=np.int8),
            np.array(confidences, dtype=np.float64),
            pa.array(who, pa.large_string()),
            np.array(numbers, dtype=np.int64),
        )


class StoredLabel(NamedTuple):
    """A label as a row of the table; `known` is in microseconds from 1970."""

    id: str
    is_positive: int
    known: int
    source: str
    confidence: float
    who: str

    def entry(self) -> Entry:
        """Return the label with its values as types of Python and NumPy."""
        known = np.datetime64(self.known, "us")
        return Entry(
            self.id, bool(self.is_positive), known, self.source, self.confidence, self.who
        )


def ids_of(ids: ArrayLike) -> pa.Array:
    """Return row ids, one or many, none of them missing: numbers if all are, otherwise texts."""
    found = comparable_ids([ids] if np.ndim(ids) == 0 else ids, "ids")
    if found.null_count:
        raise ValueError(f"ids must not be missing; {found.null_count} of {len(found)} are.")
    return found


def _filled(values, n_rows, name):
    """Return one value per row; a single value is repeated."""
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
    alone = np.ndim(known) == 0
    moments = np.asarray(moment_of(known, "known")) if alone else moments_of(known, "known")
    is_far = (moments < FIRST_KNOWN) | (moments > LAST_KNOWN)
    if is_far.any():
        raise ValueError(
            f"known must be between the years 1 and 9999; got {moments[is_far].flat[0]}."
        )
    return moments


def _source_codes(source):
    if isinstance(source, str):
        return np.array(_source_code(source), dtype=np.int8)
    encoded = pa.array(np.asarray(source, dtype=object).ravel(), pa.string()).dictionary_encode()
    codes = [_source_code(name) for name in encoded.dictionary.to_pylist()]
    return np.array(codes, dtype=np.int8)[encoded.indices.to_numpy()].reshape(np.shape(source))


def _source_code(name):
    return SOURCES.index(checks.one_of(name, "source", SOURCES))


def _confidences(confidence):
    values = np.asarray(confidence, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():  # NaN is neither
        worst = values[~((values >= 0) & (values <= 1))].flat[0]
        raise ValueError(f"confidence must be between 0 and 1; got {worst:g}.")
    return values


def _names(who, n_rows):
    if isinstance(who, str):
        return pa.repeat(pa.scalar(who, pa.large_string()), n_rows)
    values = _filled(np.asarray(who, dtype=object), n_rows, "who")
    if not all(isinstance(name, str) for name in values):
        raise TypeError("who must be text, such as a name; leave it out if it is not known.")
    return pa.array(values, pa.large_string())
