import pytest

from toprank.live.rules.circuit_breaker import Breaker
from toprank.live.rules.rule_set import RuleMatch

SECOND = 1_000_000
BLOCKS = RuleMatch("all", 1, "block", "live")


def test_a_rule_that_blocks_everything_trips_at_its_twentieth_block():
    breaker = Breaker()
    tripped = [breaker.add(number * SECOND // 100, [[BLOCKS]]) for number in range(20)]
    assert tripped[:19] == [[]] * 19
    (trip,) = tripped[19]
    assert trip[:2] == ("all", 1)
    assert "20 of 20 payments (100 %)" in trip.sentence


def test_a_share_at_the_limit_is_allowed_and_one_above_is_not():
    breaker = Breaker()
    assert breaker.add(0, [[BLOCKS]] * 50 + [[]] * 950) == []
    assert len(breaker.add(0, [[BLOCKS]])) == 1


def test_few_blocks_never_trip_by_their_share():
    assert Breaker().add(0, [[BLOCKS]] * 19) == []


def test_too_many_blocks_per_minute_trip_whatever_their_share():
    breaker = Breaker()
    for second in range(60):
        assert breaker.add(second * SECOND, [[BLOCKS]] * 10 + [[]] * 990) == []
    (trip,) = breaker.add(59 * SECOND, [[BLOCKS]])
    assert "601 of 60,001" in trip.sentence
    assert "600 per minute" in trip.sentence


def test_what_is_older_than_a_minute_does_not_count():
    breaker = Breaker(least_blocks=2)
    assert breaker.add(0, [[BLOCKS]]) == []
    assert breaker.add(60 * SECOND, [[BLOCKS]]) == []
    assert len(breaker.add(61 * SECOND, [[BLOCKS]])) == 1


def test_a_tripped_rule_is_counted_from_zero():
    breaker = Breaker(least_blocks=2)
    assert len(breaker.add(0, [[BLOCKS]] * 2)) == 1
    assert breaker.add(0, [[BLOCKS]]) == []


@pytest.mark.parametrize("match", [BLOCKS._replace(state="shadow"), BLOCKS._replace(kind="alert")])
def test_rules_that_block_nothing_never_trip(match):
    assert Breaker().add(0, [[match]] * 1000) == []


def test_memory_levels_off():
    breaker = Breaker()
    for second in range(1000):
        breaker.add(second * SECOND, [[BLOCKS._replace(version=second)], []])
    assert len(breaker._seconds) <= 60
    assert len(breaker._total) <= 61
