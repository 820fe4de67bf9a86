"""Cards as numbers, so that arrays can be indexed by them."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray


def card_numbers(
    card: ArrayLike, n_rows: int, name: str = "card"
) -> tuple[NDArray[np.int64], int]:
    """Return each row's card as a number from 0, in order of the cards, and how many there are.

    Cards are whole numbers or text.

    >>> card_numbers(["b", "a", "b"], n_rows=3)
    (array([1, 0, 1]), 2)
    """
    values = np.asarray(card)
    if values.shape != (n_rows,):
        raise ValueError(f"{name} must have {n_rows} values, one per row; got {values.shape}.")
    if values.dtype.kind not in "iuUOT":
        raise TypeError(f"{name} must hold whole numbers or text; got {values.dtype}.")
    encoded = _array(values, name).dictionary_encode()
    place = np.empty(len(encoded.dictionary), dtype=np.int64)
    place[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(place.size)
    return place[encoded.indices.to_numpy(zero_copy_only=False)], place.size


def _array(values: NDArray, name: str) -> pa.Array:
    try:
        array = pa.array(values.astype(object) if values.dtype.kind == "T" else values)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TypeError(f"{name} must hold whole numbers or text, not both; {error}.") from None
    if array.null_count:
        raise ValueError(
            f"{name} must not be missing; it is in {array.null_count} of {values.size} rows."
        )
    return array
