"""Tables in time by name, from public data sets and simulated worlds.

No size was chosen by a figure: each is a part of its source on which all methods together take
minutes.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.simulator import Simulation, tables_by_day
from toprank_bench import datasets
from toprank_bench.in_time.time_tables import (
    LABEL,
    LabelledFile,
    TimeTable,
    cards_table,
    plain_table,
    two_files_table,
)
from toprank_bench.simulated.payment_past import CardPast, past_of_payments

_BREAK_INS = (  # R2L and U2R, the rare kinds of attack
    "buffer_overflow", "ftp_write", "guess_passwd", "httptunnel", "imap", "loadmodule", "multihop",
    "named", "perl", "phf", "ps", "rootkit", "sendmail", "snmpgetattack", "snmpguess", "spy",
    "sqlattack", "warezclient", "warezmaster", "worm", "xlock", "xsnoop", "xterm",
)  # fmt: skip


@lru_cache(maxsize=1)  # methods of the same table follow each other
def time_table(name: str, folder: Path | None) -> TimeTable:
    """Return the table of this name, whose data set may be in a folder."""
    return TABLES[name](folder)


def _ulb(folder: Path | None) -> TimeTable:
    """Return two days of payments; an hour of them counts as a day."""
    payments = datasets.load("ulb_creditcard", folder=folder)
    seconds = payments.features[payments.roles["time"]].to_numpy()
    return plain_table(payments.X, payments.is_positive, _since_2013(24 * seconds), 10)


def _bank(folder: Path | None) -> TimeTable:
    """Return phone calls, of which only the order is known: spread over three years."""
    calls = datasets.load("metaap_bankmarketing", folder=folder)
    minutes = 35 * np.arange(calls.is_positive.size)
    return plain_table(calls.X, calls.is_positive, _since_2013(60 * minutes), 10)


def _handbook_plain(folder: Path | None) -> TimeTable:
    """Return payments with 13 sums over whole days of their past."""
    payments = datasets.load("handbook_transactions", folder=folder)
    past = past_of_payments(payments, CardPast(n_cards=_HANDBOOK_CARDS))
    kept = past.moments < past.moments.min().astype("datetime64[D]") + _HANDBOOK_DAYS
    features = pa.table({name: values[kept] for name, values in past.features.items()})
    return plain_table(features, past.is_positive[kept], past.moments[kept], 50)


def _handbook_cards(folder: Path | None) -> TimeTable:
    """Return the same payments with their cards and terminals."""
    payments = datasets.load("handbook_transactions", folder=folder)
    roles = {role: payments.roles[role] for role in ("time", "card", "terminal", "amount")}
    time, card = (payments.features[roles[role]].to_numpy() for role in ("time", "card"))
    kept = (card < _HANDBOOK_CARDS) & (time < time.min().astype("datetime64[D]") + _HANDBOOK_DAYS)
    rows = payments.features.select(list(roles.values()))
    rows = rows.append_column(LABEL, pa.array(payments.is_positive)).filter(kept)
    return cards_table(rows, roles, 50)


def _kdd(folder: Path | None) -> TimeTable:
    """Return connections of the KDD Cup, every fifth to learn from and every tenth later one."""
    train, test = _kdd_files(folder)
    return two_files_table(train, test, 100)


def _kdd_break_ins(folder: Path | None) -> TimeTable:
    """Return the same connections; only the rare kinds of attack are positive."""
    train, test = (
        each._replace(is_positive=np.isin(each.kind, _BREAK_INS)) for each in _kdd_files(folder)
    )
    return two_files_table(train, test, 50)


def _nsl_kdd(folder: Path | None) -> TimeTable:
    """Return the connections of NSL-KDD, which are not repeated."""
    train, test = (_connections(folder, name, 1) for name in ("nslkdd_train", "nslkdd_test"))
    return two_files_table(train, test, 100)


def _world(simulation: Simulation) -> Callable[[Path | None], TimeTable]:
    def make(folder: Path | None) -> TimeTable:
        rows = pa.concat_tables(list(tables_by_day(simulation)))
        names = [LABEL if name == "is_fraud" else name for name in rows.column_names]
        roles = {"time": "paid_at", "card": "card", "terminal": "terminal", "amount": "amount"}
        return cards_table(rows.rename_columns(names), roles, 10)

    return make


_HANDBOOK_CARDS, _HANDBOOK_DAYS = 1_667, np.timedelta64(90, "D")
_WORLD = Simulation(n_cards=400, n_terminals=800, n_days=100, random_state=21)

TABLES: Mapping[str, Callable[[Path | None], TimeTable]] = {  # the smallest first
    "bank calls": _bank,
    "new fraud (simulated)": _world(replace(_WORLD, starts={"card": 45})),
    "fraud that ends (simulated)": _world(replace(_WORLD, stops={"terminal": 60})),
    "Christmas (simulated)": _world(replace(_WORLD, start="2018-09-23", christmas=True)),
    "ULB payments": _ulb,
    "Handbook payments": _handbook_plain,
    "Handbook cards": _handbook_cards,
    "NSL-KDD attacks": _nsl_kdd,
    "KDD99 attacks": _kdd,
    "KDD99 break-ins": _kdd_break_ins,
}


def _since_2013(seconds: NDArray) -> NDArray[np.datetime64]:
    return np.datetime64("2013-09-01", "us") + (1e6 * seconds).astype("timedelta64[us]")


def _kdd_files(folder: Path | None) -> list[LabelledFile]:
    files = {"kdd99_10pct": 5, "kdd99_test_corrected": 10}
    return [_connections(folder, name, step) for name, step in files.items()]


def _connections(folder: Path | None, name: str, step: int) -> LabelledFile:
    """Return every so many rows of a data set."""
    dataset = datasets.load(name, folder=folder)
    chosen = np.arange(0, dataset.is_positive.size, step)
    kind = dataset.metadata["label"].take(chosen).cast(pa.string()).to_numpy()
    return LabelledFile(dataset.X.take(chosen), dataset.is_positive[chosen], kind)
