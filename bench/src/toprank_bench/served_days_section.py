"""What follows from the recorded rows of days at served desks, pooled over the random seeds.

How far the desk that learns is ahead of each of the others, how often the range of a day held, and
what one hostile person costs.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toprank.metrics.resampling import percentile_band
from toprank.metrics.shares import wilson_bounds
from toprank.simulator.feedback.desk_figures import NEW_FOR
from toprank.simulator.feedback.feedback_summary import drawn_days
from toprank_bench.experiment import Experiment
from toprank_bench.row_file import Row
from toprank_bench.runner import recorded
from toprank_bench.trials.served_days import HOSTILE, NEW_ON

OURS = "desk"
_LEVEL = 0.95
_PHASES = {
    "before": slice(0, NEW_ON),
    "during": slice(NEW_ON, NEW_ON + NEW_FOR),
    "after": slice(NEW_ON + NEW_FOR, None),
}

Rows = dict[str, dict[int, Row]]  # by method and seed


def served_days_section(experiment: Experiment, rows: list[Row]) -> str:
    """Return tables of leads, of ranges and of the hostile desk; empty without rows."""
    found: Rows = {}
    for cell, row in recorded(experiment, rows).items():
        found.setdefault(cell.method, {})[cell.seed] = row
    order = [each.name for each in experiment.methods if each.name in found]
    parts = [_leads(found, order), _ranges(found, order), _hostile(found)]
    return "\n\n".join(part for part in parts if part) + "\n" if any(parts) else ""


def _leads(found: Rows, order: Sequence[str]) -> str:
    lines = []
    for method in order:
        seeds = _shared_seeds(found, OURS, method)
        if method != OURS and seeds:
            pairs = [(_by_day(found[OURS][seed]), _by_day(found[method][seed])) for seed in seeds]
            lines.append([method, str(len(seeds)), *_compared(pairs)])
    if not lines:
        return ""
    return "\n\n".join(
        [
            "## The desk that learns, against each of the others",
            "Cards found over all days and seeds. Intervals are 95 %, from days drawn with "
            "replacement in stretches of a week.",
            _table(["against", "seeds", "cards found", "desk", "lead per day", "ratio"], lines),
        ]
    )


def _ranges(found: Rows, order: Sequence[str]) -> str:
    """Return on how many days the range held, by phase; days of all seeds together."""
    lines = []
    for method in order:
        by_day = [
            row["facts"]["desk"]["by_day"]
            for row in found[method].values()
            if row["facts"]["desk"] is not None
        ]
        for phase, days in _PHASES.items():
            held, chance = (
                np.concatenate([values[days] for values in parts] or [np.empty(0)])
                for parts in ([_is_held(each) for each in by_day],
                              [np.array(each["chance"]) for each in by_day])
            )  # fmt: skip
            if held.size:
                lines.append([method, phase, *_held(held, chance)])
    if not lines:
        return ""
    head = ["desk", "phase", "days", "held", "to be expected"]
    return "\n\n".join(
        [
            "## How often the range of frauds to expect held",
            "Days of all seeds. The range is made for 8 of 10 days. Counts are whole, so where "
            "few frauds are expected it has a larger chance to hold; to be expected is the mean "
            "of these chances, as the desk knew them before each day. Intervals are 95 % "
            "(Wilson's).",
            _table(head, lines),
        ]
    )


def _hostile(found: Rows) -> str:
    """Return how far the share of checks that find a fraud falls, and who was accused."""
    lines = []
    for seed in _shared_seeds(found, OURS, HOSTILE):
        row, honest = found[HOSTILE][seed], found[OURS][seed]
        accused = row["facts"]["desk"]["accused"]
        said = ", ".join(f"{who} on day {day + 1}" for who, day in accused.items()) or "nobody"
        lines.append([str(seed), _precision([honest]), _precision([row]), said])
    if not lines:
        return ""
    seeds = _shared_seeds(found, OURS, HOSTILE)
    pairs = [(_by_day(found[HOSTILE][each]), _by_day(found[OURS][each])) for each in seeds]
    *_, lead, ratio = _compared(pairs)
    return "\n\n".join(
        [
            "## One of five people says the opposite of the truth",
            "Card precision is the share of checks that find a fraud, of all days; what the "
            "hostile person checks finds nothing. From the alarm on, the others do their checks, "
            "and models learn without their verdicts. Stated before: it falls by no more than a "
            f"third. Over these seeds, the difference in cards per day is {lead}, and the ratio "
            f"{ratio}.",
            _table(["seed", "desk", "hostile desk", "alarm about the verdicts of"], lines),
        ]
    )


def _shared_seeds(found: Rows, one: str, other: str) -> list[int]:
    return sorted(found.get(one, {}).keys() & found.get(other, {}).keys())


def _by_day(row: Row) -> NDArray[np.float64]:
    return np.array(row["facts"]["found_by_day"], dtype=np.float64)


def _is_held(by_day: dict[str, list[float]]) -> NDArray[np.bool_]:
    low, high, found = (np.array(by_day[name]) for name in ("low", "high", "found"))
    return (low <= found) & (found <= high)


def _held(is_held: NDArray[np.bool_], chance: NDArray[np.float64]) -> list[str]:
    """Return the number of days, the share that held with its interval, and what to expect.

    >>> _held(np.array([True] * 8 + [False] * 2), np.full(10, 0.85))
    ['10', '.80 (.49 to .94)', '.85']
    """
    n_held, n_days = int(is_held.sum()), is_held.size
    ends = wilson_bounds(n_held / n_days, n_days)
    shares = [f"{float(each):.2f}".removeprefix("0") for each in (n_held / n_days, *ends)]
    expected = f"{chance.mean():.2f}".removeprefix("0")
    return [str(n_days), f"{shares[0]} ({shares[1]} to {shares[2]})", expected]


def _precision(rows: Sequence[Row]) -> str:
    n_found = sum(sum(row["facts"]["found_by_day"]) for row in rows)
    n_checked = sum(sum(row["facts"]["checked_by_day"]) for row in rows)
    return f"{n_found / n_checked:.3f}"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))


def _compared(pairs: list[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> list[str]:
    """Return the cards found by each, the lead per day of the first, and the ratio.

    >>> _compared([(np.full(14, 4.0), np.full(14, 2.0))])
    ['28', '56', '+2.00 (+2.00 to +2.00)', '2.0 (2.0 to 2.0)']
    """
    ours, theirs = (np.sum([pair[side] for pair in pairs], axis=0) for side in (0, 1))
    drawn = drawn_days(ours.size)
    lead = (ours - theirs) / len(pairs)
    low, high = percentile_band(lead[drawn].mean(axis=1), _LEVEL)
    ratios = ours[drawn].sum(axis=1) / np.maximum(theirs[drawn].sum(axis=1), 1)
    ratio = ours.sum() / max(theirs.sum(), 1)
    ratio_low, ratio_high = percentile_band(ratios, _LEVEL)
    return [
        f"{theirs.sum():,.0f}",
        f"{ours.sum():,.0f}",
        f"{lead.mean():+.2f} ({low:+.2f} to {high:+.2f})",
        f"{ratio:.1f} ({ratio_low:.1f} to {ratio_high:.1f})",
    ]
