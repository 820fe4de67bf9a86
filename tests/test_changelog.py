"""CHANGELOG.md is what the files of changes/ make."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import toprank

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script():
    """The script that makes it."""
    spec = spec_from_file_location("changelog", ROOT / "changes" / "changelog.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_current(script):
    assert script.CHANGELOG.read_text() == script.changelog(), "run `make changelog`"


def test_every_change_is_in_it_once_under_its_first_line(script):
    lines = script.changelog().splitlines()
    for path in (ROOT / "changes").rglob("*.md"):
        title = path.read_text().splitlines()[0].lstrip("# ").rstrip(".")
        assert lines.count(f"### {title}") == 1, path.name


def test_the_latest_come_first_and_released_ones_below(script, monkeypatch, tmp_path):
    for name in ("0004-new.md", "0.9.0/0002-b.md", "0.10.0/0003-c.md", "0.9.0/0001-a.md"):
        path = tmp_path / "changes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Change {name[-4]}.\n\n- What it does.\n")
    source = tmp_path / "src" / "toprank" / "__init__.py"
    source.parent.mkdir(parents=True)
    source.write_text(f'__version__ = "{toprank.__version__}"\n')
    monkeypatch.setattr(script, "ROOT", tmp_path)

    headings = [line for line in script.changelog().splitlines() if line.startswith("##")]
    assert headings == [
        f"## {toprank.__version__} (not released yet)", "### Change w",
        "## 0.10.0", "### Change c", "## 0.9.0", "### Change b", "### Change a",
    ]  # fmt: skip


def test_the_site_shows_it():
    assert "{include} ../CHANGELOG.md" in (ROOT / "docs" / "changes.md").read_text()
