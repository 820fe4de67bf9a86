"""A partition of a stage: the history of its keys, and what becomes of payments in their order."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.live.desk import Desk, stored_payments
from toprank.live.engine.live_history import LiveHistory
from toprank.live.engine.live_rules import LiveRules
from toprank.live.engine.payment_scores import Scorer
from toprank.live.messages import LabelGiven, Payment
from toprank.live.snapshots import LogPlace
from toprank.live.stages.ordered_merge import NumberedItem
from toprank.live.stages.stage_features import stage_features
from toprank.payments.features import History
from toprank.payments.features.history_split import split_history
from toprank.payments.model_files import FORGET, LATE
from toprank.payments.payment_model import PaymentModel


class TakenRow(NamedTuple):
    """A payment that counts, its sequence number, and features that came with it."""

    number: int
    payment: Payment
    before: NDArray[np.float64]


class StagePartition:
    """The history of the keys of a partition.

    Parameters
    ----------
    model
        The model, whose own history is not changed.
    names
        The features that it computes.
    history
        The file of its history; without it, it begins with what the model remembers.
    """

    def __init__(self, model: PaymentModel, names: list[str], history: Path | None = None) -> None:
        assert model.state_ is not None
        self.names = names
        self._live = LiveHistory(model, LogPlace())
        self._live.history = (
            split_history(model.state_.history, names)
            if history is None
            else History.load(history)
        )

    @property
    def columns(self) -> list[str]:
        """The features, in the order of the columns of `take`."""
        return self._live.names

    def take(
        self, entries: Sequence[NumberedItem[TakenRow | LabelGiven]]
    ) -> tuple[list[TakenRow], NDArray[np.float64]]:
        """Take in payments and labels; return the payments that count, and their features.

        A payment whose id is known does not: it came before.
        """
        rows: list[TakenRow] = []
        features = [np.empty((0, len(self.names)))]
        for is_label, group in groupby(entries, lambda each: isinstance(each.item, LabelGiven)):
            if is_label:
                self._label(list(group))
                continue
            new = self._new([each.item for each in group])  # type: ignore[misc]
            rows += new
            features.append(self._live.take_in([each.payment for each in new]))
        return rows, np.concatenate(features)

    def save(self, path: Path) -> None:
        """Forget what no payment can need any more, and write the rest to a file."""
        history = self._live.history
        if history.until is not None:
            history.purge(history.until - LATE, forget=history.until - FORGET)
        history.save(path)

    def _new(self, rows: list[TakenRow]) -> list[TakenRow]:
        first: dict[str, TakenRow] = {}
        for each in rows:
            first.setdefault(each.payment.id, each)
        knows = self._live.history.knows(list(first)).tolist()
        return [row for row, is_known in zip(first.values(), knows, strict=True) if not is_known]

    def _label(self, entries: list[NumberedItem[Any]]) -> None:
        history = self._live.history
        given: list[LabelGiven] = [each.item for each in entries]
        history.label(
            [each.id for each in given],
            np.array([each.is_fraud for each in given]),
            np.array([each.known_at for each in given]).view("datetime64[us]"),
            [each.source for each in given],
        )


class StageModel:
    """The model and the rules of a desk, for the partitions of a stage."""

    def __init__(self, desk: Desk, card_key: Path | None = None) -> None:
        self.desk = desk
        self.model, _ = desk.load_newest(card_key)
        self.features = stage_features(self.model)
        self.stored = stored_payments(self.model)
        self._scorer = Scorer(self.model)
        with desk.database.reading() as connection:
            self._rules = LiveRules(connection, self.model, desk.settings)
        assert self.model.state_ is not None
        names = self.model.state_.history.names
        self._terminal = [names.index(each) for each in self.features.terminal]
        self._card = [names.index(each) for each in self.features.card]
        self._n_names, self.n_terminal = len(names), len(self._terminal)

    def partition(self, stage: str, history: Path | None = None) -> StagePartition:
        """Return a partition of a stage, with its history from a file."""
        return StagePartition(self.model, getattr(self.features, stage), history)

    def payment(self, body: dict[str, Any]) -> Payment:
        """Return the payment of a body that was checked and is in its stored form."""
        model = self.model
        terminal = "" if model.terminal is None else str(body.get(model.terminal, ""))
        card = str(body[str(model.card)])
        return Payment(str(body[str(model.row_id)]), card, terminal, body[str(model.time)], body)

    def whole(self, of_terminal: NDArray[np.float64], of_card: NDArray[np.float64]) -> NDArray:
        """Return all features in the order of the model."""
        found = np.empty((len(of_card), self._n_names))
        found[:, self._terminal] = of_terminal
        found[:, self._card] = of_card
        return found

    def decided(
        self, rows: Sequence[TakenRow], features: NDArray[np.float64]
    ) -> list[tuple[int, dict[str, Any]]]:
        """Return decision and score of payments, with their sequence numbers."""
        if not rows:
            return []
        payments = [each.payment for each in rows]
        times = [each.paid_at for each in payments]
        judged = self._rules.judge_at(payments, features, times)
        scored = self._scorer.score(payments, features)
        assert scored.probability is not None
        columns = zip(
            rows, judged, scored.suspicion.tolist(), scored.probability.tolist(), strict=True
        )
        return [
            (
                row.number,
                {
                    "id": row.payment.id,
                    "card": row.payment.card,
                    "decision": "block" if judgement.blocking else "accept",
                    "rules": judgement.blocking,
                    "suspicion": suspicion,
                    "probability": probability,
                },
            )
            for row, judgement, suspicion, probability in columns
        ]
