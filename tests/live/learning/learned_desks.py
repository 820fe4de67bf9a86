"""A desk that has seen frauds since its model was fitted, so that there is something to learn."""

import numpy as np
import pyarrow as pa

from live import desks
from toprank.live.messages import LabelGiven
from toprank.simulator import simulate

N_DAYS, N_LATER = 40, 14
SETTINGS = {"silence": "2d", "capacity": 5}


def made_payments():
    """Payments to fit the first model to, and those of two weeks after, both with labels."""
    table = simulate(n_cards=80, n_terminals=30, n_days=N_DAYS + N_LATER, random_state=7)
    ids = pa.array([f"tx-{number}" for number in range(table.num_rows)])
    table = table.append_column("tx", ids).select([*desks.COLUMNS, "is_fraud"])
    days = table["paid_at"].to_numpy().astype("datetime64[D]")
    n_first = int(np.count_nonzero(days < days.min() + N_DAYS))
    return table.slice(0, n_first), table.slice(n_first)


def scored(live, payments):
    """Let a desk decide and score payments."""
    for start in range(0, len(payments), 500):
        live.decide(payments[start : start + 500])
        while live.n_unscored:
            live.score_some(256)


def claims_of(table):
    """Claims of the frauds in a table, as soon as the newest payment is known."""
    rows = zip(table["tx"].to_pylist(), table["is_fraud"].to_pylist(), strict=True)
    return [LabelGiven(each, True, None, "claim") for each, is_fraud in rows if is_fraud]


def fill(desk, table, n_last=0):
    """Give a desk the payments of a table and their claims, all but the last few payments."""
    live = desks.live(desk)
    n_first = table.num_rows - n_last
    scored(live, desks.payments_of(table.slice(0, n_first)))
    live.label(claims_of(table.slice(0, n_first)), "key:claims")
    live.close()
