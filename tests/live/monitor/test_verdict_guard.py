import numpy as np
import pytest
from scipy.stats import hypergeom

from toprank.live.monitor.verdict_guard import RARE, VerdictCounts, compared, of_verdicts
from toprank.live.store.verdict_outcomes import VerdictOutcome


def team_verdicts(flipped, n=80, n_people=10, seed=0):
    """Verdicts of a team; the first flips a share of theirs, and most flips are found out."""
    drawn = np.random.default_rng(seed)
    for person in range(n_people):
        for _ in range(n):
            chance = float(drawn.beta(0.5, 1.2))
            truth = drawn.random() < chance
            is_flipped = drawn.random() < (flipped if person == 0 else 0.02)
            said = truth != is_flipped
            yield VerdictOutcome(
                f"person:p{person}", chance, said, bool(is_flipped and drawn.random() < 0.7)
            )


def beyond(flipped, **options):
    readings = of_verdicts(team_verdicts(flipped, **options))
    return {each.name for each in readings if each.is_beyond}


def test_a_person_who_flips_verdicts_is_named_and_nobody_else():
    assert beyond(0.0) == set()
    assert beyond(0.3) == {"verdicts:person:p0"}
    assert beyond(1.0, n=30) == {"verdicts:person:p0"}


def test_the_chance_is_that_of_fishers_exact_test_times_the_number_of_tests():
    counts = {"a": VerdictCounts(50, 9, 10), "b": VerdictCounts(70, 2, 12)}
    found = {(each.who, each.kind): each for each in compared(counts)}
    slow = sum(hypergeom.pmf(k, 120, 11, 50) for k in range(9, 12))
    assert found["a", "contradicted"].chance == pytest.approx(4 * slow)
    assert found["a", "contradicted"].share_of_others == pytest.approx(2 / 70)
    assert found["b", "contradicted"].chance == 1.0


def test_too_few_verdicts_and_a_team_of_one_are_not_judged():
    assert compared({"a": VerdictCounts(500, 400, 400)}) == []
    few = compared({"a": VerdictCounts(5, 5, 5), "b": VerdictCounts(500, 1, 1)})
    assert [each.who for each in few if each.chance < RARE] == []
