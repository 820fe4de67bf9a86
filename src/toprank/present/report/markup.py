"""Pieces of HTML: escaped text, tables, numbers as a reader writes them."""

import html
import math
import re
from collections.abc import Iterable, Sequence

from toprank import wording
from toprank.metrics import Interval

_WHOLE = re.compile(r"\d[\d.,]*-[.\d][\d.,]*\d( %)?|\d+-\d+( %)?|\d[\d.,]* %")


def text(value: object) -> str:
    """Return `value` as text that HTML shows and never obeys.

    >>> text("<b>")
    '&lt;b&gt;'
    """
    return html.escape(printable(str(value)))


def prose(value: object) -> str:
    """Return `value` as `text` does, with no line broken inside a range or before a percent sign.

    >>> prose("most days 3-13, 83 %")
    'most days <span class="whole">3-13</span>, <span class="whole">83 %</span>'
    """
    return _WHOLE.sub(r'<span class="whole">\g<0></span>', text(value))


def printable(value: str) -> str:
    """Return `value` with a blank for each character that no page can hold.

    >>> printable("two\\nlines")
    'two lines'
    """
    return "".join(letter if letter.isprintable() else " " for letter in value)


def section(name: str, heading: str, *parts: str) -> str:
    """Return a section of the page; `name` is its address within the page."""
    inside = "\n".join(part for part in parts if part)
    return f'<section id="{name}">\n<h2>{heading}</h2>\n{inside}\n</section>'


def table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of ready-made HTML cells; the first cell of a row is its heading."""
    head = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
    body = "\n".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for first, *cells in rows
    )
    return (
        # Focusable, so that a table wider than the screen can be scrolled by keyboard.
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}">'
        f"<table>\n<caption>{caption}</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def count(number: int) -> str:
    """Return a count with its thousands separated by commas.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,}"


def percent(share: float) -> str:
    """Return a share in percent, as text of a page.

    >>> percent(0.834), percent(0.0084), percent(0.99999)
    ('83 %', '0.84 %', '&gt;99 %')
    """
    return text(wording.percent(share))


def interval(measured: Interval, form: str = ".3f") -> str:
    """Return a value with its bounds, each written in `form` (`%` for `percent`).

    >>> interval(Interval(83.2, 79, 88.4), ".0f")
    '83 <span class="bounds">(79-88)</span>'
    >>> interval(Interval(0.832, 0.79, 0.884), ".2f")
    '.83 <span class="bounds">(.79-.88)</span>'
    """
    if not math.isfinite(measured.value):
        return "not known"
    shown = [_number(n, form) for n in measured[:3]]
    if not (math.isfinite(measured.low) and math.isfinite(measured.high)):
        return shown[0]
    low, high = shown[1].removesuffix(" %"), shown[2]
    return f'{shown[0]} <span class="bounds">({low}-{high})</span>'


def _number(number: float, form: str) -> str:
    if form == "%":
        return percent(number)
    # ratios have no zero before their point, as on the screen
    return wording.decimal(number, int(form[1])) if form in (".2f", ".3f") else f"{number:,{form}}"
