"""Desks to try things on: a tiny model of made payments, and payments after those it learned."""

import asyncio
from pathlib import Path

import numpy as np
import pyarrow as pa

from live import databases
from toprank.live.desk import Desk, init_desk
from toprank.live.engine.live_desk import LiveDesk
from toprank.live.messages import Payment
from toprank.payments.payment_model import PaymentModel
from toprank.simulator import simulate

N_DAYS, N_LATER = 40, 6
COLUMNS = ["tx", "paid_at", "card", "terminal", "amount", "channel", "country"]


def made_payments():
    """The labelled payments of some weeks, and those of the days after."""
    table = simulate(n_cards=80, n_terminals=30, n_days=N_DAYS + N_LATER, random_state=2)
    ids = pa.array([f"tx-{number}" for number in range(table.num_rows)])
    table = table.append_column("tx", ids).select([*COLUMNS, "is_fraud"])
    days = table["paid_at"].to_numpy().astype("datetime64[D]")
    n_first = int(np.count_nonzero(days < days.min() + N_DAYS))
    return table.slice(0, n_first), table.slice(n_first)


def fitted_model(table, path, **options):
    """A model of some trees, in a file."""
    model = PaymentModel(
        "is_fraud", time="paid_at", card="card", terminal="terminal", amount="amount",
        row_id="tx", n_estimators=15, time_limit=0.01, n_jobs=1, budget=5, **options,
    )  # fmt: skip
    model.fit(table)
    model.save(path)
    model.close()


def payments_of(table):
    """The rows of a table as the routes give them to the engine."""
    found = []
    for row in table.select(COLUMNS).to_pylist():
        paid_at = int(np.datetime64(row["paid_at"], "us").view(np.int64))
        body = row | {"paid_at": paid_at}
        found.append(Payment(row["tx"], row["card"], row["terminal"], paid_at, body))
    return found


def new_desk(folder, model, **settings):
    """A desk whose clock is that of its payments."""
    # which cards would be shown without reasons is drawn anew for each desk
    chosen = {"clock": "payments", "blind_share": 0.0} | settings
    if {"clock", "keep"} & settings.keys():
        init_desk(folder, model, databases.settings_of(**chosen))  # may refuse the model
    else:
        databases.from_template(_made_once(Path(model)), folder, **chosen)
    return Desk.open(folder)


def _made_once(model):
    """The folder of a desk to copy, beside its model: to make one takes ten times as long."""
    folder = model.with_name(f"{model.stem}-{model.stat().st_mtime_ns}.desk")
    if not folder.exists():
        init_desk(folder, model, databases.settings_of("template", clock="payments"))
    return folder


def live(desk):
    """The desk in memory; one that was there before is as if its process had been killed."""
    databases.end_engines(desk.settings.database)
    return LiveDesk(desk)


def run(engine, work):
    """Start an engine, do what `work` returns to await, stop it; return what that gives."""

    async def whole():
        await engine.start()
        try:
            return await work()
        finally:
            await engine.stop()

    return asyncio.run(whole())


def table_of(payments):
    """Payments as a table, as they were before `payments_of`."""
    rows = [
        each.body | {"paid_at": np.datetime64(each.paid_at, "us").astype(object)}
        for each in payments
    ]
    return pa.Table.from_pylist(rows)
