import shutil

import pytest

from live import desks
from live.browser.desk_server import DeskServer

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


@pytest.fixture(scope="module")
def chromium():
    """A real browser without a window.

    It must not outlive its module: while Playwright runs, no other test can have an event loop.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(model_file, later, tmp_path_factory):
    """A served desk with many cards on its list; its people are those of `desk_server`."""
    folder = tmp_path_factory.mktemp("browser") / "desk"
    desks.new_desk(folder, model_file, alert_from=0.0001, random_share=0.0).close()
    with DeskServer(folder, later) as started:
        yield started


@pytest.fixture
def person(chromium, server):
    """Logs a person in by a browser of their own, and returns its page."""
    contexts = []

    def log_in(name, **options):
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        return server.log_in(context, name)

    yield log_in
    for context in contexts:
        context.close()
