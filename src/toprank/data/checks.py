"""Checks at the door: each returns its input ready to use or says what is wrong with it."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-35, 1e35  # sums of them are in the range of float32


def finite_vector(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return `values` as one float64 vector without missing or infinite numbers."""
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(f"{name} must have one dimension; got shape {vector.shape}.")
    unusable = vector.size - np.count_nonzero(np.isfinite(vector))
    if unusable:
        raise ValueError(f"{name} must hold finite numbers; {unusable} of {vector.size} are not.")
    return vector


def positives(
    labels: ArrayLike, name: str = "y", like: NDArray | None = None
) -> NDArray[np.bool_]:
    """Return `labels` as a bool vector that holds both classes.

    Accepted are bool, 0/1 and -1/1. `like` is the vector the labels must match in length.
    """
    vector = np.asarray(labels)
    if vector.ndim != 1:
        raise ValueError(f"{name} must have one dimension; got shape {vector.shape}.")
    if like is not None and vector.size != like.size:
        raise ValueError(f"{name} must have {like.size} values, one per score; got {vector.size}.")
    if vector.dtype != bool:
        values = np.unique(vector)
        if not any(
            np.array_equal(values, np.intersect1d(values, pair)) for pair in ([0, 1], [-1, 1])
        ):
            shown = ", ".join(map(repr, values[:4].tolist()))
            raise ValueError(
                f"{name} must be bool, 0/1 or -1/1; got {shown}. Pass `{name} == positive_label`."
            )
        vector = vector == 1
    n_positive = int(np.count_nonzero(vector))
    if n_positive in (0, vector.size):
        raise ValueError(
            f"{name} must hold both classes; got {n_positive} positives in {vector.size} rows."
        )
    return vector


def flags(values: ArrayLike, name: str, n_rows: int) -> NDArray[np.bool_]:
    """Return `values`, which are bool or 0/1 and one per row, as a bool vector."""
    vector = np.asarray(values)
    if vector.shape != (n_rows,):
        raise ValueError(
            f"{name} must have {n_rows} values, one per score; got shape {vector.shape}."
        )
    is_flag = (vector == 0) | (vector == 1)
    if not is_flag.all():
        raise ValueError(f"{name} must be bool or 0/1; got {vector[~is_flag][0].item()!r}.")
    return vector.astype(bool)


def typed_vector(
    array: NDArray, name: str, dtype: type[np.generic] | type, size: int | None = None
) -> NDArray:
    """Return the array as it is; ValueError unless it is one row of `dtype`, `size` long."""
    if array.ndim != 1 or array.dtype != dtype or size not in (None, array.size):
        length = "" if size is None else f"{size} "
        raise ValueError(
            f"array {name!r} must be one row of {length}{np.dtype(dtype)}; "
            f"got {array.dtype} of shape {array.shape}."
        )
    return array


def sample_weight(weights: ArrayLike | None, n_samples: int) -> NDArray[np.float64] | None:
    """Return one weight per row, none negative and not all zero; None stays None."""
    if weights is None:
        return None
    vector = np.asarray(weights, dtype=np.float64)
    if vector.ndim == 0:
        vector = np.full(n_samples, vector)
    vector = finite_vector(vector, "sample_weight")
    if vector.size != n_samples:
        raise ValueError(f"sample_weight must have {n_samples} values; got {vector.size}.")
    if vector.min(initial=0) < 0:
        raise ValueError(f"sample_weight must not be negative; got {vector.min():g}.")
    if not vector.any():
        raise ValueError("sample_weight must hold at least one weight above 0; all are zero.")
    low, high = vector[vector > 0].min(), vector.max()
    if low < _LEAST_WEIGHT or high > _LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight must be 0 or from {_LEAST_WEIGHT:g} to {_LARGEST_WEIGHT:g}; got "
            f"{low:g} to {high:g}; multiply all of them by one number."
        )
    return vector


def whole_number(value: Any, name: str, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number; got {value!r}.")
    number = int(value)
    if number < low or (high is not None and number > high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{name} must be {bounds}; got {number}.")
    return number


def jobs(value: Any) -> None:
    """Raise unless `value` is a number of jobs: None, or a whole number but 0."""
    if value is not None and whole_number(value, "n_jobs", -(2**31), 2**31 - 1) == 0:
        raise ValueError(
            "n_jobs must be None, 1 or more, -1 for all cores or -2 for all but one; got 0."
        )


def number_above(value: Any, name: str, low: float, high: float = np.inf) -> float:
    """Return `value` as a float in (low, high]."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number; got {value!r}.")
    number = float(value)
    if not low < number <= high:
        bounds = f"greater than {low:g}" + ("" if high == np.inf else f" and at most {high:g}")
        raise ValueError(f"{name} must be {bounds}; got {value!r}.")
    return number


def number_from(value: Any, name: str, low: float, high: float = np.inf) -> float:
    """Return `value` as a float in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number; got {value!r}.")
    number = float(value)
    if not low <= number <= high:
        bounds = f"at least {low:g}" + ("" if high == np.inf else f" and at most {high:g}")
        raise ValueError(f"{name} must be {bounds}; got {value!r}.")
    return number


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
    return str(value)


def nearest_name(name: str, names: list[str]) -> str:
    """Return a hint such as "; did you mean 'amount'?", or nothing when no name is close."""
    from difflib import get_close_matches

    folded = {each.strip().casefold(): each for each in names}
    same = folded.get(name.strip().casefold())
    close = [same] if same is not None else get_close_matches(name, names, n=1, cutoff=0.7)
    if not close:  # the same letters but for their case may be close, too
        close = [
            folded[each]
            for each in get_close_matches(name.casefold(), list(folded), n=1, cutoff=0.7)
        ]
    return f"; did you mean {close[0]!r}?" if close else ""
