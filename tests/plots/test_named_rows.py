"""Bars and intervals are in the order given, with the names as they are."""

import pytest
from pytest import approx

from toprank import plots


def words(ax):
    return [text.get_text() for text in ax.texts]


def test_importance_draws_the_first_column_at_the_top():
    ax = plots.importance(["amount", "hour", "weekday"], [0.7, 0.2999, 0.0001])

    assert [bar.get_width() for bar in ax.patches] == approx([0.7, 0.2999, 0.0001])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["amount", "hour", "weekday"]
    assert ax.yaxis_inverted()
    assert words(ax) == ["70 %", "30 %", "0.01 %"]


def test_importance_shortens_long_names_and_reads_no_formulas_in_them():
    ax = plots.importance(["$x$", "a" * 60], [0.5, 0.5])
    first, second = ax.get_yticklabels()

    assert first.get_text() == "$x$"
    assert not first.get_parse_math()
    assert second.get_text() == "a" * 25 + "…"


def test_importance_needs_one_share_per_name():
    with pytest.raises(ValueError, match="shares must have 2 values, one per name; got 1"):
        plots.importance(["amount", "hour"], [1.0])


def test_intervals_are_drawn_from_low_to_high_with_the_value_between():
    ax = plots.intervals(["ours", "theirs"], [(0.7, 0.6, 0.8), (0.5, 0.4, 0.65)])
    (dots,) = [line for line in ax.lines if line.get_gid() == "values"]
    (bars,) = [each for each in ax.collections if each.get_gid() == "intervals"]

    assert list(dots.get_xdata()) == [0.7, 0.5]
    ends = [path.vertices[:, 0].tolist() for path in bars.get_paths()]
    assert ends == [[0.6, 0.8], [0.4, 0.65]]
    bottom, top = ax.get_ylim()
    assert bottom > top  # the first name is at the top


def test_intervals_need_one_value_per_name():
    with pytest.raises(ValueError, match="values must be 2, one per name; got 1"):
        plots.intervals(["ours", "theirs"], [(0.7, 0.6, 0.8)])
