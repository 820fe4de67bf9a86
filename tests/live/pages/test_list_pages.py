"""Search, my day and decisions."""

import csv
import io
import re

import pytest

from live.pages.shifts import open_buttons, opened, shown_text, ticked


@pytest.fixture(scope="module")
def decided(shift):
    """A card that anna called a fraud, with a note that is not to be trusted."""
    shift.anna.get("/queue")
    number = open_buttons(shift.anna)[0]
    shift.anna.post(f"/alerts/{number}/claim")
    note = "<script>alert(1)</script>"
    fields = {"verdict": "fraud", "position": ticked(shift.anna), "note": note}
    shift.anna.post(f"/alerts/{number}/decide", fields)
    shift.anna.post(f"/alerts/{opened(shift.anna)}/release")
    return shift.alert(number)


def test_a_card_is_found_by_its_end_its_id_its_number_a_payment_and_a_terminal(shift, decided):
    with shift.database.reading() as connection:
        row = connection.exec_driver_sql(
            f"SELECT id, terminal FROM payments WHERE position = {decided.position}"
        ).one()
    for text in (decided.card[-4:], decided.card, str(decided.number), row.id, row.terminal):
        shift.anna.get(f"/search?q={text}")
        assert f"/alerts/{decided.number}" in shift.anna.text, text
        # what was typed is in the field again; the list shows no whole card
        assert decided.card not in shift.anna.text.partition("<tbody>")[2]
    shift.anna.get("/search?q=nothing-like-it")
    assert "Nothing is found" in shown_text(shift.anna)


def test_a_search_is_audited_without_what_may_be_a_card(shift, decided):
    shift.anna.get(f"/search?q={decided.card}")
    entry = shift.audited("searched")[-1]
    assert entry.actor == "person:anna" and decided.number in entry.details["alerts"]
    assert decided.card not in str(entry)


def test_what_is_searched_for_is_shown_as_text(shift):
    shift.anna.get("/search?q=%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script>alert" not in shift.anna.text
    assert "&lt;script&gt;" in shift.anna.text


def test_my_day_has_my_checks_and_nobody_elses(shift, decided):
    shift.anna.get("/day")
    assert f"/alerts/{decided.number}" in shift.anna.text
    assert "Checks 1 Fraud 1 Genuine 0 Unsure 0" in shown_text(shift.anna)
    assert "<script>alert" not in shift.anna.text
    shift.ben.get("/day")
    assert "No checks on this day" in shown_text(shift.ben)
    before = re.search(r'href="(/day\?day=\d+)">Day before', shift.anna.text)[1]
    shift.anna.get(before)
    assert "No checks on this day" in shown_text(shift.anna)
    assert shift.anna.get("/day?day=monday").status == 400


def test_decisions_are_listed_newest_first_filtered_and_paged(shift):
    shift.anna.get("/decisions")
    first = re.findall(r'<th scope="row">(tx-\d+)</th>', shift.anna.text)
    numbers = [int(each[3:]) for each in first]
    assert len(first) == 50 and numbers == sorted(numbers, reverse=True)
    older = re.search(r'href="(/decisions\?after=\d+)"', shift.anna.text)[1]
    shift.anna.get(older)
    second = re.findall(r'<th scope="row">(tx-\d+)</th>', shift.anna.text)
    assert second and not set(first) & set(second)
    shift.anna.get("/decisions?decision=block")
    assert "No decisions are found" in shown_text(shift.anna)
    shift.anna.get("/decisions?since=2999-01-01")
    assert "No decisions are found" in shown_text(shift.anna)
    assert shift.anna.get("/decisions?since=tomorrow").status == 400
    assert shift.anna.get("/decisions?decision=maybe").status == 400


def test_an_export_has_masked_cards_and_is_audited(shift):
    assert shift.anna.get("/decisions") and "Export" not in shift.anna.text
    assert shift.anna.post("/decisions/export").status == 403
    shift.otto.get("/decisions?decision=accept")
    reply = shift.otto.post("/decisions/export", {"decision": "accept"})
    rows = list(csv.reader(io.StringIO(reply.content.decode())))
    assert rows[0][:2] == ["payment", "card"] and len(rows) > 100
    assert all(row[1].startswith("••••") for row in rows[1:])
    (entry,) = shift.audited("decisions exported")
    assert entry.actor == "person:otto" and entry.details["rows"] == len(rows) - 1


def test_four_digits_that_are_an_alert_and_the_end_of_a_card_find_both(shift, decided):
    digits = f"{decided.number:04}"
    shift.send(f"a-card-{digits}", "a-terminal")
    shift.anna.get(f"/search?q={digits}")
    found = re.findall(r"<td class=\"nowrap\">(Alert|End of the card)</td>", shift.anna.text)
    assert found == ["Alert", "End of the card"]
    assert f'href="/alerts/{decided.number}"' in shift.anna.text
