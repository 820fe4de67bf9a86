"""Labels as they are added: columns, checked."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from toprank import checks
from toprank.splits.moments import moment_of, moments_of

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
