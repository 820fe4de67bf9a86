import json
from collections import Counter
from datetime import UTC, datetime

import pytest

from live import desks
from toprank.live.engine.decision_engine import DecisionEngine
from toprank.live.rules import rule_life
from toprank.live.rules.desk_rules import DeskRules
from toprank.live.rules.rule_fields import RuleError
from toprank.live.store import payment_log

RULES = {
    "large": ("block", "amount > 0.8 * card_max_amount_30d_before AND channel <> 'x'"),
    "night": ("block", "hour(paid_at) < 5 OR card_seconds_since_last / 60 < 20"),
    "high": ("alert", "suspicion < 0 AND country IS NOT NULL AND amount % 2 < 1"),
}


@pytest.fixture
def rules(desk):
    return DeskRules(desk)


@pytest.fixture
def recorded(rules, later):
    """How often each rule matched payments that came in, none of them labelled yet."""
    for name, (kind, text) in RULES.items():
        rules.add("person:anna", name, text, kind)
        with rules.desk.database.writing() as connection:
            rule_life.stage(connection, 1, "person:anna", name)
    live = desks.live(rules.desk)
    engine = DecisionEngine(live)
    desks.run(engine, lambda: engine.decide(later[:400]))
    live.close()
    with rules.desk.database.reading() as connection:
        stored = [json.loads(each.matched) for pair in payment_log.scored_after(connection, 0)
                  for each in pair]  # fmt: skip
    return Counter(name for each in stored for name, *_ in each)


def test_a_backtest_matches_exactly_what_was_matched_live(rules, recorded, later):
    assert set(recorded) == set(RULES)
    first_day = datetime.fromtimestamp(later[0].paid_at / 1e6, UTC).date()
    for name, count in recorded.items():
        found = rules.backtest(name, since=first_day, least_maturity=0)
        assert found.matches == (0, 0, count)


def test_payments_without_labels_make_a_period_immature(rules, recorded, later):
    first_day = datetime.fromtimestamp(later[0].paid_at / 1e6, UTC).date()
    with pytest.raises(RuleError, match="0 % are"):
        rules.backtest("large", since=first_day)
    assert rules.backtest("large").payments.unknown == 400


def test_only_other_live_rules_count_as_having_found_a_fraud(rules):
    text = "amount > 50"
    alone = rules.backtest(text).only_fraud
    rules.add("person:anna", "all", "TRUE", "alert")
    with rules.desk.database.writing() as connection:
        rule_life.stage(connection, 1, "person:anna", "all")
    assert rules.backtest(text).only_fraud == alone > 0
    with rules.desk.database.writing() as connection:
        rule_life.approve(connection, 1, "person:ben", "all")
    assert rules.backtest(text).only_fraud == 0
    assert rules.backtest("all").only_fraud > 0
    assert rules.suggest() == []


def test_a_snooze_counts_from_the_time_of_the_desk(rules):
    made = rules.snooze("person:anna", "C1", None, "travels", days=2)
    newest = rules.model.state_.history.until.astype("datetime64[us]").astype(int)
    assert (made.at, made.until) == (newest, newest + 2 * 86_400_000_000)


def test_a_rule_that_blocks_everything_is_in_shadow_after_twenty_payments(rules, later):
    rules.add("person:anna", "all", "TRUE", "block")
    with rules.desk.database.writing() as connection:
        rule_life.stage(connection, 1, "person:anna", "all")
        rule_life.approve(connection, 1, "person:ben", "all")
    live = desks.live(rules.desk)
    engine = DecisionEngine(live)

    async def one_by_one():
        return [(await engine.decide([each]))[0].decision for each in later[:40]]

    decisions = desks.run(engine, one_by_one)
    live.close()
    assert decisions == ["block"] * 20 + ["accept"] * 20
    with rules.desk.database.reading() as connection:
        assert rule_life.rule_of(connection, "all").state == "shadow"
