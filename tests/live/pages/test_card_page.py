"""The page of a card and its buttons, without a browser's scripts."""

import re

import pytest

from live.pages.shifts import open_buttons, opened, shown_text, ticked


@pytest.fixture
def number(shift):
    """The alert that anna has open, the first free one of the queue."""
    shift.anna.get("/queue")
    number = open_buttons(shift.anna)[0]
    shift.anna.post(f"/alerts/{number}/claim")
    yield number
    if shift.alert(number).held_by == "person:anna":
        shift.anna.get(f"/alerts/{number}")
        shift.anna.post(f"/alerts/{number}/release")


def test_facts_come_first_then_reasons_and_the_chance_last(shift, number):
    text = shown_text(shift.anna)
    order = [
        "Suspicious payments", "The last 30 days", "Why it is here", "Linked cards",
        "Notes and earlier checks", "Estimated chance of fraud",
    ]  # fmt: skip
    places = [text.index(each) for each in order]
    assert places == sorted(places)


def test_the_suspicious_payments_are_ticked_and_show_all_their_fields(shift, number):
    with shift.database.reading() as connection:
        rows = connection.exec_driver_sql(
            f"SELECT position FROM alert_payments WHERE alert = {number}"
        )
        assert sorted(ticked(shift.anna)) == sorted(row.position for row in rows)
    heads = re.findall(r'<th scope="col"[^>]*>([^<]+)</th>', shift.anna.text)
    assert {"When", "Amount", "Terminal", "Channel", "Country", "Outcome"} <= set(heads)


def test_a_reason_filters_the_time_line_without_a_script(shift, number):
    path = re.search(rf'href="(/alerts/{number}\?reason=1)#days"', shift.anna.text)[1]
    shift.anna.get(path)
    assert 'aria-current="true"' in shift.anna.text
    assert "Only the payments of" in shown_text(shift.anna)
    shift.anna.get(f"/alerts/{number}?reason=999")
    assert "Only the payments of" not in shown_text(shift.anna)


def test_every_view_of_a_card_is_in_the_audit(shift, number):
    before = len(shift.audited("card viewed"))
    shift.otto.get(f"/alerts/{number}")
    entries = shift.audited("card viewed")
    assert len(entries) == before + 1
    assert (entries[-1].actor, entries[-1].subject) == ("person:otto", f"alert:{number}")


def test_a_verdict_is_stored_on_the_ticked_payments_and_opens_the_next_card(shift, number):
    position = ticked(shift.anna)[0]
    fields = {"verdict": "fraud", "position": position, "reason_code": "stolen card", "note": ""}
    shift.anna.post(f"/alerts/{number}/decide", fields)
    check = shift.checks("anna")[0]
    assert (check["alert"], check["verdict"], check["positions"]) == (
        number, "fraud", f"[{position}]"
    )  # fmt: skip
    following = opened(shift.anna)
    assert following != number and shift.alert(following).held_by == "person:anna"
    assert re.search(r"fraud, 1 payment\. .*Undo", shown_text(shift.anna))
    shift.anna.post(f"/checks/{check['number']}/undo")
    assert opened(shift.anna) == number
    assert shift.alert(number).held_by == "person:anna"
    assert shift.checks("anna")[0]["state"] == "undone"
    # the card that had opened by itself is still there for the next verdict
    shift.anna.post(
        f"/alerts/{number}/decide", {**fields, "verdict": "genuine", "reason_code": ""}
    )
    assert opened(shift.anna) == following
    shift.anna.post(f"/alerts/{following}/release")


def test_what_is_wrong_with_a_verdict_is_said_and_what_was_typed_is_kept(shift, number):
    position = ticked(shift.anna)[0]
    fields = {"position": position, "reason_code": "travel", "note": "<b>on holiday</b>"}
    reply = shift.anna.post(f"/alerts/{number}/decide", {**fields, "verdict": "fraud"})
    assert reply.status == 422 and shift.alert(number).held_by == "person:anna"
    assert 'value="&lt;b&gt;on holiday&lt;/b&gt;"' in shift.anna.text
    assert "<option selected>travel" in shift.anna.text
    assert shift.anna.post(f"/alerts/{number}/decide", {"verdict": "unsure"}).status == 422
    assert "A note is required for unsure" in shown_text(shift.anna)
    assert shift.anna.post(f"/alerts/{number}/decide", {"verdict": "genuine"}).status == 422
    assert ticked(shift.anna) == []


