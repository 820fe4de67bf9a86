"""The documentation site is whole: every page has its place, every learner its page."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pytest
from sphinx.util.matching import patfilter

import toprank
from toprank import registry

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
API = (DOCS / "api.md").read_text()
PAGES = sorted(path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md"))
LEARNERS = [f"toprank.{row.name}" for row in registry.LEARNERS]
LEARNER_PAGES = [page for page in PAGES if re.match(r"learners/(?!index)", page)]


def listed_on(page):
    """The pages that a page's tables of contents name, patterns among them."""
    folder = Path(page).parent
    text = (DOCS / f"{page}.md").read_text()
    if page == "results/index" and "{toctree}" not in text:
        yield from ("results", *patfilter(PAGES, "results/*"))  # docs/conf.py lists them
    for block in re.findall(r"```\{toctree\}\n(.*?)```", text, flags=re.DOTALL):
        entries = [line for line in block.splitlines() if line and not line.startswith(":")]
        for entry in (re.sub(r".*<(.*)>", r"\1", entry) for entry in entries):
            yield from patfilter(PAGES, (folder / entry).as_posix())


def page_of(learner):
    """The text of the page that leads to the reference of a learner."""
    texts = {page: (DOCS / f"{page}.md").read_text() for page in LEARNER_PAGES}
    of_it = [text for text in texts.values() if f"{{py:class}}`{learner}`" in text]
    assert of_it, f"no page in docs/learners leads to {learner}"
    return min(of_it, key=len)


def test_every_page_is_in_a_table_of_contents():
    reached, left = set(), ["index"]
    while left:
        page = left.pop()
        if page not in reached:
            reached.add(page)
            left += listed_on(page)
    assert sorted(reached) == PAGES


def test_the_first_page_also_links_to_what_its_contents_list():
    text = (DOCS / "index.md").read_text()
    for page in listed_on("index"):
        assert f"]({page}.md)" in text, page


def test_results_are_one_entry_of_the_sidebar():
    listed = list(listed_on("index"))
    assert [page for page in listed if page.startswith("results")] == ["results/index"]


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_has_a_page_that_says_when_and_when_not(learner):
    text = page_of(learner)
    for heading in ("When", "When not", "Example", "Main parameters"):
        assert re.search(rf"^## {heading}$", text, flags=re.MULTILINE), heading
    assert re.search(r"^>>> .*", text, flags=re.MULTILINE)
    assert re.search(r"\]\(\.\./(results|compare)\.md", text)  # measured, and where


@pytest.mark.parametrize("page", LEARNER_PAGES)
def test_every_learner_page_is_in_the_table_to_choose_by(page):
    assert f"]({Path(page).name}.md)" in (DOCS / "learners" / "index.md").read_text()


def test_the_reference_has_every_public_name():
    for name in toprank.__all__:
        assert re.search(rf"^   toprank\.{name}$", API, flags=re.MULTILINE), name


def test_the_reference_has_every_package_that_says_what_is_public():
    package = Path(toprank.__file__).parent
    for path in package.rglob("*/__init__.py"):
        if "\n__all__ = " in path.read_text():
            module = ".".join(["toprank", *path.parent.relative_to(package).parts])
            assert re.search(rf"^   {module}$", API, flags=re.MULTILINE), module


@pytest.mark.parametrize("module", re.findall(r"^   (toprank\.[a-z_.]+)$", API, re.MULTILINE))
def test_the_modules_of_the_reference_are_there_and_say_what_they_are(module):
    name, _, last = module.rpartition(".")
    is_name = name == "toprank" and last in toprank.__all__
    known = getattr(toprank, last) if is_name else import_module(module)
    assert known.__doc__, name


def test_the_patent_is_named_where_ap_losses_are_chosen():
    title = "Détection par apprentissage automatique d'anomalies"
    assert title in (DOCS / "learners" / "boosted-ranker.md").read_text()
    for page in ("index", "boosting", "extending/loss", "api"):
        assert "patent" in (DOCS / f"{page}.md").read_text(), page


class _Loads(HTMLParser):
    """Collects the addresses that a browser loads by itself; links are for the reader."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        address = known.get("href") if tag == "link" else known.get("src")
        if address and tag != "a":
            self.addresses.append(address)


def test_pages_load_nothing_from_elsewhere(tmp_path):
    source, site = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    (source / "index.md").write_text("# Title\n\nText and `code`.\n")
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-c", str(DOCS), str(source), str(site)],
        check=True,
    )
    loads = _Loads()
    for page in site.rglob("*.html"):
        loads.feed(page.read_text())
    assert loads.addresses
    assert not [each for each in loads.addresses if re.match(r"(\w+:)?//", each)]
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text()), style


@pytest.mark.parametrize("page", PAGES)
def test_no_picture_comes_from_elsewhere(page):
    text = (DOCS / f"{page}.md").read_text()
    assert not re.search(r"!\[[^]]*\]\(http|<(img|script|link)\b", text)
