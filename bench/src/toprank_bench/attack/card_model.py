"""A small payment model that knows cards, with days of payments and labels still to come."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from toprank.payments.model_files import history_folder
from toprank.payments.payment_model import PaymentModel
from toprank.simulator import simulate

_N_DAYS = 40
_KEPT = ["id", "paid_at", "card", "terminal", "amount", "is_fraud"]


class CardModel(NamedTuple):
    """The model and the files that commands are given: a table and its labels per later day."""

    model: Path
    days: list[Path]
    labels: list[Path]

    def counts(self) -> tuple[int, int]:
        """Return how many rows and how many labels the history has."""
        with PaymentModel.load(self.model) as model:
            assert model.state_ is not None
            return model.state_.rows().num_rows, len(model.state_.ledger)

    @property
    def history(self) -> Path:
        """The folder of the history."""
        return history_folder(self.model)


def write_card_model(folder: Path, n_later: int, seed: int) -> CardModel:
    """Fit the model on the days before, and write the files of the later ones."""
    payments = simulate(n_cards=60, n_terminals=60, n_days=_N_DAYS + n_later, random_state=seed)
    payments = payments.append_column("id", pa.array(np.arange(payments.num_rows).astype(str)))
    amount = payments["amount"].to_numpy()
    is_fraud = pa.array(amount > np.quantile(amount, 0.97))  # some in every part of the time
    payments = payments.drop_columns(["is_fraud"]).append_column("is_fraud", is_fraud)
    payments = payments.select(_KEPT)
    at = payments["paid_at"].to_numpy().astype("datetime64[D]")
    day = (at - at.min()).astype(int)
    model = PaymentModel(
        "is_fraud", time="paid_at", card="card", terminal="terminal", amount="amount",
        row_id="id", delay="2d", budget=5, learner="metaap", n_estimators=5, n_jobs=1,
    )  # fmt: skip
    path = folder / "m.toprank"
    with model.fit(payments.filter(pa.array(day < _N_DAYS))):
        model.save(path)
    days, labels = [], []
    for number in range(n_later):
        rows = payments.filter(pa.array(day == _N_DAYS + number))
        days.append(folder / f"day{number}.parquet")
        labels.append(folder / f"labels{number}.parquet")
        pq.write_table(rows.drop_columns(["is_fraud"]), days[-1])
        pq.write_table(rows.select(["id", "is_fraud"]), labels[-1])
    return CardModel(path, days, labels)
