"""Cards as numbers, so that arrays can be indexed by them."""

import numpy as np
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from toprank.data.tables.ids import comparable_ids


def card_numbers(
    card: ArrayLike, n_rows: int, name: str = "card"
) -> tuple[NDArray[np.int64], int]:
    """Return each row's card as a number from 0, in order of the cards, and how many there are.

    Cards are ids as `tables.ids` has them, none of them missing; numbers are in order of their
    size, texts in that of their letters.

    >>> card_numbers(["b", "a", "b"], n_rows=3)
    (array([1, 0, 1]), 2)
    """
    if np.shape(card) != (n_rows,):
        raise ValueError(f"{name} must have {n_rows} values, one per row; got {np.shape(card)}.")
    ids = comparable_ids(card, name)
    if ids.null_count:
        raise ValueError(
            f"{name} must not be missing; it is in {ids.null_count} of {n_rows} rows."
        )
    encoded = ids.dictionary_encode()
    place = np.empty(len(encoded.dictionary), dtype=np.int64)
    place[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(place.size)
    return place[encoded.indices.to_numpy(zero_copy_only=False)], place.size
