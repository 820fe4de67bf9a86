"""Made payments with ids over some weeks, a tiny model of them, and its folder."""

import shutil
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa

from toprank.payments.payment_model import PaymentModel
from toprank.payments.payment_state import MemoryState
from toprank.payments.roles import new_history
from toprank.simulator import Simulation, tables_by_day

ROLES = {"time": "paid_at", "card": "card", "terminal": "terminal", "amount": "amount"}
QUICK = {"budget": 5, "n_estimators": 20, "time_limit": 0.01, "n_jobs": 1}
N_LATER = 3


@cache
def made_days(n_days=40):
    """A table per day; cards are padded numbers, ids too, and one column is of no past."""
    days = tables_by_day(Simulation(n_cards=80, n_terminals=30, n_days=n_days, random_state=3))
    found, n_before = [], 0
    for day in days:
        frame = day.to_pandas()
        frame["card"] = frame["card"].str.removeprefix("card-").str.zfill(6)
        numbers = np.arange(len(frame)) + n_before
        frame["tx"] = [f"{number:07d}" for number in numbers]
        frame["channel"] = np.where(numbers % 3 == 0, "web", "shop")
        # frauds that even twenty trees find
        frame["is_fraud"] |= (frame["amount"] > 120) & (frame["channel"] == "web")
        n_before += len(frame)
        found.append(pa.Table.from_pandas(frame, preserve_index=False))
    return found


def new_model(**changes):
    return PaymentModel(**({"label_column": "is_fraud", "row_id": "tx"} | ROLES | QUICK | changes))


def unsaved(path, days):
    """A model that is in no file: the ranker of the one at `path`, and a history of its own."""
    model = new_model()
    with PaymentModel.load(path) as old:
        model.ranker_, model.facts_, model.classes_ = old.ranker_, old.facts_, old.classes_
        model.promise_, model.usual_rows_ = old.promise_, old.usual_rows_
        model.state_ = MemoryState(new_history(old.roles, "is_fraud"))
    model.remember(joined(days[:5]))
    return model


def joined(days):
    return pa.concat_tables(days)


def unlabelled(day):
    return day.drop_columns(["is_fraud"])


def copied(folder, target):
    """Return the path of the model in a copy of the folder."""
    shutil.copytree(folder, target, dirs_exist_ok=True)
    return target / "payments.toprank"


def bytes_in(folder):
    """All files below a folder and what they hold; locks say who wrote last."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def listed(alerts):
    """All that a list promises, to be compared to the last bit."""
    why = [[(str(each), each.contribution) for each in row] for row in alerts.reasons]
    return (
        alerts.row_numbers.tolist(),
        alerts.suspicion.tolist(),
        alerts.probability.tolist(),
        why,
    )


def as_frame(day):
    return pd.DataFrame(day.to_pydict())