def test_only_whoever_holds_a_card_decides_it(shift, number):
    shift.ben.get(f"/alerts/{number}")
    assert ticked(shift.ben) == [] and 'id="verdict"' not in shift.ben.text
    fields = {"verdict": "fraud", "position": ticked(shift.anna)}
    assert shift.ben.post(f"/alerts/{number}/decide", fields).status == 403
    shift.otto.get("/queue")
    assert shift.otto.post(f"/alerts/{number}/decide", fields).status == 403
    assert shift.alert(number).held_by == "person:anna"


def test_somebody_elses_verdict_cannot_be_undone(shift, number):
    fields = {"verdict": "genuine", "position": ticked(shift.anna)}
    shift.anna.post(f"/alerts/{number}/decide", fields)
    check = shift.checks("anna")[0]["number"]
    shift.ben.get("/queue")
    assert "Undo" not in shown_text(shift.ben)
    assert shift.ben.post(f"/checks/{check}/undo").status == 403
    shift.anna.post(f"/alerts/{opened(shift.anna)}/release")


def test_a_card_is_shown_whole_only_to_whoever_gave_a_reason(shift, number):
    card = shift.alert(number).card
    assert card not in shift.anna.text
    assert shift.anna.post(f"/alerts/{number}/unmask", {"reason": "no"}).status == 422
    shift.anna.get(f"/alerts/{number}")
    shift.anna.post(f"/alerts/{number}/unmask", {"reason": "the holder is on the phone"})
    assert card in shift.anna.text
    shift.ben.get(f"/alerts/{number}")
    assert card not in shift.ben.text
    shift.otto.get("/queue")
    assert shift.otto.post(f"/alerts/{number}/unmask", {"reason": "curious"}).status == 403
    (entry,) = shift.audited("card unmasked")
    assert entry.actor == "person:anna" and card not in str(entry)


def test_an_escalated_card_is_for_seniors(shift, number):
    shift.anna.post(f"/alerts/{number}/escalate", {"note": "two names on one card"})
    assert "The card before is escalated" in shown_text(shift.anna)
    shift.anna.post(f"/alerts/{opened(shift.anna)}/release")
    assert shift.ben.get("/escalated").status == 403
    shift.ben.get(f"/alerts/{number}")
    assert "Check this card" not in shown_text(shift.ben)
    assert shift.ben.post(f"/alerts/{number}/claim").status == 403
    shift.sara.get("/escalated")
    assert number in open_buttons(shift.sara)
    shift.sara.post(f"/alerts/{number}/claim")
    assert "two names on one card" in shown_text(shift.sara)
    assert shift.sara.post(f"/alerts/{number}/snooze", {"days": "x"}).status == 422
    shift.sara.get(f"/alerts/{number}")
    shift.sara.post(f"/alerts/{number}/snooze", {"days": "7", "note": "on a journey until then"})
    assert shift.alert(number).state == "snoozed"
    assert "The card before is snoozed for 7 days." in shown_text(shift.sara)
    shift.sara.post(f"/alerts/{opened(shift.sara)}/release")


def test_without_an_address_to_send_it_to_a_block_says_what_is_missing(shift, number):
    given = {"note": "stolen", "position": ticked(shift.anna)}
    reply = shift.anna.post(f"/alerts/{number}/block", given)
    assert reply.status == 422 and "block_url" in shown_text(shift.anna)
    assert opened(shift.anna) == number and ticked(shift.anna), "the card is still there to decide"
    assert 'value="stolen"' in shift.anna.text


def test_a_card_that_is_not_there_is_a_page_that_says_so(shift):
    for number in (10**9, 10**40):
        assert shift.anna.get(f"/alerts/{number}").status == 404


def test_what_a_terminal_is_called_is_shown_as_text(shift, number):
    shift.send(shift.alert(number).card, "<script>alert(1)</script>")
    shift.anna.get(f"/alerts/{number}")
    assert "<script>alert(1)" not in shift.anna.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shift.anna.text
