"""Logging in and out, passwords and links, from the outside."""

import itertools
import re

import pytest
from argon2 import PasswordHasher

from live import databases
from live.pages.browser import CHEAP, PASSWORD, Browser, add_person, logins_of
from live.web.fake_desk import client_of
from toprank.live.desk_clock import wall_time
from toprank.live.people import accounts, login_limits, sessions
from toprank.live.store import account_table, audit_chain, session_table

SESSION = "toprank_session"
HOUR = 3_600_000_000


NUMBERS = itertools.count(1)


@pytest.fixture
def anna(desk):
    """The name of a person of their own for each test."""
    name = f"anna-{next(NUMBERS)}-of-this-test"
    add_person(desk, name, "investigator")
    return name


def actions_on(desk, name):
    with desk.pages.database.reading() as connection:
        entries = audit_chain.page(connection, {"subject": name}, None, 1_000).entries
    return [each.action for each in reversed(entries)]


def test_who_is_not_logged_in_is_led_to_the_login_and_then_to_the_page(browser, anna):
    reply = browser.get("/account?x=1", follow=False)
    assert (reply.status, reply.headers["location"]) == (303, "/login?next=%2Faccount%3Fx%3D1")
    browser.get("/account?x=1")
    after = re.search(r'name="next" value="([^"]*)"', browser.text)[1]
    browser.post("/login", {"name": anna, "password": PASSWORD, "next": after})
    assert browser.path == "/account?x=1" and anna in browser.text


@pytest.mark.parametrize(
    "after",
    [
        "//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example",
        "javascript:alert(1)", "/a\r\nset-cookie: x=1", "evil", "/\t/evil.example",
    ],
)  # fmt: skip
def test_a_login_leads_to_no_other_site(browser, anna, after):
    browser.get("/login")
    fields = {"name": anna, "password": PASSWORD, "next": after}
    reply = browser.post("/login", fields, follow=False)
    assert (reply.status, reply.headers["location"]) == (303, "/")


def test_a_cookie_is_out_of_reach_of_scripts_and_other_sites(client, anna):
    browser = Browser(client)
    browser.get("/login")
    fields = {"name": anna, "password": PASSWORD}
    sent = browser.post("/login", fields, follow=False).headers["set-cookie"]
    name, _, rest = sent.partition("=")
    assert name == SESSION and len(rest.partition(";")[0]) == 43  # 256 bits
    flags = {each.strip().lower() for each in rest.split(";")[1:]}
    assert flags == {"httponly", "samesite=lax", "path=/"}


def test_on_another_machine_a_cookie_is_sent_by_https_alone(desk, anna):
    with client_of(desk, hosts=None) as client:
        browser = Browser(client)
        browser.get("/login", host="desk.example")
        fields = {"name": anna, "password": PASSWORD}
        reply = browser.post("/login", fields, follow=False, host="desk.example")
    assert reply.headers["set-cookie"].startswith(f"__Host-{SESSION}=")
    assert "secure" in reply.headers["set-cookie"].lower()


def test_a_login_begins_a_new_session_whatever_cookie_was_sent(client, desk, anna):
    browser = Browser(client)
    browser.cookies[SESSION] = "chosen-by-an-attacker"
    browser.log_in(anna)
    first = browser.cookies[SESSION]
    assert first != "chosen-by-an-attacker"
    browser.post("/login", {"name": anna, "password": PASSWORD})
    assert browser.cookies[SESSION] != first
    assert desk.pages.sessions.find(first) is None


def test_logging_out_ends_the_session_on_the_server(client, desk, anna):
    browser = Browser(client)
    browser.log_in(anna)
    cookie = browser.cookies[SESSION]
    browser.post("/logout")
    assert SESSION not in browser.cookies and desk.pages.sessions.find(cookie) is None
    browser.cookies[SESSION] = cookie
    assert browser.get("/account", follow=False).status == 303
    assert actions_on(desk, anna)[-2:] == ["logged in", "logged out"]


def test_neither_cookie_nor_password_nor_link_is_stored(client, desk, anna):
    browser = Browser(client)
    browser.log_in(anna)
    with desk.pages.database.writing() as connection:
        secret = accounts.new_link(connection, anna, wall_time(), "person:test")
    stored = databases.stored(desk.pages.database)
    assert anna.encode() in stored
    for each in (browser.cookies[SESSION], PASSWORD, secret):
        assert each.encode() not in stored


