"""The queue as people see it, without a browser's scripts."""

import re

from live.pages.shifts import open_buttons, opened, shown_text


def test_the_queue_lists_cards_masked_with_what_the_next_checks_should_find(shift):
    shift.anna.get("/queue")
    text = shown_text(shift.anna)
    assert len(open_buttons(shift.anna)) > 3
    assert re.search(r"•••• \S{1,4} ", text)
    with shift.database.reading() as connection:
        cards = {row.card for row in connection.exec_driver_sql("SELECT card FROM alerts")}
    assert not any(card in shift.anna.text for card in cards)
    assert re.search(r"The next \d+ checks [\d.]+ frauds expected \(\d+ to \d+\)", text)
    assert "0 of 10 checks" in text


def test_looking_claims_nothing_and_opening_does(shift):
    shift.anna.get("/queue")
    number = open_buttons(shift.anna)[0]
    shift.anna.get(f"/alerts/{number}")
    assert shift.alert(number).held_by is None
    assert "Verdict" not in shown_text(shift.anna)
    shift.anna.post(f"/alerts/{number}/claim")
    assert shift.alert(number).held_by == "person:anna"
    assert opened(shift.anna) == number and 'value="fraud"' in shift.anna.text
    shift.anna.post(f"/alerts/{number}/release")
    assert shift.alert(number).held_by is None


def test_a_card_that_somebody_holds_cannot_be_opened_but_by_a_senior(shift):
    shift.anna.get("/queue")
    number = open_buttons(shift.anna)[0]
    shift.anna.post(f"/alerts/{number}/claim")
    shift.ben.get("/queue")
    assert number not in open_buttons(shift.ben) and "anna" in shown_text(shift.ben)
    shift.ben.post(f"/alerts/{number}/claim")
    assert f"Alert {number} is open at anna." in shown_text(shift.ben)
    assert shift.ben.post(f"/alerts/{number}/take-over").status == 403
    assert shift.ben.post(f"/alerts/{number}/release").status == 403
    shift.sara.get(f"/alerts/{number}")
    assert "Take it over" in shown_text(shift.sara)
    shift.sara.post(f"/alerts/{number}/take-over")
    assert shift.alert(number).held_by == "person:sara"
    shift.sara.post(f"/alerts/{number}/release")


def test_the_next_free_card_opens_by_one_button(shift):
    shift.ben.get("/queue")
    first = open_buttons(shift.ben)[0]
    shift.ben.post("/queue/next")
    assert opened(shift.ben) == first
    shift.ben.post(f"/alerts/{first}/release")


def test_an_auditor_sees_the_queue_and_has_no_button(shift):
    shift.otto.get("/queue")
    assert open_buttons(shift.otto) == []
    assert "View" in shown_text(shift.otto)


def test_pages_of_the_queue_follow_one_another(shift, monkeypatch):
    monkeypatch.setattr("toprank.live.pages.queue_page._N_ROWS", 2)
    shift.anna.get("/queue")
    first = open_buttons(shift.anna)
    following = re.search(r'href="(/queue\?after=[^"]+)"', shift.anna.text)[1]
    shift.anna.get(following.replace("&amp;", "&"))
    second = open_buttons(shift.anna)
    assert len(first) == len(second) == 2 and not set(first) & set(second)
    assert ">3</td>" in shift.anna.text
    assert shift.anna.get("/queue?after=nonsense").status == 400
