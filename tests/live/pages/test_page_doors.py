"""What every page is behind: origin, token, form, errors, headers."""

import logging

import pytest
from starlette.applications import Starlette
from starlette.responses import Response

from live.pages.browser import FORM, Browser
from live.web.asgi_client import AsgiClient
from toprank.live.messages import BusyError
from toprank.live.pages.page_doors import mounted
from toprank.live.pages.page_kit import PageError, PageRoute

LOGOUT = "/logout"


@pytest.fixture
def logged_in(browser):
    browser.log_in("senior")
    return browser


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"}, {"sec-fetch-site": None},
        {"sec-fetch-site": None, "origin": "https://evil.example"},
        {"sec-fetch-site": None, "origin": "null"},
        {"sec-fetch-site": None, "origin": "http://localhost:8321.evil.example"},
        {"sec-fetch-site": "cross-site", "origin": "http://localhost:8321"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", [LOGOUT, "/login", "/link/x"])
def test_a_form_of_another_site_does_nothing(logged_in, headers, path):
    fields = {"name": "admin", "password": "a horse with a hat"}
    reply = logged_in.post(path, fields, follow=False, **headers)
    assert reply.status == 403 and "another site" in logged_in.text
    assert "set-cookie" not in reply.headers
    assert logged_in.get("/account", follow=False).status == 200


@pytest.mark.parametrize(
    "headers", [{"sec-fetch-site": None, "origin": "http://localhost:8321"}, {}]
)
def test_a_form_of_this_server_is_taken(logged_in, headers):
    assert logged_in.post(LOGOUT, follow=False, **headers).status == 303


@pytest.mark.parametrize("token", ["", "x", "é", None])
def test_a_form_without_the_token_of_its_session_does_nothing(client, logged_in, token):
    if token is None:  # that of another session of the same person
        other = Browser(client)
        other.log_in("senior")
        token = other.token
    assert logged_in.post(LOGOUT, {"token": token}, follow=False).status == 403
    assert logged_in.get("/account", follow=False).status == 200


def test_a_token_in_the_address_is_none(logged_in):
    reply = logged_in.post(f"{LOGOUT}?token={logged_in.token}", {"token": ""}, follow=False)
    assert reply.status == 403


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"token=%ff", FORM, 400), (b"token=\xff", FORM, 400), (b"a=1&" * 3_000, FORM, 400),
        (b"a" * 300_000, FORM, 413), (b'{"token": ""}', "application/json", 415),
        (b"token=", "multipart/form-data; boundary=x", 415), (b"", FORM, 403),
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_read_is_an_error_page(client, logged_in, body, kind, status):
    cookie = "; ".join(f"{name}={value}" for name, value in logged_in.cookies.items())
    headers = {"content-type": kind, "cookie": cookie, "sec-fetch-site": "same-origin"}
    reply = client.request("POST", LOGOUT, body, headers)
    assert reply.status == status and b'role="alert"' in reply.content


def test_a_page_can_be_put_into_no_frame_and_runs_no_script_of_its_own(logged_in):
    headers = logged_in.get("/account").headers
    assert headers["x-frame-options"] == "DENY"
    policy = headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "same-origin"


def test_files_of_the_pages_are_kept_by_browsers_under_an_address_that_changes(browser):
    browser.get("/login")
    path = browser.text.partition('rel="stylesheet" href="')[2].partition('"')[0]
    reply = browser.get(path)
    assert reply.status == 200 and reply.headers["content-type"].startswith("text/css")
    assert "immutable" in reply.headers["cache-control"]
    for other in ("/static/none.css", "/static/..%2fall_pages.py", "/static/../all_pages.py"):
        assert browser.get(other).status == 404


ERRORS = {
    "/known": (PageError(418, "The pot is <hot>."), 418, "The pot is &lt;hot&gt;."),
    "/busy": (BusyError(1.0), 503, "try again"),
    "/broken": (RuntimeError("a secret"), 500, "log has it as"),
}


@pytest.fixture(scope="module")
def failing(desk):
    """A client of pages that fail."""

    def page_of(error):
        async def page(_):
            raise error

        return page

    routes = [
        PageRoute("GET", path, "queue.view", page_of(error))
        for path, (error, *_) in ERRORS.items()
    ]
    with AsgiClient(Starlette(routes=mounted(desk.pages, routes))) as client:
        yield client


@pytest.mark.parametrize("path", ERRORS)
def test_an_error_is_a_page_with_a_sentence(failing, logged_in, path, caplog):
    other = Browser(failing)
    other.cookies = logged_in.cookies
    with caplog.at_level(logging.ERROR):
        reply = other.get(path)
    _, status, says = ERRORS[path]
    assert reply.status == status and says in other.text and "a secret" not in other.text
    assert ("a secret" in caplog.text) == (path == "/broken")


def test_a_browser_that_asks_for_no_page_gets_one_that_says_so(client, logged_in):
    reply = logged_in.get("/no-such-page", accept="text/html,*/*")
    assert reply.status == 404 and "There is no such page." in logged_in.text
    assert "senior" in logged_in.text and reply.headers["x-frame-options"] == "DENY"
    assert client.get("/no-such-page").error["code"] == "not_found"


def test_a_message_is_shown_once_and_to_its_session_alone(desk, client, logged_in):
    async def say(page):
        return page.redirect("/account", "It is <done>.")

    with AsgiClient(
        Starlette(routes=mounted(desk.pages, [PageRoute("GET", "/say", "day.view", say)]))
    ) as saying:
        other = Browser(saying)
        other.cookies = logged_in.cookies
        assert other.get("/say", follow=False).status == 303
    third = Browser(client)
    third.log_in("senior")
    assert "It is" not in third.get("/account").content.decode()
    assert "It is &lt;done&gt;." in logged_in.get("/account").content.decode()
    assert "It is" not in logged_in.get("/account").content.decode()


def test_the_header_leads_to_what_the_role_may_see(client):
    for role, has_users in (("admin", True), ("auditor", True), ("senior", False)):
        browser = Browser(client)
        browser.log_in(role)
        assert ('href="/users"' in browser.text) == has_users


def test_a_page_that_takes_long_notices_the_end_of_its_session(desk, logged_in):
    seen = []

    async def long(page):
        seen.append(page.is_current())
        await page.desk.run(page.desk.sessions.end_all, page.person.name, page.person.actor)
        seen.append(page.is_current())
        return Response()

    with AsgiClient(
        Starlette(routes=mounted(desk.pages, [PageRoute("GET", "/long", "day.view", long)]))
    ) as client:
        other = Browser(client)
        other.cookies = logged_in.cookies
        other.get("/long")
    assert seen == [True, False]
