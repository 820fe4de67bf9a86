"""Cards that the ledger knows: fraudulent ones are not listed again, cleared ones are flagged.

The figures of `fit` assume that a fraudulent card is blocked after its check. So a card with a
payment whose label is fraud is not listed again. A card that an investigator cleared recently may
be listed, since someone else may use it today, with the time at which it was cleared.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data.tables.ids import id_texts
from toprank.data.tables.spans import span_of
from toprank.payments.ledger.holding import LAST_KNOWN
from toprank.payments.payment_state import PaymentState
from toprank.workflow.alert_list import AlertList


@dataclass(frozen=True)
class KnownCards:
    """Cards by their text: those to leave out, and when each of the others was cleared."""

    blocked: frozenset[str] = frozenset()
    cleared: dict[str, np.datetime64] = field(default_factory=dict)

    def flagged(self, alerts: AlertList, listed: pa.ChunkedArray) -> AlertList:
        """Return the list with the time at which each card was cleared, NaT for most.

        `listed` are the cards of the list, as the history has them.
        """
        cards = id_texts(listed, "card").to_pylist()
        never = np.datetime64("NaT", "us")
        cleared = np.array([self.cleared.get(each, never) for each in cards], "datetime64[us]")
        return replace(alerts, cleared=cleared)


def known_cards(state: PaymentState, card: str, cleared_within: Any) -> KnownCards:
    """Return the cards that the ledger knows, as of the newest payment of the history."""
    until = state.history.until
    if until is None or not len(state.ledger):
        return KnownCards()
    known = state.ledger.as_known(LAST_KNOWN)
    cards = _cards_of(state, known.ids, card)
    pairs = zip(cards, known.is_positive.tolist(), strict=True)
    blocked = frozenset(each for each, is_fraud in pairs if is_fraud and each is not None)
    since = until - span_of(cleared_within, "cleared_within")
    is_cleared = ~known.is_positive & (known.source == "investigator") & (known.known >= since)
    cleared: dict[str, np.datetime64] = {}
    for place in np.flatnonzero(is_cleared).tolist():
        if (text := cards[place]) is not None and text not in blocked:
            cleared[text] = max(cleared.get(text, known.known[place]), known.known[place])
    return KnownCards(blocked, cleared)


def _cards_of(state: PaymentState, ids: NDArray, card: str) -> list[str | None]:
    """Return the card of each payment, from the history or else from the kept rows."""
    found = state.history.keys_of(ids, card)
    if found is not None:
        return found
    row_id = str(state.history.row_id)
    rows = state.rows()
    card_of = dict(
        zip(
            id_texts(rows[row_id], row_id).to_pylist(),
            id_texts(rows[card], card).to_pylist(),
            strict=True,
        )
    )
    return [card_of.get(each) for each in ids.tolist()]
