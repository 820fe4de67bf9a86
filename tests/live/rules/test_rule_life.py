import polars as pl
import pytest
import sqlalchemy as sa

from live import databases
from toprank.live.rules import rule_life
from toprank.live.rules.rule_fields import RuleError, RuleFields
from toprank.live.rules.rule_life import RuleLifeError, load_rule_set
from toprank.live.rules.snoozed_cards import load_snoozed_cards, snooze
from toprank.live.store import audit_chain, rule_set_table, rule_table

FIELDS = RuleFields({"amount": "number"})
ANNA, BEN = "person:anna", "person:ben"
DAY = 86_400_000_000


@pytest.fixture
def database(tmp_path):
    made = databases.create(tmp_path)
    yield made
    made.close()


@pytest.fixture
def connection(database):
    with database.writing() as connection:
        yield connection


def add(connection, name="large", text="amount > 500", kind="block"):
    return rule_life.add_rule(connection, 1, ANNA, name, text, kind, FIELDS)


def made_live(connection, name="large", text="amount > 500"):
    add(connection, name, text)
    rule_life.stage(connection, 2, ANNA, name)
    return rule_life.approve(connection, 3, BEN, name)


def names(rule_set):
    return [(each.name, each.version, each.state) for each in rule_set.rules]


def actions(connection):
    return [(each.actor, each.action) for each in audit_chain.entries(connection)]


def test_a_rule_goes_from_draft_to_shadow_to_live_to_retired(connection):
    assert add(connection).state == "draft"
    assert names(load_rule_set(connection, FIELDS)) == []
    rule_life.stage(connection, 2, ANNA, "large")
    assert names(load_rule_set(connection, FIELDS)) == [("large", 1, "shadow")]
    assert rule_life.approve(connection, 3, BEN, "large").approver == BEN
    assert names(load_rule_set(connection, FIELDS)) == [("large", 1, "live")]
    rule_life.retire(connection, 4, ANNA, "large")
    assert names(load_rule_set(connection, FIELDS)) == []
    assert actions(connection) == [
        (ANNA, "rule.add"), (ANNA, "rule.stage"), (BEN, "rule.approve"), (ANNA, "rule.retire"),
    ]  # fmt: skip


@pytest.mark.parametrize("approver", [ANNA, "person:Anna", "person:anna "])
def test_a_rule_goes_live_only_by_a_second_person(connection, approver):
    add(connection)
    rule_life.stage(connection, 2, BEN, "large")
    with pytest.raises(RuleLifeError, match="second person"):
        rule_life.approve(connection, 3, approver, "large")
    assert rule_life.rule_of(connection, "large").state == "shadow"


def test_a_step_from_the_wrong_state_is_refused(connection):
    add(connection)
    with pytest.raises(RuleLifeError, match="in state shadow to be approved; it is draft"):
        rule_life.approve(connection, 2, BEN, "large")
    rule_life.retire(connection, 3, BEN, "large")
    with pytest.raises(RuleLifeError, match="it is retired"):
        rule_life.stage(connection, 4, BEN, "large")
    with pytest.raises(RuleLifeError, match="retired already"):
        rule_life.retire(connection, 4, BEN, "large")


def test_a_new_version_takes_the_place_of_the_one_before_when_it_goes_live(connection):
    made_live(connection)
    assert add(connection, text="amount > 900").version == 2
    rule_life.stage(connection, 5, ANNA, "large")
    both = [("large", 1, "live"), ("large", 2, "shadow")]
    assert names(load_rule_set(connection, FIELDS)) == both
    rule_life.approve(connection, 6, BEN, "large")
    assert names(load_rule_set(connection, FIELDS)) == [("large", 2, "live")]
    assert [each.state for each in rule_life.versions(connection, "large")] == ["live", "retired"]


