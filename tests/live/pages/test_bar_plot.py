from hypothesis import given
from hypothesis import strategies as st

from toprank.live.pages.bar_plot import BarCount, bar_plot

numbers = st.floats(0, 1e9)
counted = st.tuples(numbers, numbers, numbers, numbers).map(
    lambda drawn: BarCount("name", *drawn[:2], *sorted(drawn[2:]))
)


@given(st.lists(counted, max_size=20))
def test_any_counts_give_bars_within_the_picture_higher_ones_higher(counts):
    plot = bar_plot(counts, "text")
    for bar, count in zip(plot.bars, counts, strict=True):
        assert plot.left <= bar.x and bar.x + bar.width <= plot.width + 0.2
        for y in (bar.y, bar.part_y, bar.high_y, bar.high_y + bar.range_height - 0.1):
            assert 0 <= y <= plot.bottom
        assert bar.y + bar.height == plot.bottom or abs(bar.y + bar.height - plot.bottom) < 0.2
        assert (count.total <= count.part) or bar.y <= bar.part_y
    assert len(plot.names) <= 6 and all(0 <= each.place <= plot.bottom for each in plot.levels)


def test_names_and_levels_are_round_and_few():
    plot = bar_plot([BarCount(str(day), day) for day in range(30)], "text")
    assert [each.text for each in plot.levels] == ["10", "20"]
    assert [each.text for each in plot.names] == ["0", "5", "10", "15", "20", "25"]


def test_nothing_counted_is_an_empty_picture():
    assert bar_plot([], "nothing").bars == []
    assert bar_plot([BarCount("a", 0)], "nothing").bars[0].height == 0