def test_a_wrong_password_and_an_unknown_name_get_the_same_answer(client, desk, anna):
    browser = Browser(client, address="192.0.2.77")
    replies = []
    for name in (anna, "nobody-of-this-name"):
        reply = browser.log_in(name, "a wrong password")
        replies.append((reply.status, browser.text.replace(name, "NAME")))
    assert replies[0] == replies[1] and replies[0][0] == 403
    assert actions_on(desk, anna)[-1] == "login failed"
    assert actions_on(desk, "nobody-of-this-name") == []  # it may be a password


def test_an_unknown_name_takes_as_many_hashes_as_a_wrong_password(client, desk, anna, monkeypatch):
    n_hashes = []
    monkeypatch.setattr(desk.pages, "logins", logins_of(desk, CountingHasher(n_hashes)))
    for name in (anna, "nobody", "", "x" * 10_000):
        Browser(client, address="192.0.2.78").log_in(name, "wrong")
    assert n_hashes == ["verify"] * 4


@pytest.mark.parametrize("change", ["disable", "set_password"])
def test_an_account_that_is_changed_while_its_password_is_checked_lets_nobody_in(
    client, desk, anna, change, monkeypatch
):
    class SlowHasher(CountingHasher):
        def verify(self, *arguments):
            values = [] if change == "disable" else [CHEAP.hash("another password")]
            actor = ["person:test"] if change == "disable" else []
            with desk.pages.database.writing() as connection:
                getattr(accounts, change)(connection, anna, *values, wall_time(), *actor)
            return CHEAP.verify(*arguments)

        check_needs_rehash = staticmethod(CHEAP.check_needs_rehash)

    monkeypatch.setattr(desk.pages, "logins", logins_of(desk, SlowHasher([])))
    assert Browser(client, address="192.0.2.81").log_in(anna).status == 403


class CountingHasher:
    """A hasher that notes what it is asked."""

    def __init__(self, asked):
        self._asked = asked

    def verify(self, *arguments):
        self._asked.append("verify")
        return CHEAP.verify(*arguments)

    hash = staticmethod(CHEAP.hash)


def test_after_some_failures_a_login_must_wait_even_with_the_right_password(
    client, desk, anna, monkeypatch
):
    now = [1000.0]
    monkeypatch.setattr(login_limits.time, "monotonic", lambda: now[0])
    for number in range(desk.pages.settings.lock_after):
        other = Browser(client, address=f"198.51.100.{number}")
        assert other.log_in(anna, "wrong").status == 403
    browser = Browser(client, address="198.51.100.99")
    reply = browser.log_in(anna)
    assert (reply.status, reply.headers["retry-after"]) == (429, "1")
    now[0] += 1.01
    assert browser.log_in(anna, "wrong").status == 403
    now[0] += 1.01
    assert browser.log_in(anna).status == 429
    now[0] += 1.0
    assert browser.log_in(anna).status == 200
    assert actions_on(desk, anna).count("login failed") == desk.pages.settings.lock_after + 1


def test_one_address_cannot_try_many_names(client, desk):
    tried = 4 * desk.pages.settings.lock_after
    browser = Browser(client, address="203.0.113.5")
    statuses = [browser.log_in(f"nobody{number}", "wrong").status for number in range(tried + 1)]
    assert statuses == [403] * tried + [429]
    assert Browser(client, address="203.0.113.6").log_in("nobody0", "wrong").status == 403


def test_a_session_ends_when_nothing_is_done_and_after_some_hours_in_any_case(
    client, desk, anna, monkeypatch
):
    now = [wall_time()]
    monkeypatch.setattr(sessions, "wall_time", lambda: now[0])
    browser = Browser(client)
    browser.log_in(anna)

    def is_in():
        return browser.get("/account", follow=False).status == 200

    for _ in range(20):  # 29 minutes each: 9 h 40 min
        now[0] += 29 * HOUR // 60
        assert is_in()
    now[0] += 21 * HOUR // 60
    assert not is_in()
    browser.log_in(anna)
    now[0] += 31 * HOUR // 60
    assert not is_in()


def test_what_a_page_asks_by_itself_does_not_keep_a_session_alive(client, desk, anna, monkeypatch):
    now = [wall_time()]
    monkeypatch.setattr(sessions, "wall_time", lambda: now[0])
    browser = Browser(client)
    browser.log_in(anna)
    cookie = browser.cookies[SESSION]
    now[0] += 20 * HOUR // 60
    assert desk.pages.sessions.find(cookie, is_use=False) is not None
    now[0] += 20 * HOUR // 60
    assert desk.pages.sessions.find(cookie, is_use=False) is None


