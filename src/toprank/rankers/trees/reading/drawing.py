"""A ranking tree drawn: as text for a terminal or a mail, as Graphviz DOT and as an SVG picture.

Each cut asks a question; yes is the more suspicious way. A group reached by several paths is drawn
once, and groups are in order, the most suspicious on the left.
"""

import re
import unicodedata
from dataclasses import dataclass
from xml.sax.saxutils import escape

from toprank.data.tables import MAX_CATEGORIES
from toprank.rankers.trees.reading.compact import CompactGroup, Cut, Graph, rank_of
from toprank.rankers.trees.reading.layout import Line, TreeLayout, layout
from toprank.rankers.trees.reading.seen import Seen
from toprank.rankers.trees.reading.words import Words, headline, tally_text

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_INK, _SOFT, _BORDER, _WHITE = "#1f2933", "#5b6570", "#b8bfc8", "#ffffff"
_ACCENT = "#1b5e9b"
_YES, _NO = "#5487b4", "#a7abb0"  # lines are paler than the words next to them
_PALE, _DEEP = (0xEE, 0xF3, 0xF8), (0x1B, 0x5E, 0x9B)
_SIZE, _SMALL, _LARGE = 13.0, 11.0, 18.0
_MARGIN, _GAP, _DROP, _STUB = 24.0, 22.0, 58.0, 14.0
_PADDING = 12.0
_NARROWEST = 92.0
_LINE_HEIGHT = 17.0
_GROUP_HEIGHT = 74.0
_LEGEND = 30.0
_WIDEST_LINE = 190.0
_MOST_LINES = 3


def as_text(graph: Graph, seen: Seen | None = None, noun: str = "positives") -> str:
    """Return the cuts, indented below one another, and then the groups in a table.

    A cut reached by several paths is written once; elsewhere only its number is.

    >>> import numpy as np
    >>> from toprank.rankers.trees.reading.compact import compact
    >>> from toprank.rankers.trees.meta_ap import MetaAP
    >>> hours = np.arange(24.0)[:, None]
    >>> ranker = MetaAP().fit(hours, np.isin(hours[:, 0], [1, 2, 4, 5, 23]))
    >>> print(as_text(compact(ranker.tree_, ranker.schema_), noun="frauds"))
    1. x0 <= 5.5?  5 frauds in 24
    ├─ yes: group 1
    └─ no:  2. x0 > 18.5?  1 fraud in 18
       ├─ yes: group 2
       └─ no:  group 3
    <BLANKLINE>
    group 1  67 %  4 frauds in 6
    group 2  20 %  1 fraud in 5
    group 3   0 %  0 frauds in 13
    """
    words = Words(graph, seen, most_names=4)
    numbers: dict[int, int] = {}
    lines: list[str] = []
    # a place with its prefixes: on its own line, and on the lines below it
    to_write = [(graph.root, "", "")]
    while to_write:
        place, before, indent = to_write.pop()
        if place < 0:
            lines.append(f"{before}group {rank_of(place) + 1}")
        elif place in numbers:
            lines.append(f"{before}to {numbers[place]}")
        else:
            numbers[place] = len(numbers) + 1
            cut = graph.cuts[place]
            question = f"{numbers[place]}. {_question(words, cut)}"
            lines.append(f"{before}{question}  {tally_text(cut.tally, noun)}")
            to_write.append((cut.no, f"{indent}└─ no:  ", f"{indent}   "))
            to_write.append((cut.yes, f"{indent}├─ yes: ", f"{indent}│  "))
    return "\n".join([*lines, "", *_group_table(graph, noun)])


