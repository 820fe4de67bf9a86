"""Tables in order of time, by name: labelled rows to learn from, then rows of later days.

No size was chosen by a figure: each is a part of its source on which all methods together take
minutes. Where a table has cards, labels are known after 7 days, so that the last 7 days before
the later rows have none yet.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from toprank.payments.roles import Roles, new_history, with_columns
from toprank.simulator import Simulation, tables_by_day
from toprank_bench import datasets
from toprank_bench.simulated.payment_past import CardPast, past_of_payments

LABEL, TIME = "is_positive", "time"
_LATER_SHARE, _JUDGED_SHARE = 0.3, 0.15
_DELAY = 7  # days until a label is known, where there are cards
_N_LISTS = 30  # into which a test file without times is cut
_BREAK_INS = (  # R2L and U2R, the rare kinds of attack
    "buffer_overflow", "ftp_write", "guess_passwd", "httptunnel", "imap", "loadmodule", "multihop",
    "named", "perl", "phf", "ps", "rootkit", "sendmail", "snmpgetattack", "snmpguess", "spy",
    "sqlattack", "warezclient", "warezmaster", "worm", "xlock", "xsnoop", "xterm",
)  # fmt: skip


class TimeTable(NamedTuple):
    """The rows of a table in order, [labelled | pending | later]; pending rows have no label yet.

    `rows` are those of a file, as `toprank fit` and `rank` read them, `roles` the columns of time,
    card, terminal and amount; `features` are what other learners get. `day` numbers the list that
    a row belongs to, `budget` is the number of rows checked per list.
    """

    rows: pa.Table
    roles: Mapping[str, str]
    features: pa.Table
    day: NDArray[np.int64]
    n_labelled: int
    first_later: int
    budget: int

    @property
    def is_positive(self) -> NDArray[np.bool_]:
        """Whether each row is positive."""
        return self.rows[LABEL].to_numpy()

    def later_days(self) -> list[slice]:
        """Return the later rows, day by day.

        >>> rows = pa.table({LABEL: [False, True, True, False]})
        >>> TimeTable(rows, {}, rows, np.array([4, 5, 5, 6]), 1, 1, 10).later_days()
        [slice(1, 3, None), slice(3, 4, None)]
        """
        later = self.day[self.first_later :]
        begins = np.flatnonzero(np.diff(later, prepend=later[0] - 1)) + self.first_later
        ends = [*begins[1:], self.day.size]
        return [slice(int(a), int(b)) for a, b in zip(begins, ends, strict=True)]

    def earlier_and_judged(self, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the labelled rows to learn from while settings are chosen, and those to judge by.

        The latter are the latest 15 %; without times, they are drawn at random.
        """
        labelled = np.arange(self.n_labelled)
        if "time" in self.roles:
            begin = round((1 - _JUDGED_SHARE) * self.n_labelled)
            return labelled[:begin], labelled[begin:]
        earlier, judged = train_test_split(
            labelled,
            stratify=self.is_positive[: self.n_labelled],
            test_size=_JUDGED_SHARE,
            random_state=seed,
        )
        return np.sort(earlier), np.sort(judged)


@lru_cache(maxsize=1)  # methods of the same table follow each other
def time_table(name: str, folder: Path | None) -> TimeTable:
    """Return the table of this name, whose data set may be in a folder."""
    return TABLES[name](folder)


def _ulb(folder: Path | None) -> TimeTable:
    """Return two days of payments; an hour of them counts as a day."""
    payments = datasets.load("ulb_creditcard", folder=folder)
    seconds = payments.features[payments.roles["time"]].to_numpy()
    return _without_cards(payments.X, payments.is_positive, _since_2013(24 * seconds), 10)


def _bank(folder: Path | None) -> TimeTable:
    """Return phone calls, of which only the order is known: spread over three years."""
    calls = datasets.load("metaap_bankmarketing", folder=folder)
    minutes = 35 * np.arange(calls.is_positive.size)
    return _without_cards(calls.X, calls.is_positive, _since_2013(60 * minutes), 10)


def _handbook_plain(folder: Path | None) -> TimeTable:
    """Return payments with 13 sums over whole days of their past."""
    payments = datasets.load("handbook_transactions", folder=folder)
    past = past_of_payments(payments, CardPast(n_cards=_HANDBOOK_CARDS))
    kept = past.moments < past.moments.min().astype("datetime64[D]") + _HANDBOOK_DAYS
    features = pa.table({name: values[kept] for name, values in past.features.items()})
    return _without_cards(features, past.is_positive[kept], past.moments[kept], 50)


def _handbook_cards(folder: Path | None) -> TimeTable:
    """Return the same payments with their cards and terminals."""
    payments = datasets.load("handbook_transactions", folder=folder)
    roles = {role: payments.roles[role] for role in ("time", "card", "terminal", "amount")}
    time, card = (payments.features[roles[role]].to_numpy() for role in ("time", "card"))
    kept = (card < _HANDBOOK_CARDS) & (time < time.min().astype("datetime64[D]") + _HANDBOOK_DAYS)
    rows = payments.features.select(list(roles.values()))
    rows = rows.append_column(LABEL, pa.array(payments.is_positive)).filter(kept)
    return _with_cards(rows, roles, 50)


