"""Moments, checked at the door."""

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

_ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d)$")


def days(time: ArrayLike) -> NDArray[np.int64]:
    """Return the day of each moment, counted in UTC from the day of the earliest one.

    >>> days(np.array(["2025-01-01T23:59", "2025-01-02T00:00"], dtype="datetime64[us]"))
    array([0, 1])
    """
    dates = moments_of(time).astype("datetime64[D]")
    return (dates - dates.min()).astype(np.int64)


def moments_of(time: ArrayLike, name: str = "time") -> NDArray[np.datetime64]:
    """Return `time` as a vector of moments to the microsecond, none of them missing.

    Those with a time zone become UTC.
    """
    moments = np.asarray(time)
    if moments.dtype.kind == "O":  # as which pandas gives moments with a zone
        moments = _without_zone(moments)
    if moments.dtype.kind != "M":
        raise TypeError(
            f"{name} must hold moments of type datetime64; got {moments.dtype}. "
            f"Convert it with `np.asarray({name}, dtype='datetime64[us]')`."
        )
    if moments.ndim != 1 or moments.size == 0:
        raise ValueError(
            f"{name} must be a vector of at least one moment; got shape {moments.shape}."
        )
    n_missing = np.count_nonzero(np.isnat(moments))
    if n_missing:
        raise ValueError(
            f"{name} must not be missing; it is in {n_missing} of {moments.size} rows."
        )
    return moments.astype("datetime64[us]")


def moment_of(value: Any, name: str) -> np.datetime64:
    """Return one moment to the microsecond; a date is the moment its day begins.

    >>> print(moment_of("2025-03-01", "start"), moment_of("2025-03-01T01:00+01:00", "start"))
    2025-03-01T00:00:00.000000 2025-03-01T00:00:00.000000
    """
    try:
        if isinstance(value, str) and _ZONE.search(value):
            value = datetime.fromisoformat(value)
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        moment = np.datetime64(value, "us")
    except (TypeError, ValueError):
        moment = np.datetime64("NaT")
    if np.isnat(moment):
        raise ValueError(f"{name} must be a moment such as '2025-03-01T12:00'; got {value!r}.")
    return moment


def _without_zone(moments: NDArray) -> NDArray:
    """Return moments of Python or pandas in UTC; what holds other things comes back as it is."""
    try:
        found = pa.array(moments.ravel(), from_pandas=True)
    except pa.ArrowException:
        return moments
    if not pa.types.is_timestamp(found.type):
        return moments
    return found.cast(pa.timestamp("us", found.type.tz)).to_numpy(zero_copy_only=False)
