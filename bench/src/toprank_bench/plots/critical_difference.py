"""Mean ranks of methods over data sets, and which of them do not differ significantly."""

from collections.abc import Sequence
from typing import Protocol

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toprank.plots.canvas import ACCENT, GREY, INK, calm, small

_WIDTH = 8.4  # inches: wider than a curve, since long names are on both sides
_ROW = 0.24  # inches between two names
_BAR = 0.45  # between two bars, in rows
_ABOVE = 2.6  # from the axis up to the end of the drawing, in rows
_NAME_LENGTH = 34
_MOST_NUMBERS = 8  # along the axis: names may leave it little room


class RankedMethods(Protocol):
    """Mean ranks and Nemenyi's test: what `method_comparison.MethodComparison` has."""

    @property
    def datasets(self) -> Sequence[str]: ...
    @property
    def mean_ranks(self) -> dict[str, float]: ...
    def critical_difference(self, alpha: float = 0.05) -> float: ...
    def groups(self, alpha: float = 0.05) -> list[tuple[str, ...]]: ...


def critical_difference(
    comparison: RankedMethods, ax: Axes | None = None, *, alpha: float = 0.05
) -> Axes:
    """Return axes with the mean rank of each method.

    A bar joins methods that do not differ significantly.

    The best rank is at the left, the better half of the names too. A bar at the top is as long as
    the critical difference. Names are outside the axes: in a figure of your own, leave them
    room (`layout="constrained"` does).

    >>> from toprank_bench.method_comparison import MethodComparison
    >>> comparison = MethodComparison.of(
    ...     {"data": number, "seed": 0, "method": method, "value": value}
    ...     for number in range(20)
    ...     for method, value in (("ours", 0.8), ("theirs", 0.7))
    ... )
    >>> ax = critical_difference(comparison)
    >>> [text.get_text() for text in ax.texts]
    ['critical difference 0.44 (5 %)', 'ours  1.00', '2.00  theirs']
    """
    ranks = comparison.mean_ranks
    apart, groups = comparison.critical_difference(alpha), comparison.groups(alpha)
    bars = [(ranks[group[0]], ranks[group[-1]]) for group in groups]
    # bars that all but touch would read as one
    levels = _levels(bars, gap=0.03 * (len(ranks) - 1))
    first_row = 1 + _BAR * (max(levels, default=-1) + 1)
    height = first_row + (len(ranks) + 1) // 2
    if ax is None:
        figure = Figure(figsize=(_WIDTH, _ROW * (height + _ABOVE) + 0.2), layout="constrained")
        ax = figure.add_subplot()
    ax = calm(ax)
    _rank_axis(ax, len(ranks), apart, height, len(comparison.datasets))
    _ruler(ax, apart, alpha)
    for (begin, end), level in zip(bars, levels, strict=True):
        y = 0.55 + _BAR * level
        # a little beyond both ends, so that a bar between equal ranks is seen
        reach = 0.008 * (ax.get_xlim()[1] - 1)
        ax.plot(
            [begin - reach, end + reach],
            [y, y],
            color=INK,
            linewidth=3.2,
            solid_capstyle="butt",
            gid="alike",
        )
    _names(ax, ranks, first_row)
    return ax


def _rank_axis(ax: Axes, n_methods: int, apart: float, height: float, n_datasets: int) -> None:
    """Let the ranks run along a line below the ruler, with nothing else around."""
    ax.grid(False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.spines["top"].set(visible=True, color=INK, position=("data", 0))
    ax.set_yticks([])
    ax.set(xlim=(1, max(n_methods, 1 + apart)), ylim=(height, -_ABOVE))
    ax.spines["top"].set_bounds(1, n_methods)
    ax.xaxis.tick_top()
    ax.set_xticks(range(1, n_methods + 1, -(-n_methods // _MOST_NUMBERS)))
    ax.set_xticks(range(1, n_methods + 1), minor=True)
    ax.tick_params(axis="x", which="both", top=True, bottom=False, color=INK)
    sets = f"{n_datasets} data set{'' if n_datasets == 1 else 's'}"
    ax.set_xlabel(
        f"Mean rank over {sets} (1 is best). A bar joins methods that do not differ significantly."
    )
    ax.xaxis.set_label_position("bottom")


def _ruler(ax: Axes, apart: float, alpha: float) -> None:
    """Draw the critical difference to scale, from rank 1."""
    y = 0.35 - _ABOVE
    ax.plot([1, 1 + apart], [y, y], color=ACCENT, linewidth=1.6, marker="|", markersize=7)
    ax.lines[-1].set(gid="critical-difference", clip_on=False)
    words = f"critical difference {apart:.2f} ({100 * alpha:g} %)"
    small(ax, words, (1 + apart, y), offset=(6, 0), va="center")


def _names(ax: Axes, ranks: dict[str, float], first_row: float) -> None:
    """Write the better half at the left and the others at the right, each led to its rank."""
    names = list(ranks)
    n_left = (len(names) + 1) // 2
    left, right = names[:n_left], names[n_left:][::-1]
    low, high = ax.get_xlim()
    for row, name in enumerate(left):
        y = first_row + row
        _leader(ax, ranks[name], y, low)
        words = f"{_without_middle(name)}  {ranks[name]:.2f}"
        small(ax, words, (low, y), offset=(-4, 0), ha="right", va="center")
    for row, name in enumerate(right):
        y = first_row + row
        _leader(ax, ranks[name], y, high)
        words = f"{ranks[name]:.2f}  {_without_middle(name)}"
        small(ax, words, (high, y), offset=(4, 0), va="center")


def _leader(ax: Axes, rank: float, y: float, side: float) -> None:
    ax.plot([rank, rank, side], [0, y, y], color=GREY, linewidth=0.9, gid="leader", zorder=1)
    ax.lines[-1].set_clip_on(False)


def _without_middle(name: str) -> str:
    """Return a name with its middle left out: variants of a method often differ at the end."""
    if len(name) <= _NAME_LENGTH:
        return name
    n_last = _NAME_LENGTH // 3
    return f"{name[: _NAME_LENGTH - n_last - 1]}…{name[-n_last:]}"


def _levels(bars: list[tuple[float, float]], gap: float) -> list[int]:
    """Return how far down each bar is: the highest place where it stays clear of all others."""
    ends: list[float] = []  # of the last bar on each level
    levels = []
    for begin, end in bars:
        free = [level for level, last in enumerate(ends) if last + gap < begin]
        level = free[0] if free else len(ends)
        ends[level : level + 1] = [end]
        levels.append(level)
    return levels
