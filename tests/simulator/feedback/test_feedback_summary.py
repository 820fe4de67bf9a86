"""What is said of a replay follows from its days."""

import json
from dataclasses import replace

import numpy as np
import pytest

from toprank.metrics import Interval
from toprank.payments.ledger import MemoryLedger
from toprank.simulator.feedback import Replay, StrategyDays, facts_of, leads, text_of
from toprank.simulator.feedback.desk_figures import (
    NEW_FOR,
    DailyPromise,
    DeskFigures,
    EstimatedRecall,
)
from toprank.simulator.feedback.feedback_summary import (
    mean_over_days,
    ranked_strategies,
    sentences_of,
)

BUDGET = 10


def made_replay(**found):
    """Return a replay in which the strategies found so many cards on each day."""
    n_days = len(next(iter(found.values())))
    known = MemoryLedger().as_known("2025-03-01", [1, 2])
    strategies = {
        strategy: StrategyDays(
            checked=np.full(n_days, BUDGET),
            found=np.array(each),
            positive=np.full(n_days, 9),
            money=10.0 * np.array(each),
            saved=5.0 * np.array(each),
            seconds=np.full(n_days, 0.5),
            suspicion=np.zeros(n_days),
            known=known,
        )
        for strategy, each in found.items()
    }
    return Replay(
        budget=BUDGET,
        dates=np.datetime64("2025-01-01") + np.arange(n_days),
        strategies=strategies,
        ceiling=np.full(n_days, 0.8),
        n_payments=5_000,
        n_positive=60,
        n_warm_up_days=30,
        silence=np.timedelta64(30, "D"),
        window=np.timedelta64(60, "D"),
    )


def days(mean, n_days=40, seed=0):
    return np.random.default_rng(seed).binomial(BUDGET, mean, n_days)


def test_the_strategy_that_found_the_most_comes_first():
    assert ranked_strategies(made_replay(static=[1, 2], online=[2, 2])) == ["online", "static"]
    assert ranked_strategies(made_replay(static=[2, 2], online=[1, 3])) == ["static", "online"]


def wavering(base):
    """Return days that are 4 cards ahead on 22 of 40 days and 4 behind on the others."""
    return base + np.random.default_rng(0).permutation(np.repeat([4, -4], [22, 18]))


def test_a_steady_lead_is_significant_and_a_wavering_one_is_not():
    base = days(0.4)
    (steady,) = leads(made_replay(static=base, nightly=base + 1))
    (unsteady,) = leads(made_replay(static=base, online=wavering(base)))

    assert steady.is_significant
    assert steady.lead == pytest.approx((0.1, 0.1, 0.1))
    assert (unsteady.strategy, unsteady.against) == ("online", "static")
    assert unsteady.lead.value == pytest.approx(0.04)
    assert not unsteady.is_significant


def test_more_strategies_make_each_lead_less_sure():
    base, better = days(0.4), days(0.45, seed=1)
    (alone,) = leads(made_replay(nightly=better, static=base))
    among = leads(made_replay(nightly=better, static=base, online=base - 1, feedback=base - 1))

    with_others = next(each for each in among if each.against == "static")
    assert with_others.lead.value == alone.lead.value
    assert with_others.lead.low < alone.lead.low
    assert with_others.lead.high > alone.lead.high


def test_days_alike_their_neighbours_make_a_wider_interval():
    waves = np.repeat([0.1, 0.5] * 4, 8)
    shuffled = np.random.default_rng(0).permutation(waves)
    wide, narrow = mean_over_days(waves), mean_over_days(shuffled)

    assert wide.value == narrow.value == pytest.approx(0.3)
    assert wide.high - wide.low > 1.3 * (narrow.high - narrow.low)


@pytest.mark.slow
def test_intervals_contain_the_mean_about_as_often_as_they_say():
    n_held = 0
    for seed in range(200):
        low, high = mean_over_days(days(0.4, 60, seed) / BUDGET)[1:]
        n_held += low <= 0.4 <= high

    assert 0.85 <= n_held / 200 <= 0.98


