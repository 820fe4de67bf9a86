"""Values of key columns, by their text, as whole numbers from 0 on.

A number and its digits are one key: 7, 7.0 and "7". A missing value has no code.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data.tables.columns import plain_type
from toprank.data.tables.ids import key_text
from toprank.files.state import stored_vector


class Codes:
    """Texts and their codes; a new text gets the next code."""

    def __init__(self) -> None:
        self._code_of: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._code_of)

    def texts(self) -> list[str]:
        """Return the texts in the order of their codes."""
        return list(self._code_of)

    def one(self, texts: Sequence[str | None]) -> int:
        """Return the code of the values that make one key, as texts; -1 where one is missing."""
        return self._code(texts[0] if len(texts) == 1 else _joined(texts))

    def many(self, columns: Sequence[tuple[NDArray[np.int64], list[str | None]]]) -> NDArray:
        """Return the code of each row's key, from the `entries` of each of its columns."""
        places, texts = columns[0]
        if len(columns) > 1:
            texts = [_joined([text]) for text in texts]
        for more_places, more in columns[1:]:
            ends = [_joined([text]) for text in more]
            pairs = pa.array(places * len(ends) + more_places).dictionary_encode()
            places = pairs.indices.to_numpy()
            left, right = np.divmod(pairs.dictionary.to_numpy(), len(ends))
            texts = [
                None if texts[a] is None or ends[b] is None else texts[a] + ends[b]
                for a, b in zip(left.tolist(), right.tolist(), strict=True)
            ]
        codes = [self._code(text) for text in texts]
        return np.array(codes, dtype=np.int64)[places]

    def _code(self, text: str | None) -> int:
        return -1 if text is None else self._code_of.setdefault(text, len(self._code_of))

    def take_back(self, size: int) -> None:
        """Forget all but the first `size` texts."""
        while len(self._code_of) > size:
            self._code_of.popitem()

    def keep(self, is_kept: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Forget the others, and return the new code of each old one, -1 where forgotten."""
        texts = [text for text, kept in zip(self._code_of, is_kept.tolist(), strict=True) if kept]
        self._code_of = dict(zip(texts, range(len(texts)), strict=True))
        return np.where(is_kept, np.cumsum(is_kept) - 1, -1)

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the texts in the order of their codes, for `restore`."""
        return text_arrays(list(self._code_of))

    def restore(self, arrays: Mapping[str, NDArray]) -> None:
        """Restore the texts that `to_arrays` returned; ValueError where they are not valid."""
        texts = texts_of(arrays)
        self._code_of = dict(zip(texts, range(len(texts)), strict=True))
        if len(self) < len(texts):
            raise ValueError("the keys of a history must differ; some come twice.")


def text_of(value: Any, name: str) -> str | None:
    """Return the text of a value as a key; None where it is missing.

    >>> text_of(7.0, "card"), text_of("FR-7", "card"), text_of(None, "card")
    ('7', 'FR-7', None)
    """
    return key_text(value, name)


def entries(values: pa.ChunkedArray, name: str) -> tuple[NDArray[np.int64], list[str | None]]:
    """Return the entry of each row, and the entries as texts, the last one for missing.

    >>> entries(pa.chunked_array([["b", None, "b"]]), "card")
    (array([0, 1, 0]), ['b', None])
    """
    encoded = pa.chunked_array(values).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # an array without chunks stays chunked
        encoded = pa.array([], values.type)
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    texts = [text_of(value, name) for value in plain_type(encoded.dictionary).to_pylist()]
    places = encoded.indices.cast(pa.int64()).fill_null(len(texts)).to_numpy()
    return places, [*texts, None]


def text_arrays(texts: list[str]) -> dict[str, NDArray]:
    """Return texts as concatenated bytes, and the length of each."""
    raw = [text.encode("utf-8", "surrogatepass") for text in texts]
    return {
        "bytes": np.frombuffer(b"".join(raw), dtype=np.uint8),
        "lengths": np.array([len(each) for each in raw], dtype=np.int64),
    }


def texts_of(arrays: Mapping[str, NDArray]) -> list[str]:
    """Return the texts that `text_arrays` returned; ValueError where they are not valid.

    >>> texts_of(text_arrays(["card", "7"]))
    ['card', '7']
    """
    raw = stored_vector(arrays, "bytes", np.uint8).tobytes()
    lengths = stored_vector(arrays, "lengths", np.int64)
    if not 0 <= lengths.min(initial=0) <= lengths.max(initial=0) <= len(raw) or (
        int(lengths.sum()) != len(raw)
    ):
        raise ValueError(f"array 'lengths' must split {len(raw)} bytes into texts.")
    stops = np.cumsum(lengths).tolist()
    pairs = zip([0, *stops], stops, strict=False)
    if raw.isascii():  # a byte per character: decoded all at once
        text = raw.decode("ascii")
        return [text[start:stop] for start, stop in pairs]
    return [raw[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairs]


def _joined(texts: Sequence[str | None]) -> str | None:
    """Return one text for several, different for different ones; None where one is missing."""
    joined = ""
    for text in texts:
        if text is None:
            return None
        joined += f"{len(text)}:{text}"
    return joined