def as_dot(graph: Graph, seen: Seen | None = None, noun: str = "positives") -> str:
    """Return the graph in the language of Graphviz."""
    words = Words(graph, seen, most_names=4)
    lines = [
        "digraph ranking_tree {",
        f'  graph [bgcolor="white", ranksep=0.5, fontcolor="{_INK}"];',
        f'  node [shape=box, style="rounded,filled", fillcolor="white", color="{_BORDER}", '
        f'fontcolor="{_INK}", fontname="Helvetica,Arial,sans-serif", fontsize=11];',
        f'  edge [color="{_NO}", fontcolor="{_SOFT}", fontname="Helvetica,Arial,sans-serif", '
        "fontsize=10, arrowsize=0.6];",
    ]
    for number, cut in enumerate(graph.cuts):
        label = _dot_label(_question(words, cut), tally_text(cut.tally, noun))
        lines.append(f"  cut{number} [label={label}];")
        lines.append(f'  cut{number} -> {_dot_name(cut.yes)} [label="yes", color="{_YES}"];')
        lines.append(f'  cut{number} -> {_dot_name(cut.no)} [label="no"];')
    lines.append("  { rank=same;")
    for group, (fill, ink) in zip(graph.groups, _colours(graph), strict=True):
        label = _dot_label(*_group_lines(group, noun))
        lines.append(
            f"    {_dot_name(-1 - group.rank)} [label={label}, "
            f'fillcolor="{fill}", fontcolor="{ink}"];'
        )
    names = " -> ".join(_dot_name(-1 - group.rank) for group in graph.groups)
    if len(graph.groups) > 1:  # an invisible chain keeps them in order
        lines.append(f"    {names} [style=invis];")
    return "\n".join([*lines, "  }", "}", ""])


def as_svg(
    graph: Graph,
    seen: Seen | None = None,
    noun: str = "positives",
    title: str = "Ranking tree",
) -> str:
    """Return a self-contained picture: on white, without style sheets or fonts to load.

    Lines are wider the more rows follow them; groups are darker the higher their share of
    positives.
    """
    words = Words(graph, seen, most_names=3, at_most="≤")
    all_names = Words(graph, seen, most_names=MAX_CATEGORIES + 1, at_most="≤")
    boxes = [_cut_box(cut, words, all_names, noun) for cut in graph.cuts]
    boxes += [_group_box(group, noun) for group in graph.groups]
    placed = layout(graph, [box.width for box in boxes], _GAP)
    heights = _row_heights(boxes, placed)
    tops = [_MARGIN + sum(heights[:i]) + _DROP * i for i in range(len(heights))]
    width = 2 * _MARGIN + max(placed.across[i] + box.width / 2 for i, box in enumerate(boxes))
    height = tops[-1] + heights[-1] + _LEGEND + _MARGIN
    parts = [_lines(graph, placed, boxes, tops, heights)]
    parts += [_answers(i, placed, boxes, tops) for i in range(len(graph.cuts))]
    colours = [(_WHITE, _INK)] * len(graph.cuts) + _colours(graph)
    parts += [
        _box(box, colour, placed.across[i] + _MARGIN, tops[placed.layer[i]])
        for i, (box, colour) in enumerate(zip(boxes, colours, strict=True))
    ]
    parts.append(_legend(graph, width, tops[-1] + heights[-1]))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" '
            f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'font-family="{_FONT}" font-size="{_SIZE:g}" fill="{_INK}">',
            f"<title>{_xml(title)}</title>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


@dataclass(frozen=True)
class _Box:
    """A box to draw: its lines of text, and the tooltip."""

    lines: tuple[tuple[str, float, bool], ...]  # text, size, whether it is bold
    width: float
    height: float
    tooltip: str


def _question(words: Words, cut: Cut) -> str:
    return f"{words.condition(cut.column, cut.yes_if) or 'any'}?"


def _group_lines(group: CompactGroup, noun: str) -> tuple[str, str, str]:
    return f"group {group.rank + 1}", headline(group.tally, noun), tally_text(group.tally, noun)


def _group_table(graph: Graph, noun: str) -> list[str]:
    rows = [_group_lines(group, noun) for group in graph.groups]
    wide = [max(len(row[i]) for row in rows) for i in range(3)]
    return [
        f"{name:<{wide[0]}}  {share:>{wide[1]}}  {tally:<{wide[2]}}".rstrip()
        for name, share, tally in rows
    ]


