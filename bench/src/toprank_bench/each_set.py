"""Whether one method is better than another on a data set by itself, over its random splits.

Splits of one data set share most of their rows, so that their differences vary less than those of
new data would. The t-test for such splits (Nadeau and Bengio 2003) widens the variance of their
mean from s² / n to s² (1/n + test rows / training rows).
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import fmean, stdev
from typing import NamedTuple

from scipy import stats

from toprank.metrics import Interval
from toprank.wording import listed
from toprank.workflow.comparison.differences import SURE
from toprank_bench.experiment import Experiment
from toprank_bench.protocols import Cell
from toprank_bench.row_file import Row

_LEAST_SPLITS = 3
_AHEAD, _BEHIND = "ahead", "behind"

BySplit = Mapping[int, float]
"""Values by the seed of the split."""


class SetLead(NamedTuple):
    """The mean lead on one data set, with its 95 % interval over the splits."""

    data: str
    n_splits: int
    lead: Interval


def each_set_sentences(
    experiment: Experiment, known: Mapping[Cell, Row], metric: str
) -> list[str]:
    """Return a sentence for each method of `each_set_against`, from the rows with the metric."""
    values: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    turned = -1 if metric in experiment.lower_is_better else 1
    for cell, row in known.items():
        values[cell.data, cell.method][cell.seed] = turned * row["figures"][metric]
    test_share = float(Fraction(str(experiment.options.get("test_share", 0))))
    sentences = []
    for against in experiment.each_set_against:
        leads = [
            set_lead(data, values[data, experiment.ours], values[data, against], test_share)
            for data in experiment.data
        ]
        if measured := [each for each in leads if each is not None]:
            sentences.append(leads_in_words(measured, experiment.ours, against))
    return sentences


def set_lead(data: str, ours: BySplit, theirs: BySplit, test_share: float) -> SetLead | None:
    """Return the lead on the splits that both have; None where they are too few for an interval.

    >>> set_lead("glass", {1: 0.5, 2: 0.7, 3: 0.6}, {1: 0.4, 2: 0.5, 3: 0.6}, 0.3).lead.value
    0.1
    """
    seeds = sorted(set(ours) & set(theirs))
    if len(seeds) < _LEAST_SPLITS:
        return None
    differences = [ours[seed] - theirs[seed] for seed in seeds]
    variance = stdev(differences) ** 2 * (1 / len(seeds) + test_share / (1 - test_share))
    half = stats.t.isf((1 - SURE) / 2, len(seeds) - 1) * math.sqrt(variance)
    mean = round(fmean(differences), 12)
    return SetLead(data, len(seeds), Interval(mean, float(mean - half), float(mean + half)))


def leads_in_words(leads: Sequence[SetLead], method: str, against: str) -> str:
    """Return in a sentence on which data sets a method is significantly ahead or behind."""
    sides = {
        _AHEAD: [each.data for each in leads if each.lead.low > 0],
        _BEHIND: [each.data for each in leads if each.lead.high < 0],
    }
    found = " and ".join(
        f"{side} on {len(names)} ({listed(names)})" if names else f"{side} on none"
        for side, names in sides.items()
    )
    fewest = min(each.n_splits for each in leads)
    return (
        "Each data set by itself, by the t-test for splits that share rows (Nadeau and Bengio, "
        f"5 %, at least {fewest} splits): of {len(leads)} data sets, {method} is significantly "
        f"{found}, compared with {against}."
    )
