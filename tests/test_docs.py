"""The guide is true: its commands run, in its order, and every command is in it."""

import re
import shlex
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from toprank.cli import commands
from toprank.files import read_manifest

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "from-table-to-alerts.md"
PAYMENTS = ROOT / "docs" / "transactions.md"


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
        if words[0] == "demo":
            keep_some_cards(tmp_path / "payments.parquet")
    for name in ("my.toprank", "my.html", "alerts.csv"):
        assert (tmp_path / name).exists()


def test_the_walk_through_of_payments_runs_from_fit_to_rollback(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAYMENTS.read_text().partition("## From Python")[0]
    named = {}
    for kind, block in re.findall(
        r"^```(python|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL
    ):
        if kind == "python":
            exec(block, named)
            continue
        for line in re.findall(r"^\$ toprank (.+)$", block, flags=re.MULTILINE):
            words = shlex.split(line)
            if words[0] == "simulate":
                words += ["--cards", "120", "--terminals", "60"]  # the commands are on trial
            if words[0] == "fit":
                words += ["--trees", "20", "--minutes", "0.001"]
            outcome = CliRunner().invoke(commands, words, catch_exceptions=False)
            assert outcome.exit_code == 0, (line, outcome.output)
    current, beside = (
        read_manifest(Path(f"payments{version}.toprank"))["facts"] for version in ("", ".v2")
    )
    assert (current["version"], beside["version"]) == (1, 2)
    assert Path("payments.history", current["history"]).is_dir()
    assert current["history"] == beside["history"]


def keep_some_cards(path):
    """Leave every third card's payments: the commands are on trial, not what they learn."""
    table = pq.read_table(path)
    cards = table["card"].unique()
    pq.write_table(table.filter(pc.is_in(table["card"], cards[::3])), path)


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))])
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), (page.name, target)
