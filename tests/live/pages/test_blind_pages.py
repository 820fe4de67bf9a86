"""Cards that are shown without reasons: no page gives them away before the verdict is final."""

import asyncio
import csv
import io
import re

import pytest

from live import desks
from live.pages.shifts import SETTINGS, Shift, open_buttons, shown_text, ticked
from toprank.live.pages.live_updates import LiveUpdates, Watched
from toprank.live.pages.page_templates import masked
from toprank.live.rules import rule_life
from toprank.live.rules.model_fields import rule_fields
from toprank.live.store import blind_check_table, check_table
from toprank.live.store.check_table import Check, checks
from toprank.payments.payment_model import PaymentModel

RULE = "any-amount-at-all"
HEADINGS = ("Why it is here", "Rules that matched", "Estimated chance", "Less suspicious")


@pytest.fixture(scope="module")
def blind(model_file, later, tmp_path_factory):
    """A shift at which every card is shown without reasons, and a rule lists every card."""
    folder = tmp_path_factory.mktemp("blind") / "desk"
    desk = desks.new_desk(folder, model_file, **{**SETTINGS, "undo": "1d", "blind_share": 1.0})
    fields = rule_fields(PaymentModel.load(model_file))
    with desk.database.writing() as connection:
        rule_life.add_rule(connection, 1, "person:anna", RULE, "amount > 0", "alert", fields)
        rule_life.stage(connection, 2, "person:anna", RULE)
        rule_life.approve(connection, 3, "person:ben", RULE)
    with Shift(desk, later) as made:
        yield made


@pytest.fixture
def alert(blind):
    """The first alert of the queue, which anna has open."""
    blind.anna.get("/queue")
    number = open_buttons(blind.anna)[0]
    blind.anna.post(f"/alerts/{number}/claim")
    yield blind.alert(number)
    if blind.alert(number).held_by == "person:anna":
        blind.anna.get(f"/alerts/{number}")
        blind.anna.post(f"/alerts/{number}/release")


def tells(text, alert):
    """What a page gives away of an alert, in any form that it is stored or shown in."""
    assert alert.reasons and alert.rules == [RULE]
    sentences = [*alert.reasons, *alert.less_suspicious, RULE, *HEADINGS]
    chances = [form for each in (alert.expected, alert.rank_value, alert.probability)
               for form in (repr(each), each.hex(), each.hex().replace("+", "%2B"))]  # fmt: skip
    return [each for each in (*sentences, *chances) if each.lower() in text.lower()]


@pytest.mark.parametrize("query", ["", "?reason=1", "?reason=1&all=1", "?all=1"])
def test_the_card_says_nothing_of_reasons_rules_and_chance(blind, alert, query):
    for browser in (blind.anna, blind.ben, blind.sara, blind.otto):
        assert browser.get(f"/alerts/{alert.number}{query}").status == 200
        assert tells(browser.text, alert) == []
        assert "Only the payments of" not in browser.text
        assert "Decide by the facts" in shown_text(browser)
        assert "Suspicious payments" in shown_text(browser)


def test_what_was_wrong_with_a_verdict_is_said_without_reasons(blind, alert):
    reply = blind.anna.post(f"/alerts/{alert.number}/decide", {"verdict": "unsure"})
    assert reply.status == 422 and tells(blind.anna.text, alert) == []


def test_the_queue_says_nothing_of_them_nor_does_the_address_of_its_next_page(
    blind, alert, monkeypatch
):
    blind.anna.get("/queue")
    rows = open_buttons(blind.anna)
    assert tells(blind.anna.text, alert) == []
    assert blind.anna.text.count("Shown without reasons") >= len(rows) > 2
    monkeypatch.setattr("toprank.live.pages.queue_page._N_ROWS", 2)
    blind.anna.get("/queue")
    assert re.search(r'href="/queue\?after=', blind.anna.text)
    for number in rows[:2]:
        assert tells(blind.anna.text, blind.alert(number)) == []