def _dot_name(place: int) -> str:
    return f"cut{place}" if place >= 0 else f"group{rank_of(place) + 1}"


def _dot_label(*lines: str) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(" ".join(line.split()) for line in escaped) + '"'


def _colours(graph: Graph) -> list[tuple[str, str]]:
    """Return fill and ink of every group, by its share of positives against the highest."""
    highest = max(group.tally.precision for group in graph.groups) or 1.0
    colours = []
    for group in graph.groups:
        strength = (group.tally.precision / highest) ** 0.6
        mixed = (a + (b - a) * strength for a, b in zip(_PALE, _DEEP, strict=True))
        fill = "#" + "".join(f"{round(each):02x}" for each in mixed)
        colours.append((fill, max(_WHITE, _INK, key=lambda ink: _contrast(ink, fill))))
    return colours


def _contrast(colour: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    light, dark = sorted((_luminance(colour), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return sum(
        share * part**2.2 for share, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True)
    )


def _cut_box(cut: Cut, words: Words, all_names: Words, noun: str) -> _Box:
    tally = tally_text(cut.tally, noun)
    lines = _wrapped(_question(words, cut))
    texts = [(line, _SIZE, True) for line in lines] + [(tally, _SMALL, False)]
    tooltip = f"{_question(all_names, cut)} {tally}"
    return _fitted(texts, tooltip, len(texts) * _LINE_HEIGHT + _PADDING)


def _group_box(group: CompactGroup, noun: str) -> _Box:
    name, share, tally = _group_lines(group, noun)
    texts = [(name, _SMALL, True), (share, _LARGE, True), (tally, _SMALL, False)]
    return _fitted(texts, f"{name}: {tally} ({share})", _GROUP_HEIGHT)


def _fitted(texts: list[tuple[str, float, bool]], tooltip: str, height: float) -> _Box:
    width = max(_text_width(text, size, is_strong) for text, size, is_strong in texts)
    return _Box(tuple(texts), max(width + 2 * _PADDING, _NARROWEST), height, tooltip)


def _wrapped(text: str) -> list[str]:
    """Return the text in lines that fit a box; longer text is shortened."""
    lines = [""]
    for word in text.replace("(or missing", "(or\u00a0missing").split(" "):
        word = _cut_short(word)
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and _text_width(longer, _SIZE, True) > _WIDEST_LINE:
            lines.append(word)
        else:
            lines[-1] = longer
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1]} …"]
    return lines


def _cut_short(word: str) -> str:
    """Return a word, without its middle if it is too wide for a line: names differ at the ends."""
    n_kept = len(word)
    shown = word
    while _text_width(shown, _SIZE, True) > _WIDEST_LINE:
        n_kept -= 1
        shown = f"{word[: (n_kept + 1) // 2]}…{word[len(word) - n_kept // 2 :]}"
    return shown


def _text_width(text: str, size: float, is_strong: bool) -> float:
    """Return about how wide a text is drawn; fonts differ, so this errs on the wide side."""
    return size * (1.06 if is_strong else 1.0) * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    if letter in "iljtfrI.,:;'|!()[] ":
        return 0.36
    if letter in "mwMW@%…":
        return 0.92
    return 0.7 if letter.isupper() or letter in "<>=_" else 0.59


def _row_heights(boxes: list[_Box], placed: TreeLayout) -> list[float]:
    heights = [0.0] * (max(placed.layer) + 1)
    for box, layer in zip(boxes, placed.layer, strict=False):
        heights[layer] = max(heights[layer], box.height)
    return heights