def _kdd(folder: Path | None) -> TimeTable:
    """Return connections of the KDD Cup, every fifth to learn from and every tenth later one."""
    train, test = _kdd_files(folder)
    return _without_times(train, test, 100)


def _kdd_break_ins(folder: Path | None) -> TimeTable:
    """Return the same connections; only the rare kinds of attack are positive."""
    train, test = (
        each._replace(is_positive=np.isin(each.kind, _BREAK_INS)) for each in _kdd_files(folder)
    )
    return _without_times(train, test, 50)


def _nsl_kdd(folder: Path | None) -> TimeTable:
    """Return the connections of NSL-KDD, which are not repeated."""
    train, test = (_connections(folder, name, 1) for name in ("nslkdd_train", "nslkdd_test"))
    return _without_times(train, test, 100)


def _simulated(simulation: Simulation) -> Callable[[Path | None], TimeTable]:
    def make(folder: Path | None) -> TimeTable:
        rows = pa.concat_tables(list(tables_by_day(simulation)))
        names = [LABEL if name == "is_fraud" else name for name in rows.column_names]
        roles = {"time": "paid_at", "card": "card", "terminal": "terminal", "amount": "amount"}
        return _with_cards(rows.rename_columns(names), roles, 10)

    return make


_HANDBOOK_CARDS, _HANDBOOK_DAYS = 1_667, np.timedelta64(90, "D")
_WORLD = {"n_cards": 400, "n_terminals": 800, "n_days": 100, "random_state": 21}

TABLES: Mapping[str, Callable[[Path | None], TimeTable]] = {  # the smallest first
    "bank calls": _bank,
    "simulated, a new fraud": _simulated(Simulation(**_WORLD, starts={"card": 45})),
    "simulated, a fraud ends": _simulated(Simulation(**_WORLD, stops={"terminal": 60})),
    "simulated, Christmas": _simulated(Simulation(**_WORLD, start="2018-09-23", christmas=True)),
    "ULB payments": _ulb,
    "Handbook payments": _handbook_plain,
    "Handbook cards": _handbook_cards,
    "NSL-KDD attacks": _nsl_kdd,
    "KDD99 attacks": _kdd,
    "KDD99 break-ins": _kdd_break_ins,
}


def _since_2013(seconds: NDArray) -> NDArray[np.datetime64]:
    return np.datetime64("2013-09-01", "us") + (1e6 * seconds).astype("timedelta64[us]")


def _without_cards(
    features: pa.Table,
    is_positive: NDArray[np.bool_],
    moments: NDArray[np.datetime64],
    budget: int,
) -> TimeTable:
    day = moments.astype("datetime64[D]").astype(np.int64)
    begin = _nearest_day(day, 1 - _LATER_SHARE)
    rows = features.append_column(TIME, pa.array(moments))
    rows = rows.append_column(LABEL, pa.array(is_positive))
    return TimeTable(rows, {"time": TIME}, features, day, begin, begin, budget)


def _with_cards(rows: pa.Table, roles: Mapping[str, str], budget: int) -> TimeTable:
    moments = rows[roles["time"]].to_numpy()
    day = moments.astype("datetime64[D]").astype(np.int64)
    begin = _nearest_day(day, 1 - _LATER_SHARE)
    n_labelled = int(np.searchsorted(day, day[begin] - _DELAY))
    # what PaymentModel makes of the same columns
    past = new_history(Roles(**roles), LABEL, f"{_DELAY}d").batch(rows)
    apart = [roles["time"], roles["card"], roles["terminal"], LABEL]
    features = with_columns(rows, past).drop_columns(apart)
    return TimeTable(rows, roles, features, day, n_labelled, begin, budget)


class _Connections(NamedTuple):
    features: pa.Table
    is_positive: NDArray[np.bool_]
    kind: NDArray  # of attack


def _kdd_files(folder: Path | None) -> list[_Connections]:
    files = {"kdd99_10pct": 5, "kdd99_test_corrected": 10}
    return [_connections(folder, name, step) for name, step in files.items()]


def _connections(folder: Path | None, name: str, step: int) -> _Connections:
    """Return every so many rows of a data set."""
    dataset = datasets.load(name, folder=folder)
    chosen = np.arange(0, dataset.is_positive.size, step)
    kind = dataset.metadata["label"].take(chosen).cast(pa.string()).to_numpy()
    return _Connections(dataset.X.take(chosen), dataset.is_positive[chosen], kind)


def _without_times(train: _Connections, test: _Connections, budget: int) -> TimeTable:
    names = train.features.column_names
    both = [train.features, test.features.select(names)]
    features = pa.concat_tables(both, promote_options="permissive")
    is_positive = np.concatenate([train.is_positive, test.is_positive])
    n_labelled, n_later = train.is_positive.size, test.is_positive.size
    lists = np.arange(n_later) * _N_LISTS // n_later
    day = np.concatenate([np.full(n_labelled, -1), lists])
    rows = features.append_column(LABEL, pa.array(is_positive))
    return TimeTable(rows, {}, features, day, n_labelled, n_labelled, budget)


def _nearest_day(day: NDArray[np.int64], share: float) -> int:
    """Return the first row of the day that begins nearest to a share of the rows."""
    begins = np.flatnonzero(np.diff(day)) + 1
    return int(begins[np.argmin(np.abs(begins - share * day.size))])
