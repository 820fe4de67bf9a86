"""The pages of accounts, keys and the audit."""

import itertools
import re

import pytest

from live.pages.browser import PASSWORD, Browser, add_person
from toprank.live.store import audit_chain
from toprank.live.store.audit_chain import audit

NUMBERS = itertools.count(1)


def logged_in(client, name):
    browser = Browser(client)
    browser.log_in(name)
    return browser


@pytest.fixture
def admin(client):
    return logged_in(client, "admin")


@pytest.fixture
def bob(desk):
    name = f"bob-{next(NUMBERS)}"
    add_person(desk, name, "investigator")
    return name


def secret_in(text):
    return re.search(r'<code class="secret">([^<]+)</code>', text)[1]


# Users


def test_an_admin_adds_a_person_who_sets_a_password_by_the_link(client, admin):
    admin.get("/users")
    admin.post("/users", {"name": "carla", "role": "approver"})
    link = secret_in(admin.text)
    assert link.startswith("http://localhost:8321/link/")
    assert link not in admin.get("/users").content.decode()
    carla = Browser(client)
    path = link.removeprefix("http://localhost:8321")
    carla.get(path)
    assert carla.post(path, {"password": PASSWORD, "again": PASSWORD}).status == 200
    assert "approver" in carla.get("/account").content.decode()


@pytest.mark.parametrize(
    ("name", "role", "why"),
    [("admin", "admin", "already"), ("<b>x</b>", "admin", "letters"), ("dora", "boss", "role")],
)
def test_a_person_that_cannot_be_added_is_an_error_beside_the_form(admin, name, role, why):
    admin.get("/users")
    assert admin.post("/users", {"name": name, "role": role}).status == 422
    assert why in admin.text and "<b>x" not in admin.text


def test_a_role_changed_a_link_made_and_an_account_disabled(client, admin, bob):
    browser = logged_in(client, bob)
    admin.get("/users")
    admin.post(f"/users/{bob}/role", {"role": "senior"})
    assert f"{bob} is now senior" in admin.text
    assert browser.get("/account", follow=False).status == 303
    admin.post(f"/users/{bob}/link")
    assert "/link/" in secret_in(admin.text)
    admin.post(f"/users/{bob}/disable")
    assert f"{bob} is disabled" in admin.text
    assert admin.post(f"/users/{bob}/disable").status == 422
    assert browser.log_in(bob).status == 403


def test_a_disabled_account_is_enabled_again_in_its_role_and_sets_a_new_password(
    desk, client, admin, bob
):
    admin.get("/users")
    assert f"/users/{bob}/enable" not in admin.text
    admin.post(f"/users/{bob}/disable")
    admin.post(f"/users/{bob}/enable")
    path = secret_in(admin.text).removeprefix("http://localhost:8321")
    browser = Browser(client, address="192.0.2.77")
    assert browser.log_in(bob).status == 403, "the password of before is gone"
    browser.get(path)
    assert browser.post(path, {"password": PASSWORD, "again": PASSWORD}).status == 200
    assert "investigator" in browser.get("/account").content.decode()
    with desk.pages.database.reading() as connection:
        entries = [
            (each.actor, each.action)
            for each in audit_chain.entries(connection)
            if each.subject == f"person:{bob}" and "abled" in each.action
        ]
    assert entries[-2:] == [
        ("person:admin", "account disabled"), ("person:admin", "account enabled")
    ]  # fmt: skip
    assert admin.post(f"/users/{bob}/enable").status == 422
    assert f"There is no disabled account &#39;{bob}&#39;" in admin.text


@pytest.mark.parametrize("change", ["link", "role", "disable", "enable"])
def test_an_admin_cannot_change_the_own_account_here(admin, change):
    admin.get("/users")
    assert admin.post(f"/users/admin/{change}", {"role": "senior"}).status == 403
    assert admin.post(f"/users/no-such/{change}", {"role": "senior"}).status in (403, 422)


def test_an_auditor_sees_users_and_keys_without_forms(client):
    auditor = logged_in(client, "auditor")
    for path in ("/users", "/keys"):
        auditor.get(path)
        assert not re.search(r'action="/(users|keys)', auditor.text)


# The own account


def test_a_session_of_another_person_cannot_be_ended(client, desk, bob):
    browser = logged_in(client, bob)
    other = logged_in(client, "senior")
    (session,) = desk.pages.sessions.of(bob)
    other.get("/account")
    assert other.post(f"/account/sessions/{session.number}/end").status == 403
    assert f"person:{bob}" in other.text
    assert browser.get("/account", follow=False).status == 200
    assert browser.post("/account/sessions/999999/end").status == 404