def test_when_a_session_was_last_used_survives_a_restart(client, desk, anna, monkeypatch):
    now = [wall_time()]
    monkeypatch.setattr(sessions, "wall_time", lambda: now[0])
    browser = Browser(client)
    browser.log_in(anna)
    now[0] += 20 * HOUR // 60
    browser.get("/account")
    desk.pages.sessions.write_uses()
    now[0] += 20 * HOUR // 60
    again = sessions.SessionBook(desk.pages.database, desk.pages.settings)
    assert again.find(browser.cookies[SESSION]).person.name == anna


def test_a_person_has_a_bounded_number_of_sessions_and_the_newest_are_kept(client, desk, anna):
    browsers = [Browser(client) for _ in range(22)]
    for each in browsers:
        each.log_in(anna)
    is_in = [each.get("/account", follow=False).status == 200 for each in browsers]
    assert is_in == [False] * 2 + [True] * 20
    assert len(desk.pages.sessions.of(anna)) == 20


@pytest.mark.parametrize("change", ["disable", "change_role", "set_password"])
def test_a_change_of_the_account_by_another_process_ends_all_its_sessions(
    client, desk, anna, change
):
    browsers = [Browser(client), Browser(client)]
    for each in browsers:
        each.log_in(anna)
    values = {"change_role": ["senior"], "set_password": [CHEAP.hash("another password")]}
    actor = [] if change == "set_password" else ["person:test"]
    with desk.pages.database.writing() as connection:
        getattr(accounts, change)(connection, anna, *values.get(change, []), wall_time(), *actor)
    desk.pages.sessions.reload()
    for each in browsers:
        assert each.get("/account", follow=False).status == 303
    with desk.pages.database.reading() as connection:
        assert anna not in [each.name for each in session_table.all_sessions(connection)]


def test_a_disabled_account_cannot_log_in(client, desk, anna):
    with desk.pages.database.writing() as connection:
        accounts.disable(connection, anna, wall_time(), "person:test")
    assert Browser(client, address="192.0.2.79").log_in(anna).status == 403


def test_a_link_sets_a_password_once(client, desk):
    with desk.pages.database.writing() as connection:
        secret = accounts.add(connection, "otto", "senior", wall_time(), "person:test")
    browser = Browser(client)
    browser.get(f"/link/{secret}")
    assert browser.get(f"/link/{secret}").status == 200  # looking does not use it up
    for password, again, why in (
        ("short", "short", "12 to 200 characters"), ("a long password", "another one", "same"),
    ):  # fmt: skip
        reply = browser.post(f"/link/{secret}", {"password": password, "again": again})
        assert reply.status == 422 and why in browser.text
    fields = {"password": PASSWORD, "again": PASSWORD}
    assert browser.post(f"/link/{secret}", fields).status == 200
    assert "otto" in browser.text
    other = Browser(client)
    assert other.get(f"/link/{secret}").status == 404
    assert other.post(f"/link/{secret}", fields | {"token": ""}).status == 404
    assert other.log_in("otto").status == 200
    assert actions_on(desk, "otto")[:4] == [
        "account made", "link made", "password set", "logged in"
    ]  # fmt: skip


def test_a_link_ends_after_a_day_and_when_another_is_made(client, desk, anna):
    before = wall_time() - 24 * HOUR
    with desk.pages.database.writing() as connection:
        old = accounts.new_link(connection, anna, before, "person:test")
    assert Browser(client).get(f"/link/{old}").status == 404
    with desk.pages.database.writing() as connection:
        first = accounts.new_link(connection, anna, wall_time(), "person:test")
        second = accounts.new_link(connection, anna, wall_time(), "person:test")
    assert Browser(client).get(f"/link/{first}").status == 404
    assert Browser(client).get(f"/link/{second}").status == 200


def test_a_password_is_not_the_name():
    with pytest.raises(accounts.WeakPasswordError, match="name"):
        accounts.check_password("annamariaschmidt", "AnnaMariaSchmidt")
    accounts.check_password("anna", "anna and the horse")


def test_a_hash_of_older_parameters_is_replaced_at_the_next_login(client, desk, anna):
    older = PasswordHasher(time_cost=1, memory_cost=16, parallelism=1).hash(PASSWORD)
    with desk.pages.database.writing() as connection:
        account_table.change(connection, anna, password=older)
    assert Browser(client).log_in(anna).status == 200
    with desk.pages.database.reading() as connection:
        stored = account_table.password_of(connection, anna)
    assert stored != older and not CHEAP.check_needs_rehash(stored)
    assert Browser(client).log_in(anna).status == 200
