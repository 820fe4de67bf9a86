"""Words that read as translated are in no help text, message, page, comment or name."""

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from toprank.cli import commands

ROOT = Path(__file__).parents[1]

# What to write instead: docs/glossary.md.
WORDS = "told|untold|parted|mark|marks|stands|mend"
PHRASES = (
    "gone on with|passed over|a row a row|everything drawn|for want of|of no use"
    "|rather not|cannot be had|with commas between"
)
ODD = re.compile(
    rf"(?<![a-z])(?:{WORDS})(?![a-z])"  # a word, or a piece of a name_with_underscores
    rf"|(?<=[a-z])(?-i:{WORDS.title()})(?![a-z])"  # the end of a CamelCase name
    rf"|\b(?:{PHRASES})\b",
    re.IGNORECASE,
)
# Ordinary words that our pages and help texts used in odd places.
IN_PROSE = re.compile(
    r"\b(tells?|stands?|parting|goes on|gone on|seed of everything)\b", re.IGNORECASE
)
# The names that other projects gave: pytest.mark, and the element of HTML.
NOT_OURS = re.compile(r"pytest\.mark|pytestmark|marks=|</?mark>")
SUFFIXES = {".py", ".md", ".toml", ".html", ".css", ".js", ".txt", ".cfg", ""}


def odd_words(text: str) -> list[str]:
    """Return the odd words of a text, each with the line it is in."""
    lines = (NOT_OURS.sub("", line) for line in text.splitlines())
    return [
        f"line {number}: {found.group()!r} in {line.strip()[:90]!r}"
        for number, line in enumerate(lines, 1)
        for found in ODD.finditer(line)
    ]


def files_of_the_project() -> list[Path]:
    """Return the text files that are kept, without this one."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("the files are listed by git, and this is no git checkout")
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return [
        path
        for path in paths
        if path.suffix in SUFFIXES and path.is_file() and path != Path(__file__)
    ]


def test_no_file_or_name_has_an_odd_word():
    found = [
        f"{path.relative_to(ROOT)}: {words}"
        for path in files_of_the_project()
        for words in odd_words(f"{path.stem}\n{path.read_text()}")
    ]
    assert not found, "\n".join(found)


def test_no_page_has_a_word_that_the_glossary_replaces():
    pages = [path for path in files_of_the_project() if path.suffix == ".md"]
    found = {
        str(path.relative_to(ROOT)): words
        for path in pages
        if (words := IN_PROSE.findall(path.read_text()))
    }
    assert not found


@pytest.mark.parametrize("name", commands.commands)
def test_no_help_text_has_an_odd_word(name):
    shown = CliRunner().invoke(commands, [name, "--help"]).output
    assert odd_words(shown) + IN_PROSE.findall(shown) == []


@pytest.mark.parametrize(
    "text",
    [
        "Bad lines are told with their number.",
        "if is_parted(rows):",
        "class FileMark:",
        "It is begun if it is not there, else gone on with.",
    ],
)
def test_odd_words_are_found_in_sentences_and_names(text):
    assert len(odd_words(text)) == 1


def test_ordinary_words_are_not_found():
    assert odd_words("markers, Markdown, remarks, imparted, standing, pytest.mark.slow") == []
