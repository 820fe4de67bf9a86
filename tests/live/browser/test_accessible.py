"""Every page, in both themes and widths: nothing that axe finds serious, nothing cut off."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from live import desks
from live.browser.desk_server import PEOPLE, DeskServer
from live.monitor import board_desk
from toprank.live.desk_clock import wall_time
from toprank.live.pages.all_pages import PAGES
from toprank.live.pages.live_pages import LIVE_PAGES
from toprank.live.pages.page_kit import PUBLIC
from toprank.live.people.desk_roles import Person
from toprank.live.rules.rule_trial_runs import run_trial
from toprank.live.store import rule_trial_table
from toprank.live.store.rule_trial_table import RuleTrial

PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
SHOWN = [each for each in PAGES if each.method == "GET" and each not in LIVE_PAGES]
NOBODY = "nobody"  # is logged in
# a page is walked by the first of these who may see it, who has most to do there
ORDER = ("sara", "rita", "paul", "root", "otto", "anna")
RULE, SEARCH = "large", "0"


def visitors(route):
    """The people who may see a page, whoever has most to do there first."""
    if route.action == PUBLIC:
        return [NOBODY]
    people = (Person(name, PEOPLE[name]) for name in ORDER)
    return [each.name for each in people if each.may(route.action)]


def test_every_page_is_walked_by_somebody_who_may_see_it():
    assert all(visitors(each) for each in SHOWN)
    assert {each.path for each in LIVE_PAGES} == {"/live/queue", "/live/alert/{number:int}"}
    parameters = {name for each in SHOWN for name in re.findall(r"{(\w+)", each.path)}
    assert parameters == {"secret", "number", "name"}, "a page that `Walk.paths` has no example of"


@pytest.fixture(scope="module")
def server(model_file, later, tmp_path_factory):
    """A served desk with cards on its list, rules in every state, and a backtest."""
    folder = tmp_path_factory.mktemp("accessible") / "desk"
    made = desks.new_desk(folder, model_file, alert_from=0.0001, breaker_share=1.0)
    board_desk.add_rules(made)
    with made.database.writing() as connection:
        trial = RuleTrial(
            0, "backtest", RULE, board_desk.RULES[RULE][1], "block", {"allow_immature": True},
            "person:rita", wall_time(), "running",
        )  # fmt: skip
        number = rule_trial_table.add(connection, trial)
    made.close()
    with DeskServer(folder, later) as started:
        run_trial(folder, number)
        yield started


class Walk:
    """Pages in a window and a theme, and what is wrong with them."""

    def __init__(self, chromium, server, window, theme):
        self._server, self._pages, self.wrong = server, {}, []
        self._options = {"viewport": window, "color_scheme": theme}
        self._chromium = chromium

    def paths(self, route):
        """The addresses of a page: with an example of what it is about."""
        if "{secret}" in route.path:
            yield f"/link/{self._server.new_link()}"
        elif route.path.startswith("/alerts/"):
            yield f"/alerts/{self._server.first_alert()}"
        else:
            yield route.path.replace("{name}", RULE).replace("{number:int}", "1")
        if route.path == "/search":
            yield f"/search?q={SEARCH}"

    def visit(self, name, path):
        page = self.page_of(name)
        answer = page.goto(f"{self._server.address}{path}")
        self.look(page, f"{path} as {name}", answer.status)

    def look(self, page, where, status=200):
        """Note what axe finds serious, what is cut off, and what is no page at all."""
        found = Axe().run(page).response["violations"]
        self.wrong += [
            (where, each["id"], [node["html"][:120] for node in each["nodes"]][:3])
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
        if status != 200:
            self.wrong.append((where, f"status {status}"))
        if page.evaluate("document.documentElement.scrollWidth > innerWidth + 1"):
            self.wrong.append((where, "too wide"))

    def page_of(self, name):
        """The page of a person who is logged in, always the same."""
        if name not in self._pages:
            context = self._chromium.new_context(**self._options)
            is_known = name != NOBODY
            self._pages[name] = (
                self._server.log_in(context, name) if is_known else context.new_page()
            )
        return self._pages[name]

    def close(self):
        for page in self._pages.values():
            page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_page_has_a_serious_fault(chromium, server, theme, window):
    walk = Walk(chromium, server, window, theme)
    is_for_all = theme == "light" and window is DESKTOP  # one walk is by everybody
    for route in SHOWN:
        for path in walk.paths(route):
            for name in visitors(route)[: None if is_for_all else 1]:
                walk.visit(name, path)
    senior = walk.page_of("sara")
    senior.goto(f"{server.address}/queue")
    senior.get_by_role("button", name="Open").first.click()
    walk.look(senior, "the card that is being checked")
    senior.get_by_role("button", name="Back to the queue").click()
    walk.close()
    assert walk.wrong == []
