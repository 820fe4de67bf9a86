"""Work at the desk in a real browser: by keyboard, by two people at once, without scripts."""

import re
import time

import pytest

from live import desks
from live.browser.desk_server import DeskServer

pytestmark = pytest.mark.slow

N_CHECKS, N_RACES = 30, 100


def number_of(page):
    return int(re.search(r"/alerts/(\d+)", page.url)[1])


def open_first(page, server):
    """Open the first free card of the queue by keyboard."""
    page.goto(f"{server.address}/queue")
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_url("**/alerts/*")
    return number_of(page)


def decide(page, letter):
    """Give a verdict by its letter, and wait for the next card."""
    number = number_of(page)
    page.keyboard.press(letter)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: f"/alerts/{number}" not in url)
    return number


def release(page):
    page.keyboard.press("q")
    page.keyboard.press("Enter")
    page.wait_for_url("**/queue")


def test_a_shift_of_30_checks_by_keyboard_alone(person, server):
    page = person("anna")
    open_first(page, server)
    expected = []
    for place in range(N_CHECKS):
        letter = "fgu"[place % 3]
        if letter == "u":
            page.keyboard.press("n")
            page.keyboard.type("f g u are letters here")
            page.keyboard.press("Escape")
        if place == 0:
            page.keyboard.press("j")
            page.keyboard.press("x")
            assert page.locator("[data-tick]:not(:checked)").count() == 1
            page.keyboard.press("x")
        verdict = {"f": "fraud", "g": "genuine", "u": "unsure"}[letter]
        expected.append((decide(page, letter), verdict))
    release(page)
    assert [(each["alert"], each["verdict"]) for each in server.checks("anna")] == expected
    assert len({number for number, _ in expected}) == N_CHECKS


def test_two_browsers_never_hold_the_same_card(person, server):
    pages = {"anna": person("anna"), "ben": person("ben")}
    for page in pages.values():
        page.goto(f"{server.address}/queue")
    number = int(re.search(r"/alerts/(\d+)/claim", pages["anna"].content())[1])
    ask = """([path, token]) => { window.reply = fetch(path, {method: "POST", redirect: "manual",
        body: new URLSearchParams({token})}); }"""
    winners = []
    for race in range(N_RACES):
        order = list(pages) if race % 2 else list(pages)[::-1]
        for name in order:
            token = pages[name].locator("[name=token]").first.get_attribute("value")
            pages[name].evaluate(ask, [f"/alerts/{number}/claim", token])
        for name in order:
            pages[name].evaluate("window.reply.then(() => null)")
        holder = server.alert(number).held_by
        assert holder in ("person:anna", "person:ben")
        winner = holder.partition(":")[2]
        winners.append(winner)
        if race % 20 == 0:
            loser = next(name for name in pages if name != winner)
            pages[loser].goto(f"{server.address}/alerts/{number}")
            assert pages[loser].locator("#verdict").count() == 0
        token = pages[winner].locator("[name=token]").first.get_attribute("value")
        pages[winner].evaluate(ask, [f"/alerts/{number}/release", token])
        pages[winner].evaluate("window.reply.then(() => null)")
        assert server.alert(number).held_by is None
    assert len(winners) == N_RACES and set(winners) == set(pages)


def test_a_verdict_is_undone_by_a_key_and_the_card_is_open_again(person, server):
    page = person("ben")
    number = open_first(page, server)
    decide(page, "f")
    page.keyboard.press("z")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/alerts/{number}")
    assert server.checks("ben")[-1]["state"] == "undone"
    assert server.alert(number).held_by == "person:ben"
    release(page)


def test_a_new_payment_of_the_open_card_shows_within_two_seconds(person, server):
    page = person("anna")
    number = open_first(page, server)
    seconds = []
    for place in range(5):  # the machine itself may pause for a second now and then
        page.wait_for_timeout(300)  # for the stream to begin
        start = time.monotonic()
        server.pay(server.alert(number).card, f"tx-new-{place}", 12.0)
        page.wait_for_selector("#live-banner:not([hidden])", timeout=30_000)
        seconds.append(time.monotonic() - start)
        assert "This card has paid again." in page.locator("#live-banner").inner_text()
        page.locator("#live-banner a").press("Enter")
        page.wait_for_load_state()
        assert page.locator("#live-banner").is_hidden()
        if seconds[-1] < 2:
            break
    assert seconds[-1] < 2, seconds
    release(page)


def test_without_scripts_verdicts_work(person, server):
    page = person("ben", java_script_enabled=False)
    page.goto(f"{server.address}/queue")
    page.get_by_role("button", name="Open").first.click()
    number = number_of(page)
    page.get_by_label("Note, required").fill("no scripts here")
    page.get_by_role("button", name="Genuine").click()
    assert number_of(page) != number
    check = server.checks("ben")[-1]
    assert (check["alert"], check["verdict"], check["note"]) == (
        number, "genuine", "no scripts here"
    )  # fmt: skip
    page.get_by_role("button", name="Undo").click()
    assert number_of(page) == number and server.checks("ben")[-1]["state"] == "undone"
    page.get_by_role("button", name="Back to the queue").click()


def test_a_card_whose_lease_has_ended_is_free_for_others(chromium, model_file, later, tmp_path):
    folder = tmp_path / "desk"
    desks.new_desk(folder, model_file, alert_from=0.0001, random_share=0.0).close()
    with DeskServer(folder, later[:400]) as server:
        anna, ben = (server.log_in(chromium.new_context(), name) for name in ("anna", "ben"))
        number = open_first(anna, server)
        ben.goto(f"{server.address}/queue")
        assert ben.locator(f'form[action="/alerts/{number}/claim"]').count() == 0
        server.end_lease(number)
        assert open_first(ben, server) == number
        assert server.alert(number).held_by == "person:ben"
        anna.keyboard.press("f")
        anna.keyboard.press("Enter")
        anna.wait_for_load_state()
        assert "ben" in anna.locator("main").inner_text()
        assert server.checks("anna") == []
