"""Which part of the package imports which: read from the source, held to a list, drawn.

    python docs/images/import_graph.py          writes docs/images/imports.svg
    python docs/images/import_graph.py --list   prints the edges, and which of them are not allowed

A part is a folder of `src/toprank` or a file beside them; the rankers are one part per family.
Imports inside functions count as well: a part that is loaded late is still needed.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "toprank"
PICTURE = Path(__file__).with_name("imports.svg")

# from the bottom up; a part imports from lower layers, or as `ALLOWED` says within its own
LAYERS = {
    "the door": ["data", "splits", "registry", "startup", "wording", "notebook_views"],
    "measures": ["metrics", "losses", "files", "calibration"],
    "rankers": [
        "rankers", "rankers/boosted", "rankers/trees", "rankers/pairwise", "rankers/online",
        "rankers/stream", "rankers/anomaly", "rankers/auto", "decisions", "river",
    ],
    "workflow": ["workflow"],
    "payments": ["payments"],
    "simulator": ["simulator"],
    "present": ["plots", "present"],
    "around it": ["cluster", "live", "integrations"],
    "commands": ["cli"],
}  # fmt: skip

# part: all that it may import
ALLOWED = {
    part: set(others.split())
    for part, others in {
        "splits": "data",
        "notebook_views": "registry",
        "metrics": "data splits wording",
        "losses": "data",
        "files": "data registry",
        "calibration": "data metrics",
        "rankers": "data wording metrics calibration",
        "rankers/boosted": "data splits metrics losses files calibration rankers",
        "rankers/trees": "data wording notebook_views metrics files calibration rankers",
        "rankers/pairwise": "data losses files calibration rankers",
        "rankers/online": "data metrics files rankers",
        "rankers/stream": ("data losses files calibration rankers rankers/boosted rankers/online"),
        "rankers/anomaly": (
            "data wording metrics files rankers rankers/boosted rankers/trees rankers/pairwise"
        ),
        "rankers/auto": "data splits metrics losses files calibration rankers rankers/boosted",
        "decisions": "data splits metrics files calibration rankers rankers/boosted",
        "river": "data rankers/online",
        "workflow": (
            "data splits registry wording notebook_views metrics calibration rankers "
            "rankers/boosted rankers/anomaly rankers/auto decisions"
        ),
        "payments": (
            "data splits wording notebook_views metrics calibration files rankers rankers/online "
            "workflow"
        ),
        "simulator": "data splits wording metrics rankers rankers/online payments",
        "plots": "data wording metrics decisions",
        "present": (
            "data wording metrics rankers rankers/trees rankers/anomaly "
            "rankers/auto workflow simulator plots"
        ),
        "cluster": "data splits calibration rankers rankers/boosted rankers/auto workflow",
        "integrations": (
            "data files calibration rankers rankers/boosted rankers/trees rankers/auto"
        ),
        "live": (
            "data wording metrics files calibration rankers/trees rankers/online rankers/stream "
            "workflow payments simulator"
        ),
        "cli": (
            "data registry startup wording losses files rankers rankers/boosted "
            "rankers/trees rankers/online rankers/anomaly workflow payments simulator present "
            "cluster live integrations"
        ),
    }.items()
}


class Edge(NamedTuple):
    """One part imports another."""

    importer: str
    imported: str


def edges() -> Counter[Edge]:
    """Return how many imports lead from each part to each other."""
    homes = _public_homes()
    found: Counter[Edge] = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        if path == PACKAGE / "__init__.py":
            continue  # the public names, loaded when first used
        here = part_of(_module_of(path))
        for module in _imported(_tree_of(path), homes):
            there = part_of(module)
            if there not in (here, ""):
                found[Edge(here, there)] += 1
    return found


def part_of(module: str) -> str:
    """Return the part a module belongs to; "" for the package itself.

    >>> part_of("toprank.rankers.trees.kernel.cuts"), part_of("toprank.rankers.base")
    ('rankers/trees', 'rankers')
    """
    names = module.split(".")[1:]
    if not names:
        return ""
    if names[0] == "rankers" and len(names) > 1 and (PACKAGE / "rankers" / names[1]).is_dir():
        return f"rankers/{names[1]}"
    return names[0]


def layer_of(part: str) -> int:
    """Return the number of a part's layer, counted from the bottom."""
    for number, parts in enumerate(LAYERS.values()):
        if part in parts:
            return number
    raise ValueError(f"{part!r} must be in one of the layers of {Path(__file__).name}.")


