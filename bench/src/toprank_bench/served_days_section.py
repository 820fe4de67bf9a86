"""How far the desk that learns is ahead of each of the others, from recorded rows alone."""

import numpy as np
from numpy.typing import NDArray

from toprank.metrics.resampling import percentile_band
from toprank.simulator.feedback.feedback_summary import drawn_days
from toprank_bench.experiment import Experiment
from toprank_bench.row_file import Row
from toprank_bench.runner import recorded

OURS = "desk"
_LEVEL = 0.95


def served_days_section(experiment: Experiment, rows: list[Row]) -> str:
    """Return a table of leads and ratios over the seeds that both have; empty without rows."""
    found = _by_method(experiment, rows)
    if OURS not in found:
        return ""
    head = ["against", "seeds", "cards found", "desk", "lead per day", "ratio"]
    lines = [head, ["---"] * len(head)]
    for method in (each.name for each in experiment.methods if each.name in found):
        seeds = sorted(found[OURS].keys() & found[method].keys())
        if method != OURS and seeds:
            pairs = [(found[OURS][seed], found[method][seed]) for seed in seeds]
            lines.append([method, str(len(seeds)), *_compared(pairs)])
    if len(lines) == 2:
        return ""
    return (
        "\n\n".join(
            [
                "## The desk that learns, against each of the others",
                "Cards found over all days and seeds. Intervals are 95 %, from days drawn with "
                "replacement in stretches of a week.",
                "\n".join(f"| {' | '.join(line)} |" for line in lines),
            ]
        )
        + "\n"
    )


def _by_method(
    experiment: Experiment, rows: list[Row]
) -> dict[str, dict[int, NDArray[np.float64]]]:
    """Return the cards found by day, by method and seed."""
    found: dict[str, dict[int, NDArray[np.float64]]] = {}
    for cell, row in recorded(experiment, rows).items():
        by_day = np.array(row["facts"]["found_by_day"], dtype=np.float64)
        found.setdefault(cell.method, {})[cell.seed] = by_day
    return found


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
