"""Every page, in both themes and widths: nothing that axe finds serious, nothing cut off."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from toprank.live.pages.all_pages import PAGES

pytestmark = pytest.mark.slow

PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
LISTS = [
    each.path
    for each in PAGES
    if each.method == "GET" and "{" not in each.path and not each.path.startswith("/live/")
]


def faults(page):
    """What axe finds that is serious."""
    found = Axe().run(page).response["violations"]
    return [
        (page.url, each["id"], [node["html"][:120] for node in each["nodes"]][:3])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


def is_cut_off(page):
    """Whether the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth > innerWidth + 1")


def walk(page, server, theme):
    """Go to every page, and return what is wrong with them."""
    page.emulate_media(color_scheme=theme)
    paths = [*LISTS, "/search?q=0"]
    wrong = []
    for path in paths:
        page.goto(f"{server.address}{path}")
        wrong += faults(page)
        wrong += [(path, "too wide")] if is_cut_off(page) else []
    return wrong


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_page_has_a_serious_fault(person, server, theme, window):
    senior = person("sara", viewport=window)
    wrong = walk(senior, server, theme)
    senior.goto(f"{server.address}/queue")
    senior.get_by_role("button", name="Open").first.click()
    wrong += faults(senior)
    wrong += [("card", "too wide")] if is_cut_off(senior) else []
    senior.get_by_role("button", name="Back to the queue").click()
    wrong += walk(person("root", viewport=window), server, theme)
    assert wrong == []
