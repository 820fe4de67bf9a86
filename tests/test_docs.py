"""The guide is true: its commands run, in its order, and every command is in it."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from toprank.cli import commands

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "from-table-to-alerts.md"


def test_every_command_is_in_the_guide():
    text = GUIDE.read_text()
    for name in commands.commands:
        assert f"toprank {name}" in text, name


def test_the_commands_of_the_guide_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"^\$ toprank (.+)$", GUIDE.read_text(), flags=re.MULTILINE)
    assert len(lines) >= 6
    for line in lines:
        words = shlex.split(line)
        if words[0] == "fit" and "--learner" not in words:
            words += ["--minutes", "0.1"]  # fewer recipes than a reader would have tried
        outcome = CliRunner().invoke(commands, words, catch_exceptions=False)
        assert outcome.exit_code == 0, (line, outcome.output)
    for name in ("my.toprank", "my.html", "alerts.csv"):
        assert (tmp_path / name).exists()


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))])
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), (page.name, target)
