"""Every route, asked for by everybody, against the table in permissions.txt."""

import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import Response

from live.pages.browser import Browser
from live.web.asgi_client import AsgiClient
from toprank.live.pages.all_pages import PAGES
from toprank.live.pages.page_doors import mounted
from toprank.live.pages.page_kit import PageRoute, check_routes
from toprank.live.people.desk_roles import ACTIONS, ROLES, ForbiddenError, Person, authorize
from toprank.live.store import api_keys
from toprank.live.store.api_keys import SCOPES
from toprank.live.web.application import create_app

OTHERS = "person:somebody-else"
WITHOUT_HANDLER = {"GET /", "GET /static/{name}"}  # made where pages are mounted


def tables():
    """The tables of the file: of pages and of the API, by route and by who asks."""
    found, columns = {}, []
    for line in Path(__file__).with_name("permissions.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if line[0].islower() or line.startswith("API"):
            title, *columns = line.split()
            found[title] = {}
        else:
            method, path, *cells = line.split()
            found[title][f"{method} {path}"] = dict(zip(columns, cells, strict=True))
    return found


TABLES = tables()


def test_every_route_of_the_server_is_in_the_table_and_no_other(desk):
    served = {
        f"{method} {route.path}"
        for route in create_app(desk).routes
        for method in route.methods - {"HEAD"}
    }
    assert served == {route for table in TABLES.values() for route in table}


def test_the_table_has_every_role_and_every_scope():
    assert all(set(cells) == set(ROLES) for cells in TABLES["pages"].values())
    assert all(set(cells) == set(SCOPES) for cells in TABLES["API"].values())


@pytest.fixture(scope="module")
def pages(desk):
    """A client of all pages, each of which answers 204 to whoever is let in."""

    async def let_in(page):
        return Response(status_code=204)

    async def owner(page):
        return page.request.headers["x-owner"]

    stubs = [each._replace(handler=let_in, owner=each.owner and owner) for each in PAGES]
    with AsgiClient(Starlette(routes=mounted(desk.pages, stubs))) as client:
        yield client


@pytest.fixture(scope="module")
def people(client):
    """A browser in which a person of each role is logged in."""
    found = {}
    for role in ROLES:
        browser = Browser(client, address="192.0.2.200")
        browser.log_in(role.replace("_", "-"))
        found[role] = browser
    return found


def asked(pages, route, owner, browser=None):
    """What a page answers to the person of a browser, or to nobody."""
    method, path = route.split()
    other = Browser(pages)
    if browser is not None:
        other.cookies, other.page = browser.cookies, browser.page
    ask = other.get if method == "GET" else other.post
    return ask(re.sub(r"\{\w+(:\w+)?\}", "1", path), follow=False, **{"x-owner": owner})


@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_let_in_as_the_table_says(pages, people, role):
    own = f"person:{role.replace('_', '-')}"
    found = {
        route: (
            asked(pages, route, own, people[role]).status,
            asked(pages, route, OTHERS, people[role]).status,
        )
        for route in TABLES["pages"].keys() - WITHOUT_HANDLER
    }
    statuses = {"all": (204, 204), "any": (204, 204), "own": (204, 403), "-": (403, 403)}
    assert found == {route: statuses[TABLES["pages"][route][role]] for route in found}


def test_who_is_not_logged_in_gets_nothing_but_what_is_for_all(pages):
    for route in TABLES["pages"].keys() - WITHOUT_HANDLER:
        reply = asked(pages, route, OTHERS)
        if "all" in TABLES["pages"][route].values():
            assert reply.status == 204, route
        elif route.startswith("GET"):
            assert (reply.status, reply.headers["location"][:12]) == (303, "/login?next="), route
        else:
            assert reply.status == 403, route


@pytest.mark.parametrize("scope", SCOPES)
def test_a_key_is_let_in_as_the_table_says(desk, client, scope):
    with desk.pages.database.writing() as connection:
        key = api_keys.add(connection, f"only-{scope}", [scope], 0, "person:test")
    desk.keys.reload()
    for route, cells in TABLES["API"].items():
        method, path = route.split()
        headers = {"authorization": f"Bearer {key}"}
        reply = client.request(method, path.replace("{id:path}", "t1"), headers=headers)
        assert (reply.status == 403) == (cells[scope] == "-"), route


def test_an_action_or_role_that_nobody_knows_is_refused():
    admin = Person("anna", "admin")
    for person, action in ((admin, "users.delete"), (Person("anna", "boss"), "queue.view")):
        with pytest.raises(ForbiddenError):
            authorize(person, action)
    assert "users.delete" not in ACTIONS


async def nothing(page):
    return Response()


@pytest.mark.parametrize(
    ("routes", "why"),
    [
        ([PageRoute("GET", "/new", "queue.look", nothing)], "known action"),
        ([PageRoute("GET", "/new", "", nothing)], "known action"),
        ([PageRoute("POST", "/new", "check.decide", nothing)], "whose"),
        ([PageRoute("PUT", "/new", "queue.view", nothing)], "GET or POST"),
        ([PageRoute("GET", "/new", "queue.view", nothing)] * 2, "once"),
    ],
)
def test_a_route_that_does_not_say_who_may_ask_does_not_start(routes, why):
    with pytest.raises(ValueError, match=why):
        check_routes(routes)
