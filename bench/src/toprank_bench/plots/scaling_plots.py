"""How the seconds of a fit grow with the rows, drawn on logarithmic axes."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from toprank.plots.canvas import calm, legend, model_style, n_models


def seconds_by_rows(
    n_rows: Sequence[int], seconds: Mapping[str, Sequence[float]], ax: Axes | None = None
) -> Axes:
    """Return axes with the seconds of each learner by the number of rows.

    A learner with fewer seconds than there are sizes was not run on the larger ones. Names come
    with the power of the rows by which the seconds grow: the median slope of all pairs of points.

    >>> ax = seconds_by_rows([1_000, 2_000, 4_000], {"ours": [1, 2, 4], "theirs": [1, 4]})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['ours, power 1.00', 'theirs, power 2.00']
    """
    ax = calm(ax)
    for name, values in seconds.items():
        number = n_models(ax)
        sizes = n_rows[: len(values)]
        (line,) = ax.plot(sizes, values, "o", gid=f"model-{number}", zorder=3 - number / 100)
        line.set(**model_style(number), markersize=3.5, label=name + _power(sizes, values))
    ax.set(xscale="log", yscale="log", xlabel="Rows", ylabel="Seconds of a fit")
    ax.set_xticks(list(n_rows))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(_rows_tick))
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    legend(ax)
    return ax


def slopes(n_rows: Sequence[int], seconds: Sequence[float]) -> list[float]:
    """Return the power of the rows between each pair of points: 1 is as the rows grow.

    >>> slopes([1, 2, 4], [1.0, 4.0, 16.0])
    [2.0, 2.0, 2.0]
    """
    points = zip(np.log2(n_rows), np.log2(seconds), strict=True)
    return [float((b[1] - a[1]) / (b[0] - a[0])) for a, b in combinations(points, 2)]


def _power(n_rows: Sequence[int], seconds: Sequence[float]) -> str:
    return f", power {np.median(slopes(n_rows, seconds)):.2f}" if len(seconds) > 1 else ""


def _rows_tick(n_rows: float, _: int) -> str:
    """Return a number of rows as text, such as 125 k or 2 M."""
    return f"{n_rows / 1e6:g} M" if n_rows >= 1e6 else f"{n_rows / 1e3:g} k"
