"""Columns of a table from the payments of a world."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.simulator.settings import Simulation
from toprank.simulator.simulated_payments import DAY, SimulatedPayments
from toprank.simulator.world import MERCHANT_TYPES, World

COUNTRIES = ("FR", "BE", "DE", "ES", "GB", "IT", "US")  # the first is home
CHANNELS = ("cash machine", "online", "shop")

ABROAD_IF_HONEST, ABROAD_IF_FRAUD = 0.02, 0.35
ONLINE_IF_HONEST, ONLINE_IF_FRAUD, ONLINE_IF_WORLDLINE_FRAUD = 0.35, 0.60, 0.90
CLAIM_SHARE, CLAIM_DAYS = 0.9, 7  # the second is a mean, in addition to the first day


class SimulatedColumns:
    """Columns of payments; the names of cards and terminals are made once."""

    def __init__(self, world: World, simulation: Simulation) -> None:
        self._world, self._simulation = world, simulation
        self._cards = _names("card", world.n_cards)
        self._terminals = _names("terminal", world.n_terminals)

    def plain(self, payments: SimulatedPayments) -> dict[str, pa.Array]:
        """Return the columns that every payment has."""
        first = self._simulation.first_day.astype("datetime64[us]")
        return {
            "paid_at": pa.array(first + payments.seconds.astype("timedelta64[s]")),
            "card": _coded(payments.card, self._cards).dictionary_decode(),
            "terminal": _coded(payments.terminal, self._terminals).dictionary_decode(),
            "amount": pa.array(payments.cents / 100),
        }

    def details(self, payments: SimulatedPayments) -> dict[str, pa.Array]:
        """Return country, channel and merchant type; frauds are abroad and online more often."""
        merchant_type = self._world.merchant_type[payments.terminal]
        return {
            "country": _coded(country_codes(payments), COUNTRIES),
            **self.channel(payments),
            "merchant_type": _coded(merchant_type, MERCHANT_TYPES),
        }

    def channel(self, payments: SimulatedPayments) -> dict[str, pa.Array]:
        """Return the channel alone."""
        at_bank = self._world.merchant_type[payments.terminal] == MERCHANT_TYPES.index("bank")
        if self._simulation.worldline:
            # Cards pay online at banks, too: otherwise no fraud at a bank could be online.
            if_fraud, can_be_online = ONLINE_IF_WORLDLINE_FRAUD, np.True_
        else:
            if_fraud, can_be_online = ONLINE_IF_FRAUD, ~at_bank
        online_share = np.where(payments.pattern > 0, if_fraud, ONLINE_IF_HONEST)
        is_online = can_be_online & (payments.online < online_share)
        return {"channel": _coded(np.where(is_online, 1, np.where(at_bank, 0, 2)), CHANNELS)}

    def claims(self, payments: SimulatedPayments) -> dict[str, pa.Array]:
        """Return the day of the claim, missing where the holder never notices."""
        days_late = 1 + (-CLAIM_DAYS * np.log1p(-payments.claim_delay)).astype(np.int64)
        day = self._simulation.first_day + payments.seconds // DAY + days_late
        is_claimed = (payments.pattern > 0) & (payments.claimed < CLAIM_SHARE)
        return {"claimed_on": pa.array(day, mask=~is_claimed)}

    def verdicts(self, payments: SimulatedPayments) -> dict[str, pa.Array]:
        """Return the verdicts of checks on the cards that paid furthest above their usual."""
        above_usual = payments.cents / self._world.mean_cents[payments.card]
        falling = np.argsort(-above_usual, kind="stable")
        cards, first = np.unique(payments.card[falling], return_index=True)
        checked = cards[np.argsort(first)[: self._simulation.checks_a_day]]
        is_checked = np.isin(payments.card, checked)
        return {"verdict": pa.array(payments.pattern > 0, mask=~is_checked)}


def country_codes(payments: SimulatedPayments) -> NDArray:
    """Return the country of each payment as a place in COUNTRIES."""
    share = np.where(payments.pattern > 0, ABROAD_IF_FRAUD, ABROAD_IF_HONEST)
    abroad = 1 + (payments.country * (len(COUNTRIES) - 1)).astype(np.int64)
    return np.where(payments.abroad < share, abroad, 0)


def _names(kind: str, n_names: int) -> pa.Array:
    width = len(str(n_names))
    return pa.array([f"{kind}-{number:0{width}d}" for number in range(1, n_names + 1)])


def _coded(codes: NDArray, names: pa.Array | Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names))
