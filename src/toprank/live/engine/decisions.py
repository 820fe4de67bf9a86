"""What is decided of payments that wait together: looked up, judged by rules, logged, answered.

    known already? -> features -> blocking rules -> log, in one commit -> answers

Payments are in the history before they are in the log. If the log cannot be written, the history
has more than the log: the caller must read it again from the folder.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from toprank.live.engine.live_history import LiveHistory
from toprank.live.messages import Answer, ConflictError, Decision, Payment
from toprank.live.store import payment_log
from toprank.live.store.payment_log import KnownPayment, LoggedPayment, json_text, matched_text


class Judgement(NamedTuple):
    """The rules that matched a payment: all of them with name, version and state; who blocks."""

    matched: list[list]
    blocking: list[str]


class BlockingRules(Protocol):
    """The rules that may block a payment."""

    number: int

    def judge(
        self, payments: Sequence[Payment], features: NDArray[np.float64], now: int
    ) -> list[Judgement]:
        """Return what the rules say of each payment."""


class Decided(NamedTuple):
    """The answer of each payment, an error where it conflicts; and the rows added to the log."""

    answers: list[Answer | ConflictError]
    logged: list[LoggedPayment]
    payments: list[Payment]


def decide(
    connection: sa.Connection,
    history: LiveHistory,
    rules: BlockingRules,
    payments: Sequence[Payment],
    now: int,
) -> Decided:
    """Decide on payments in their stored form, and log them; the caller commits."""
    known = payment_log.known(connection, [each.id for each in payments])
    texts = [json_text(each.body) for each in payments]
    new: dict[str, int] = {}
    for place, payment in enumerate(payments):
        if payment.id not in known:
            new.setdefault(payment.id, place)
    first = [payments[place] for place in new.values()]
    logged = _logged(history, rules, first, [texts[place] for place in new.values()], now)
    if logged:
        payment_log.add(connection, logged)
    known |= {row.id: KnownPayment(row.id, row.body, row.decision, row.matched) for row in logged}
    answers = [
        _answer(known[payment.id], text, new.get(payment.id) != place)
        for place, (payment, text) in enumerate(zip(payments, texts, strict=True))
    ]
    return Decided(answers, logged, first)


def _logged(
    history: LiveHistory,
    rules: BlockingRules,
    payments: list[Payment],
    texts: list[str],
    now: int,
) -> list[LoggedPayment]:
    """Return the rows of new payments, which the history takes in."""
    if not payments:
        return []
    position = history.position
    features = history.take_in(payments)
    judgements = rules.judge(payments, features, now)
    return [
        LoggedPayment(
            position + place,
            payment.id,
            payment.card,
            payment.terminal,
            payment.paid_at,
            now,
            text,
            row.tobytes(),
            "block" if judged.blocking else "accept",
            matched_text(judged.matched),
            rules.number,
        )
        for place, (payment, text, row, judged) in enumerate(
            zip(payments, texts, features.astype("<f8"), judgements, strict=True), start=1
        )
    ]


def _answer(known: KnownPayment, text: str, is_repeated: bool) -> Answer | ConflictError:
    if known.body != text:
        return ConflictError(known.id)
    decision: Decision = "block" if known.decision == "block" else "accept"
    return Answer(known.id, decision, known.blocking, is_repeated)
