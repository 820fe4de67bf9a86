"""Figures of rules as their pages show them."""

from toprank.live.pages.spark_bars import SparkBars, spark_bars
from toprank.live.rules.rule_board import BoardRow
from toprank.metrics.intervals import Interval
from toprank.wording import percent, plural


def share(found: Interval | None) -> str:
    """Return a share; "–" for none.

    >>> share(Interval(0.25, 0.2, 0.3)), share(None)
    ('25 %', '–')
    """
    return "–" if found is None else percent(found.value)


def share_range(found: Interval | None) -> str:
    """Return the interval of a share; nothing for none.

    >>> share_range(Interval(0.25, 0.2, 0.3))
    '20 % to 30 %'
    """
    return "" if found is None else f"{percent(found.low)} to {percent(found.high)}"


def difference_in_words(found: Interval) -> str:
    """Return by how many of 100 cards verdicts differ, with the interval.

    >>> difference_in_words(Interval(-0.03, -0.1, 0.05))
    '3 fewer are called frauds than of 100 without (10 fewer to 5 more)'
    """
    value, low, high = (_more_or_fewer(100 * each) for each in found)
    return f"{value} are called frauds than of 100 without ({low} to {high})"


def trend(row: BoardRow) -> SparkBars:
    """Return the matches of a rule by week, frauds filled."""
    counts = [(each.matches.total, each.matches.fraud) for each in row.weeks]
    n = len(counts)
    text = (
        f"Matches of {n} {plural('week', n)}, and frauds among them: "
        + ", ".join(f"{total:,} ({frauds:,})" for total, frauds in counts)
    )  # fmt: skip
    return spark_bars(counts, text)


def _more_or_fewer(difference: float) -> str:
    return f"{abs(difference):.0f} {'fewer' if difference < 0 else 'more'}"
