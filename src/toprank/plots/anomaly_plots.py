"""Curves of a detector that knows no labels: mass-volume and excess mass."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from toprank.metrics import MassVolumeCurve
from toprank.plots.canvas import (
    GREY,
    MAX_POINTS,
    add_model,
    calm,
    n_models,
    percent_tick,
    small,
    thinned,
    unit_square,
)

_LITTLE_VOLUME = 0.01


def mass_volume_curves(curves: Mapping[str, MassVolumeCurve], ax: Axes | None = None) -> Axes:
    """Return axes with volume by mass, a curve per name; the lower, the better.

    Names come with the area under their curve (AMV). The volume is on a logarithmic scale as soon
    as one area is below 1 %, as is usual with more than a few columns.

    >>> from toprank.metrics import mass_volume_of_groups
    >>> ax = mass_volume_curves({"tree": mass_volume_of_groups([60, 30, 10], [1, 3, 6])})
    >>> ax.get_legend().get_texts()[0].get_text()
    'tree, AMV 0.175'
    """
    ax = calm(ax)
    if n_models(ax) == 0:
        ax.plot(*[np.linspace(0, 1, 101)] * 2, color=GREY, linewidth=1, gid="chance")
        small(ax, "chance", (0.5, 0.5), colour=GREY, offset=(-5, 5), ha="right")
    for name, curve in curves.items():
        add_model(ax, *thinned(*curve), name, "AMV", curve.area, "default")
    is_log = ax.get_yscale() == "log" or any(c.area < _LITTLE_VOLUME for c in curves.values())
    ax.set_yscale("linear")
    unit_square(ax, "Mass: share of rows", "Volume: share of the box")
    if is_log:
        ax.set(yscale="log", ylim=(_least_volume(ax), 4))
        ax.yaxis.set_minor_locator(NullLocator())
    return ax


def excess_mass_curves(curves: Mapping[str, MassVolumeCurve], ax: Axes | None = None) -> Axes:
    """Return axes with excess mass by level, a curve per name; the higher, the better.

    Names come with the area under their curve until it falls to 90 %, the grey line. Levels begin
    at 0.1, before which no curve has fallen so far.

    >>> from toprank.metrics import mass_volume_of_groups
    >>> ax = excess_mass_curves({"tree": mass_volume_of_groups([80, 15, 5], [1, 3, 6])})
    >>> ax.get_legend().get_texts()[0].get_text()
    'tree, area 0.118'
    """
    ax = calm(ax)
    if n_models(ax) == 0:
        ax.axhline(0.9, color=GREY, linewidth=1, gid="down-to")
    for name, curve in curves.items():
        excess = curve.excess_mass()
        # Straight pieces bend on a logarithmic scale, so they are drawn with many points.
        level = np.geomspace(0.1, max(excess.level[-1], 1.0), MAX_POINTS)
        height = np.interp(level, *excess)
        add_model(ax, level, height, name, "area", excess.area(), "default")
    ax.set(
        xscale="log",
        xlim=(0.1, None),
        ylim=(0, 1.02),
        xlabel="Level: times the even density of the box",
    )
    ax.set(ylabel="Excess mass")
    ax.yaxis.set_major_formatter(FuncFormatter(percent_tick))
    return ax


def _least_volume(ax):
    """Return the lowest volume worth showing: that of a hundredth of the rows, on any curve."""
    curves = [line.get_data() for line in ax.lines if str(line.get_gid()).startswith("model-")]
    volumes = [np.interp(0.01, mass, volume) for mass, volume in curves]
    return min((volume for volume in volumes if volume > 0), default=1e-9) / 2
