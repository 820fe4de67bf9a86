"""Frauds among the payments of a day: three patterns, on request fewer, or with test payments."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from toprank.simulator.settings import PATTERNS, Simulation
from toprank.simulator.simulated_payments import DAY, SimulatedPayments, merged
from toprank.simulator.world import World

AMOUNT_LIMIT = 220_00  # cents
TERMINAL_DAYS, TERMINALS_PER_DAY = 28, 2 / 10_000  # the second is a share of all terminals
CARD_DAYS, CARDS_PER_DAY = 14, 3 / 5_000
INFLATED_SHARE, INFLATION = 1 / 3, 5
WORLDLINE_FRAUD = 0.0018
ZERO_IF_HONEST, ZERO_IF_FRAUD = 0.03, 0.12
TEST_CENTS = 200  # at most
TEST_LEAD, TEST_LEAD_SPREAD = 60, 3_540  # seconds before the large payment


class Frauds:
    """The frauds of each day; `among` must be called for every day, in order."""

    def __init__(
        self,
        world: World,
        simulation: Simulation,
        terminals: np.random.Generator,
        cards: np.random.Generator,
        tests: np.random.Generator,
    ) -> None:
        self._world, self._simulation, self._tests = world, simulation, tests
        self._terminals = _Compromised(
            world.n_terminals, TERMINALS_PER_DAY, TERMINAL_DAYS, terminals
        )
        self._cards = _Compromised(world.n_cards, CARDS_PER_DAY, CARD_DAYS, cards)
        self._above_limit = _share_above_limit(world)

    def among(self, honest: SimulatedPayments, day: int) -> SimulatedPayments:
        """Return the payments of a day with the frauds among them."""
        targets = _Targets(self._terminals.on(day), self._cards.on(day))
        expected = self._expected_shares(targets)
        active = np.array([self._simulation.is_active(name, day) for name in PATTERNS])
        share = WORLDLINE_FRAUD if self._simulation.worldline else np.inf
        kept = honest.kept * expected.sum() < share  # where fewer are expected, all are kept
        zero_chance = _zero_chance(expected * active) * self._simulation.worldline
        payments = _with_zeros(_with_patterns(honest, targets, active, kept), zero_chance)
        if not self._simulation.test_payments:
            return payments
        tests = _tests_before(payments, day, self._world.n_terminals, self._tests)
        return merged(payments, _with_zeros(tests, zero_chance))

    def _expected_shares(self, targets: "_Targets") -> NDArray:
        """Return the expected share of a day's payments that each pattern makes frauds.

        A later pattern overrides an earlier one.
        """
        card = INFLATED_SHARE * np.average(targets.cards, weights=self._world.payments_per_day)
        terminal = (1 - card) * targets.terminals.mean()
        return np.array([(1 - card - terminal) * self._above_limit, terminal, card])


class _Targets(NamedTuple):
    """Whether each terminal and each card is compromised on a day."""

    terminals: NDArray
    cards: NDArray


class _Compromised:
    """Cards or terminals that are compromised: each day some more, for a number of days."""

    def __init__(
        self, n_members: int, share_per_day: float, lasting: int, generator: np.random.Generator
    ) -> None:
        self._share_per_day, self._lasting, self._generator = share_per_day, lasting, generator
        self._until = np.zeros(n_members, dtype=np.int64)

    def on(self, day: int) -> NDArray:
        """Return for each member whether it is compromised on this day."""
        n_new = self._n_started_before(day + 1) - self._n_started_before(day)
        new = self._generator.integers(self._until.size, size=n_new)
        self._until[new] = day + self._lasting
        return self._until > day

    def _n_started_before(self, day: int) -> int:
        # A small world has less than one new case per day: one starts when the shares add up to 1.
        return int(np.floor(day * self._share_per_day * self._until.size + 1e-9))


def _share_above_limit(world: World) -> float:
    """Return the share of payments above the limit to expect when no card is compromised."""
    chance = ndtr(2 * (1 - AMOUNT_LIMIT / world.mean_cents))
    return float(np.average(chance, weights=world.payments_per_day))


def _with_patterns(
    honest: SimulatedPayments, targets: _Targets, active: NDArray, kept: NDArray
) -> SimulatedPayments:
    """Return the payments after the three patterns of fraud; later ones override earlier."""
    by_amount, by_terminal, by_card = active
    inflated = by_card & kept & targets.cards[honest.card] & (honest.inflated < INFLATED_SHARE)
    pattern = honest.pattern.copy()
    pattern[by_amount & kept & (honest.cents > AMOUNT_LIMIT)] = 1
    pattern[by_terminal & kept & targets.terminals[honest.terminal]] = 2
    pattern[inflated] = 3
    cents = np.where(inflated, INFLATION * honest.cents, honest.cents)
    return honest._replace(cents=cents, pattern=pattern)


def _zero_chance(expected: NDArray) -> NDArray:
    """Return the chance of an amount of zero for each pattern, of which 0 is no fraud.

    A fraud above the limit is never zero, so the other frauds are zero more often.
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
