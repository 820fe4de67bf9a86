"""Payments, labels and a desk for workers, and what one process makes of them."""

import hashlib
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from toprank.live.desk import Desk, init_desk
from toprank.live.desk_settings import DeskSettings
from toprank.live.messages import LabelGiven, Payment
from toprank.live.stages.ordered_merge import NumberedItem
from toprank.live.stages.partition_run import partition_of
from toprank.live.stages.stage_partitions import StageModel, StagePartition, TakenRow
from toprank.payments.payment_model import PaymentModel
from toprank.simulator import simulate

COLUMNS = ["tx", "paid_at", "card", "terminal", "amount", "channel", "country"]

_NOTHING = np.empty(0)
_AT_ONCE = 500


class OneProcess(NamedTuple):
    """A digest of features and score per payment, and the processor seconds that they took."""

    digests: dict[str, bytes]
    seconds: float


class WorkerWorld:
    """The desk in a folder, and the payments and labels that follow what its model learned."""

    def __init__(self, folder: Path, n_payments: int, n_partitions: int, seed: int = 0) -> None:
        self.folder, self.n_partitions = folder / "desk", n_partitions
        n_cards = max(n_payments // 50, 400)
        table = simulate(n_cards=n_cards, n_terminals=n_cards // 5, n_days=45, random_state=seed)
        ids = pa.array([f"tx-{number}" for number in range(table.num_rows)])
        table = table.append_column("tx", ids).select([*COLUMNS, "is_fraud"])
        n_first = table.num_rows - n_payments
        if not self.folder.exists():
            self._make_desk(table.slice(0, n_first), folder / "payments.toprank")
        self.payments = table.slice(n_first, n_payments)

    def _make_desk(self, table: pa.Table, path: Path) -> None:
        model = PaymentModel(
            "is_fraud", time="paid_at", card="card", terminal="terminal", amount="amount",
            row_id="tx", n_estimators=50, time_limit=0.01, n_jobs=1, budget=50,
        )  # fmt: skip
        model.fit(table)
        model.save(path)
        model.close()
        init_desk(self.folder, path, DeskSettings(clock="payments"))

    def entries(self) -> list[tuple[str, dict[str, Any]]]:
        """Return where each payment and label is published, and its body, in one order."""
        found: list[tuple[str, dict[str, Any]]] = []
        times = self.payments["paid_at"].to_numpy().astype("datetime64[us]").view(np.int64)
        rows = self.payments.to_pylist()
        for place, (row, at) in enumerate(zip(rows, times.tolist(), strict=True)):
            is_fraud = row.pop("is_fraud")
            terminal = partition_of(row["terminal"], self.n_partitions)
            found.append((f"{terminal}.p", row | {"paid_at": at / 1e6}))
            if is_fraud or place % 50 == 49:
                label = {"id": row["tx"], "is_fraud": bool(is_fraud), "known_at": at / 1e6}
                found.append(("labels", label))
        return found

    def by_one_process(self) -> OneProcess:
        """Return what one history of all features and one model make of the entries."""
        with Desk.open(self.folder) as desk:
            model = StageModel(desk)
            names = [*model.features.terminal, *model.features.card]
            assert model.model.state_ is not None
            order = model.model.state_.history.names
            partition = StagePartition(model.model, names)
            columns = [partition.columns.index(name) for name in order]
            digests: dict[str, bytes] = {}
            began = time.process_time()
            entries = [
                NumberedItem(number, self._item(model, number, place, body))
                for number, (place, body) in enumerate(self.entries(), start=1)
            ]
            for start in range(0, len(entries), _AT_ONCE):
                rows, features = partition.take(entries[start : start + _AT_ONCE])
                whole = features[:, columns]
                for (_, decided), values in zip(model.decided(rows, whole), whole, strict=True):
                    digests[decided["id"]] = digest(values.tobytes(), decided)
        return OneProcess(digests, time.process_time() - began)

    def _item(
        self, model: StageModel, number: int, place: str, body: dict[str, Any]
    ) -> TakenRow | LabelGiven:
        if place == "labels":
            return LabelGiven(body["id"], body["is_fraud"], _micro(body["known_at"]), "claim")
        payment: Payment = model.payment(body | {"paid_at": _micro(body["paid_at"])})
        return TakenRow(number, payment, _NOTHING)


def digest(features: bytes, decided: dict[str, Any]) -> bytes:
    """Return what two payments share if their features, scores and decisions are the same bits."""
    text = json.dumps([decided["suspicion"], decided["probability"], decided["decision"]])
    return hashlib.blake2b(features + text.encode(), digest_size=16).digest()


def _micro(seconds: float) -> int:
    return round(seconds * 1_000_000)
