import numpy as np
import pytest
from scipy.stats import hypergeom

from toprank.live.monitor.missed_frauds import (
    DrawnDay,
    SampledFrauds,
    missed_frauds,
    missed_total,
)


def drawn_day(n_cards, n_drawn, n_checked, n_frauds, **values):
    plain = DrawnDay(1, n_cards, n_drawn, 0, 0, n_checked, n_frauds, 0, 0, n_frauds)
    return plain._replace(**values)


def slow_mid_p(n_cards, n_checked, n_frauds, level):
    """The totals that a sample does not speak against, each tried."""
    total = np.arange(n_frauds, n_cards - (n_checked - n_frauds) + 1)
    law = hypergeom(n_cards, total, n_checked)
    equal = law.pmf(n_frauds) / 2
    tails = np.minimum(law.cdf(n_frauds - 1) + equal, law.sf(n_frauds) + equal)
    kept = total[tails > (1 - level) / 2]
    return kept[0], kept[-1]


@pytest.mark.parametrize("n_frauds", [0, 1, 3, 8])
@pytest.mark.parametrize("n_cards, n_checked", [(2_000, 100), (900, 90)])
def test_the_interval_of_one_draw_is_the_one_that_trying_every_total_gives(
    n_cards, n_checked, n_frauds
):
    weight = n_cards / n_checked
    value, low, high = missed_total([SampledFrauds(weight, n_checked, n_frauds)], 0.9)
    slow_low, slow_high = slow_mid_p(n_cards, n_checked, n_frauds, 0.9)
    assert value == pytest.approx(weight * n_frauds)
    # totals are whole, and frauds that are not rare among the cards narrow the true interval
    assert low == pytest.approx(slow_low, rel=0.05, abs=2)
    assert high == pytest.approx(slow_high, rel=0.08, abs=2)


def test_over_many_samples_the_estimate_is_right_on_average_and_the_interval_holds():
    drawn = np.random.default_rng(3)
    off, held, recall_off = [], [], []
    for _ in range(400):
        days, total = [], 0
        for day in range(20):
            n_cards, n_missed = int(drawn.integers(300, 700)), int(drawn.poisson(8))
            n_checked = int(drawn.binomial(20, 0.7))
            n_frauds = int(drawn.hypergeometric(n_missed, n_cards - n_missed, n_checked))
            days.append(drawn_day(n_cards, 20, n_checked, n_frauds, day=day, n_found=10))
            total += n_missed
        found = missed_frauds([each._replace(n_known=0) for each in days])
        off.append(found.missed.value / total - 1)
        recall_off.append(found.recall.value - 200 / (200 + total))
        held.append(found.missed.low <= total <= found.missed.high)
    assert abs(np.mean(off)) < 3 * np.std(off) / np.sqrt(len(off))
    assert abs(np.mean(recall_off)) < 0.02
    assert 0.92 <= np.mean(held) <= 0.98


def test_nothing_found_in_a_sample_still_leaves_room_for_missed_frauds():
    found = missed_frauds([drawn_day(1_000, 50, 50, 0, n_found=30)])
    assert found.missed.value == 0 and found.missed.low == 0
    assert 45 < found.missed.high < 75  # between two and four times the weight of 20
    assert found.recall.high == 1.0
    assert found.recall.low == pytest.approx(30 / (30 + found.missed.high))


def test_when_all_cards_are_checked_nothing_is_left_to_estimate():
    found = missed_frauds([drawn_day(40, 40, 40, 3, n_found=9)])
    assert found.missed == (3.0, 3.0, 3.0)
    assert found.recall == pytest.approx((0.75, 0.75, 0.75))


def test_drawn_cards_that_came_up_by_themselves_count_by_the_draw_alone():
    # 20 of 200 drawn, 4 came up by themselves; of the other 16 only 8 were checked
    day = drawn_day(200, 20, 8, 1, n_settled=4, n_settled_frauds=2)
    assert missed_frauds([day]).missed.value == pytest.approx(10 * 2 + 20 * 1)


def test_days_on_which_nobody_came_to_the_drawn_cards_are_left_out():
    idle = drawn_day(500, 20, 0, 0, n_found=50, n_settled=1)
    day = drawn_day(500, 20, 20, 1, n_found=5)
    found = missed_frauds([idle, day])
    assert (found.n_days, found.n_found) == (1, 5)
    assert missed_frauds([idle]) is None and missed_frauds([]) is None


def test_what_claims_have_shown_is_a_lower_limit_and_frauds_reported_by_others_lower_recall():
    day = drawn_day(500, 20, 20, 0, n_found=30, n_reported=10, n_known=12)
    found = missed_frauds([day])
    assert found.missed.value == 0 and found.missed.low == 12 <= found.missed.high
    assert found.missed_per_day.value == 12
    assert found.recall.high == pytest.approx(30 / (30 + 10 + 12))
    assert found.recall.value <= found.recall.high


def test_recall_is_0_if_checks_found_nothing_and_unknown_if_there_was_no_fraud():
    assert missed_frauds([drawn_day(500, 20, 20, 1)]).recall == (0.0, 0.0, 0.0)
    assert missed_frauds([drawn_day(500, 20, 20, 0)]).recall is None
