"""CHANGELOG.md, made of the files in changes/: `make changelog` writes it.

A change that users notice is one file, `changes/0013-short-title.md`: a line that sums it up, then
what changed. At a release its files move to a folder of that version, `changes/0.1.0/`. The latest
come first, in both.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGELOG = ROOT / "CHANGELOG.md"


def changelog() -> str:
    """Return the text of CHANGELOG.md."""
    texts = ["# Changes", "What changed for users, the latest first."]
    changes = ROOT / "changes"
    if pending := _changes_in(changes):
        texts += [f"## {_version()} (not released yet)", *pending]
    released = [folder for folder in changes.iterdir() if re.match(r"\d+\.", folder.name)]
    for folder in sorted(released, key=_numbers, reverse=True):
        texts += [f"## {folder.name}", *_changes_in(folder)]
    return "\n\n".join(texts) + "\n"


def _changes_in(folder: Path) -> list[str]:
    return [_section(path.read_text()) for path in sorted(folder.glob("*.md"), reverse=True)]


def _section(text: str) -> str:
    """Return a change with its first line as the heading."""
    title, _, rest = text.strip().partition("\n")
    return f"### {title.lstrip('# ').rstrip('.')}\n\n{rest.strip()}".strip()


def _version() -> str:
    source = (ROOT / "src" / "toprank" / "__init__.py").read_text()
    found = re.search(r'^__version__ = "(.+)"$', source, flags=re.MULTILINE)
    assert found, "__version__ is a line of its own"
    return found[1]


def _numbers(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", folder.name)]


if __name__ == "__main__":
    CHANGELOG.write_text(changelog())
