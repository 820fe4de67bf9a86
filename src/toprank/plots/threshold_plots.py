"""What a threshold, a sampling ratio or a number of checks is worth."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks as check
from toprank.decisions import thresholds
from toprank.plots.canvas import (
    GREY,
    calm,
    legend,
    model_style,
    n_models,
    small,
)
from toprank.wording import ratio

# Distinguished by shape as well, for readers and printers without colour.
_METHOD_STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#1b5e9b", "marker": "o"},
    {"color": "#b4552d", "marker": "s"},
    {"color": "#3f7d58", "marker": "^"},
    {"color": "#76619b", "marker": "D"},
    {"color": "#b8860b", "marker": "v"},
    {"color": "#2a8c99", "marker": "P"},
    {"color": "#a33b5e", "marker": "X"},
    {"color": "#5f6b2b", "marker": "*"},
)
_N_POINTS = 1000
_APART = 0.022  # between two methods at one ratio, as a share of the axis
_OWN = 0.14  # from the highest ratio to the place of methods that have none, likewise


class SavingsCurveLike(Protocol):
    """Money saved by number of checks, with a band: what `imbalance.savings_curve` returns."""

    @property
    def checks(self) -> NDArray: ...
    @property
    def savings(self) -> NDArray: ...
    @property
    def low(self) -> NDArray: ...
    @property
    def high(self) -> NDArray: ...


def f_beta_by_threshold(
    y: ArrayLike,
    suspicion: ArrayLike,
    ax: Axes | None = None,
    label: str | None = None,
    *,
    beta: float = 1.0,
) -> Axes:
    """Return axes with F-beta by threshold; with a dot at the highest.

    Suspicions that are all between 0 and 1 are taken for probabilities, and a grey line is at .5,
    the threshold of whoever chooses none.

    >>> ax = f_beta_by_threshold([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], label="ours")
    >>> ax.get_legend().get_texts()[0].get_text()
    'ours, best 0.80 at 0.4'
    """
    suspicion = check.finite_vector(suspicion, "suspicion")
    curve = thresholds.f_beta_by_threshold(y, suspicion, beta, _N_POINTS)
    ax = calm(ax)
    is_probability = suspicion.min() >= 0 and suspicion.max() <= 1
    if n_models(ax) == 0 and is_probability:
        ax.axvline(0.5, color=GREY, linewidth=1, gid="default")
        small(ax, "default", (0.5, 0), colour=GREY, offset=(3, 2))
    number = n_models(ax)
    style = model_style(number)
    (line,) = ax.plot(*curve, gid=f"model-{number}", zorder=3 - number / 100)
    line.set(**style)
    best = int(np.argmax(curve.value))
    (dot,) = ax.plot(curve.threshold[best], curve.value[best], "o", color=style["color"], zorder=4)
    dot.set_gid(f"best-{number}")
    ax.set(ylim=(0, 1.02), xlabel="Threshold", ylabel=f"F{beta:g}")
    if is_probability:
        ax.set(xlim=(0, 1), xlabel="Threshold on the probability")
    if label is not None:
        value, at = curve.value[best], curve.threshold[best]
        line.set_label(f"{label}, best {value:.2f} at {at:.2g}")
        legend(ax)
    return ax


def metrics_by_ratio(
    values: Mapping[str, Mapping[float | None, tuple[float, float, float]]],
    ax: Axes | None = None,
    *,
    baseline: tuple[float, float, float] | None = None,
) -> Axes:
    """Return axes with a metric by the ratio of positives to negatives, a line per method.

    `values[method][ratio]` is a number with the low and the high end of its interval. A method
    without a ratio has None for it, and is at the right. `baseline`, the rows left as they are,
    is a grey line with its band.

    >>> ax = metrics_by_ratio({"under": {0.1: (0.6, 0.5, 0.7), 1.0: (0.5, 0.4, 0.6)}})
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['.1', '1']
    """
    ax = calm(ax)
    ratios = sorted({ratio for each in values.values() for ratio in each if ratio is not None})
    places = _places(ratios)
    if baseline is not None:
        low, high = baseline[1:]
        ax.axhspan(low, high, color=GREY, alpha=0.15, linewidth=0, gid="baseline-band")
        ax.axhline(baseline[0], color=GREY, linewidth=1.2, gid="baseline", label="none")
    for number, (name, by_ratio) in enumerate(values.items()):
        shift = _APART * (number - (len(values) - 1) / 2)
        _add_method(ax, name, {places[at] + shift: by_ratio[at] for at in by_ratio}, number)
    used = [at for at in places if any(at in each for each in values.values())]
    ax.set_xticks([places[at] for at in used], ["own" if at is None else ratio(at) for at in used])
    ax.grid(False, axis="x")
    ax.set(xlabel="Positives per negative")
    if values:
        legend(ax)
    return ax


def savings(curve: SavingsCurveLike, ax: Axes | None = None, label: str | None = None) -> Axes:
    """Return axes with the money saved by number of checks, its 95 % band and its best point.

    >>> from toprank.decisions.costs import CostMatrix, savings_curve
    >>> costs = CostMatrix.of_checks([90.0, 10.0, 40.0, 5.0], check_cost=8.0)
    >>> ax = savings(savings_curve([1, 0, 1, 0], [4, 3, 2, 1], costs))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('Number of checks', 'Saved')
    """
    ax = calm(ax)
    number = n_models(ax)
    style = model_style(number)
    shown = np.asarray(curve.checks) >= 1
    at, saved, low, high = (
        np.asarray(part)[shown] for part in (curve.checks, curve.savings, curve.low, curve.high)
    )
    if number == 0:
        ax.axhline(0, color=GREY, linewidth=1, gid="nothing-saved")
    ax.fill_between(at, low, high, color=style["color"], alpha=0.13, linewidth=0)
    (line,) = ax.plot(at, saved, gid=f"model-{number}")
    line.set(**style)
    best = int(np.argmax(saved))
    ax.plot(at[best], saved[best], "o", color=style["color"], gid=f"best-{number}", zorder=4)
    words = f"{saved[best]:,.0f} with {at[best]:,.0f} check{'' if at[best] == 1 else 's'}"
    if label is None:
        point = (at[best], saved[best])
        small(ax, words, point, offset=(0, 6), colour=style["color"], ha="center")
    else:
        line.set_label(f"{label}, {words}")
        legend(ax)
    ax.set(xscale="log", xlabel="Number of checks", ylabel="Saved", ylim=_worth_seeing(ax))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_minor_locator(NullLocator())
    return ax


def _worth_seeing(ax):
    """Return the ends of the axis of savings: checking all rows costs more than anyone would pay.

    So losses are shown only as far down as the gains go up, where there are gains.
    """
    lines = [each for each in ax.lines if str(each.get_gid()).startswith("model-")]
    bands = [band.get_paths()[0].vertices[:, 1] for band in ax.collections]
    top = max(float(np.max(band)) for band in bands)
    lowest = min(float(np.min(each.get_ydata())) for each in lines)
    return (max(lowest, -top) if top > 0 else lowest) - 0.05 * abs(top), top + 0.15 * abs(top)


def _places(ratios):
    """Return the place of each ratio: by its logarithm, from 0 to 1; None is beyond."""
    logs = np.log(ratios)
    width = np.ptp(logs) if len(ratios) > 1 else 1.0
    places = {at: float((log - logs[0]) / width) for at, log in zip(ratios, logs, strict=True)}
    return {**places, None: max(places.values(), default=-_OWN) + 2 * _OWN}


def _add_method(ax, name, by_place, number):
    style = _METHOD_STYLES[number % len(_METHOD_STYLES)]
    places = np.array(sorted(by_place))
    middle, low, high = np.reshape([by_place[at] for at in places], (-1, 3)).T
    ax.vlines(places, low, high, color=style["color"], alpha=0.45, linewidth=1.6)
    (line,) = ax.plot(places, middle, linewidth=1, markersize=4.5, gid=f"method-{number}", **style)
    line.set_label(name)
