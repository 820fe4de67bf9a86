"""Seconds by rows: what the drawing holds."""

import io

import pytest
from matplotlib.figure import Figure

from toprank_bench.plots.scaling_plots import seconds_by_rows, slopes

SIZES = [125_000, 500_000, 2_000_000]


def names(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_slopes_are_those_of_each_pair_of_points():
    assert slopes([10, 20, 40], [1.0, 2.0, 8.0]) == pytest.approx([1, 1.5, 2])


def test_points_lie_where_they_were_measured_and_a_rival_may_stop_early():
    ax = seconds_by_rows(SIZES, {"ours": [0.1, 0.4, 1.6], "theirs": [1, 8]})
    ours, theirs = ax.lines

    assert list(ours.get_xdata()) == SIZES and list(ours.get_ydata()) == [0.1, 0.4, 1.6]
    assert list(theirs.get_xdata()) == SIZES[:2]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_names_come_with_the_slope_unless_there_is_one_point():
    ax = seconds_by_rows(SIZES, {"ours": [0.1, 0.4, 1.6], "square": [1, 16], "once": [3]})
    assert names(ax) == ["ours, power 1.00", "square, power 2.00", "once"]


def test_sizes_are_written_in_short_and_nothing_else_is_on_the_axis():
    ax = seconds_by_rows(SIZES, {"ours": [0.1, 0.4, 1.6]})
    ax.figure.savefig(io.BytesIO(), format="png")

    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["125 k", "500 k", "2 M"]
    assert not [tick for tick in ax.get_xticklabels(minor=True) if tick.get_text()]
    assert not [tick for tick in ax.get_yticklabels() if "$" in tick.get_text()]


@pytest.mark.parametrize("n_lines", [1, 2])
def test_it_draws_on_the_axes_given_and_adds_to_them(n_lines):
    ax = Figure().add_subplot()
    for number in range(n_lines):
        assert seconds_by_rows(SIZES, {f"model {number}": [1, 2, 3]}, ax) is ax
    assert len(ax.lines) == n_lines == len(names(ax))
