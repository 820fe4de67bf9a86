"""Card ids as a history keeps them: as they came, or as keyed hashes.

With a key, a card is the first 128 bits of HMAC-SHA256 of its text, in hexadecimal. The key is in
a file that is kept apart from the model: without it, nobody can tell which card a hash belongs
to, not even by trying all card numbers. This is the only place where a card gets its stored form.
"""

import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from toprank.data.tables import WrittenBatch
from toprank.data.tables.ids import id_text, id_texts
from toprank.data.tables.number_formats import MISSING
from toprank.workflow.alert_list import AlertList

LEAST_BYTES = 16
_DIGITS = 32
_OF_THE_KEY = "toprank card key"


@dataclass(frozen=True)
class StoredCards:
    """How a model stores cards: plainly, with a key, or with a key that is not at hand.

    `fingerprint` identifies the key without giving it away; None without a key.
    """

    fingerprint: str | None = None
    key: bytes | None = None

    @classmethod
    def of_key(cls, path: str | os.PathLike[str] | None) -> Self:
        """Return how cards are stored with the key in a file; plainly, where that is None."""
        if path is None:
            return cls()
        key = Path(path).read_bytes().strip()
        if len(key) < LEAST_BYTES:
            raise ValueError(
                f"{path} must contain a key of at least {LEAST_BYTES} bytes; got {len(key)}; make "
                f"one with: openssl rand -hex 32 > {path}"
            )
        return cls(_hashed(key, _OF_THE_KEY), key)

    def with_key(self, path: str | os.PathLike[str] | None, model: str) -> Self:
        """Return the same with the key in a file, which must be the one that `model` has."""
        if path is None:
            return self
        given = self.of_key(path)
        if self.fingerprint is None:
            raise ValueError(
                f"{model} was fitted without a key of cards; leave out card_key (--card-key)."
            )
        if given.fingerprint != self.fingerprint:
            raise ValueError(
                f"{path} must be the key that {model} was fitted with; it is another one; cards "
                "would not be recognised (--card-key)."
            )
        return given

    def in_table(self, table: pa.Table, card: str | None) -> pa.Table:
        """Return a table with its cards in their stored form.

        >>> cards = StoredCards("a fingerprint", b"a key of 16 bytes")
        >>> cards.in_table(pa.table({"card": [7, None]}), "card")["card"].to_pylist()
        ['69d269b879a0a2607ac59a7235697cd7', None]
        """
        if self.fingerprint is None or card is None or card not in table.column_names:
            return table
        codes = pc.dictionary_encode(id_texts(table[card], card))
        stored = pa.array([self._stored(text) for text in codes.dictionary.to_pylist()])
        place = table.column_names.index(card)
        return table.set_column(place, card, stored.cast(pa.string()).take(codes.indices))

    def in_batch(self, batch: pa.Table | WrittenBatch, card: str | None) -> WrittenBatch:
        """Return rows with their cards in their stored form, to be listed as they came."""
        whole = batch if isinstance(batch, WrittenBatch) else WrittenBatch(batch, batch)
        return whole._replace(table=self.in_table(whole.table, card))

    def in_row(self, row: Mapping[str, Any], card: str | None) -> dict[str, Any]:
        """Return one payment with its card in its stored form."""
        if self.fingerprint is None or card is None or row.get(card) is None:
            return dict(row)
        text = id_text(row[card], card)
        return {**row, card: None if text is None else self._stored(text)}

    def as_they_came(self, alerts: AlertList, card: str) -> AlertList:
        """Return a list whose facts have the cards as they are in its rows."""
        if self.fingerprint is None or alerts.facts is None:
            return alerts
        place = alerts.facts.column_names.index("card")
        return replace(alerts, facts=alerts.facts.set_column(place, "card", alerts.rows[card]))

    def checked_key(self) -> bytes | None:
        """Return the key, which must be there if the model has one."""
        if self.fingerprint is not None and self.key is None:
            raise ValueError(
                "the model keeps keyed hashes of cards; name the file with the key that it was "
                "fitted with by card_key (--card-key)."
            )
        return self.key

    def _stored(self, text: str) -> str | None:
        key = self.checked_key()
        assert key is not None  # only cards of a model with a key are hashed
        return None if text in MISSING else _hashed(key, text)


def _hashed(key: bytes, text: str) -> str:
    return hmac.digest(key, text.encode(), "sha256").hex()[:_DIGITS]
