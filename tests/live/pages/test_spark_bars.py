import re

from hypothesis import given
from hypothesis import strategies as st

from toprank.live.pages.spark_bars import HEIGHT, WIDTH, spark_bars

counts = st.lists(
    st.integers(0, 10**9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
)


@given(counts.filter(lambda drawn: len(drawn) < 30))
def test_any_counts_give_bars_within_the_picture_in_proportion(counts):
    spark = spark_bars(counts, "text")
    highest = max((total for total, _ in counts), default=0) or 1
    for path, values in zip(spark[:2], zip(*counts, strict=True), strict=False):
        drawn = [round(HEIGHT * each / highest, 1) for each in values]
        bars = re.findall(r"M([\d.]+) \d+v-([\d.]+)h([\d.]+)", path)
        assert [float(high) for _, high, _ in bars] == [each for each in drawn if each]
        assert all(float(x) + float(width) <= WIDTH for x, _, width in bars)
        assert all(float(high) <= HEIGHT for _, high, _ in bars)


def test_nothing_counted_is_an_empty_picture():
    assert spark_bars([], "nothing")[:2] == ("", "")
    assert spark_bars([(0, 0)], "nothing").totals == ""
