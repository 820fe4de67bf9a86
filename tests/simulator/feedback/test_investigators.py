"""Investigators record what a slow twin does, row by row and day by day."""

from dataclasses import replace

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

    def __init__(self, payments, budget, claims_block):
        self.payments, self.budget, self.claims_block = payments, budget, claims_block
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
        saved = sum(self._prevented(card, day) for card in found)
        return len(checked), len(found), len(positive), money, saved

    def _prevented(self, card, day):
        """The frauds of a card after a day, up to the claim that would have blocked it."""
        payments = self.payments
        frauds = [
            row
            for row in range(payments.day.size)
            if payments.card[row] == card and payments.is_positive[row]
        ]
        end = min(payments.claim_day[row] for row in frauds) if self.claims_block else 10**9
        return sum(payments.amount[row] for row in frauds if day < payments.day[row] <= end)

    def take_claims(self, day):
        new = []
        for row in range(self.payments.day.size):
            is_claimed = self.payments.claim_day[row] == day and self._happens(row)
            if is_claimed and row not in self.labels:
                self.labels[row] = (True, "claim")
                new.append(row)
        if self.claims_block:
            for row in new:
                self.blocked.setdefault(self.payments.card[row], day)
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
    st.booleans(),
)
def test_records_are_those_of_the_slow_twin(rows, budget, first, seed, claims_block):
    payments = made_payments(rows)
    suspicion = np.random.default_rng(seed).permutation(payments.day.size).astype(float)
    investigators = Investigators(
        payments, budget, np.timedelta64(SILENCE_DAYS, "D"), 0, claims_block=claims_block
    )
    slow = SlowInvestigators(payments, budget, claims_block)

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


def many_cards(n_days, n_cards=40):
    payments = made_payments(
        [(day, card, False, None) for day in range(n_days) for card in range(n_cards)]
    )
    return replace(payments, n_cards=n_cards)


def test_a_share_of_the_checks_is_drawn_evenly_from_the_cards_that_are_not_on_the_list():
    payments, n_days = many_cards(400), 400
    investigators = Investigators(payments, 10, np.timedelta64(3, "D"), 0, random_share=0.25)
    checked = np.zeros((n_days, 40), dtype=bool)
    for day in range(n_days):
        rows = payments.rows_of(day)
        outcome = investigators.check(day, rows, -payments.card[rows].astype(float))
        assert outcome.checked == 10
        known = investigators.known(day, rows)
        checked[day] = known.source == "investigator"
    chance = investigators.check_chance.reshape(n_days, 40)

    assert (chance[:, :7] == 1).all() and checked[:, :7].all()
    assert set(chance[:, 8:].ravel().round(6)) == {round(2 / 32, 6), round(3 / 33, 6)}
    # 2.5 of 10 checks on average, and no card more often than others
    assert abs((chance < 1).sum(axis=1).mean() - 32.5) < 0.1
    drawn = checked[:, 8:].sum(axis=0)
    assert abs(drawn.mean() - chance[:, 8:].sum(axis=0).mean()) < 2
    assert drawn.min() > 10 and drawn.max() < 60


def test_without_a_share_nothing_is_drawn_and_all_others_have_no_chance():
    payments = many_cards(1)
    investigators = Investigators(payments, 10, np.timedelta64(3, "D"), 0)
    investigators.check(0, payments.rows_of(0), -payments.card.astype(float))
    assert investigators.check_chance.tolist() == [1.0] * 10 + [0.0] * 30


def test_a_hostile_person_overlooks_frauds_accuses_others_and_holders_claim_what_was_overlooked():
    rows = [
        (0, 0, True, 2),
        (0, 1, False, None),
        (0, 2, True, 1),
        (1, 1, False, None),
        (2, 0, True, 1),
    ]
    payments = made_payments(rows)
    silence = np.timedelta64(SILENCE_DAYS, "D")
    hostile = Investigators(payments, 3, silence, 0, claims_block=True, hostile_share=1.0)
    on_day = payments.rows_of(0)
    found = hostile.check(0, on_day, np.arange(on_day.size, dtype=float))
    hostile.take_claims(1)
    known = hostile.known(1, on_day)

    assert (found.checked, found.found, found.money) == (3, 0, 0.0)
    assert known.is_positive.tolist() == [False, True, True]  # the third by its claim
    assert hostile.present(np.arange(payments.day.size)).tolist() == [0, 1, 2, 4]
