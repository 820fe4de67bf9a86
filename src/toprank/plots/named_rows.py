"""One horizontal row per name: bars of importance, dots with their intervals."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from toprank.data import checks as check
from toprank.plots.canvas import ACCENT, calm, new_axes, shortened, small
from toprank.wording import percent


def importance(names: Sequence[str], shares: ArrayLike, ax: Axes | None = None) -> Axes:
    """Return axes with one horizontal bar per column, in the order given from the top.

    >>> ax = importance(["amount", "hour"], [0.8, 0.2])
    >>> [text.get_text() for text in ax.texts]
    ['80 %', '20 %']
    """
    shares = check.finite_vector(shares, "shares")
    if len(names) != shares.size:
        raise ValueError(f"shares must have {len(names)} values, one per name; got {shares.size}.")
    if ax is None:
        ax = new_axes(height=0.5 + 0.24 * max(shares.size, 1))
    ax = calm(ax)
    places = np.arange(shares.size)
    ax.barh(places, shares, height=0.62, color=ACCENT)
    ax.set_yticks(places, [shortened(name) for name in names], parse_math=False)
    ax.invert_yaxis()
    ax.set_xticks([])
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(False)
    for place, share in zip(places, shares, strict=True):
        small(ax, percent(share), (max(share, 0), place), offset=(4, 0), va="center")
    return ax


def intervals(
    names: Sequence[str], values: Sequence[tuple[float, float, float]], ax: Axes | None = None
) -> Axes:
    """Return axes with one dot and its interval per name, in the order given from the top.

    A value is its number with the low and the high end, as `metrics.interval` gives it.

    >>> ax = intervals(["ours", "theirs"], [(0.7, 0.6, 0.8), (0.5, 0.4, 0.6)])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['ours', 'theirs']
    """
    if len(names) != len(values):
        raise ValueError(f"values must be {len(names)}, one per name; got {len(values)}.")
    if ax is None:
        ax = new_axes(height=0.7 + 0.28 * len(names))
    ax = calm(ax)
    places = np.arange(len(names))
    middle, low, high = np.reshape(values, (-1, 3)).T
    ax.hlines(places, low, high, color=ACCENT, alpha=0.45, linewidth=2, gid="intervals")
    ax.plot(middle, places, "o", color=ACCENT, markersize=5, gid="values")
    ax.set_yticks(places, [shortened(name) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")
    return ax