def test_search_my_day_and_decisions_say_nothing_of_them(blind, alert):
    fields = {"verdict": "genuine", "position": ticked(blind.anna)}
    blind.anna.post(f"/alerts/{alert.number}/decide", fields)
    for path in (
        f"/search?q={alert.card[-4:]}", f"/search?q={alert.number}", "/day", "/decisions",
        "/decisions?since=2000-01-01&decision=accept",
    ):  # fmt: skip
        assert blind.anna.get(path).status == 200
        assert tells(blind.anna.text, alert) == [], path
    # what is searched for is in the form again
    blind.anna.get(f"/decisions?rule={RULE}")
    assert "No decisions are found" in shown_text(blind.anna)
    blind.otto.get("/decisions")
    exported = blind.otto.post("/decisions/export").content.decode()
    assert len(list(csv.reader(io.StringIO(exported)))) > 100 and RULE not in exported
    blind.anna.get("/day")
    blind.anna.post(f"/checks/{blind.checks('anna')[0]['number']}/undo")
    assert blind.alert(alert.number).held_by == "person:anna"


def test_live_updates_say_that_a_card_has_paid_and_nothing_else(blind, alert):
    updates = LiveUpdates(blind.database)

    async def first(watched):
        async with asyncio.timeout(5):
            async for text in updates.news(watched, 5.0):
                return text
        return None

    assert re.fullmatch(
        r"This card has paid (again|\d+ more times)\.",
        blind.client.run(first(Watched(alert.number, alert.position - 1))),
    )
    said = blind.client.run(first(Watched(None, 0)))
    assert re.fullmatch(r"[\d,]+ new cards are on the list\.", said)


def test_once_the_verdict_is_final_the_reasons_are_shown(blind, alert):
    fields = {"verdict": "fraud", "position": ticked(blind.anna)}
    blind.anna.post(f"/alerts/{alert.number}/decide", fields)
    check = blind.checks("anna")[0]["number"]
    blind.anna.get(f"/alerts/{alert.number}")
    assert tells(blind.anna.text, alert) == []
    with blind.database.writing() as connection:  # the time for undoing it is over
        connection.execute(checks.update().where(checks.c.number == check).values(due_at=1))
    blind.wait_until(lambda: blind.checks("anna")[0]["state"] == "finished")

    blind.anna.get(f"/alerts/{alert.number}")
    text = shown_text(blind.anna)
    assert alert.reasons[0].lower() in text.lower() and RULE in text
    assert "Why it is here" in text and "Estimated chance of fraud" in text
    blind.anna.get(f"/alerts/{alert.number}?reason=1")
    assert "Only the payments of" in shown_text(blind.anna)
    with blind.database.reading() as connection:
        (row,) = connection.exec_driver_sql(
            f"SELECT is_blind FROM blind_checks WHERE number = {check}"
        )
        assert row.is_blind
    blind.anna.get(f"/decisions?rule={RULE}")
    shown = re.findall(r'<td class="card">(.*?)</td>', blind.anna.text)
    assert set(shown) == {masked(alert.card)}  # those of the other cards are not found by it


def test_the_monitor_compares_verdicts_once_there_are_some(blind, alert):
    with blind.database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM blind_checks")
    blind.sara.get("/monitor")
    assert "No card was checked without reasons" in shown_text(blind.sara)
    said = {True: ("fraud", "fraud", "genuine", "unsure"), False: ("genuine",) * 3}
    day = blind.desk_day()
    with blind.database.writing() as connection:
        for is_blind, verdicts in said.items():
            for verdict in verdicts:
                check = Check(
                    0, alert.number, "person:ben", verdict, [], "", "", "finished", 0, day, 0, 0,
                    0.25, False, 0,
                )  # fmt: skip
                number = check_table.add(connection, check).number
                blind_check_table.add(connection, number, alert.number, is_blind=is_blind)
    blind.sara.get("/monitor")
    text = shown_text(blind.sara)
    assert "with reasons 0 3 0 0.8 without reasons 2 1 1 1.0" in text
    assert "Of 100 cards with reasons, 67 fewer are called frauds than of 100 without" in text
    assert "which may be chance" in text
    with blind.database.writing() as connection:
        connection.execute(checks.delete().where(checks.c.who == "person:ben"))
