"""Days of checking, drawn one after the other: a line per way of learning."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import FuncFormatter
from numpy.typing import ArrayLike, NDArray

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
)

DAYS_SMOOTHED = 7


def card_precision_by_day(
    dates: ArrayLike,
    shares: Mapping[str, ArrayLike],
    ceiling: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the card precision of each day as faint points, and their moving mean.

    The mean of a day is that of the week around it, and of fewer days at both ends. Names come
    with the mean of all days.

    >>> dates = np.datetime64("2025-01-01") + np.arange(30)
    >>> ax = card_precision_by_day(dates, {"static": np.full(30, 0.25)}, ceiling=np.full(30, 0.4))
    >>> ax.get_legend().get_texts()[0].get_text()
    'static, mean 0.250'
    """
    ax = calm(ax)
    days = np.asarray(dates, dtype="datetime64[D]")
    if ceiling is not None:
        _ceiling(ax, days, smoothed(np.asarray(ceiling, dtype=np.float64)))
    for name, values in shares.items():
        by_day = np.asarray(values, dtype=np.float64)
        colour = model_style(n_models(ax))["color"]
        ax.plot(days, by_day, "o", color=colour, alpha=0.25, markersize=2.5, markeredgewidth=0)
        add_model(ax, days, smoothed(by_day), name, "mean", float(by_day.mean()), "default")
    ax.set(ylim=_from_zero(ax), ylabel="Share of checks that found a card")
    ax.yaxis.set_major_formatter(FuncFormatter(percent_tick))
    return _by_date(ax)


def cards_found_by_day(
    dates: ArrayLike,
    found: Mapping[str, ArrayLike],
    ceiling: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the cards found up to each day.

    >>> dates = np.datetime64("2025-01-01") + np.arange(3)
    >>> ax = cards_found_by_day(dates, {"static": [2, 1, 4]})
    >>> ax.get_legend().get_texts()[0].get_text()
    'static, 7 cards'
    """
    ax = calm(ax)
    days = np.asarray(dates, dtype="datetime64[D]")
    if ceiling is not None:
        _ceiling(ax, days, np.cumsum(ceiling))
    for name, values in found.items():
        total = np.cumsum(values)
        number = n_models(ax)
        (line,) = ax.plot(days, total, gid=f"model-{number}", zorder=3 - number / 100)
        line.set(**model_style(number), label=f"{name}, {total[-1]:,.0f} cards")
    legend(ax)
    ax.set(ylim=_from_zero(ax), ylabel="Cards found so far")
    return _by_date(ax)


def promise_by_day(
    dates: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    found: ArrayLike,
    new_on: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the range of what each day was expected to find, and what it found.

    Days outside of their range are filled points. `new_on` is the day, counted from 0, on which a
    new kind of fraud begins.

    >>> dates = np.datetime64("2025-01-01") + np.arange(3)
    >>> ax = promise_by_day(dates, [1, 1, 1], [4, 4, 4], [2, 5, 1])
    >>> [line.get_gid() for line in ax.lines]
    ['held', 'missed']
    """
    ax = calm(ax)
    days = np.asarray(dates, dtype="datetime64[D]")
    lows, highs, counts = (np.asarray(each, dtype=np.float64) for each in (low, high, found))
    colour = model_style(0)["color"]
    ax.fill_between(days, lows, highs, step="mid", color=colour, alpha=0.2, linewidth=0)
    is_held = (lows <= counts) & (counts <= highs)
    for is_shown, gid, face in ((is_held, "held", "none"), (~is_held, "missed", colour)):
        ax.plot(
            days[is_shown], counts[is_shown], "o", color=colour, markerfacecolor=face,
            markersize=4, gid=gid,
        )  # fmt: skip
    if new_on is not None:
        ax.axvline(days[new_on], color=GREY, linewidth=1, gid="new fraud")
        small(ax, "new fraud", (days[new_on], highs.max()), colour=GREY, offset=(3, 0), ha="left")
    ax.set(ylim=_from_zero(ax), ylabel="Cards found in a day")
    return _by_date(ax)


def smoothed(by_day: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the week around each day, of fewer days at both ends.

    >>> smoothed(np.array([0.0, 0.0, 0.0, 0.0, 1.0]))
    array([0.  , 0.2 , 0.2 , 0.2 , 0.25])
    """
    around = DAYS_SMOOTHED // 2
    running = np.append(0.0, np.cumsum(by_day))
    place = np.arange(by_day.size)
    begin, end = np.maximum(place - around, 0), np.minimum(place + around + 1, by_day.size)
    return (running[end] - running[begin]) / (end - begin)


def _ceiling(ax: Axes, days: NDArray, values: NDArray) -> None:
    ax.plot(days, values, color=GREY, linewidth=1, gid="ceiling")
    highest = int(np.argmax(values))  # where it is furthest from the lines of the ways
    side = "left" if highest < days.size / 2 else "right"
    small(ax, "ceiling", (days[highest], values[highest]), colour=GREY, offset=(0, 3), ha=side)


def _from_zero(ax: Axes) -> tuple[float, float]:
    """Return limits that leave room for a word above the highest point."""
    return 0, 1.12 * ax.dataLim.y1 or 1.0


def _by_date(ax: Axes) -> Axes:
    locator = AutoDateLocator(minticks=3, maxticks=6)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    ax.xaxis.get_offset_text().set(color=INK, size=8)
    return ax
