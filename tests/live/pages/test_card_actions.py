"""What people do with a card beside the verdict, as its page shows it."""

import json
import re

import pytest

from live import desks
from live.bank_server import Bank
from live.pages.shifts import SETTINGS, Shift, open_buttons, opened, shown_text, ticked
from toprank.live.checks import outbox
from toprank.live.store import label_table, outbox_table, payment_reads


@pytest.fixture(scope="module")
def bank():
    found = Bank()
    yield found
    found.close()


@pytest.fixture(scope="module")
def shift(model_file, later, tmp_path_factory, bank):
    """A desk whose cards can be blocked, and whose verdicts are final at once."""
    folder = tmp_path_factory.mktemp("actions")
    settings = SETTINGS | {"block_url": bank.url, "undo": "0s"}
    with Shift(desks.new_desk(folder / "desk", model_file, **settings), later) as made:
        yield made


@pytest.fixture(scope="module")
def used():
    """The alerts of tests before."""
    return set()


@pytest.fixture
def number(shift, used):
    """The alert that sara has open, the first free one of the queue that no test has had."""
    shift.sara.get("/queue")
    number = next(each for each in open_buttons(shift.sara) if each not in used)
    used.add(number)
    shift.sara.post(f"/alerts/{number}/claim")
    yield number
    if shift.alert(number).held_by == "person:sara":
        shift.sara.get(f"/alerts/{number}")
        shift.sara.post(f"/alerts/{number}/release")


def sent(shift):
    """Send what is to be sent to the bank, as if the time for the next try had come."""
    with shift.database.writing() as connection:
        connection.execute(outbox_table.outbox.update().values(next_at=0))
    outbox.deliver(shift.database, shift.settings)


def shown_card(shift, browser, number):
    browser.get(f"/alerts/{number}")
    return shown_text(browser)


def test_a_block_is_delivered_and_the_page_says_so(shift, bank, number):
    shift.sara.post(f"/alerts/{number}/block", {"note": "stolen on Monday"})
    assert "A request to block the card is being sent." in shift.sara.text
    sent(shift)
    assert "block: delivered Accepted with status 200." in shown_card(shift, shift.sara, number)
    _, body = bank.seen[-1]
    assert shift.alert(number).card.encode() in body and b"stolen on Monday" in body
    n_seen = len(bank.seen)
    shift.sara.post(f"/alerts/{number}/block", {"note": "again"})
    sent(shift)
    assert len(bank.seen) == n_seen, "a card that is blocked is not blocked again"


def test_a_block_that_fails_is_tried_again_with_the_same_key_and_then_says_delivered(
    shift, bank, number
):
    bank.statuses = [503] * 20  # the desk may try by itself, too
    shift.sara.post(f"/alerts/{number}/block", {"note": "copied"})
    sent(shift)
    text = shown_card(shift, shift.sara, number)
    assert "block: pending Refused with status 503." in text
    assert re.search(r"Tried \d+ times?; it is tried again by itself\.", text)
    bank.statuses.clear()
    sent(shift)
    assert "block: delivered Accepted with status 200." in shown_card(shift, shift.sara, number)
    keys = [headers["Idempotency-Key"] for headers, _ in bank.seen[-2:]]
    assert keys[0] == keys[1]


def test_a_block_that_is_refused_for_good_says_so_and_can_be_asked_for_anew(shift, bank, number):
    bank.statuses = [400]
    shift.sara.post(f"/alerts/{number}/block", {"note": "stolen"})
    sent(shift)
    text = shown_card(shift, shift.sara, number)
    assert "block: failed Refused with status 400. Press “Block card” to ask again." in text
    shift.sara.post(f"/alerts/{number}/block", {"note": "stolen, asked again"})
    sent(shift)
    text = shown_card(shift, shift.sara, number)
    assert text.index("block: delivered") < text.index("block: failed")
    assert "Press “Block card”" not in text


def test_a_note_is_added_without_a_verdict_and_is_seen_by_others(shift, number):
    shift.sara.post(f"/alerts/{number}/note", {"note": "the holder <b>is</b> on holiday"})
    assert "The note is added." in shift.sara.text and opened(shift.sara) == number
    assert "the holder <b>is</b> on holiday" in shown_card(shift, shift.otto, number)
    entry = shift.audited("note added")[-1]
    assert (entry.actor, entry.subject) == ("person:sara", f"alert:{number}")
    assert "holiday" not in str(entry)
    reply = shift.sara.post(
        f"/alerts/{number}/note", {"note": "  ", "position": ticked(shift.sara)}
    )
    assert reply.status == 422 and "Note must be given" in shown_text(shift.sara)
    assert ticked(shift.sara), "what was ticked stays so"