def test_one_session_or_all_of_them_are_ended_by_their_person(client, desk, bob):
    first, second, third = (logged_in(client, bob) for _ in range(3))
    first.get("/account")
    newest = desk.pages.sessions.of(bob)[0]
    first.post(f"/account/sessions/{newest.number}/end")
    assert third.get("/account", follow=False).status == 303
    assert second.get("/account", follow=False).status == 200
    first.post("/account/sessions/end")
    for each in (first, second):
        assert each.get("/account", follow=False).status == 303


def test_a_password_is_changed_with_the_one_of_before_and_other_sessions_end(client, bob):
    browser, other = logged_in(client, bob), logged_in(client, bob)
    browser.get("/account")
    new = "another horse with a hat"
    for fields, status in (
        ({"old": "wrong", "password": new, "again": new}, 403),
        ({"old": PASSWORD, "password": new, "again": "x"}, 422),
        ({"old": PASSWORD, "password": "short", "again": "short"}, 422),
    ):
        assert browser.post("/account/password", fields).status == status
    browser.post("/account/password", {"old": PASSWORD, "password": new, "again": new})
    assert "is changed" in browser.text
    assert other.get("/account", follow=False).status == 303
    assert Browser(client).log_in(bob, new).status == 200


def test_a_theme_is_kept_in_the_browser(admin):
    admin.get("/account")
    admin.post("/account/theme", {"theme": "dark"})
    assert 'data-theme="dark"' in admin.text
    admin.post("/account/theme", {"theme": '"><script>'})
    assert 'data-theme="dark"' in admin.text
    admin.cookies["toprank_theme"] = '"><script>'
    assert 'data-theme="auto"' in admin.get("/account").content.decode()


# Keys


def test_a_key_is_shown_once_works_at_once_and_is_revoked(client, admin):
    admin.get("/keys")
    assert admin.post("/keys", {"name": "shop", "scope": []}).status == 422
    assert admin.post("/keys", {"name": "<i>", "scope": ["read"]}).status == 422
    assert "<i>" not in admin.text
    admin.post("/keys", {"name": "shop", "scope": ["read", "metrics"]})
    key = secret_in(admin.text)

    def status():
        return client.get("/v1/alerts", headers={"authorization": f"Bearer {key}"}).status

    assert status() == 200
    assert key not in admin.get("/keys").content.decode()
    admin.post("/keys/shop/revoke")
    assert "shop is revoked" in admin.text and status() == 401
    assert admin.post("/keys/shop/revoke").status == 422


# Audit


@pytest.fixture
def auditor(client):
    return logged_in(client, "auditor")


def numbers_in(text):
    return [int(each) for each in re.findall(r'<td class="number">(\d+)</td>', text)]


def test_the_audit_is_read_page_by_page_and_filtered(desk, auditor):
    with desk.pages.database.writing() as connection:
        for number in range(250):
            audit_chain.add(connection, 0, "job:many", "counted", f"thing:{number}")
    seen, path = [], "/audit?actor=job%3Amany"
    while path:
        auditor.get(path)
        seen += numbers_in(auditor.text)
        found = re.search(r'href="([^"]+)" rel="next"', auditor.text)
        path = found and found[1].replace("&amp;", "&")
    assert len(seen) == 250 and seen == sorted(seen, reverse=True)
    auditor.get("/audit?subject=thing%3A17&action=count")
    assert len(numbers_in(auditor.text)) == 11  # 17 and 170 to 179
    auditor.get("/audit?subject=100%25_")
    assert numbers_in(auditor.text) == []
    for before in ("0", "1", "999999999999", ""):
        assert auditor.get(f"/audit?before={before}").status == 200
    for before in ("x", "-1", "9" * 30, "١"):
        assert auditor.get(f"/audit?before={before}").status == 400


def test_a_script_in_the_audit_is_text(desk, auditor):
    script = "<script>alert(1)</script>"
    with desk.pages.database.writing() as connection:
        audit_chain.add(connection, 0, script, script, script, {script: [script]})
    auditor.get("/audit")
    assert "<script>" not in auditor.text and "&lt;script&gt;" in auditor.text
    auditor.get(f"/audit?actor={script}")
    assert "<script>" not in auditor.text


def test_the_chain_is_verified_and_a_change_is_shown(desk, auditor):
    auditor.get("/audit")
    auditor.post("/audit/verify")
    assert "are as they were written" in auditor.text
    with desk.pages.database.writing() as connection:
        before = connection.execute(audit.select().where(audit.c.number == 2)).one().actor
        change = audit.update().where(audit.c.number == 2)
        connection.execute(change.values(actor="person:nobody"))
    auditor.post("/audit/verify")
    assert "audit entry 2" in auditor.text and "it was changed" in auditor.text
    with desk.pages.database.writing() as connection:
        connection.execute(change.values(actor=before))