def _lines(
    graph: Graph,
    placed: TreeLayout,
    boxes: list[_Box],
    tops: list[float],
    heights: list[float],
) -> str:
    bottoms = [top + height for top, height in zip(tops, heights, strict=True)]
    n_all = max(graph.tally.n_rows, 1.0)
    # grey ones first: where lines meet, the more suspicious is on top
    ordered = sorted(placed.lines, key=lambda line: line.answers == {"yes"})
    drawn = [
        _line(
            line,
            placed,
            tops,
            bottoms,
            boxes[line.begin] if line.begin < len(boxes) else None,
            n_all,
        )
        for line in ordered
    ]
    return "\n".join(['<g fill="none" stroke-linejoin="round">', *drawn, "</g>"])


def _line(
    line: Line,
    placed: TreeLayout,
    tops: list[float],
    bottoms: list[float],
    box: _Box | None,
    n_all: float,
) -> str:
    """Return a curve from below a box, or from the top of a bend, to the top of the next item."""
    layer = placed.layer[line.begin]
    x, y = placed.across[line.begin] + _MARGIN, tops[layer]
    if box is not None:
        x, y = x + line.port * box.width / 4, y + box.height
    end_x, end_y = placed.across[line.end] + _MARGIN, tops[layer + 1]
    # straight past its own row and the words yes and no, so that it crosses neither
    turn = bottoms[layer] + _STUB
    half = (turn + end_y) / 2
    path = (
        f"M{x:.1f} {y:.1f} V{turn:.1f} "
        f"C{x:.1f} {half:.1f} {end_x:.1f} {half:.1f} {end_x:.1f} {end_y:.1f}"
    )
    colour = _YES if line.answers == {"yes"} else _NO
    wide = 1.2 + 4.0 * (line.n_rows / n_all) ** 0.5
    return f'<path d="{path}" stroke="{colour}" stroke-width="{wide:.2f}"/>'


def _answers(number: int, placed: TreeLayout, boxes: list[_Box], tops: list[float]) -> str:
    """Return the words yes and no where the two ways leave a box."""
    box, x = boxes[number], placed.across[number] + _MARGIN
    y = tops[placed.layer[number]] + box.height + 11
    left, right = x - box.width / 4 - 5, x + box.width / 4 + 5
    return (
        f'<text x="{left:.1f}" y="{y:.1f}" font-size="10" text-anchor="end" '
        f'fill="{_ACCENT}">yes</text>'
        f'<text x="{right:.1f}" y="{y:.1f}" font-size="10" fill="{_SOFT}">no</text>'
    )


def _box(box: _Box, colours: tuple[str, str], x: float, y: float) -> str:
    fill, ink = colours
    parts = [
        f"<g><title>{_xml(box.tooltip)}</title>"
        f'<rect x="{x - box.width / 2:.1f}" y="{y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="6" fill="{fill}" stroke="{_BORDER}"/>'
    ]
    text_height = sum(_line_step(size) for _, size, _ in box.lines)
    baseline = y + (box.height - text_height) / 2
    for text, size, is_strong in box.lines:
        baseline += _line_step(size)
        weight = ' font-weight="600"' if is_strong else ""
        colour = _SOFT if fill == _WHITE and not is_strong else ink
        parts.append(
            f'<text x="{x:.1f}" y="{baseline - 0.3 * size:.1f}" font-size="{size:g}"{weight} '
            f'text-anchor="middle" fill="{colour}">{_xml(text)}</text>'
        )
    return "".join([*parts, "</g>"])


def _line_step(size: float) -> float:
    return size * 1.3


def _legend(graph: Graph, width: float, y: float) -> str:
    if len(graph.groups) < 2:
        return ""
    return (
        f'<g font-size="{_SMALL:g}" fill="{_SOFT}">'
        f'<text x="{_MARGIN:g}" y="{y + _LEGEND - 8:.1f}">← most suspicious</text>'
        f'<text x="{width - _MARGIN:.1f}" y="{y + _LEGEND - 8:.1f}" text-anchor="end">'
        "least suspicious →</text></g>"
    )


def _xml(text: str) -> str:
    """Return the text escaped, with characters that XML does not allow replaced."""
    kept = re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "�", text)
    return escape(kept)