def faults(found: Counter[Edge]) -> list[str]:
    """Return what is wrong with the imports, a sentence each."""
    wrong = [
        f"{here} must not import {there}"
        for here, there in found
        if there not in ALLOWED.get(here, set())
    ]
    wrong += [
        f"{here} is allowed to import {there} and does not"
        for here, allowed in ALLOWED.items()
        for there in sorted(allowed)
        if Edge(here, there) not in found
    ]
    wrong += [
        f"{here} must not import {there}, which is in a higher layer"
        for here, there in found
        if layer_of(there) > layer_of(here)
    ]
    return wrong + [f"{' -> '.join(cycle)} is a cycle" for cycle in cycles(found)]


def cycles(found: Counter[Edge]) -> list[list[str]]:
    """Return the cycles that a search through the imports meets."""
    after: dict[str, list[str]] = {}
    for here, there in sorted(found):
        after.setdefault(here, []).append(there)
    met: list[list[str]] = []
    done: set[str] = set()

    def visit(part: str, way: list[str]) -> None:
        if part in way:
            met.append([*way[way.index(part) :], part])
        elif part not in done:
            for there in after.get(part, []):
                visit(there, [*way, part])
            done.add(part)

    for part in sorted(after):
        visit(part, [])
    return met


def svg(found: Counter[Edge]) -> str:
    """Return the picture: a band per layer, a box per part, a line per import between layers."""
    place = _places()
    height = 40 + 84 * len(LAYERS)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        'font-family="sans-serif" font-size="13">',
        "<title>Which part of toprank imports which: every line leads down</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, name in enumerate(LAYERS):
        top = _top(number)
        lines.append(
            f'<rect x="8" y="{top}" width="{_WIDTH - 16}" height="66" rx="6" fill="#f3f5f8"/>'
            f'<text x="18" y="{top + 38}" fill="#5b6472">{name}</text>'
        )
    for (here, there), count in sorted(found.items()):
        if layer_of(here) == layer_of(there):
            continue
        (x1, y1), (x2, y2) = place[here], place[there]
        width = 0.6 + min(count, 40) / 20
        lines.append(
            f'<path d="M{x1} {y1 + 15} C{x1} {y1 + 45} {x2} {y2 - 45} {x2} {y2 - 15}" '
            f'fill="none" stroke="#2b6cb0" stroke-opacity=".35" stroke-width="{width:.1f}"/>'
        )
    for part, (x, y) in place.items():
        lines.append(
            f'<rect x="{x - 52}" y="{y - 15}" width="104" height="30" rx="5" fill="#ffffff" '
            f'stroke="#8795a8"/><text x="{x}" y="{y + 5}" text-anchor="middle" '
            f'fill="#1a2230">{part.removeprefix("rankers/")}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


def same_names() -> dict[str, list[str]]:
    """Return the names of classes and files that occur more than once, with their places."""
    places: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        shown = str(path.relative_to(PACKAGE))
        if path.name != "__init__.py":
            places.setdefault(path.name, []).append(shown)
        for node in ast.walk(_tree_of(path)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{shown}:{node.lineno}")
    return {name: found for name, found in places.items() if len(found) > 1}


_WIDTH = 1180


def _top(layer: int) -> int:
    return 20 + 84 * (len(LAYERS) - 1 - layer)


def _places() -> dict[str, tuple[int, int]]:
    """Return the middle of each part's box."""
    found = {}
    for number, parts in enumerate(LAYERS.values()):
        step = (_WIDTH - 120) / len(parts)
        for i, part in enumerate(parts):
            found[part] = (round(110 + step * (i + 0.5)), _top(number) + 33)
    return found


def _module_of(path: Path) -> str:
    names = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


@cache
def _tree_of(path: Path) -> ast.AST:
    """Return what a file says; both who imports whom and who is called what are read from it."""
    return ast.parse(path.read_text())


def _imported(tree: ast.AST, homes: dict[str, str]) -> Iterator[str]:
    """Yield the modules of toprank that a file imports, wherever in the file it does so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("toprank."))
        elif isinstance(node, ast.ImportFrom) and node.module == "toprank":
            for each in node.names:
                if each.name != "__version__":
                    yield homes.get(each.name, f"toprank.{each.name}")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toprank."):
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                yield inner if _is_module(inner) else str(node.module)


def _is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def _public_homes() -> dict[str, str]:
    """Return the module that each public name of the package comes from."""
    from toprank import HOMES

    return {name: home.partition(":")[0] for name, home in HOMES.items()}


if __name__ == "__main__":
    now = edges()
    if "--list" in sys.argv:
        for edge, n_imports in sorted(now.items()):
            print(f"{edge.importer} -> {edge.imported}: {n_imports}")
        print(*faults(now), sep="\n")
    else:
        PICTURE.write_text(svg(now))
