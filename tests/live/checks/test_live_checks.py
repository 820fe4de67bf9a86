"""Checks on a desk with a model: labels, random checks, the card's view, forgetting."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from live import desks
from toprank.live.checks import check_verdicts, claims, opened_cards, queue, random_checks
from toprank.live.checks.card_view import BEFORE, card_view
from toprank.live.checks.check_errors import NoAlertError
from toprank.live.checks.day import decisions
from toprank.live.checks.desk_search import search
from toprank.live.desk_clock import Moment
from toprank.live.messages import LabelGiven
from toprank.live.rules import rule_life
from toprank.live.rules.model_fields import rule_fields
from toprank.live.store import (
    alert_table,
    audit_chain,
    label_table,
    payment_log,
    payment_reads,
    random_check_table,
)

ANNA, BEN = "person:anna", "person:ben"
DAY = 86_400_000_000


@pytest.fixture(scope="module")
def live(model_file, later, tmp_path_factory):
    """A desk with 400 payments, and some of their cards on the list."""
    folder = tmp_path_factory.mktemp("checks") / "desk"
    with desks.new_desk(folder, model_file, alert_from=0.005, undo="0s") as desk:
        found = desks.live(desk)
        scored(found, later[:400])
        yield found
        found.close()


def scored(live, payments):
    for start in range(0, len(payments), 50):
        live.decide(payments[start : start + 50])
    while live.n_unscored:
        live.score_some(64)


def taken(live, who=ANNA):
    with live.desk.database.writing() as connection:
        held = claims.claim_next(connection, who, live.moment(), live.settings)
        assert held is not None
        return alert_table.by_number(connection, held.alert)


def decided(live, alert, verdict, who=ANNA, **values):
    with live.desk.database.writing() as connection:
        positions = values.get("positions", alert_table.positions_of(connection, alert.number))
        return check_verdicts.decide(
            connection, alert.number, who, verdict, positions, "", values.get("note", ""),
            live.moment(), live.settings,
        )  # fmt: skip


def labels_of(live, alert):
    with live.desk.database.reading() as connection:
        found = label_table.of_cards(connection, [alert.card])
    return [(each.id, each.is_fraud, each.source, each.who) for each in found]


def alert_of(live, number):
    with live.desk.database.reading() as connection:
        return alert_table.by_number(connection, number)


def test_a_verdict_becomes_labels_of_the_ticked_payments_once(live):
    alert = taken(live)
    decided(live, alert, "fraud")
    assert labels_of(live, alert) == []
    assert live.finish_checks() == 1
    assert live.finish_checks() == 0
    with live.desk.database.reading() as connection:
        ids = alert_table.payments_of(connection, [alert.number])[alert.number]
    found = labels_of(live, alert)
    assert sorted(found) == sorted((each, True, "investigator", ANNA) for each in ids)
    assert alert_of(live, alert.number).state == "closed"
    assert live.history.place.label_number >= len(ids)


def test_payments_that_were_not_ticked_get_no_label_and_the_card_is_done_all_the_same(live):
    alert = next(each for each in iter(lambda: taken(live), None) if each.n_payments > 1)
    with live.desk.database.reading() as connection:
        first, *_ = alert_table.positions_of(connection, alert.number)
    decided(live, alert, "genuine", positions=[first])
    live.finish_checks()
    assert len(labels_of(live, alert)) == 1
    assert alert_of(live, alert.number).state == "closed"


def test_an_unsure_verdict_gives_no_label_and_a_new_payment_brings_the_card_back(live, later):
    alert = taken(live)
    decided(live, alert, "unsure", note="ask the shop")
    live.finish_checks()
    assert labels_of(live, alert) == []
    assert alert_of(live, alert.number).state == "unsure"
    (row,) = payments_at(live, [alert.position])
    body = json.loads(row.body) | {"tx": "again", "amount": 5_000.0, "country": "XX"}
    again = replace(later[0], id="again", card=alert.card, body=body, paid_at=live.now())
    scored(live, [again])
    found = alert_of(live, alert.number)
    assert found.state == "open" and found.n_payments == alert.n_payments + 1
    assert found.amount == pytest.approx(alert.amount + 5_000.0)


def payments_at(live, positions):
    with live.desk.database.reading() as connection:
        return payment_reads.at(connection, positions)


def test_a_label_from_elsewhere_ranks_the_card_by_its_other_payments(live):
    alert = next(each for each in iter(lambda: taken(live), None) if each.n_payments > 1)
    (row,) = payments_at(live, [alert.position])
    live.label([LabelGiven(row.id, False, None, "claim")], "key:claims")
    found = alert_of(live, alert.number)
    assert found.position != alert.position and found.expected < alert.expected
    assert found.rank_value == found.expected
    assert (found.state, found.held_by) == ("taken", ANNA)


def test_the_view_of_a_card_has_its_payments_reasons_and_links(live):
    alert = taken(live)
    with live.desk.database.reading() as connection:
        view = card_view(connection, live, alert.number, live.now())
        positions = alert_table.positions_of(connection, alert.number)
        logged = payment_log.of_card(connection, alert.card, live.now() - 30 * DAY)
        assert payment_reads.newest_of_card(connection, alert.card) == view.newest
    assert [row.position for row in view.payments] == positions
    assert {row.position for row in view.timeline} - {BEFORE} == {row.position for row in logged}
    times = [row.paid_at for row in view.timeline]
    assert times == sorted(times, reverse=True)
    assert [each.text for each in view.reasons] == alert.reasons
    of_card = {row.position for row in view.timeline}
    assert all(set(each.positions) <= of_card for each in view.reasons)
    assert view.field_names == ["channel", "country"]
    assert set(view.payments[0].fields) == {"channel", "country"}
    assert view.chance == alert.expected
    with live.desk.database.reading() as connection, pytest.raises(NoAlertError):
        card_view(connection, live, 10_000, live.now())


def test_a_young_desk_shows_what_the_card_paid_before_it_was_made(live, made):
    alert = taken(live)
    since = live.now() - 30 * DAY
    times = made[0]["paid_at"].to_numpy().astype("datetime64[us]").astype(int).tolist()
    columns = (made[0][name].to_pylist() for name in ("tx", "card", "amount"))
    paid = {
        name: amount
        for name, card, amount, at in zip(*columns, times, strict=True)
        if card == alert.card and at > since
    }
    with live.desk.database.reading() as connection:
        view = card_view(connection, live, alert.number, live.now())
    before = [row for row in view.timeline if row.position == BEFORE]
    assert before and all(paid[row.id] == row.amount for row in before)
    assert all(set(row.fields) == {"channel", "country"} for row in before)


def test_cards_with_known_frauds_at_the_same_terminal_are_linked(live, later):
    alert = taken(live)
    (row,) = payments_at(live, [alert.position])
    other = next(each for each in later[:400] if each.card != alert.card)
    body = other.body | {"tx": "linked", "terminal": row.terminal}
    fraud = replace(other, id="linked", terminal=row.terminal, body=body, paid_at=live.now())
    scored(live, [fraud])

    def links():
        with live.desk.database.reading() as connection:
            view = card_view(connection, live, alert.number, live.now())
        return [(each.card, each.terminal, each.n_frauds) for each in view.linked]

    before = links()
    live.label([LabelGiven("linked", True, None, "claim")], "key:claims")
    assert set(links()) - set(before) == {(other.card, row.terminal, 1)}
    live.label([LabelGiven("linked", False, None, "investigator")], "key:claims")
    assert links() == before


def test_random_checks_are_drawn_once_a_day_and_look_like_any_other(live):
    now = live.moment()
    with live.desk.database.reading() as connection:
        plan = random_checks.planned(connection, now, live.settings)
        before = {each.number for each in alert_table.in_queue(connection, 1_000)}
    n_drawn = live.draw_random_checks(plan)
    assert n_drawn > 0 and live.draw_random_checks(plan) == 0
    with live.desk.database.reading() as connection:
        assert random_checks.planned(connection, now, live.settings) is None
        drawn = connection.execute(random_check_table.random_checks.select()).all()
        draw = connection.execute(random_check_table.random_draws.select()).one()
        rows = {row.alert: row for row in queue.queue(connection, 1_000)}
    assert len(drawn) == n_drawn == draw.n_drawn
    assert all(each.propensity == n_drawn / draw.n_cards for each in drawn)
    for each in drawn:
        row = rows[each.alert]
        assert row.alert not in before and row.raised_by == ["model"]
        assert row.n_payments > 0 and row.amount > 0
        assert row.expected in {other.expected for other in rows.values() if other is not row}
    tomorrow = Moment(now.desk + DAY, now.wall)
    with live.desk.database.writing() as connection:
        facts = random_checks.AlertFacts(live._sentences_at, "m", "amount")
        empty = plan._replace(cards=[])
        random_checks.draw(connection, empty, facts, tomorrow, live.settings)
        states = {alert_table.by_number(connection, each.alert).state for each in drawn}
    assert states == {"closed"}


def test_nothing_is_drawn_before_the_log_goes_back_a_day(live):
    with live.desk.database.reading() as connection:
        (first,) = payment_log.after(connection, 0, 1)
        early = Moment(first.received_at + DAY // 2, 0)
        assert random_checks.planned(connection, early, live.settings) is None


def test_a_card_that_gets_on_the_list_gives_way_to_the_next_of_the_draw(live, later):
    now = live.moment()
    next_week = Moment(now.desk + 7 * DAY, now.wall)
    with live.desk.database.writing() as connection:
        listed = queue.queue(connection, 1)[0].card
        cards = sorted({each.card for each in later[:400]})
        eligible = opened_cards.not_listed(connection, cards)  # other tests found frauds
        plan = random_checks.PlannedDraw("seed", 0, 50, 1, [listed, *eligible[:2]])
        facts = random_checks.AlertFacts(live._sentences_at, "m", "amount")
        assert random_checks.draw(connection, plan, facts, next_week, live.settings) == 1
        assert eligible[0] in alert_table.cards_not_closed(connection)


def test_every_card_is_drawn_with_the_same_chance(live):
    cards = [f"card {number}" for number in range(10)]
    counts = Counter(
        card
        for seed in range(2_000)
        for card in sorted(cards, key=lambda card: random_checks.place_of(str(seed), card))[:3]
    )
    assert all(520 < counts[card] < 680 for card in cards)  # 600, within four deviations


def test_a_rule_that_lists_a_card_is_in_its_view_with_version_and_outcomes(live, later):
    fields, now = rule_fields(live.model), live.now()
    with live.desk.database.writing() as connection:
        rule_life.add_rule(connection, now, BEN, "huge", "amount > 40000", "alert", fields)
        rule_life.stage(connection, now, BEN, "huge")
        rule_life.approve(connection, now, ANNA, "huge")
    live.notice_changes()
    names = ("huge-0", "huge-1")
    for name in names:
        body = later[0].body | {"tx": name, "card": f"{name}-card", "amount": 50_000.0}
        scored(live, [replace(later[0], id=name, card=f"{name}-card", body=body, paid_at=now)])
    with live.desk.database.writing() as connection:
        first, second = (alert_table.of_card(connection, f"{name}-card")[0] for name in names)
        assert first.expected >= live.settings.alert_from
        claims.claim(connection, first.number, ANNA, live.moment(), live.settings)
    decided(live, first, "fraud")
    live.finish_checks()
    with live.desk.database.reading() as connection:
        view = card_view(connection, live, second.number, live.now())
        rows = {row.alert: row for row in queue.queue(connection, 1_000)}
        (row,) = decisions(connection, "amount", rule="huge", since=now, limit=1)
    assert view.rules == [("huge", 1, 1, 1)]
    assert rows[second.number].raised_by == ["huge"]
    assert (row.id, row.rules, row.amount) == ("huge-1", ["huge"], 50_000.0)


def test_decisions_are_found_by_what_was_decided_and_when(live, later):
    with live.desk.database.reading() as connection:
        rows = decisions(connection, "amount", limit=1_000)
        first = decisions(connection, "amount", limit=10)
        rest = decisions(connection, "amount", limit=1_000, after=first[-1].position)
        assert decisions(connection, "amount", decision="block") == []
        assert decisions(connection, "amount", rule="large") == []
        moment = rows[200].received_at
        early = decisions(connection, "amount", until=moment, limit=1_000)
        late = decisions(connection, "amount", since=moment, limit=1_000)
    assert first + rest == rows
    assert late + early == rows and early[0].received_at < moment <= late[-1].received_at
    by_id = {row.id: row for row in rows}
    assert by_id[later[3].id].amount == later[3].body["amount"]


def test_a_search_finds_payments_alerts_and_cards_by_their_names(live, later):
    alert = taken(live)
    (row,) = payments_at(live, [alert.position])
    with live.desk.database.reading() as connection:
        assert search(connection, f"#{alert.number}")[0].card == alert.card
        assert alert.number in {each.alert for each in search(connection, alert.card)}
        assert {each.payment for each in search(connection, f" {row.id} ")} == {row.id}
        at_terminal = search(connection, row.terminal)
        assert (alert.number, "terminal") in {(each.alert, each.by) for each in at_terminal}
        ends = search(connection, alert.card[-4:])
        assert alert.number in {each.alert for each in ends}
        assert (
            search(connection, "%") == search(connection, "") == search(connection, "nope") == []
        )


def test_the_audit_of_all_of_this_verifies(live):
    with live.desk.database.reading() as connection:
        assert audit_chain.verify(connection).n_entries > 20
