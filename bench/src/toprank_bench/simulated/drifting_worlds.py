"""Simulated payments in which fraud changes: patterns that start, give way, return, or look alike.

`WORLDS` are, with the day of the change:

    new pattern      frauds of compromised cards begin on day 150
    other pattern    from day 150 on, frauds at terminals give way to frauds of compromised cards
    rising amounts   all amounts double by day 150, and are stable from then on
    returning        frauds of compromised cards from day 40 to 69, and again from day 250 on
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.simulator import PATTERNS, Simulation, tables_by_day
from toprank_bench.datasets.dataset import Dataset
from toprank_bench.simulated.payment_past import CardPast, past_of_payments

_CARD = PATTERNS.index("card") + 1


class DriftingWorld(NamedTuple):
    """Payments in order of time; `is_changed` are the frauds by which a change is judged."""

    days: NDArray[np.float64]
    features: dict[str, NDArray[np.float64]]
    is_positive: NDArray[np.bool_]
    is_changed: NDArray[np.bool_]
    change: int


class _World(NamedTuple):
    change: int
    options: dict[str, Any]
    only_cards: bool = True
    """Whether the change is judged by frauds of compromised cards alone."""
    rising: bool = False


WORLDS = {
    "new pattern": _World(150, {"starts": {"card": 150}}),
    "other pattern": _World(150, {"starts": {"card": 150}, "stops": {"terminal": 150}}),
    "rising amounts": _World(150, {}, only_cards=False, rising=True),
    "returning": _World(250, {"spells": {"card": [(40, 70), (250, 10_000)]}}),
}


def drifting_world(name: str, seed: int, n_cards: int, n_days: int) -> DriftingWorld:
    """Return the payments of a world, with the features of `payment_past`."""
    world = WORLDS[name]
    simulation = Simulation(
        n_cards, 2 * n_cards, n_days, random_state=seed, keep_pattern=True, **world.options
    )
    table = pa.concat_tables(tables_by_day(simulation))
    pattern = table["pattern"].to_numpy()
    moments = table["paid_at"].to_numpy().astype("datetime64[us]")
    days = (moments - moments[0].astype("datetime64[D]")) / np.timedelta64(1, "D")
    amount = table["amount"].to_numpy()
    if world.rising:
        amount = amount * (1 + np.minimum(days / world.change, 1))
    past = past_of_payments(_as_dataset(name, table, moments, amount, pattern > 0), CardPast())
    is_changed = pattern == _CARD if world.only_cards else pattern > 0
    return DriftingWorld(days, past.features, past.is_positive, is_changed, world.change)


def _as_dataset(
    name: str,
    table: pa.Table,
    moments: NDArray[np.datetime64],
    amount: NDArray[np.float64],
    is_positive: NDArray[np.bool_],
) -> Dataset:
    numbers = {role: _numbered(table[role]) for role in ("card", "terminal")}
    features = pa.table({"time": moments, **numbers, "amount": amount})
    roles = {role: role for role in features.column_names}
    return Dataset(name, features, is_positive, "fraud", "the simulator", pa.table({}), roles)


def _numbered(column: pa.ChunkedArray) -> NDArray[np.int64]:
    codes = column.combine_chunks().dictionary_encode().indices
    return codes.to_numpy().astype(np.int64)