def test_a_note_is_for_whoever_holds_the_card_or_for_all_who_check_if_nobody_does(shift, number):
    shift.anna.get(f"/alerts/{number}")
    assert f"/alerts/{number}/note" not in shift.anna.text
    assert shift.anna.post(f"/alerts/{number}/note", {"note": "mine"}).status == 403
    shift.otto.get(f"/alerts/{number}")
    assert shift.otto.post(f"/alerts/{number}/note", {"note": "mine"}).status == 403
    shift.sara.post(f"/alerts/{number}/release")
    shift.anna.get(f"/alerts/{number}")
    assert f"/alerts/{number}/note" in shift.anna.text
    shift.anna.post(f"/alerts/{number}/note", {"note": "the shop has called"})
    assert "anna: the shop has called" in shown_text(shift.anna)
    assert shift.alert(number).held_by is None


def decided(shift, browser, number, verdict):
    """Give a verdict on a card that is open in a browser, and return its final check."""
    who = shift.alert(number).held_by.partition(":")[2]
    browser.post(f"/alerts/{number}/decide", {"verdict": verdict, "position": ticked(browser)})
    following = opened(browser)
    browser.post(f"/alerts/{following}/release")
    shift.wait_until(lambda: shift.checks(who)[0]["state"] == "finished")
    return shift.checks(who)[0]


def labels_of(shift, check):
    """What is known of the payments of a check: whether each is fraud."""
    with shift.database.reading() as connection:
        rows = payment_reads.at(connection, json.loads(check["positions"]))
        held = label_table.holding(label_table.of_payments(connection, [row.id for row in rows]))
    return {each.is_fraud for each in held.values()}


def proposed(shift, number, verdict):
    """Let sara propose to correct the last verdict of anna; return both checks."""
    shift.anna.post(f"/alerts/{number}/claim")
    check = decided(shift, shift.anna, number, "fraud" if verdict == "genuine" else "genuine")
    shift.sara.get(f"/alerts/{number}")
    shift.sara.post(
        f"/checks/{check['number']}/correct",
        {"verdict": verdict, "note": "the holder has called since"},
    )
    assert "The correction waits for a second person." in shift.sara.text
    return check, shift.checks("sara")[0]


def free_card(shift):
    shift.anna.get("/queue")
    return open_buttons(shift.anna)[0]


def test_a_correction_that_a_second_person_approves_becomes_the_label(shift):
    number = free_card(shift)
    check, correction = proposed(shift, number, "genuine")
    assert labels_of(shift, check) == {True}
    text = shown_card(shift, shift.sara, number)
    assert "proposed" in text and "Reject" in text and "Approve" not in text
    shift.sara.post(f"/checks/{correction['number']}/approve")
    assert "a second person must approve it" in shown_text(shift.sara)
    shift.anna.get(f"/alerts/{number}")
    assert shift.anna.post(f"/checks/{correction['number']}/approve").status == 403
    shift.tom.get("/escalated")
    assert "sara proposes to correct a verdict to genuine" in shown_text(shift.tom)
    assert "Approve" in shown_card(shift, shift.tom, number)
    shift.tom.post(f"/checks/{correction['number']}/approve")
    assert "The correction is approved." in shift.tom.text
    shift.wait_until(lambda: labels_of(shift, check) == {False})
    shift.tom.get("/escalated")
    assert "proposes" not in shown_text(shift.tom)
    entry = shift.audited("correction approved")[-1]
    assert entry.actor == "person:tom"


def test_a_correction_that_a_second_person_rejects_changes_nothing(shift):
    number = free_card(shift)
    check, correction = proposed(shift, number, "fraud")
    shift.tom.get(f"/alerts/{number}")
    shift.tom.post(f"/checks/{correction['number']}/reject")
    assert "The correction is rejected." in shift.tom.text
    assert "rejected" in shown_text(shift.tom)
    assert shift.tom.post(f"/checks/{correction['number']}/approve").status == 409
    assert labels_of(shift, check) == {False}


def test_a_snooze_is_shown_with_its_end_and_then_the_card_is_in_the_queue_again(shift, number):
    shift.sara.post(f"/alerts/{number}/snooze", {"days": "1", "note": "the holder travels"})
    shift.sara.post(f"/alerts/{opened(shift.sara)}/release")
    assert "snoozed until" in shown_card(shift, shift.sara, number)
    shift.anna.get("/queue")
    assert number not in open_buttons(shift.anna)
    shift.pass_days(2)
    shift.wait_until(lambda: shift.alert(number).state == "open")
    shift.anna.get("/queue")
    assert number in open_buttons(shift.anna)
    entries = [each for each in shift.audited("snooze ended") if each.subject == f"alert:{number}"]
    assert [each.actor for each in entries] == ["job:leases"]
