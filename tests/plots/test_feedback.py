"""Days of checking are drawn as they were."""

import numpy as np
import pytest

from toprank.plots.feedback_plots import (
    card_precision_by_day,
    cards_found_by_day,
    promise_by_day,
    smoothed,
)

DATES = np.datetime64("2025-01-01") + np.arange(30)


def line(ax, gid):
    (found,) = [each for each in ax.lines if each.get_gid() == gid]
    return found


def test_a_line_is_the_mean_of_the_week_around_each_day():
    shares = np.random.default_rng(0).random(30)
    ax = card_precision_by_day(DATES, {"static": shares})
    drawn = line(ax, "model-0").get_ydata()

    assert drawn[10] == pytest.approx(shares[7:14].mean())
    assert drawn[0] == pytest.approx(shares[:4].mean())
    assert drawn[-1] == pytest.approx(shares[-4:].mean())


def test_days_are_points_in_the_colour_of_their_line():
    ax = card_precision_by_day(DATES, {"a": np.full(30, 0.2), "b": np.full(30, 0.4)})
    points = [each for each in ax.lines if each.get_marker() == "o"]

    assert [each.get_ydata()[0] for each in points] == [0.2, 0.4]
    for number, each in enumerate(points):
        assert each.get_color() == line(ax, f"model-{number}").get_color()


def test_found_cards_add_up_and_the_ceiling_is_grey():
    ax = cards_found_by_day(DATES[:3], {"a": [1, 2, 3], "b": [0, 0, 1]}, ceiling=[3, 3, 3])

    assert line(ax, "model-0").get_ydata().tolist() == [1, 3, 6]
    assert line(ax, "model-1").get_ydata().tolist() == [0, 0, 1]
    assert line(ax, "ceiling").get_ydata().tolist() == [3, 6, 9]
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["a, 6 cards", "b, 1 cards"]


def test_one_day_is_its_own_mean():
    assert smoothed(np.array([0.3])).tolist() == pytest.approx([0.3])


def test_days_outside_of_their_range_are_drawn_apart_and_a_change_is_shown():
    ax = promise_by_day(DATES[:4], [1, 1, 1, 1], [3, 3, 3, 3], [0, 1, 3, 5], new_on=2)

    assert line(ax, "held").get_ydata().tolist() == [1, 3]
    assert line(ax, "missed").get_ydata().tolist() == [0, 5]
    assert line(ax, "missed").get_markerfacecolor() != line(ax, "held").get_markerfacecolor()
    assert line(ax, "new fraud") is not None
