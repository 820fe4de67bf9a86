"""Curves of a ranking, drawn on matplotlib axes.

Every function draws on `ax`, or on a new figure of its own when none is given, and returns the
axes: `plots.roc(y, suspicion).figure.savefig("roc.svg")`. Another call on the same axes adds
another model. Nothing here touches pyplot's global state.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray

from toprank import checks as check
from toprank.metrics import (
    MassVolumeCurve,
    average_precision,
    calibration_curve,
    checks_curve,
    precision_recall_curve,
    roc_auc,
    roc_curve,
)

# The first model is the one the reader came for; the others stay thinner and are also told apart
# by their dashes, for readers and printers without colour.
_MODEL_STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#1b5e9b", "linewidth": 2.0, "linestyle": "-"},
    {"color": "#b4552d", "linewidth": 1.3, "linestyle": (0, (5, 1.5))},
    {"color": "#3f7d58", "linewidth": 1.3, "linestyle": (0, (3, 1, 1, 1))},
    {"color": "#76619b", "linewidth": 1.3, "linestyle": (0, (1.5, 1))},
)
_DASHES = {"precision": "-", "recall": (0, (4, 1.5))}
_ACCENT = _MODEL_STYLES[0]["color"]
_GREY = "#8a8f96"
_INK = "#30363d"
_FONT_SIZE = 9.0
_MAX_POINTS = 400
_LITTLE_VOLUME = 0.01
_WIDTH, _HEIGHT = 4.6, 3.3  # inches: the text stays readable in a column 420 pixels wide


def checks(
    y: ArrayLike, suspicion: ArrayLike, *, budget: int | None = None, ax: Axes | None = None
) -> Axes:
    """Return axes with precision and recall by number of checks, with their 95 % bands.

    Grey lines show what checking rows at random would give; `budget` marks that many checks.

    >>> ax = checks([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1], budget=2)
    >>> [text.get_text() for text in ax.texts]
    ['chance 40%', '2 checks', 'precision 50%', 'recall 50%']
    """
    suspicion = check.finite_vector(suspicion, "suspicion")
    y = check.positives(y, like=suspicion)
    ax = _calm(ax)
    curve = checks_curve(y, suspicion)
    if _n_models(ax) == 0:
        _chance_by_checks(ax, curve.checks, y)
    colour = _add_checks_curves(ax, curve)
    _scale_checks(ax, y.size)
    if budget is None:
        # Each is named where the two are furthest apart.
        apart = np.argmax(np.abs(curve.precision - curve.recall))
        for name in ("precision", "recall"):
            point = (curve.checks[apart], getattr(curve, name)[apart])
            _name_curve(ax, curve, name, point, colour)
    else:
        budget = check.whole_number(budget, "budget", 1, y.size)
        _mark_budget(ax, curve, checks_curve(y, suspicion, checks=[budget]), colour)
    return ax


def precision_recall(
    y: ArrayLike, suspicion: ArrayLike, ax: Axes | None = None, label: str | None = None
) -> Axes:
    """Return axes with the precision-recall curve; its area is the average precision.

    >>> ax = precision_recall([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], label="ours")
    >>> ax.get_legend().get_texts()[0].get_text()
    'ours, AP 0.833'
    """
    suspicion = check.finite_vector(suspicion, "suspicion")
    y = check.positives(y, like=suspicion)
    ax = _calm(ax)
    curve = precision_recall_curve(y, suspicion)
    if _n_models(ax) == 0:
        share = float(y.mean())
        ax.axhline(share, color=_GREY, linewidth=1, gid="chance")
        _small(ax, f"chance {_percent(share)}", (0.02, share), colour=_GREY, offset=(0, 2))
    recall, precision = _thinned(*_from_no_recall(curve.recall, curve.precision))
    # Average precision gives each step of recall the precision reached at its end.
    _add_model(ax, recall, precision, label, "AP", average_precision(y, suspicion), "steps-pre")
    _unit_square(ax, "Recall: share of all positives found", "Precision: share of checks right")
    return ax


def roc(
    y: ArrayLike, suspicion: ArrayLike, ax: Axes | None = None, label: str | None = None
) -> Axes:
    """Return axes with the ROC curve: positives found by false alarms raised.

    >>> ax = roc([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], label="ours")
    >>> ax.get_legend().get_texts()[0].get_text()
    'ours, AUC 0.750'
    """
    suspicion = check.finite_vector(suspicion, "suspicion")
    y = check.positives(y, like=suspicion)
    ax = _calm(ax)
    curve = roc_curve(y, suspicion)
    if _n_models(ax) == 0:
        ax.plot([0, 1], [0, 1], color=_GREY, linewidth=1, gid="chance")
        _small(ax, "chance", (0.5, 0.5), colour=_GREY, offset=(5, -5), va="top")
    false_alarms, found = _thinned(curve.false_positive_rate, curve.true_positive_rate)
    _add_model(ax, false_alarms, found, label, "AUC", roc_auc(y, suspicion), "default")
    _unit_square(ax, "Share of negatives raised as alarms", "Share of all positives found")
    return ax


def calibration(
    y: ArrayLike, probability: ArrayLike, ax: Axes | None = None, label: str | None = None
) -> Axes:
    """Return axes with the share of positives by predicted probability, on logarithmic scales.

    Bars are 95 % Wilson intervals. A group without a single positive sits hollow on the floor.

    >>> ax = calibration([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.6])
    >>> ax.get_xlabel(), ax.get_xscale()
    ('Predicted probability', 'log')
    """
    probability = check.finite_vector(probability, "probability")
    y = check.positives(y, like=probability)
    ax = _calm(ax)
    curve = calibration_curve(y, probability, n_bins=_n_groups(y))
    floor = _floor(curve, ax)
    if _n_models(ax) == 0:
        ax.plot([1e-9, 1], [1e-9, 1], color=_GREY, linewidth=1, gid="perfect")
    _add_groups(ax, curve, floor, label)
    ax.set(xscale="log", yscale="log", xlim=(floor, 1.15), ylim=(floor, 1.15))
    ax.set(xlabel="Predicted probability", ylabel="Share that was positive")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(_percent_tick))
        axis.set_minor_locator(NullLocator())
    if _n_models(ax) == 1:
        _small(ax, "as predicted", (0.6, 0.6), colour=_GREY, offset=(-8, 0), ha="right")
    return ax


def importance(names: Sequence[str], shares: ArrayLike, ax: Axes | None = None) -> Axes:
    """Return axes with one horizontal bar per column, in the order given from the top.

    >>> ax = importance(["amount", "hour"], [0.8, 0.2])
    >>> [text.get_text() for text in ax.texts]
    ['80%', '20%']
    """
    shares = check.finite_vector(shares, "shares")
    if len(names) != shares.size:
        raise ValueError(f"shares must have {len(names)} values, one per name; got {shares.size}.")
    if ax is None:
        ax = _new_axes(height=0.5 + 0.24 * max(shares.size, 1))
    ax = _calm(ax)
    places = np.arange(shares.size)
    ax.barh(places, shares, height=0.62, color=_ACCENT)
    ax.set_yticks(places, [_shortened(name) for name in names], parse_math=False)
    ax.invert_yaxis()
    ax.set_xticks([])
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(False)
    for place, share in zip(places, shares, strict=True):
        _small(ax, _percent(share), (max(share, 0), place), offset=(4, 0), va="center")
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
        ax = _new_axes(height=0.7 + 0.28 * len(names))
    ax = _calm(ax)
    places = np.arange(len(names))
    middle, low, high = np.reshape(values, (-1, 3)).T
    ax.hlines(places, low, high, color=_ACCENT, alpha=0.45, linewidth=2, gid="intervals")
    ax.plot(middle, places, "o", color=_ACCENT, markersize=5, gid="values")
    ax.set_yticks(places, [_shortened(name) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")
    return ax


def mass_volume_curves(curves: Mapping[str, MassVolumeCurve], ax: Axes | None = None) -> Axes:
    """Return axes with volume by mass, a curve per name; the lower, the better.

    Names come with the area under their curve (AMV). The volume is on a logarithmic scale as soon
    as one area is below 1 %, as is usual with more than a few columns.

    >>> from toprank.metrics import mass_volume_of_groups
    >>> ax = mass_volume_curves({"tree": mass_volume_of_groups([60, 30, 10], [1, 3, 6])})
    >>> ax.get_legend().get_texts()[0].get_text()
    'tree, AMV 0.175'
    """
    ax = _calm(ax)
    if _n_models(ax) == 0:
        ax.plot(*[np.linspace(0, 1, 101)] * 2, color=_GREY, linewidth=1, gid="chance")
        _small(ax, "chance", (0.5, 0.5), colour=_GREY, offset=(-5, 5), ha="right")
    for name, curve in curves.items():
        _add_model(ax, *_thinned(*curve), name, "AMV", curve.area, "default")
    is_log = ax.get_yscale() == "log" or any(c.area < _LITTLE_VOLUME for c in curves.values())
    ax.set_yscale("linear")
    _unit_square(ax, "Mass: share of rows", "Volume: share of the box")
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
    ax = _calm(ax)
    if _n_models(ax) == 0:
        ax.axhline(0.9, color=_GREY, linewidth=1, gid="down-to")
    for name, curve in curves.items():
        excess = curve.excess_mass()
        # Straight pieces bend on a logarithmic scale, so they are drawn with many points.
        level = np.geomspace(0.1, max(excess.level[-1], 1.0), _MAX_POINTS)
        height = np.interp(level, *excess)
        _add_model(ax, level, height, name, "area", excess.area(), "default")
    ax.set(
        xscale="log",
        xlim=(0.1, None),
        ylim=(0, 1.02),
        xlabel="Level: times the even density of the box",
    )
    ax.set(ylabel="Excess mass")
    ax.yaxis.set_major_formatter(FuncFormatter(_percent_tick))
    return ax


def _calm(ax):
    """Return the axes, new when None, with no frame but the two lines that carry ticks."""
    if ax is None:
        ax = _new_axes(height=_HEIGHT)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(_GREY)
    ax.tick_params(colors=_INK, color=_GREY, labelsize=_FONT_SIZE, length=3, which="both")
    ax.grid(color="#e7e9ec", linewidth=0.7)
    ax.set_axisbelow(True)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=_INK, size=_FONT_SIZE)
    return ax


def _new_axes(height):
    return Figure(figsize=(_WIDTH, height), layout="constrained").add_subplot()


def _n_models(ax):
    return sum(str(line.get_gid()).startswith("model-") for line in ax.lines)


def _style(number):
    return _MODEL_STYLES[number % len(_MODEL_STYLES)]


def _add_model(ax, x, y, label, measure, value, drawstyle):
    number = _n_models(ax)
    style = _style(number)
    # Later models go beneath the first one.
    (line,) = ax.plot(x, y, drawstyle=drawstyle, gid=f"model-{number}", zorder=3 - number / 100)
    line.set(**style)
    if label is not None:
        line.set_label(f"{label}, {measure} {_figure(value)}")
        _legend(ax)


def _figure(value):
    """Return a number with three decimals, or two digits where these would say nothing."""
    return f"{value:.3f}" if value == 0 or 0.001 <= value < 1000 else f"{value:.1e}"


def _least_volume(ax):
    """Return the lowest volume worth showing: that of a hundredth of the rows, on any curve."""
    curves = [line.get_data() for line in ax.lines if str(line.get_gid()).startswith("model-")]
    volumes = [np.interp(0.01, mass, volume) for mass, volume in curves]
    return min((volume for volume in volumes if volume > 0), default=1e-9) / 2


def _legend(ax):
    # Above the axes, since curves of good and poor models leave different corners free.
    legend = ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.2,
        frameon=False,
        fontsize=_FONT_SIZE,
        labelcolor=_INK,
        handlelength=2.2,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _from_no_recall(recall, precision):
    """Return the curve with a first point at recall 0, at the height of its first step."""
    return np.append(0.0, recall), np.append(precision[0], precision)


def _unit_square(ax, xlabel, ylabel):
    ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel=xlabel, ylabel=ylabel)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(_percent_tick))


def _thinned(x: NDArray, y: NDArray) -> tuple[NDArray, NDArray]:
    """Return at most `_MAX_POINTS` points of a curve, equally far apart along its path."""
    if x.size <= _MAX_POINTS:
        return x, y
    travelled = np.append(0.0, np.cumsum(np.hypot(np.diff(x), np.diff(y))))
    stops = np.linspace(0, travelled[-1], _MAX_POINTS - 1)
    kept = np.unique(np.append(np.searchsorted(travelled, stops), x.size - 1))
    return x[kept], y[kept]


def _chance_by_checks(ax, checks, y):
    share = float(y.mean())
    by_chance = {"precision": np.full(checks.size, share), "recall": checks / y.size}
    for name, shares in by_chance.items():
        (line,) = ax.plot(checks, shares, color=_GREY, linewidth=1, linestyle=_DASHES[name])
        line.set_gid(f"chance-{name}")
    _small(ax, f"chance {_percent(share)}", (1, share), colour=_GREY, offset=(4, 2))


def _add_checks_curves(ax, curve):
    """Draw precision and recall with their bands; return the model's colour."""
    number = _n_models(ax)
    style = _style(number)
    for name, gid in (("recall", "recall"), ("precision", "model")):
        low, high = getattr(curve, f"{name}_low"), getattr(curve, f"{name}_high")
        ax.fill_between(curve.checks, low, high, color=style["color"], alpha=0.13, linewidth=0)
        (line,) = ax.plot(curve.checks, getattr(curve, name), gid=f"{gid}-{number}")
        line.set(**style | {"linestyle": _DASHES[name]})
    return style["color"]


