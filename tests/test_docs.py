"""The guide is true: its commands run, every command is in it, and its words are plain."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from toprank.cli import commands

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CHANGES = ROOT / "changes"
PAGES = [
    path.relative_to(ROOT)
    for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *sorted(CHANGES.glob("*.md")))
]


def commands_on(page):
    """The commands of a page in blocks of the console, with their continued lines joined."""
    text = (ROOT / page).read_text().replace("\\\n", " ")
    blocks = re.findall(r"```\{run\}\n(.*?)```|```console\n(.*?)```", text, flags=re.DOTALL)
    for block in blocks:
        yield from re.findall(r"^\$ toprank (.+)$", "".join(block), flags=re.MULTILINE)


@pytest.mark.parametrize("name", commands.commands)
def test_every_command_is_in_the_guide(name):
    assert any(f"toprank {name}" in page.read_text() for page in DOCS.glob("*.md")), name


@pytest.mark.parametrize("page", [page for page in PAGES if list(commands_on(page))], ids=str)
def test_the_options_on_a_page_exist(page):
    for line in commands_on(page):
        name, *words = line.partition("#")[0].split()
        if name.startswith("-") or name not in commands.commands:
            continue  # `toprank --version`, and what other packages add
        command = commands.commands[name]
        if isinstance(command, click.Group) and words:
            command = command.commands[words[0]]
        known = {flag for option in command.params for flag in option.opts}
        flags = [word for word in words if re.match(r"--?[a-z]", word)]
        assert set(flags) <= known | {"--help"}, line


def test_the_commands_of_a_page_run_in_order_and_see_each_others_files(tmp_path):
    page = """
```{run}
$ toprank simulate -o payments.parquet --cards 3 --terminals 5 --days 2
```
```{run} python
import os
file = sorted(os.listdir())[0]
print(file)
```
```{run}
:exit: 1
$ toprank evaluate no-such-model {file} \\
    --json
$ toprank --no-such-option > /dev/null 2>&1 || exit 1
```
"""
    made, seen, failed = run_page(page, tmp_path)
    assert "Wrote payments.parquet" in made[0][1]
    assert seen[0][1] == "payments.parquet\n"
    assert failed[0][0] == "toprank evaluate no-such-model payments.parquet \\\n    --json"
    assert "no-such-model" in failed[0][1]


def test_a_command_that_fails_fails_the_build(tmp_path):
    with pytest.raises(subprocess.CalledProcessError):
        run_page("```{run}\n$ toprank evaluate no-such-model no-such-table\n```\n", tmp_path)


def run_page(text, folder):
    """What the blocks of a page print, as the build runs them."""
    ran = subprocess.run(
        [sys.executable, DOCS / "shown_output.py"],
        input=text, text=True, capture_output=True, cwd=folder, check=True,
    )  # fmt: skip
    return json.loads(ran.stdout)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
        if not target.startswith("http"):
            assert (ROOT / page.parent / target).exists(), (page.name, target)
