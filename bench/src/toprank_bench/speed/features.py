"""Features of payments over windows of time, against pandas, and the making of payments."""

from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.payments.features import History, default_features, handbook_features
from toprank.simulator import Simulation, write_parquet
from toprank_bench.speed.race import Measured, Race, Setting
from toprank_bench.speed.speed_rows import SEED
from toprank_bench.speed.timing import milliseconds_each, seconds_alone, times_as_fast

_CARDS, _TERMINALS, _REACH, _DAYS = 5_000, 10_000, 80, 183
_WINDOWS = (1, 7, 30)
_ROWS_COMPARED = 100_000


def _against_pandas(setting: Setting) -> Measured:
    payments = made_up_payments(setting.shape["rows"])
    _check_alike(payments[:_ROWS_COMPARED])
    return times_as_fast(
        lambda: _history(handbook_features()).batch(payments),
        lambda: _rolled_windows(payments),
        setting.shape["rounds"],
    )


def _all_at_once(setting: Setting) -> Measured:
    payments, features = made_up_payments(setting.shape["rows"]), default_features()
    return seconds_alone(
        lambda: _history(features).batch(payments),
        setting.shape["rounds"],
        features=len(features),
    )


def _one_payment(setting: Setting) -> Measured:
    n_known, n_new = setting.shape["rows"], setting.shape["scored"]
    payments, features = made_up_payments(n_known + n_new), default_features()
    history = _history(features)
    history.batch(payments[:n_known])
    new = payments[n_known:].drop(columns="label").to_dict("records")
    for payment in new:
        payment["time"] = payment["time"].to_pydatetime()
    history.one(new[0])
    return milliseconds_each(history.one, new[1:], setting.shape["rounds"], features=len(features))


def _simulate(setting: Setting) -> Measured:
    """Return the seconds from nothing to a closed file."""
    world = Simulation(
        n_cards=setting.shape["cards"], n_days=setting.shape["days"], random_state=SEED
    )
    with TemporaryDirectory() as folder:
        path = Path(folder, "payments.parquet")
        return seconds_alone(lambda: write_parquet(world, path), setting.shape["rounds"])


def _history(features: Any) -> History:
    return History(features, label="label")


def _rolled_windows(payments: Any) -> dict[str, NDArray[np.float64]]:
    """Return the Handbook's 12 windows as pandas makes them."""
    columns = {}
    for days in _WINDOWS:
        count, mean = _rolled(payments, "card", "amount", days, ("count", "mean"))
        columns[f"card_count_{days}d"], columns[f"card_mean_amount_{days}d"] = count, mean
    late_count, late_sum = _rolled(payments, "terminal", "label", 7, ("count", "sum"))
    for days in _WINDOWS:
        count, found = _rolled(payments, "terminal", "label", days + 7, ("count", "sum"))
        count -= late_count
        columns[f"terminal_count_{days}d_until_7d"] = count
        risk = np.round(found - late_sum) / np.maximum(count, 1)
        columns[f"terminal_risk_{days}d_delay_7d"] = risk
    return columns


def _rolled(
    payments: Any, key: str, of: str, days: int, what: tuple[str, ...]
) -> list[NDArray[np.float64]]:
    """Return what pandas rolls over the groups of a key, in the order of the payments."""
    rolling = payments.groupby(key).rolling(f"{days}D", on="time")[of]
    rows = np.argsort(payments[key].to_numpy(), kind="stable")
    columns = []
    for each in what:
        values = np.empty(len(payments))
        values[rows] = getattr(rolling, each)().to_numpy()
        columns.append(values)
    return columns


def _check_alike(payments: Any) -> None:
    """Raise where pandas does not give what ours does: the race would be between two things."""
    ours = _history(handbook_features()).batch(payments)
    for name, values in _rolled_windows(payments).items():
        np.testing.assert_allclose(ours[name].to_numpy(), values, rtol=1e-9, atol=1e-9)


@lru_cache(maxsize=1)  # the next race takes the same payments
def made_up_payments(n_rows: int) -> Any:
    """Return payments in order of time; a card pays at terminals near it."""
    import pandas as pd

    generator = np.random.default_rng(SEED)
    rates = generator.uniform(0, 4, _CARDS)
    card = generator.choice(_CARDS, n_rows, p=rates / rates.sum())
    home = generator.integers(_TERMINALS, size=_CARDS)
    seconds = np.sort(generator.integers(0, _DAYS * 86_400, n_rows))
    return pd.DataFrame(
        {
            "time": np.datetime64("2018-04-01", "us") + seconds * np.timedelta64(1_000_000, "us"),
            "card": card,
            "terminal": (home[card] + generator.integers(_REACH, size=n_rows)) % _TERMINALS,
            "amount": generator.gamma(2.0, 25.0, n_rows).round(2),
            "label": (generator.random(n_rows) < 0.0084).astype(np.float64),
        }
    )


_ROWS = 1_750_000

RACES = (
    Race(
        name="windows",
        what="12 windows of payments",
        against="pandas, rolling over groups",
        unit="times as fast",
        measure=_against_pandas,
        shape={"rows": _ROWS, "rounds": 3},
        quick={"rows": 300_000},
        minutes=(1.3, 0.2),
        needs="pandas",
    ),
    Race(
        name="all-features",
        what="all features of payments",
        against="",
        unit="seconds",
        measure=_all_at_once,
        shape={"rows": _ROWS, "rounds": 3},
        quick={"rows": 300_000},
        minutes=(0.6, 0.1),
        at_most=10.0,
        needs="pandas",
    ),
    Race(
        name="features-of-one-payment",
        what="all features of one payment more",
        against="",
        unit="ms (median)",
        measure=_one_payment,
        shape={"rows": _ROWS, "scored": 20_000, "rounds": 5},
        quick={"rows": 300_000, "scored": 3_000},
        minutes=(0.3, 0.1),
        needs="pandas",
    ),
    Race(
        name="simulator",
        what="half a year of payments, to a file",
        against="",
        unit="seconds",
        measure=_simulate,
        shape={"cards": 5_000, "days": 183, "rounds": 3},
        quick={"cards": 1_000},
        minutes=(0.1, 0.05),
        at_most=60.0,
    ),
)
