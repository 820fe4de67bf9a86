"""What all plots share: calm axes, the looks of the first and the other models, small words."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

# The first model is the one the reader came for; the others are thinner and also distinguished by
# their dashes, for readers and printers without colour.
MODEL_STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#1b5e9b", "linewidth": 2.0, "linestyle": "-"},
    {"color": "#b4552d", "linewidth": 1.3, "linestyle": (0, (5, 1.5))},
    {"color": "#3f7d58", "linewidth": 1.3, "linestyle": (0, (3, 1, 1, 1))},
    {"color": "#76619b", "linewidth": 1.3, "linestyle": (0, (1.5, 1))},
    {"color": "#8c6d1f", "linewidth": 1.3, "linestyle": (0, (7, 1.5, 1.5, 1.5))},
    {"color": "#9b3b66", "linewidth": 1.3, "linestyle": "-"},
)
ACCENT = MODEL_STYLES[0]["color"]
GREY = "#8a8f96"
INK = "#30363d"
FONT_SIZE = 9.0
MAX_POINTS = 400

_WIDTH, _HEIGHT = 4.6, 3.3  # inches: the text stays readable in a column 420 pixels wide


def calm(ax: Axes | None) -> Axes:
    """Return the axes, new when None, with no frame but the two lines that carry ticks."""
    if ax is None:
        ax = new_axes(height=_HEIGHT)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(colors=INK, color=GREY, labelsize=FONT_SIZE, length=3, which="both")
    ax.grid(color="#e7e9ec", linewidth=0.7)
    ax.set_axisbelow(True)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=INK, size=FONT_SIZE)
    return ax


def new_axes(height: float) -> Axes:
    """Return axes on a new figure, as wide as a column of text and so many inches high."""
    return Figure(figsize=(_WIDTH, height), layout="constrained").add_subplot()


def n_models(ax: Axes) -> int:
    """Return how many models are drawn already."""
    return sum(str(line.get_gid()).startswith("model-") for line in ax.lines)


def model_style(number: int) -> dict[str, Any]:
    """Return the looks of a model's line; the first is 0."""
    return MODEL_STYLES[number % len(MODEL_STYLES)]


def add_model(
    ax: Axes,
    x: NDArray,
    y: NDArray,
    label: str | None,
    measure: str,
    value: float,
    drawstyle: str,
) -> None:
    """Draw one more model's curve; its label comes with the value of a measure."""
    number = n_models(ax)
    style = model_style(number)
    # Later models go beneath the first one.
    (line,) = ax.plot(x, y, drawstyle=drawstyle, gid=f"model-{number}", zorder=3 - number / 100)
    line.set(**style)
    if label is not None:
        line.set_label(f"{label}, {measure} {_figure(value)}")
        legend(ax)


def unit_square(ax: Axes, xlabel: str, ylabel: str) -> None:
    """Let both axes run from 0 to 1, in percent."""
    ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel=xlabel, ylabel=ylabel)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(percent_tick))


def legend(ax: Axes) -> None:
    """Name the models above the axes: good and poor ones leave different corners free."""
    names = ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.2,
        frameon=False,
        fontsize=FONT_SIZE,
        labelcolor=INK,
        handlelength=2.2,
    )
    for text in names.get_texts():
        text.set_parse_math(False)


def small(
    ax: Axes,
    text: str,
    point: tuple[Any, Any],
    *,
    offset: tuple[float, float],
    colour: str = INK,
    ha: Any = "left",
    va: Any = "bottom",
) -> None:
    """Write `text` at a point of the data, moved by `offset` in printer's points."""
    ax.annotate(
        text,
        point,
        xytext=offset,
        textcoords="offset points",
        color=colour,
        size=FONT_SIZE,
        ha=ha,
        va=va,
        parse_math=False,
    )


def thinned(x: NDArray, y: NDArray) -> tuple[NDArray, NDArray]:
    """Return at most `MAX_POINTS` points of a curve, equally far apart along its path."""
    if x.size <= MAX_POINTS:
        return x, y
    travelled = np.append(0.0, np.cumsum(np.hypot(np.diff(x), np.diff(y))))
    stops = np.linspace(0, travelled[-1], MAX_POINTS - 1)
    kept = np.unique(np.append(np.searchsorted(travelled, stops), x.size - 1))
    return x[kept], y[kept]


def percent_tick(value: float, _: Any) -> str:
    """Return a tick in percent, as matplotlib calls for it; no digit of a tick is rounded away."""
    return f"{100 * value:g} %"


def shortened(name: object, length: int = 26) -> str:
    """Return a name that leaves room for what it names."""
    text = str(name)
    return text if len(text) <= length else text[: length - 1] + "…"


def _figure(value):
    """Return a number with three decimals, or two digits where these would say nothing."""
    return f"{value:.3f}" if value == 0 or 0.001 <= value < 1000 else f"{value:.1e}"
