"""A small desk with rules, alerts and labels, for the board and the monitor."""

from live import desks
from toprank.live.messages import LabelGiven
from toprank.live.rules import rule_life
from toprank.live.rules.desk_rules import DeskRules

RULES = {
    "large": ("block", "amount > 0.9 * card_max_amount_30d_before AND amount > 60"),
    "night": ("alert", "hour(paid_at) < 6"),
    "likely": ("alert", "suspicion > -100 AND amount > 40"),
    "all": ("alert", "amount > 0"),
}
SHADOW = ("all",)


def add_rules(desk):
    """Rules in shadow and live, by two people."""
    rules = DeskRules(desk)
    for name, (kind, text) in RULES.items():
        rules.add("person:anna", name, text, kind)
        with desk.database.writing() as connection:
            rule_life.stage(connection, 1, "person:anna", name)
            if name not in SHADOW:
                rule_life.approve(connection, 2, "person:ben", name)
    rules.model.close()


def pay(live, payments):
    """Decide and score payments."""
    for start in range(0, len(payments), 50):
        live.decide(payments[start : start + 50])
    while live.n_unscored:
        live.score_some(64)


def give_labels(live, payments):
    """Claims of frauds, some verdicts of genuine payments, and two that are corrected."""
    frauds, genuine = ([each.id for each in payments[start::23]] for start in (0, 7))
    live.label([LabelGiven(each, True, None, "claim") for each in frauds], "key:claims")
    live.label([LabelGiven(each, False, None, "investigator") for each in genuine], "person:anna")
    # a verdict that is corrected, both ways
    live.label([LabelGiven(genuine[0], True, None, "investigator")], "person:anna")
    live.label([LabelGiven(frauds[0], False, None, "investigator")], "person:anna")


def made_desk(folder, model, later, **settings):
    """The desk, and it in memory, after all later payments and some labels."""
    desk = desks.new_desk(folder, model, **({"silence": "2d", "breaker_share": 1.0} | settings))
    add_rules(desk)
    live = desks.live(desk)
    pay(live, later)
    give_labels(live, later)
    return desk, live
