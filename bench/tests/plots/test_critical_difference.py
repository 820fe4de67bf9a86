"""The critical-difference plot: every method at its rank, bars over those alike."""

import io
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from pytest import approx

from examples import examples
from toprank_bench.plots.critical_difference import critical_difference

LONG_NAMES = [f"a learner with a very long name, number {number}" for number in range(12)]


class Ranked:
    """Mean ranks as given, with groups of neighbours less than a critical difference apart."""

    def __init__(self, ranks, apart, n_datasets=20):
        self.mean_ranks = dict(sorted(ranks.items(), key=lambda each: each[1]))
        self.datasets = tuple(map(str, range(n_datasets)))
        self.apart = apart

    def critical_difference(self, alpha=0.05):
        return self.apart * 0.05 / alpha

    def groups(self, alpha=0.05):
        apart = self.critical_difference(alpha)
        names = list(self.mean_ranks)
        runs = [tuple(names[a : b + 1]) for a, b in combinations(range(len(names)), 2)]
        alike = [run for run in runs if self.mean_ranks[run[-1]] - self.mean_ranks[run[0]] < apart]
        return [run for run in alike if not any(set(run) < set(other) for other in alike)]


FOUR = Ranked({"a": 1.4, "b": 2.1, "c": 2.9, "d": 3.6}, apart=1.0)


def lines(ax, gid):
    return [line for line in ax.lines if line.get_gid() == gid]


def spans(ax, gid):
    return [(min(line.get_xdata()), max(line.get_xdata())) for line in lines(ax, gid)]


def words(ax):
    return [text.get_text() for text in ax.texts]


def test_each_name_is_next_to_its_rank_the_better_half_at_the_left():
    ax = critical_difference(FOUR)
    names = [text for text in ax.texts if "critical" not in text.get_text()]

    assert [text.get_text() for text in names] == ["a  1.40", "b  2.10", "3.60  d", "2.90  c"]
    assert [text.get_ha() for text in names] == ["right", "right", "left", "left"]


def test_a_leader_goes_from_each_rank_to_the_row_of_its_name():
    ax = critical_difference(FOUR)
    begins = [(line.get_xdata()[0], line.get_ydata()[0]) for line in lines(ax, "leader")]
    rows = [line.get_ydata()[-1] for line in lines(ax, "leader")]
    names = [text for text in ax.texts if "critical" not in text.get_text()]

    assert begins == [(1.4, 0), (2.1, 0), (3.6, 0), (2.9, 0)]
    assert rows == [text.xy[1] for text in names]


def test_bars_join_the_methods_of_a_group_and_no_others():
    ax = critical_difference(FOUR)
    reach = 0.03

    assert spans(ax, "alike") == [
        approx((1.4 - reach, 2.1 + reach), abs=reach),
        approx((2.1 - reach, 2.9 + reach), abs=reach),
        approx((2.9 - reach, 3.6 + reach), abs=reach),
    ]


def test_the_ruler_is_as_long_as_the_critical_difference_and_says_so():
    ax = critical_difference(FOUR, alpha=0.1)

    assert spans(ax, "critical-difference") == [(1, approx(1.5))]
    assert "critical difference 0.50 (10 %)" in words(ax)


def test_a_ruler_longer_than_the_ranks_still_fits():
    ax = critical_difference(Ranked({"a": 1.2, "b": 1.8}, apart=3.5, n_datasets=1))

    assert ax.get_xlim() == (1, approx(4.5))
    assert list(ax.get_xticks()) == [1, 2]
    assert "over 1 data set (" in ax.get_xlabel()


@examples(30)
@given(
    st.lists(st.floats(1, 12), min_size=2, max_size=12),
    st.floats(0.1, 4),
)
def test_no_two_bars_touch(ranks, apart):
    ax = critical_difference(Ranked({str(i): rank for i, rank in enumerate(ranks)}, apart))
    bars = [(line.get_ydata()[0], *sorted(line.get_xdata())) for line in lines(ax, "alike")]

    for (y, begin, end), (other_y, other_begin, other_end) in combinations(bars, 2):
        assert y != other_y or end < other_begin or other_end < begin


@pytest.mark.parametrize("n_methods", [2, 5, 12])
def test_no_words_overlap_or_leave_the_figure_even_with_long_names(n_methods):
    ranks = {name: 1 + 0.9 * number for number, name in enumerate(LONG_NAMES[:n_methods])}
    ax = critical_difference(Ranked(ranks, apart=2.4))
    ax.figure.savefig(io.BytesIO(), format="png")
    texts = [*ax.texts, ax.xaxis.label, *(t for t in ax.get_xticklabels() if t.get_text())]
    boxes = [text.get_window_extent() for text in texts]

    assert len(set(words(ax))) == n_methods + 1
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    for box in boxes:
        assert ax.figure.bbox.x0 <= box.x0 and box.x1 <= ax.figure.bbox.x1
        assert ax.figure.bbox.y0 <= box.y0 and box.y1 <= ax.figure.bbox.y1


def test_names_lose_their_middle_and_are_read_as_no_formulas():
    ax = critical_difference(Ranked({"$x$": 1.2, "b" * 50 + "c" * 10: 1.8}, apart=0.5))
    first, second = ax.texts[1:]

    assert first.get_text() == "$x$  1.20"
    assert not first.get_parse_math()
    assert second.get_text() == "1.80  " + "b" * 22 + "…b" + "c" * 10


def test_it_draws_on_the_axes_given():
    ax = Figure(layout="constrained").add_subplot()

    assert critical_difference(FOUR, ax) is ax