def test_a_rule_set_never_changes_and_gets_a_new_number_only_for_what_matters(connection):
    made_live(connection)
    number = rule_set_table.newest_number(connection)
    add(connection, "other")
    assert rule_set_table.newest_number(connection) == number == 2
    rule_life.stage(connection, 5, ANNA, "other")
    assert rule_set_table.newest_number(connection) == 3
    assert names(load_rule_set(connection, FIELDS, 2)) == [("large", 1, "live")]
    assert names(load_rule_set(connection, FIELDS, 0)) == []
    with pytest.raises(ValueError, match="rule set 9"):
        load_rule_set(connection, FIELDS, 9)


def test_a_tripped_rule_goes_to_shadow_and_says_why(connection):
    made_live(connection)
    assert rule_life.trip(connection, 9, "large", 1, "it blocked 67 %.")
    assert names(load_rule_set(connection, FIELDS)) == [("large", 1, "shadow")]
    *_, last = audit_chain.entries(connection)
    assert (last.actor, last.action) == ("job:breaker", "rule.trip")
    assert last.details["why"] == "it blocked 67 %."
    assert not rule_life.trip(connection, 9, "large", 1, "again")
    assert rule_life.approve(connection, 10, BEN, "large").state == "live"


def test_a_change_that_fails_leaves_neither_state_nor_audit(database):
    with database.writing() as connection:
        made_live(connection)
    with pytest.raises(sa.exc.IntegrityError), database.writing() as connection:
        rule_life.retire(connection, 5, ANNA, "large")
        rule_table.add(connection, rule_life.rule_of(connection, "large"))
    with database.reading() as connection:
        assert rule_life.rule_of(connection, "large").state == "live"
        assert len(actions(connection)) == 3


def test_of_two_people_who_change_a_rule_at_once_one_is_refused(connection):
    rule = add(connection)
    rule_life.stage(connection, 2, ANNA, "large")
    assert not rule_table.change_state(connection, rule, "retired")


@pytest.mark.parametrize("name", ["", "Large", "a b", "-a", "a" * 65, "a\n", "<b>"])
def test_a_name_that_is_not_plain_is_refused(connection, name):
    with pytest.raises(RuleError, match="name of a rule"):
        add(connection, name)


def test_a_rule_that_cannot_be_evaluated_is_never_stored(connection):
    with pytest.raises(RuleError, match="did you mean 'amount'"):
        add(connection, text="amuont > 1")
    with pytest.raises(RuleLifeError, match="no rule 'large'"):
        rule_life.rule_of(connection, "large")


def test_a_rule_whose_feature_the_model_lost_is_named(connection):
    made_live(connection)
    with pytest.raises(RuleError, match="rule 'large', version 1: 'amount' is not a field"):
        load_rule_set(connection, RuleFields({"sum": "number"}))


def test_a_snoozed_card_is_left_alone_by_the_rule_until_the_end(connection):
    made_live(connection)
    made_live(connection, "other", "amount > 1")
    snooze(connection, 0, ANNA, "C1", "large", "travels", 5 * DAY)
    snooze(connection, 0, ANNA, "C2", None, "test card", 180 * DAY)
    cards = load_snoozed_cards(connection, DAY)
    (matches,) = load_rule_set(connection, FIELDS).matches(pl.DataFrame({"amount": [900.0]}))

    def kept(card, at):
        return [each.name for each in cards.kept(card, matches, at)]

    assert kept("C1", 4 * DAY) == ["other"]
    assert kept("C1", 5 * DAY) == kept("C3", 0) == ["large", "other"]
    assert kept("C2", 179 * DAY) == []
    assert actions(connection)[-1] == (ANNA, "rule.snooze")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reason": " "}, "reason of a snooze"),
        ({"until": 181 * DAY}, "at most 180 days ahead; got 181"),
        ({"until": 0}, "got 0 days"),
        ({"rule": "larg"}, "no rule 'larg'"),
        ({"card": ""}, "card of a snooze"),
    ],
)
def test_a_snooze_needs_a_reason_a_near_end_and_a_known_rule(connection, change, message):
    given = {"card": "C1", "rule": None, "reason": "travels", "until": DAY} | change
    with pytest.raises(ValueError, match=message):
        snooze(connection, 0, ANNA, **given)
