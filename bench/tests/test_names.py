"""A class name or file name means one thing in the whole package."""

import ast
from pathlib import Path

import toprank_bench

PACKAGE = Path(toprank_bench.__file__).parent


def test_no_two_classes_or_files_share_a_name():
    places = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        shown = str(path.relative_to(PACKAGE))
        if path.name != "__init__.py":
            places.setdefault(path.name, []).append(shown)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{shown}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
