"""The payments of the demo: one table, with features of what came before each payment."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.simulator.days import draw_days
from toprank.simulator.settings import Simulation
from toprank.simulator.simulated_columns import SimulatedColumns, country_codes
from toprank.simulator.simulated_payments import DAY, SimulatedPayments, one_after_another
from toprank.simulator.world import World


def simulate(
    n_cards: int = 800,
    n_terminals: int = 1_600,
    n_days: int = 100,
    start: str = "2025-01-01",
    random_state: int = 0,
    keep_pattern: bool = False,
) -> pa.Table:
    """Return a table of payments in order of time, with features of what came before each.

    Features use only payments of earlier seconds, and a longer run begins with the payments of a
    shorter one. `amount_to_usual` and `hours_since_last` are missing for a card's first payment,
    and `terminal_foreign_share_last_week` for a terminal without payments in that week. Times are
    UTC and `night` is from 22 to 6 h. For study, `keep_pattern` adds the pattern behind each
    fraud: 1 amount, 2 terminal, 3 card, 0 for none. A small world may contain no fraud.

    >>> payments = simulate(n_cards=50, n_terminals=100, n_days=10)
    >>> payments.column_names[:4]
    ['paid_at', 'card', 'terminal', 'amount']
    """
    simulation = Simulation(n_cards, n_terminals, n_days, start, random_state)
    world, days = draw_days(simulation)
    payments = one_after_another(days)
    table = _table(world, payments, SimulatedColumns(world, simulation))
    return table.append_column("pattern", [payments.pattern]) if keep_pattern else table


def _table(world: World, payments: SimulatedPayments, columns: SimulatedColumns) -> pa.Table:
    hour = payments.seconds % DAY // 3600
    apart = world.card_place[payments.card] - world.terminal_place[payments.terminal]
    return pa.table(
        {
            **columns.plain(payments),
            **columns.details(payments),
            "night": pa.array((hour < 6) | (hour >= 22)),
            "distance_from_home": pa.array(np.hypot(*apart.T).round(2)),
            **_card_history(payments),
            **_terminal_history(payments, country_codes(payments) > 0),
            "is_fraud": pa.array(payments.pattern > 0),
        }
    )


def _card_history(payments: SimulatedPayments) -> dict[str, pa.Array]:
    """Return the features of each payment that come from its card's earlier payments."""
    earlier = _earlier(payments.card, payments.seconds)
    last_day = _earlier(payments.card, payments.seconds, within=DAY)
    last = earlier.order[earlier.end - 1]
    is_first = earlier.n_payments() == 0
    usual = _divided(earlier.total(payments.cents), earlier.n_payments())
    hours = (payments.seconds - payments.seconds[last]) / 3600
    return {
        "amount_to_usual": pa.array(_divided(payments.cents, usual), mask=is_first),
        "hours_since_last": pa.array(hours, mask=is_first),
        "payments_last_day": pa.array(last_day.n_payments()),
    }


def _terminal_history(payments: SimulatedPayments, is_abroad: NDArray) -> dict[str, pa.Array]:
    """Return the features of each payment that come from its terminal's earlier payments."""
    last_day = _earlier(payments.terminal, payments.seconds, within=DAY)
    last_week = _earlier(payments.terminal, payments.seconds, within=7 * DAY)
    share = _divided(last_week.total(is_abroad), last_week.n_payments())
    return {
        "terminal_payments_last_day": pa.array(last_day.n_payments()),
        "terminal_foreign_share_last_week": pa.array(share, mask=last_week.n_payments() == 0),
    }


def _divided(above: NDArray, below: NDArray) -> NDArray:
    return above / np.where(below == 0, 1, below)  # where the divisor is 0, the result is masked


class _Earlier(NamedTuple):
    """The payments before payment i, of the same card or terminal: `order[begin[i]:end[i]]`."""

    order: NDArray
    begin: NDArray
    end: NDArray

    def n_payments(self) -> NDArray:
        return self.end - self.begin

    def total(self, values: NDArray) -> NDArray:
        # Whole numbers, so that differences of running sums are exact.
        running = np.concatenate([[0], np.cumsum(values[self.order], dtype=np.int64)])
        return running[self.end] - running[self.begin]


def _earlier(member: NDArray, seconds: NDArray, within: int | None = None) -> _Earlier:
    """Return the payments of the same member in [seconds - within, seconds)."""
    order = np.argsort(member, kind="stable")  # by member, then by time as before
    longest = int(seconds.max(initial=0)) + 1
    reach = longest if within is None else within
    # One axis for all: members are further apart on it than any window reaches back.
    position = (member * (longest + reach) + seconds)[order]
    begin, end = np.empty_like(order), np.empty_like(order)
    # Searched in ascending order, neighbours share the cache: faster on large tables.
    begin[order] = np.searchsorted(position, position - reach)
    end[order] = np.searchsorted(position, position)
    return _Earlier(order, begin, end)