def test_one_day_and_one_strategy_can_be_described():
    lines = text_of(made_replay(static=[3])).splitlines()

    assert lines[1].split() == ["static", ".30", "(.30-.30)", "3", "30", "15", "0.5", "s"]
    assert sentences_of(made_replay(static=[3])) == []


def test_the_table_has_a_line_per_strategy_and_the_ceiling_last():
    text = text_of(made_replay(static=[1, 3, 2, 2], nightly=[3, 5, 4, 4]))

    assert text.splitlines() == [
        "         CP@10          cards found  money caught  money saved  training",
        "nightly  .40 (.33-.47)           16           160           80     2.0 s",
        "static   .20 (.12-.28)            8            80           40     2.0 s",
        "ceiling  .80                     32",
        "",
        "nightly leads static by .200 (.200 to .200): significant.",
    ]


def test_leads_that_are_not_significant_are_listed_separately():
    base = days(0.4)
    replay = made_replay(static=base - 4, nightly=wavering(base), online=base, feedback=base - 5)
    sure, unsure = sentences_of(replay)

    assert sure.startswith("nightly leads static by .440 (")
    assert " and feedback by .540 (" in sure
    assert sure.endswith("): significant.")
    assert unsure.startswith("nightly leads online by .040 (-.")
    assert unsure.endswith("): not significant.")


def test_facts_are_json_with_every_day():
    replay = made_replay(static=[1, 3, 2, 2], nightly=[3, 5, 4, 4])
    facts = json.loads(json.dumps(facts_of(replay)))

    assert list(facts["strategies"]) == ["nightly", "static"]
    assert facts["strategies"]["static"]["by_day"]["found"] == [1, 3, 2, 2]
    assert facts["strategies"]["static"]["by_day"]["card_precision"] == [0.1, 0.3, 0.2, 0.2]
    assert facts["strategies"]["static"]["maturity"] == 0.0
    assert facts["ceiling"]["by_day"] == [0.8] * 4
    assert facts["leads"][0]["is_significant"] is True
    assert facts["days"][0] == "2025-01-01"


def with_desk(replay, found, new_on=None, recall=None, accused=None):
    """Return a replay whose strategy `desk` promised 2 to 4 cards on each day."""
    found = np.array(found, dtype=float)
    expected, low, high, chance = (np.full(found.size, each) for each in (3.0, 2.0, 4.0, 0.75))
    promise = DailyPromise(expected, low, high, found, chance)
    figures = DeskFigures(promise, recall, 2, accused or {})
    return replace(replay, desks={"desk": figures}, new_on=new_on)


def test_how_often_the_range_of_a_desk_held_is_reported():
    replay = with_desk(made_replay(desk=[1, 2, 4, 5]), [1, 2, 4, 5])

    assert sentences_of(replay) == [
        "desk: the range of frauds to expect held on 2 of 4 days; 3 were to be expected."
    ]
    held = facts_of(replay)["desks"]["desk"]["held"]
    assert held == {"all days": {"held": 2, "days": 4, "expected": 3.0}}


def test_a_change_divides_the_days_into_before_during_and_after():
    found = [3] * 5 + [9] * NEW_FOR + [3, 3, 9]
    replay = with_desk(made_replay(desk=found), found, new_on=5)

    assert sentences_of(replay) == [
        "desk: the range of frauds to expect held on 7 of 18 days (5 of 5 before, 0 of 10 "
        "during, 2 of 3 after the change); 14 were to be expected."
    ]


def test_whose_verdicts_raised_an_alarm_is_reported():
    replay = with_desk(made_replay(desk=[3]), [3], accused={"person:mallory": 11})

    assert sentences_of(replay)[1:] == [
        "desk: an alarm about the verdicts of person:mallory was raised on day 12."
    ]


def test_recall_by_random_checks_is_shown_beside_the_truth():
    recall = EstimatedRecall(Interval(0.5, 0.3, 0.8), 0.45, 20)
    replay = with_desk(made_replay(desk=[3]), [3], recall=recall)

    assert sentences_of(replay)[1] == (
        "desk: recall is .50 (.30-.80) by its random checks, and .45 in truth."
    )
    assert facts_of(replay)["desks"]["desk"]["recall"]["truth"] == 0.45