def _scale_checks(ax, n_rows):
    ax.set(xscale="log", xlim=(1, n_rows), ylim=(0, 1.02))
    ax.set(xlabel="Number of checks", ylabel="Share")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.yaxis.set_major_formatter(FuncFormatter(_percent_tick))
    ax.xaxis.set_minor_locator(NullLocator())


def _mark_budget(ax, curve, at, colour):
    number, budget = _n_models(ax) - 1, int(at.checks[0])
    if f"budget-{budget}" not in [line.get_gid() for line in ax.lines]:
        dots = (0, (1, 2))
        ax.axvline(budget, color=_INK, linewidth=0.8, linestyle=dots, gid=f"budget-{budget}")
        plural = "" if budget == 1 else "s"
        _small(ax, f"{budget:,} check{plural}", (budget, 1.02), offset=(0, 3), ha="center")
    for name in ("precision", "recall"):
        share = getattr(at, name)[0]
        (dot,) = ax.plot([budget], [share], "o", color=colour, markersize=5, zorder=4)
        dot.set_gid(f"{name}-at-{budget}-of-{number}")
        _name_curve(ax, curve, f"{name} {_percent(share)}", (budget, share), colour)


def _name_curve(ax, curve, name, point, colour):
    """Write a name beside a point of its curve, on the side where the fewest lines pass."""
    far = np.log(max(curve.checks[-1], 2))
    across = np.linspace(0, 1, 400)
    lines = [
        np.interp(across, np.log(curve.checks) / far, line)
        for line in (curve.precision, curve.recall)
    ]
    place = np.log(point[0]) / far, point[1]
    sides = ((1, 1), (-1, 1), (1, -1), (-1, -1))
    right, up = min(sides, key=lambda side: _crowding(across, lines, place, side))
    _small(
        ax,
        name,
        point,
        colour=colour,
        offset=(6 * right, 4 * up),
        ha="left" if right > 0 else "right",
        va="bottom" if up > 0 else "top",
    )


