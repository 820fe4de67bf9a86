"""The report's figures as inline SVG: text stays text, and the same data gives the same bytes.

matplotlib is loaded when the first figure is drawn: the pages of lists do without.
"""

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from toprank.metrics import MassVolumeCurve
from toprank.present.report.contents import CardDays, ModelFigures
from toprank.present.report.markup import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SETTINGS = {
    # Shipped with matplotlib, so sizes are the same everywhere; the page puts its own font in.
    "font.family": ["DejaVu Sans"],
    "svg.fonttype": "none",
    "svg.hashsalt": "toprank",
}
_SMALLEST_TREE = 0.75
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def checks_figure(model: ModelFigures, budget: int | None, title: str) -> str:
    """Return precision and recall by number of checks."""
    with settings():
        ax = _plots().checks(model.y, model.suspicion, budget=budget)
        return inline_svg(ax, "checks-figure", title)


def precision_recall_figure(models: Sequence[ModelFigures], title: str) -> str:
    """Return the precision-recall curves of all models."""
    return _curves_figure(_plots().precision_recall, models, "precision-recall-figure", title)


def roc_figure(models: Sequence[ModelFigures], title: str) -> str:
    """Return the ROC curves of all models."""
    return _curves_figure(_plots().roc, models, "roc-figure", title)


def calibration_figure(model: ModelFigures, title: str) -> str:
    """Return the share of positives by predicted probability."""
    with settings():
        ax = _plots().calibration(model.y, model.probability)
        return inline_svg(ax, "calibration-figure", title)


def importance_figure(shares: Sequence[tuple[str, float]], title: str) -> str:
    """Return one bar per column."""
    with settings():
        names = [printable(name) for name, _ in shares]
        ax = _plots().importance(names, [share for _, share in shares])
        return inline_svg(ax, "importance-figure", title)


def cards_figure(days: CardDays, title: str) -> str:
    """Return the share of each day's checks that found a card."""
    with settings():
        shares = {printable(name): values for name, values in days.shares.items()}
        ax = _plots().card_precision_by_day(days.dates, shares, days.possible)
        return inline_svg(ax, "cards-figure", title)


def mass_volume_figure(curve: MassVolumeCurve, name: str, title: str) -> str:
    """Return the share of the box by the share of rows it holds."""
    with settings():
        ax = _plots().mass_volume_curves({printable(name): curve})
        return inline_svg(ax, "mass-volume-figure", title)


def tree_figure(svg: str, title: str) -> str:
    """Return the picture of a tree in its own size, or smaller as long as it can be read."""
    drawing = _page_drawing(ET.fromstring(svg), "tree-figure", title)
    least = _SMALLEST_TREE * float(drawing.attrib["width"])
    drawing.set("style", f"min-width: {least:.0f}px")
    return ET.tostring(drawing, encoding="unicode")


def _curves_figure(
    draw: Callable[..., Any], models: Sequence[ModelFigures], name: str, title: str
) -> str:
    with settings():
        chosen, *others = models
        ax = draw(chosen.y, chosen.suspicion, label=printable(chosen.name))
        for model in others:
            draw(model.y, model.suspicion, ax, printable(model.name))
        return inline_svg(ax, name, title)


def settings() -> AbstractContextManager[None]:
    """Return matplotlib's settings for figures of a page, to be used in a `with`."""
    import matplotlib as mpl

    return mpl.rc_context(_SETTINGS)


def inline_svg(ax: "Axes", name: str, title: str) -> str:
    """Return the figure as an `<svg>` element for a page that holds several of them."""
    drawing = _page_drawing(ET.fromstring(_svg_file(ax)), name, title)
    for size in ("width", "height", "version"):
        drawing.attrib.pop(size, None)
    return ET.tostring(drawing, encoding="unicode")


def _page_drawing(drawing: ET.Element, name: str, title: str) -> ET.Element:
    """Return a drawing with the title and the ids of its own that it needs within a page."""
    for parent in list(drawing.iter()):
        for element in list(parent):
            if _local(element.tag) == "style":
                parent.remove(element)  # it would reach the whole page; ours has the same rule
    for element in drawing.iter():
        element.tag = _local(element.tag)
        element.attrib = {
            _local(key): _page_value(_local(key), value, name)
            for key, value in element.attrib.items()
        }
    drawing.attrib |= {"role": "img", "aria-labelledby": f"{name}-title", "id": name}
    if drawing[0].tag == "title":
        drawing.remove(drawing[0])
    heading = ET.Element("title", {"id": f"{name}-title"})
    heading.text = printable(title)
    drawing.insert(0, heading)
    return drawing


def _plots() -> Any:
    from toprank import plots

    return plots


def _svg_file(ax):
    file = io.BytesIO()
    with warnings.catch_warnings():
        # A name in a script the font lacks is drawn by the reader's browser, not here.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        ax.figure.savefig(file, format="svg", transparent=True, metadata=_NO_METADATA)
    return file.getvalue()


def _local(name):
    """Return a name without its namespace: inside HTML an `<svg>` needs none."""
    return name.rpartition("}")[2]


def _page_value(key, value, name):
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return value.replace("#", f"#{name}-")
    if key == "d":
        return _coordinates(value)
    return value.replace("url(#", f"url(#{name}-").replace("'DejaVu Sans'", "inherit")


def _coordinates(path):
    """Return a path with coordinates to a hundredth of a point and without line breaks."""
    rounded = re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.2f}", path)
    return " ".join(rounded.split())
