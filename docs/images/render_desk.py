"""Photograph the queue and a card of the demo, for README.md and docs/desk.md.

Run `python docs/images/render_desk.py` from the root of the repository, with Chromium installed.
It takes some minutes: a world is made, and its first days are paid.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WINDOW = {"width": 1280, "height": 860}
PASSWORD = "pictures for the guide"
_FIRST_DAYS = 40  # seconds in which the first days are paid


def main() -> None:
    """Write queue.png and card.png."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("Chromium is not installed.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = [sys.executable, "-c", "import toprank.cli; toprank.cli.main()", "serve"]
        command += ["--demo", f"{folder}/world", "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            try:
                link = _link_of(server)
                opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
                page = opened.new_page(viewport=WINDOW, device_scale_factor=1.5)
                _photograph(page, link)
            finally:
                server.terminate()


def _link_of(server: subprocess.Popen[str]) -> str:
    """Return the investigator's link that the server prints when it has started."""
    assert server.stderr is not None
    for line in server.stderr:
        if found := re.search(r"investigator +(http\S+)", line):
            return found[1]
    sys.exit("The demo has not started.")


def _photograph(page: Page, link: str) -> None:
    page.goto(link)
    for field in ("#password", "#again"):
        page.fill(field, PASSWORD)
    page.press("#again", "Enter")
    page.wait_for_url("**/queue")
    time.sleep(_FIRST_DAYS)
    # some checks, so that the figures of the day are not all nought
    page.get_by_role("button", name="Check the next card").click()
    page.wait_for_url("**/alerts/*")
    for letter in "ffgf":
        page.keyboard.press(letter)
        with page.expect_navigation():
            page.keyboard.press("Enter")
    page.screenshot(path=HERE / "card.png")
    page.keyboard.press("q")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.screenshot(path=HERE / "queue.png")
    print(f"Wrote {HERE / 'queue.png'} and {HERE / 'card.png'}")


if __name__ == "__main__":
    main()
