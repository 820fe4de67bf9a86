"""Frauds among the payments of a day: three patterns, fewer on demand, and small tests before."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from toprank.simulator.settings import PATTERNS, Simulation
from toprank.simulator.simulated_payments import DAY, SimulatedPayments, merged
from toprank.simulator.world import World

AMOUNT_LIMIT = 220_00  # cents
TERMINAL_DAYS, TERMINALS_A_DAY = 28, 2 / 10_000  # the second is a share of all terminals
CARD_DAYS, CARDS_A_DAY = 14, 3 / 5_000
INFLATED_SHARE, INFLATION = 1 / 3, 5
WORLDLINE_FRAUD = 0.0018
ZERO_IF_HONEST, ZERO_IF_FRAUD = 0.03, 0.12
TEST_CENTS = 200  # at most
TEST_LEAD, TEST_LEAD_SPREAD = 60, 3_540  # seconds before the large payment


class Frauds:
    """What fraudsters do, day after day; every day must be asked for, in order."""

    def __init__(
        self,
        world: World,
        simulation: Simulation,
        terminals: np.random.Generator,
        cards: np.random.Generator,
        tests: np.random.Generator,
    ) -> None:
        self._world, self._simulation, self._tests = world, simulation, tests
        self._terminals = _Held(world.n_terminals, TERMINALS_A_DAY, TERMINAL_DAYS, terminals)
        self._cards = _Held(world.n_cards, CARDS_A_DAY, CARD_DAYS, cards)
        self._above_limit = _share_above_limit(world)

    def among(self, honest: SimulatedPayments, day: int) -> SimulatedPayments:
        """Return the payments of a day after all that fraudsters did to them."""
        taken = _Taken(self._terminals.on(day), self._cards.on(day))
        expected = self._expected_shares(taken)
        active = np.array([self._simulation.is_active(name, day) for name in PATTERNS])
        share = WORLDLINE_FRAUD if self._simulation.worldline else np.inf
        kept = honest.kept * expected.sum() < share  # where fewer are expected, all are kept
        zero_chance = _zero_chance(expected * active) * self._simulation.worldline
        payments = _with_zeros(_with_patterns(honest, taken, active, kept), zero_chance)
        if not self._simulation.test_payments:
            return payments
        tests = _tests_before(payments, day, self._world.n_terminals, self._tests)
        return merged(payments, _with_zeros(tests, zero_chance))

    def _expected_shares(self, taken: "_Taken") -> NDArray:
        """Return the share of a day's payments that each pattern makes frauds, as a rule.

        A later pattern covers an earlier one.
        """
        card = INFLATED_SHARE * np.average(taken.cards, weights=self._world.payments_a_day)
        terminal = (1 - card) * taken.terminals.mean()
        return np.array([(1 - card - terminal) * self._above_limit, terminal, card])


class _Taken(NamedTuple):
    """Whether fraudsters hold a terminal or a card on a day."""

    terminals: NDArray
    cards: NDArray


class _Held:
    """The members that fraudsters hold: each day some more, each for so many days."""

    def __init__(
        self, n_members: int, share_a_day: float, lasting: int, generator: np.random.Generator
    ) -> None:
        self._share_a_day, self._lasting, self._generator = share_a_day, lasting, generator
        self._until = np.zeros(n_members, dtype=np.int64)

    def on(self, day: int) -> NDArray:
        """Return for each member whether fraudsters hold it on this day."""
        n_new = self._begun_before(day + 1) - self._begun_before(day)
        new = self._generator.integers(self._until.size, size=n_new)
        self._until[new] = day + self._lasting
        return self._until > day

    def _begun_before(self, day: int) -> int:
        # A small world has less than one new case a day: one begins when the shares add up to it.
        return int(np.floor(day * self._share_a_day * self._until.size + 1e-9))


def _share_above_limit(world: World) -> float:
    """Return the share of payments above the limit to expect when no card is compromised."""
    chance = ndtr(2 * (1 - AMOUNT_LIMIT / world.mean_cents))
    return float(np.average(chance, weights=world.payments_a_day))


def _with_patterns(
    honest: SimulatedPayments, taken: _Taken, active: NDArray, kept: NDArray
) -> SimulatedPayments:
    """Return the payments after the three patterns of fraud; a later pattern covers an earlier."""
    by_amount, by_terminal, by_card = active
    inflated = by_card & kept & taken.cards[honest.card] & (honest.inflated < INFLATED_SHARE)
    pattern = honest.pattern.copy()
    pattern[by_amount & kept & (honest.cents > AMOUNT_LIMIT)] = 1
    pattern[by_terminal & kept & taken.terminals[honest.terminal]] = 2
    pattern[inflated] = 3
    cents = np.where(inflated, INFLATION * honest.cents, honest.cents)
    return honest._replace(cents=cents, pattern=pattern)


def _zero_chance(expected: NDArray) -> NDArray:
    """Return the chance of an amount of zero for each pattern, the first of them none.

    A fraud above the limit is never zero, so the others are more often.
    """
    others = expected[1:].sum()
    of_others = min(1.0, ZERO_IF_FRAUD * expected.sum() / others) if others else 0.0
    return np.array([ZERO_IF_HONEST, 0.0, of_others, of_others])


def _with_zeros(payments: SimulatedPayments, chance: NDArray) -> SimulatedPayments:
    is_zero = payments.zero < chance[payments.pattern]
    return payments._replace(cents=np.where(is_zero, 0, payments.cents))


def _tests_before(
    payments: SimulatedPayments, day: int, n_terminals: int, generator: np.random.Generator
) -> SimulatedPayments:
    """Return a small payment at any terminal before a compromised card's first large one."""
    large = np.flatnonzero((payments.pattern == 3) & (payments.cents > 0))
    card, first = np.unique(payments.card[large], return_index=True)
    lead, place, size, *chances = generator.random((card.size, 11)).T
    seconds = payments.seconds[large[first]] - TEST_LEAD - (TEST_LEAD_SPREAD * lead).astype(int)
    tests = SimulatedPayments(
        seconds,
        card,
        (place * n_terminals).astype(np.int64),
        1 + (TEST_CENTS * size).astype(np.int64),
        np.full(card.size, 3, dtype=np.int8),
        *chances,
    )
    is_today = seconds >= day * DAY  # a test late the evening before is left out
    return SimulatedPayments._make(column[is_today] for column in tests)
