"""Pages are made from rows, and those of the repository are what its rows give."""

from pathlib import Path

import pytest

from toprank_bench import pages

ROOT = Path(__file__).parents[2]
RESULTS, PAGES = ROOT / "bench" / "results", ROOT / "docs" / "results"
AGAIN = "write them again: toprank bench pages docs/results --results bench/results"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """All pages, made anew from the recorded rows."""
    folder = tmp_path_factory.mktemp("pages")
    pages.write_pages(RESULTS, folder)
    return folder


def test_pages_of_the_repository_are_what_its_rows_give(written):
    found = {page.name: page.read_text("utf-8") for page in written.glob("*.md")}
    kept = {page.name: page.read_text("utf-8") for page in PAGES.glob("*.md")}
    assert found.keys() == kept.keys(), AGAIN
    for name, text in found.items():
        assert kept[name] == text, f"{name} is not what the rows give; {AGAIN}"


def test_every_picture_that_a_page_shows_is_there(written):
    for page in PAGES.glob("*.md"):
        shown = [
            line.split("](")[1].rstrip(")")
            for line in page.read_text().splitlines()
            if line.startswith("![")
        ]
        for picture in shown:
            assert (PAGES / picture).exists() and (written / picture).exists()


def test_every_target_has_a_line_and_a_verdict():
    experiments = pages.recorded_experiments(RESULTS)
    lines = pages.target_lines(experiments)
    assert len(lines) == sum(len(each.experiment.targets) for each in experiments) > 20
    verdicts = {line[4].removesuffix(" (provisional)") for line in lines}
    assert verdicts <= {"met", "missed", "not recorded"} and "missed" in verdicts
    assert len(pages.target_facts(experiments)) == len(lines)


def test_the_first_page_starts_with_other_libraries_and_what_toprank_promised():
    text = (PAGES / "index.md").read_text("utf-8")
    first, _, rest = text.partition("## All results")
    for words in ("toprank fit", "LightGBM, 255 leaves", "The promise", "(in-time.md)"):
        assert words in first, words
    assert "(targets.md)" in rest and "(speed.md)" in rest


def test_without_rows_there_are_pages_that_say_so(tmp_path):
    targets, index = pages.write_pages(tmp_path / "none", tmp_path / "pages")
    assert "not recorded" in targets.read_text("utf-8")
    text = index.read_text("utf-8")
    assert "| 0 of " in text and "](sgbap" not in text
