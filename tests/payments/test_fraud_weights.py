"""Weights of known frauds add up to all frauds, known or not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toprank.payments.ledger import fraud_weights as weights

DAY = np.timedelta64(1, "D")


@given(
    st.lists(st.integers(0, 30), min_size=weights.FEWEST_DELAYS, max_size=60),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40)), min_size=1, max_size=20),
)
def test_weights_are_those_of_the_slow_twin(delays, frauds):
    chances, ages = zip(*frauds, strict=True)
    found = weights.fraud_weights(chances, np.array(ages) * DAY, np.array(delays) * DAY)
    for weight, (chance, age) in zip(found, frauds, strict=True):
        claimed = sum(delay <= age for delay in delays) / len(delays)
        known = chance + (1 - chance) * claimed
        assert weight == pytest.approx(min(1 / known if known else np.inf, weights.LARGEST))


def test_known_frauds_stand_for_all_frauds_on_average():
    generator = np.random.default_rng(0)
    delays = generator.exponential(7, 2_000)
    totals = []
    for _ in range(300):
        age = generator.uniform(2, 30, 400)
        chance = np.where(generator.random(400) < 0.3, 1.0, 0.05)
        is_known = (generator.random(400) < chance) | (generator.exponential(7, 400) < age)
        found = weights.fraud_weights(chance[is_known], age[is_known], delays)
        totals.append(found.sum())
    assert np.mean(totals) == pytest.approx(400, rel=0.01)


def test_few_claims_say_nothing_about_delays():
    age = np.arange(3) * DAY
    assert weights.fraud_weights(np.zeros(3), age, np.ones(5) * DAY).tolist() == [1.0, 1.0, 1.0]


def test_the_effective_number_falls_with_uneven_weights():
    assert weights.effective_number(np.ones(7)) == 7
    assert weights.effective_number([10, 1, 1]) == pytest.approx(144 / 102)
    assert weights.effective_number([]) == 0
