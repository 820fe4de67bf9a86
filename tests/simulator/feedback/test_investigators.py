"""Investigators record what a slow twin does, row by row and day by day."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank.simulator.feedback.investigators import Investigators
from toprank.simulator.feedback.replayed_payments import NEVER, ReplayedPayments

DAY = np.timedelta64(86_400_000_000, "us")
BEGIN = np.datetime64("2025-03-01", "us")
SILENCE_DAYS = 3


def made_payments(rows):
    """Return payments from (day, card, is_fraud, days to the claim or None), in order of time."""
    first = min(row[0] for row in rows)
    rows = sorted(rows, key=lambda row: row[0])
    day = np.array([row[0] - first for row in rows])
    return ReplayedPayments(
        table=pa.table({}),
        time=BEGIN + day * DAY + np.arange(day.size) * np.timedelta64(1, "s"),
        day=day,
        card=np.array([row[1] for row in rows]),
        n_cards=6,
        amount=2.0 ** np.arange(day.size),
        is_positive=np.array([row[2] for row in rows]),
        claim_day=np.array(
            [row[0] - first + row[3] if row[2] and row[3] is not None else NEVER for row in rows]
        ),
    )


class SlowInvestigators:
    """The same records, kept with loops over dicts."""

    def __init__(self, payments, budget):
        self.payments, self.budget = payments, budget
        self.blocked, self.labels = {}, {}

    def present(self, day):
        return [
            row
            for row in range(self.payments.day.size)
            if self.payments.day[row] == day and self._happens(row)
        ]

    def _happens(self, row):
        return self.payments.day[row] <= self.blocked.get(self.payments.card[row], 10**9)

    def check(self, day, suspicion):
        payments, highest = self.payments, {}
        rows = self.present(day)
        for row in rows:
            card = payments.card[row]
            highest[card] = max(highest.get(card, -1), suspicion[row])
        checked = sorted(highest, key=lambda card: -highest[card])[: self.budget]
        found, money = set(), 0.0
        for row in rows:
            if payments.card[row] in checked:
                self.labels[row] = (bool(payments.is_positive[row]), "investigator")
                if payments.is_positive[row]:
                    found.add(payments.card[row])
                    money += payments.amount[row]
        positive = {payments.card[row] for row in rows if payments.is_positive[row]}
        for card in found:
            self.blocked[card] = day
        return len(checked), len(found), len(positive), money

    def take_claims(self, day):
        new = []
        for row in range(self.payments.day.size):
            is_claimed = self.payments.claim_day[row] == day and self._happens(row)
            if is_claimed and row not in self.labels:
                self.labels[row] = (True, "claim")
                new.append(row)
        return new

    def known(self, day, row):
        if row in self.labels:
            return self.labels[row]
        age = BEGIN + (day + 1) * DAY - self.payments.time[row]
        return (False, "silence") if age > SILENCE_DAYS * DAY else (False, "")


ROWS = st.tuples(
    st.integers(0, 9),
    st.integers(0, 5),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 6)),
)


@examples(40)
@given(
    st.lists(ROWS, min_size=2, max_size=40),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 2**16),
)
def test_records_are_those_of_the_slow_twin(rows, budget, first, seed):
    payments = made_payments(rows)
    suspicion = np.random.default_rng(seed).permutation(payments.day.size).astype(float)
    investigators = Investigators(payments, budget, np.timedelta64(SILENCE_DAYS, "D"), 0)
    slow = SlowInvestigators(payments, budget)

    for day in range(payments.n_days):
        present = investigators.present(payments.rows_of(day))
        assert present.tolist() == slow.present(day)
        new = []
        if day >= first:
            outcome = investigators.check(day, present, suspicion[present])
            assert tuple(outcome) == slow.check(day, suspicion)
            new = [row for row in present.tolist() if slow.labels.get(row, (False,))[0]]
        investigators.take_claims(day)
        new += slow.take_claims(day)
        assert sorted(investigators.new_frauds(day).tolist()) == sorted(new)

        happened = investigators.present(payments.rows_of(0, day + 1))
        known = investigators.known(day, happened)
        expected = [slow.known(day, row) for row in happened.tolist()]
        assert known.is_positive.tolist() == [is_positive for is_positive, _ in expected]
        assert known.source.tolist() == [source for _, source in expected]


def test_cards_tied_at_the_last_place_are_drawn_and_not_taken_in_order():
    payments = made_payments([(day, card, True, None) for day in range(40) for card in range(6)])
    checked = []
    for day in range(40):
        investigators = Investigators(payments, 1, np.timedelta64(SILENCE_DAYS, "D"), 0)
        rows = payments.rows_of(day)
        investigators.check(day, rows, np.zeros(rows.size))
        checked.append(int(payments.card[investigators.new_frauds(day)][0]))

    assert set(checked) == set(range(6))
