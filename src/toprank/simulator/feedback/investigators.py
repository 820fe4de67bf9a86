"""Checks of one strategy's cards: what is known of which payment, and which cards are blocked.

This is the only place that reads the truth. It becomes known in two ways: a verdict on all
payments of the day of each card checked, and a claim on the day its holder makes it. Silence is
what remains. A share of the checks is of cards that were drawn at random from those not listed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.payments.ledger import Known, MemoryLedger
from toprank.simulator.feedback.replayed_payments import NEVER, ReplayedPayments


class DayChecks(NamedTuple):
    """The result of a day's checks, with the meaning of `metrics.CardChecks`.

    `saved` is the amount of the later frauds that blocking the found cards prevents.
    """

    checked: int
    found: int
    positive: int
    money: float
    saved: float


class Investigators:
    """Verdicts, claims and silence as one strategy sees them; cards found are blocked.

    With `claims_block`, cards whose holder claims a fraud are blocked as well. `hostile_share` is
    the share of checks by people who say the opposite of the truth, of all payments of the card.

    Attributes
    ----------
    check_chance
        The chance with which the card of each payment was checked on its day: 1 on the list, that
        of the draw for all others, 0 before the first checks.
    """

    def __init__(
        self,
        payments: ReplayedPayments,
        budget: int,
        silence: np.timedelta64,
        random_state: int,
        random_share: float = 0.0,
        *,
        claims_block: bool = False,
        hostile_share: float = 0.0,
    ) -> None:
        self._payments, self._budget, self._silence = payments, budget, silence
        self._random_state, self._random_share = random_state, random_share
        self._claims_block, self._hostile_share = claims_block, hostile_share
        self.check_chance = np.zeros(payments.day.size)
        self._blocked_on = np.full(payments.n_cards, NEVER)
        self._has_verdict = np.zeros(payments.day.size, dtype=bool)
        self._by_claim = np.argsort(payments.claim_day, kind="stable")
        self.ledger = MemoryLedger()

    def present(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows that happen: a card is blocked after the day on which it is found."""
        cards = self._payments.card[rows]
        return rows[self._payments.day[rows] <= self._blocked_on[cards]]

    def check(
        self, day: int, rows: NDArray[np.int64], suspicion: NDArray[np.float64]
    ) -> DayChecks:
        """Check the most suspicious cards among a day's rows, and a few others.

        Record the verdicts.
        """
        payments = self._payments
        cards, place = np.unique(payments.card[rows], return_inverse=True)
        highest = np.full(cards.size, -np.inf)
        np.maximum.at(highest, place, suspicion)
        chance, is_checked = self._chosen(day, highest)
        self.check_chance[rows] = chance[place]

        seen, seen_place = rows[is_checked[place]], place[is_checked[place]]
        is_fraud = payments.is_positive[seen]
        verdict = self._verdicts(day, is_fraud, seen_place)
        self._blocked_on[payments.card[seen[verdict]]] = day
        self._has_verdict[seen[verdict]] = True
        found = np.unique(payments.card[seen[verdict & is_fraud]])
        known = payments.end_of(day)
        self.ledger.append(seen, verdict, known=known, source="investigator")
        return DayChecks(
            checked=int(is_checked.sum()),
            found=found.size,
            positive=np.unique(payments.card[rows[payments.is_positive[rows]]]).size,
            money=float(payments.amount[seen[verdict & is_fraud]].sum()),
            saved=payments.money_saved(found, day, claims_block=self._claims_block),
        )

    def _verdicts(
        self, day: int, is_fraud: NDArray[np.bool_], place: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return what is said of checked payments; `place` is that of their card on the day."""
        if not self._hostile_share or not is_fraud.size:
            return is_fraud
        n_cards = int(place.max()) + 1
        generator = np.random.default_rng([self._random_state, 3, day])
        is_hostile = generator.random(n_cards) < self._hostile_share
        has_fraud = np.bincount(place, is_fraud, n_cards) > 0
        return np.where(is_hostile[place], ~has_fraud[place], is_fraud)

    def take_claims(self, day: int) -> None:
        """Record the claims of a day: frauds that happened and that no check has found."""
        claim_day = self._payments.claim_day[self._by_claim]
        claimed = self._by_claim[slice(*np.searchsorted(claim_day, [day, day + 1]))]
        claimed = self.present(claimed[~self._has_verdict[claimed]])
        known = self._payments.end_of(day)
        self.ledger.append(claimed, True, known=known, source="claim")
        if self._claims_block:  # those that are not blocked already
            cards = self._payments.card[claimed]
            self._blocked_on[cards] = np.minimum(self._blocked_on[cards], day)

    def new_frauds(self, day: int) -> NDArray[np.int64]:
        """Return the payments that became known as frauds on a day."""
        known = self.ledger.as_known(self._payments.begin_of(day + 1))
        is_new = known.known >= self._payments.begin_of(day)
        return known.ids[known.is_positive & is_new].astype(np.int64)  # a ledger's are texts

    def known(self, day: int, rows: NDArray[np.int64]) -> Known:
        """Return the labels of rows as known at the end of a day."""
        known = self.ledger.as_known(self._payments.begin_of(day + 1), rows)
        return known.silence(self._payments.time[rows], self._silence)

    def _chosen(
        self, day: int, suspicion: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return for each card of a day the chance of a check, and whether it is checked."""
        # the same draws for each strategy; cards tied for the last place are drawn as well
        generator = np.random.default_rng([self._random_state, 2, day])
        order = np.lexsort((generator.random(suspicion.size), -suspicion))
        n_drawn = int(self._random_share * self._budget + generator.random())
        n_listed = self._budget - n_drawn
        listed, others = order[:n_listed], order[n_listed:]
        drawn = generator.permutation(others)[:n_drawn]
        chance = np.ones(suspicion.size)
        chance[others] = drawn.size / max(others.size, 1)
        is_checked = np.zeros(suspicion.size, dtype=bool)
        is_checked[listed] = is_checked[drawn] = True
        return chance, is_checked
