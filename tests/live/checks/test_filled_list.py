"""The list is never shorter than what can still be checked, and what fills it are the best."""

from dataclasses import replace

import pytest

from live import desks
from toprank.live.checks import actions, check_verdicts, claims, filled_list
from toprank.live.store import (
    alert_table,
    filled_alert_table,
    payment_reads,
    random_check_table,
)
from toprank.live.store.random_check_table import RandomDraw

ANNA = "person:anna"
CAPACITY = 6


@pytest.fixture
def live(model_file, later, tmp_path):
    """A desk on which no payment is suspicious enough to list its card."""
    settings = {"alert_from": 1.0, "capacity": CAPACITY, "undo": "0s", "random_share": 0.0}
    with desks.new_desk(tmp_path / "desk", model_file, **settings) as desk:
        found = desks.live(desk)
        score(found, later[:120])
        yield found
        found.close()


def score(live, payments):
    live.decide(payments)
    while live.n_unscored:
        live.score_some(64)


def fill(live):
    """Fill the list as the job does; return the plan."""
    with live.desk.database.reading() as connection:
        plan = filled_list.planned(connection, live.moment(), live.settings)
    if plan is not None:
        live.fill_list(plan)
    return plan


def listed(live):
    with live.desk.database.reading() as connection:
        return {each.card: each for each in alert_table.in_queue(connection, 100)}


def best_cards(live):
    """Every card by its highest probability, the slow way."""
    best = {}
    with live.desk.database.reading() as connection:
        rows = payment_reads.at(connection, range(1, 10_000))
        scores = payment_reads.scores_at(connection, [row.position for row in rows])
    for row in rows:
        if row.received_at >= live.now() - 86_400_000_000:
            best[row.card] = max(best.get(row.card, 0.0), scores[row.position].probability)
    return sorted(best, key=lambda card: (-best[card], card))


def decide_next(live, verdict="genuine"):
    with live.desk.database.writing() as connection:
        held = claims.claim_next(connection, ANNA, live.moment(), live.settings)
        positions = alert_table.positions_of(connection, held.alert)
        check_verdicts.decide(
            connection, held.alert, ANNA, verdict, positions, "", "", live.moment(), live.settings
        )
        card = alert_table.by_number(connection, held.alert).card
    live.finish_checks()
    return card


def test_the_best_cards_fill_an_empty_list_up_to_the_capacity(live):
    assert not listed(live)
    plan = fill(live)

    assert plan.cards == best_cards(live)[:CAPACITY]
    assert set(listed(live)) == set(plan.cards)
    for alert in listed(live).values():
        assert alert.reasons and alert.n_payments and alert.rank_value == alert.expected


def test_a_full_list_is_left_alone(live):
    fill(live)
    assert fill(live) is None


def test_checks_of_today_count_and_their_cards_are_not_listed_again(live):
    fill(live)
    checked = {decide_next(live), decide_next(live)}
    fill(live)

    assert len(listed(live)) == CAPACITY - 2
    assert not checked & set(listed(live))
    assert set(listed(live)) <= set(best_cards(live)[:CAPACITY])


def test_better_cards_take_the_place_of_those_that_nobody_has_opened(live, later):
    fill(live)
    before = set(listed(live))
    score(live, later[120:400])
    fill(live)

    assert set(listed(live)) == set(best_cards(live)[:CAPACITY])
    assert set(listed(live)) != before


def test_a_card_that_somebody_holds_stays_and_counts(live, later):
    fill(live)
    with live.desk.database.writing() as connection:
        held = claims.claim_next(connection, ANNA, live.moment(), live.settings)
        card = alert_table.by_number(connection, held.alert).card
    score(live, later[120:400])
    fill(live)

    assert card in listed(live)
    assert len(listed(live)) == CAPACITY


def test_a_card_known_as_fraud_is_not_listed(live):
    fill(live)
    card = decide_next(live, "fraud")
    fill(live)

    assert card not in listed(live)


def test_random_checks_are_not_taken_off_the_list(live):
    fill(live)
    drawn = next(iter(listed(live).values()))
    with live.desk.database.writing() as connection:
        day = live.moment().day
        random_check_table.add(
            connection, RandomDraw(day, live.now(), 0, 10, 1, "seed"), [drawn.number]
        )
        filled_alert_table.remove(connection, [drawn.number])  # as a draw opens it
    fill(live)
    assert drawn.card in listed(live)


def test_a_card_that_somebody_has_opened_and_given_back_stays(live, later):
    fill(live)
    with live.desk.database.writing() as connection:
        held = claims.claim_next(connection, ANNA, live.moment(), live.settings)
        card = alert_table.by_number(connection, held.alert).card
        actions.add_note(connection, held.alert, ANNA, "calls back at 3", live.moment())
        claims.release(connection, held.alert, ANNA, live.moment())
    score(live, later[120:400])
    fill(live)

    assert listed(live)[card].number == held.alert


def test_a_card_that_paid_again_is_listed_with_its_newest_payments(live, later):
    fill(live)
    before = {card: alert.number for card, alert in listed(live).items()}
    card = next(iter(before))
    last = later[119]
    again = replace(
        last, id="again", card=card, body=last.body | {"tx": "again", "card": card, "amount": 5.0}
    )
    score(live, [again])
    fill(live)
    after = listed(live)

    assert after[card].number != before[card]
    assert after[card].n_payments == 1 + n_payments(live, before[card])
    assert {each: after[each].number for each in after if each != card} == {
        each: number for each, number in before.items() if each != card
    }


def n_payments(live, number):
    with live.desk.database.reading() as connection:
        return len(alert_table.positions_of(connection, number))


def test_a_planned_card_whose_payments_are_gone_is_skipped(live):
    with live.desk.database.reading() as connection:
        plan = filled_list.planned(connection, live.moment(), live.settings)

    assert live.fill_list(plan._replace(cards=["gone", *plan.cards])) == CAPACITY
    assert "gone" not in listed(live)


def test_where_enough_cards_are_listed_by_themselves_nothing_is_filled(
    model_file, later, tmp_path
):
    settings = {"alert_from": 0.0, "capacity": CAPACITY, "random_share": 0.0}
    with desks.new_desk(tmp_path / "desk", model_file, **settings) as desk:
        live = desks.live(desk)
        score(live, later[:60])
        assert len(listed(live)) > CAPACITY
        assert fill(live) is None
        live.close()
