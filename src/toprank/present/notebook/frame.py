"""What all views share: a frame with its own styles, a table, and the words below it.

Colours come from the notebook: text and background are inherited, lines are a grey that can be
seen on white and on black. All selectors begin with the class of the frame, and name the table's
class as well, since notebooks have rules for tables of their own.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from toprank.present.report.markup import count, prose

MOST_ROWS = 20


def frame(heading: str, *parts: str) -> str:
    """Return a view: its heading, which is plain text, and its parts, which are HTML."""
    inside = "\n".join(part for part in parts if part)
    return (
        f'<div class="toprank-view">\n<style>{_style()}</style>\n'
        f'<p class="toprank-heading">{prose(heading)}</p>\n{inside}\n</div>'
    )


def paragraphs(lines: Sequence[str]) -> str:
    """Return lines as paragraphs; empty ones are left out."""
    return "\n".join(f"<p>{prose(line)}</p>" for line in lines if line)


def figures_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of HTML cells: first a name, then figures, aligned right."""
    return _table("toprank-table toprank-figures", headings, rows)


def list_table(headings: Sequence[str], rows: Sequence[Sequence[str]], n_rows: int) -> str:
    """Return a table of HTML cells, and how many of `n_rows` rows are left out."""
    more = n_rows - len(rows)
    rest = f'<p class="toprank-more">and {count(more)} more.</p>' if more > 0 else ""
    return _table("toprank-table", headings, rows) + rest


def drawing(svg: str) -> str:
    """Return a picture on white, which can be scrolled where it is wider than the cell."""
    return (
        f'<div class="toprank-drawing" tabindex="0" role="group" aria-label="Drawing">{svg}</div>'
    )


def bar(share: float) -> str:
    """Return a bar that is full at 1."""
    return (
        f'<span class="toprank-bar" aria-hidden="true">'
        f'<i style="width:{100 * min(max(share, 0.0), 1.0):.1f}%"></i></span>'
    )


def range_bar(value: float, low: float, high: float, most: float) -> str:
    """Return a line from `low` to `high` with a dot at the value, on a scale from 0 to `most`."""
    left, right, dot = (100 * min(max(each / most, 0.0), 1.0) for each in (low, high, value))
    return (
        '<span class="toprank-range" aria-hidden="true">'
        f'<i style="left:{left:.1f}%;width:{right - left:.1f}%"></i>'
        f'<b style="left:{dot:.1f}%"></b></span>'
    )


def _table(classes: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{each}</th>' for each in headings)
    body = "\n".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for first, *cells in rows
    )
    return (
        '<div class="toprank-wide" tabindex="0" role="group" aria-label="Table">'
        f'<table class="{classes}"><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


@cache
def _style() -> str:
    path = files("toprank.present.notebook").joinpath("notebook.css")
    return path.read_text(encoding="utf-8")
