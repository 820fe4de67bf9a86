"""Draw the pictures of the tool itself: demo.svg, report.png and alerts.png.

    python docs/images/render.py            # all three; needs Chromium for the last two
    python docs/images/render.py demo       # one of: demo, pages

demo.svg is what `toprank demo` prints, as a picture of a terminal. The others are the report of
`toprank fit` and the page of `toprank rank`, as the commands of docs/tutorial.md write them.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
DOCS = HERE.parent
TOPRANK = [sys.executable, "-c", "from toprank.cli import main; main()"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PAGES = {  # of the tutorial: the picture and the size of the window
    "payments.html": ("report.png", "1100,900"),
    "alerts.html": ("alerts.png", "1000,790"),
}


def main() -> None:
    """Draw the pictures that the arguments name, or all."""
    pictures = {"demo": draw_demo, "pages": draw_pages}
    for name in sys.argv[1:] or pictures:
        pictures[name]()


def draw_demo() -> None:
    """Draw what `toprank demo` prints."""
    with tempfile.TemporaryDirectory() as folder:
        printed = subprocess.run(
            [*TOPRANK, "demo", "--folder", folder], capture_output=True, text=True, check=True
        )
    console = Console(record=True, width=112, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(Text("$ toprank demo", style="bold"))
    console.print(Text(printed.stdout.replace(folder, "demo-output").rstrip()))
    picture = console.export_svg(title="toprank demo")
    # the picture must not fetch fonts: any monospaced one will do
    _write("demo.svg", re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL))


def draw_pages() -> None:
    """Draw the pages that the commands of the tutorial write."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, DOCS / "shown_output.py"],
            input=(DOCS / "tutorial.md").read_text(),
            text=True, cwd=folder, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        for page, (picture, window) in PAGES.items():
            _photograph(Path(folder, page), HERE / picture, window)


def _photograph(page: Path, picture: Path, window: str) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or not page.exists():
        missing = page.name if browser else "a browser"
        print(f"Left {picture.name} as it is: {missing} is missing.")
        return
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", "--hide-scrollbars",
                f"--user-data-dir={profile}", f"--window-size={window}", f"--screenshot={picture}",
                page.resolve().as_uri(),
            ],
            check=True, capture_output=True,
        )  # fmt: skip
    print(f"Wrote {picture}")


def _write(name: str, text: str) -> None:
    (HERE / name).write_text(text)
    print(f"Wrote {HERE / name}")


if __name__ == "__main__":
    main()
