"""Curves of a ranking: by number of checks, precision-recall, ROC, calibration."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import ArrayLike

from toprank.data import checks as check
from toprank.metrics import (
    average_precision,
    calibration_curve,
    checks_curve,
    precision_recall_curve,
    roc_auc,
    roc_curve,
)
from toprank.plots.canvas import (
    GREY,
    INK,
    add_model,
    calm,
    legend,
    model_style,
    n_models,
    percent_tick,
    small,
    thinned,
    unit_square,
)
from toprank.wording import percent

_DASHES = {"precision": "-", "recall": (0, (4, 1.5))}


def checks(
    y: ArrayLike, suspicion: ArrayLike, *, budget: int | None = None, ax: Axes | None = None
) -> Axes:
    """Return axes with precision and recall by number of checks, with their 95 % bands.

    Grey lines show what checking rows at random would give; a dot is drawn at `budget` checks.

    >>> ax = checks([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1], budget=2)
    >>> [text.get_text() for text in ax.texts]
    ['chance 40 %', '2 checks', 'precision 50 %', 'recall 50 %']
    """
    suspicion = check.finite_vector(suspicion, "suspicion")
    y = check.positives(y, like=suspicion)
    ax = calm(ax)
    curve = checks_curve(y, suspicion)
    if n_models(ax) == 0:
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
        _draw_budget(ax, curve, checks_curve(y, suspicion, checks=[budget]), colour)
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
    ax = calm(ax)
    curve = precision_recall_curve(y, suspicion)
    if n_models(ax) == 0:
        share = float(y.mean())
        ax.axhline(share, color=GREY, linewidth=1, gid="chance")
        small(ax, f"chance {percent(share)}", (0.02, share), colour=GREY, offset=(0, 2))
    recall, precision = thinned(*_from_no_recall(curve.recall, curve.precision))
    # Average precision gives each step of recall the precision reached at its end.
    add_model(ax, recall, precision, label, "AP", average_precision(y, suspicion), "steps-pre")
    unit_square(ax, "Recall: share of all positives found", "Precision: share of checks right")
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
    ax = calm(ax)
    curve = roc_curve(y, suspicion)
    if n_models(ax) == 0:
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, gid="chance")
        small(ax, "chance", (0.5, 0.5), colour=GREY, offset=(5, -5), va="top")
    false_alarms, found = thinned(curve.false_positive_rate, curve.true_positive_rate)
    add_model(ax, false_alarms, found, label, "AUC", roc_auc(y, suspicion), "default")
    unit_square(ax, "Share of negatives raised as alarms", "Share of all positives found")
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
    ax = calm(ax)
    curve = calibration_curve(y, probability, n_bins=_n_groups(y))
    floor = _floor(curve, ax)
    if n_models(ax) == 0:
        ax.plot([1e-9, 1], [1e-9, 1], color=GREY, linewidth=1, gid="perfect")
    _add_groups(ax, curve, floor, label)
    ax.set(xscale="log", yscale="log", xlim=(floor, 1.15), ylim=(floor, 1.15))
    ax.set(xlabel="Predicted probability", ylabel="Share that was positive")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(percent_tick))
        axis.set_minor_locator(NullLocator())
    if n_models(ax) == 1:
        small(ax, "as predicted", (0.6, 0.6), colour=GREY, offset=(-8, 0), ha="right")
    return ax


def _from_no_recall(recall, precision):
    """Return the curve with a first point at recall 0, at the height of its first step."""
    return np.append(0.0, recall), np.append(precision[0], precision)


def _chance_by_checks(ax, checks, y):
    share = float(y.mean())
    by_chance = {"precision": np.full(checks.size, share), "recall": checks / y.size}
    for name, shares in by_chance.items():
        (line,) = ax.plot(checks, shares, color=GREY, linewidth=1, linestyle=_DASHES[name])
        line.set_gid(f"chance-{name}")
    small(ax, f"chance {percent(share)}", (1, share), colour=GREY, offset=(4, 2))


def _add_checks_curves(ax, curve):
    """Draw precision and recall with their bands; return the model's colour."""
    number = n_models(ax)
    style = model_style(number)
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
    ax.yaxis.set_major_formatter(FuncFormatter(percent_tick))
    ax.xaxis.set_minor_locator(NullLocator())


def _draw_budget(ax, curve, at, colour):
    number, budget = n_models(ax) - 1, int(at.checks[0])
    if f"budget-{budget}" not in [line.get_gid() for line in ax.lines]:
        dots = (0, (1, 2))
        ax.axvline(budget, color=INK, linewidth=0.8, linestyle=dots, gid=f"budget-{budget}")
        plural = "" if budget == 1 else "s"
        small(ax, f"{budget:,} check{plural}", (budget, 1.02), offset=(0, 3), ha="center")
    for name in ("precision", "recall"):
        share = getattr(at, name)[0]
        (dot,) = ax.plot([budget], [share], "o", color=colour, markersize=5, zorder=4)
        dot.set_gid(f"{name}-at-{budget}-of-{number}")
        _name_curve(ax, curve, f"{name} {percent(share)}", (budget, share), colour)


def _name_curve(ax, curve, name, point, colour):
    """Write a name next to a point of its curve, on the side where the fewest lines pass."""
    far = np.log(max(curve.checks[-1], 2))
    across = np.linspace(0, 1, 400)
    lines = [
        np.interp(across, np.log(curve.checks) / far, line)
        for line in (curve.precision, curve.recall)
    ]
    place = np.log(point[0]) / far, point[1]
    sides = ((1, 1), (-1, 1), (1, -1), (-1, -1))
    right, up = min(sides, key=lambda side: _crowding(across, lines, place, side))
    small(
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
    is_near = (across >= left) & (across <= left + width)
    covered = sum(
        np.count_nonzero(is_near & (line > bottom) & (line < bottom + height)) for line in lines
    )
    return covered + 1000 * beyond_axes


def _n_groups(y):
    """Return how many equal groups separate the few rows that are likely to be positive."""
    return int(np.clip(2 / y.mean(), 10, 400))


def _floor(curve, ax):
    """Return the power of ten below every probability and share shown, old ones included."""
    shown = np.concatenate([curve.predicted, curve.observed])
    lowest = shown[shown > 0].min(initial=0.1)
    floor = 10.0 ** np.floor(np.log10(max(lowest, 1e-8) * 0.999))
    return floor if n_models(ax) == 0 else min(floor, ax.get_xlim()[0])


def _add_groups(ax, curve, floor, label):
    number = n_models(ax)
    style = model_style(number)
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
        legend(ax)