def _crowding(across, lines, place, side, width=0.29, height=0.09):
    """Return how much of the lines a name would cover; places are shares of the axes."""
    left, bottom = place[0] - width * (side[0] < 0), place[1] - height * (side[1] < 0)
    beyond_axes = max(-left, left + width - 1, -bottom, 0)
    beside = (across >= left) & (across <= left + width)
    covered = sum(
        np.count_nonzero(beside & (line > bottom) & (line < bottom + height)) for line in lines
    )
    return covered + 1000 * beyond_axes


def _n_groups(y):
    """Return how many equal groups part the few rows likely to be positive from one another."""
    return int(np.clip(2 / y.mean(), 10, 400))


def _floor(curve, ax):
    """Return the power of ten below every probability and share shown, old ones included."""
    shown = np.concatenate([curve.predicted, curve.observed])
    lowest = shown[shown > 0].min(initial=0.1)
    floor = 10.0 ** np.floor(np.log10(max(lowest, 1e-8) * 0.999))
    return floor if _n_models(ax) == 0 else min(floor, ax.get_xlim()[0])


def _add_groups(ax, curve, floor, label):
    number = _n_models(ax)
    style = _style(number)
    predicted = np.maximum(curve.predicted, floor)
    observed = np.maximum(curve.observed, floor)
    ax.vlines(
        predicted, np.maximum(curve.low, floor), curve.high, color=style["color"], alpha=0.45
    )
    seen = curve.observed > 0
    (line,) = ax.plot(predicted[seen], observed[seen], "o", color=style["color"], markersize=5)
    line.set_gid(f"model-{number}")
    ax.plot(
        predicted[~seen],
        observed[~seen],
        "o",
        color=style["color"],
        markersize=5,
        fillstyle="none",
        clip_on=False,
        gid=f"none-seen-{number}",
    )
    if label is not None:
        line.set_label(label)
        _legend(ax)


def _small(ax, text, point, *, offset, colour=_INK, ha="left", va="bottom"):
    """Write `text` at a point of the data, moved by `offset` in printer's points."""
    ax.annotate(
        text,
        point,
        xytext=offset,
        textcoords="offset points",
        color=colour,
        size=_FONT_SIZE,
        ha=ha,
        va=va,
        parse_math=False,
    )


def _percent_tick(value, _):
    return f"{100 * value:g}%"


def _percent(share):
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{100 * share:.0f}%" if share >= 0.0995 or share == 0 else f"{100 * share:.1f}%"


def _shortened(name, length=26):
    name = str(name)
    return name if len(name) <= length else name[: length - 1] + "…"
