"""Payments as the log keeps them, and back."""

import json
from dataclasses import replace
from typing import NamedTuple

from toprank.live.messages import Payment
from toprank.live.store.payment_log import LoggedPayment
from toprank.payments.stored_cards import StoredCards


class StoredPayments(NamedTuple):
    """How payments are stored: with their card as it came, or as a keyed hash."""

    cards: StoredCards
    card_column: str

    def stored(self, payment: Payment) -> Payment:
        """Return a payment with its card in its stored form."""
        if self.cards.fingerprint is None:
            return payment
        body = self.cards.in_row(payment.body, self.card_column)
        return replace(payment, card=str(body[self.card_column]), body=body)

    def read(self, row: LoggedPayment) -> Payment:
        """Return the payment in a row of the log, with its card in its stored form."""
        return Payment(row.id, row.card, row.terminal, row.paid_at, json.loads(row.body))
