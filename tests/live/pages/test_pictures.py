"""The pictures on the pages: where their points are."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from toprank.live.pages.time_line import time_line, usual_range
from toprank.live.pages.yield_curve import yield_curve

DAY = 86_400_000_000
NOW = 1_741_000_000_000_000


class Paid(NamedTuple):
    position: int
    paid_at: int
    amount: float | None
    label: str | None = None


def paid(*amounts):
    return [Paid(place, NOW - place * DAY // 2, each) for place, each in enumerate(amounts, 1)]


def test_a_larger_amount_is_higher_and_a_newer_payment_further_right():
    plot = time_line(paid(200.0, 20.0, 2.0), [], None, NOW - 30 * DAY, NOW)
    heights = [dot.y for dot in plot.dots]
    places = [dot.x for dot in plot.dots]
    assert heights == sorted(heights)  # in an SVG, up is less
    assert places == sorted(places, reverse=True)
    first, second, third = heights
    assert abs((second - first) - (third - second)) < 0.3  # equal factors, equal steps


def test_suspicious_payments_are_drawn_last_and_those_outside_the_filter_faintly():
    plot = time_line(paid(300.0, 20.0, 25.0), [1], None, NOW - 30 * DAY, NOW, only=[1, 2])
    assert [dot.kind for dot in plot.dots] == ["", "dim", "suspicious"]
    assert "1 of them suspicious" in plot.text


def test_the_usual_range_leaves_out_what_is_suspicious_and_known_frauds():
    rows = [*paid(*[10.0 + place for place in range(20)]), Paid(50, NOW, 900.0)]
    rows.append(Paid(51, NOW, 800.0, "fraud"))
    assert usual_range(rows, {50}) == (11.0, 28.0)
    assert usual_range(rows[:4], ()) is None


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=True)), max_size=12))
def test_any_amounts_give_a_picture_within_its_frame(amounts):
    rows = paid(*amounts)
    plot = time_line(rows, [1], usual_range(rows, [1]), NOW - 30 * DAY, NOW)
    for dot in plot.dots:
        assert plot.left <= dot.x <= plot.right
        assert 0 <= dot.y <= plot.height
    assert len(plot.levels) <= 5


def test_the_curve_begins_at_nothing_and_its_band_surrounds_it():
    curve = yield_curve([(10, 4.0, 2.0, 6.0), (20, 6.0, 3.0, 8.0)], worth_until=10)
    line = [tuple(map(float, each.split(","))) for each in curve.line.split()]
    assert line[0] == (curve.left, curve.bottom)
    assert line[-1][0] == curve.right
    assert curve.worth_x == line[1][0]
    band = [tuple(map(float, each.split(","))) for each in curve.band.split()]
    tops, bottoms = dict(band[:3]), dict(band[3:])
    assert all(tops[x] <= y <= bottoms[x] for x, y in line)
    assert curve.text == "The next 20 checks are expected to find 6.0 frauds (3 to 8)."


def test_the_end_of_what_is_worth_it_is_not_drawn_beyond_the_picture():
    assert yield_curve([(10, 4.0, 2.0, 6.0)], worth_until=25).worth_x is None
    assert yield_curve([], worth_until=None).last == 1
