"""The first screen of the results: toprank next to what one would use instead, from rows alone."""

from collections import defaultdict
from dataclasses import replace
from statistics import fmean, median

from toprank.metrics import Interval
from toprank.wording import listed
from toprank_bench.experiment import Experiment
from toprank_bench.experiment_summary import summary_of
from toprank_bench.result_tables import MISSING
from toprank_bench.row_file import Row
from toprank_bench.runner import recorded

EXPERIMENT = "next-to-rivals"
OURS = "toprank AutoRanker"
_AP, _PRECISION, _SECONDS = "average_precision", "precision_at_k(100%)", "seconds"
_BY_TIME = ("ULB card payments", "Handbook payments")
_EQUAL = 0.0005  # what three decimals do not show


def rivals_section(experiment: Experiment, rows: list[Row]) -> str:
    """Return the table with all methods, the smallest lead first, and where toprank is behind."""
    found = _means(experiment, rows)
    leads = _leads(experiment, rows)
    methods = [OURS, *sorted(leads, key=lambda name: leads[name].value)]
    others = [data for data in experiment.data if data not in _BY_TIME]
    head = [
        "method", *_BY_TIME, f"{len(others)} public data sets", "precision at k", "seconds",
        "AutoRanker leads by (95 %)",
    ]  # fmt: skip
    lines = [head, ["---"] * len(head)]
    lines += [_line(method, experiment, leads.get(method), found, others) for method in methods]
    lines += [
        [method.name, *[MISSING] * (len(head) - 1)]
        for method in experiment.methods
        if method.name not in methods
    ]
    return "\n\n".join(
        [
            "## toprank next to what you would use instead",
            "Average precision on test rows that no method has seen, the same for all; higher is "
            "better. Brackets are 95 % intervals. Payments are split by time, the other data sets "
            "at random.",
            "\n".join(f"| {' | '.join(line)} |" for line in lines),
            "The lead is the mean difference over the data sets of both, with its interval; "
            "the table is ordered by it. Precision at k is among as many rows as there are "
            "positives, the mean over data sets; seconds are the median of processor time for "
            "fitting and scoring. – was not measured.",
            _where_behind(experiment, found),
            _where_close(experiment, found),
            f"Settings, every data set and the tests: [{experiment.title.lower()}]"
            f"({experiment.name}.md). Run it again: `toprank bench run {experiment.name}`.",
        ]
    )


def _leads(experiment: Experiment, rows: list[Row]) -> dict[str, Interval]:
    """Return how far ours is ahead of each other method, over the data sets that both have."""
    leads = {}
    for method in experiment.methods:
        pair = replace(experiment, methods=(experiment.method(OURS), method))
        if method.name != OURS and any(
            cell.method == method.name for cell in recorded(pair, rows)
        ):
            leads[method.name] = summary_of(pair, rows).comparison.versus(OURS, method.name).lead
    return leads


class _Means:
    """Means over seeds by (data, method), and the intervals of the tests by time."""

    def __init__(self) -> None:
        self.figures: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self.intervals: dict[tuple[str, str], list[float]] = {}

    def mean(self, metric: str, data: str, method: str) -> float:
        return fmean(self.figures[metric][data, method])

    def has(self, data: str, method: str) -> bool:
        return (data, method) in self.figures[_AP]


def _means(experiment: Experiment, rows: list[Row]) -> _Means:
    found = _Means()
    for cell, row in recorded(experiment, rows).items():
        for metric, value in row["figures"].items():
            found.figures[metric][cell.data, cell.method].append(value)
        found.intervals[cell.data, cell.method] = row["facts"]["ap_interval"]
    return found


def _line(
    method: str,
    experiment: Experiment,
    lead: Interval | None,
    found: _Means,
    others: list[str],
) -> list[str]:
    by_time = []
    for data in _BY_TIME:
        if not found.has(data, method):
            by_time.append(MISSING)
            continue
        low, high = found.intervals[data, method]
        by_time.append(f"{found.mean(_AP, data, method):.3f} ({low:.3f}–{high:.3f})")
    known = [data for data in experiment.data if found.has(data, method)]
    public = [found.mean(_AP, data, method) for data in others if data in known]
    return [
        f"**{method}**" if method == OURS else method,
        *by_time,
        f"{fmean(public):.3f}" if len(public) == len(others) else MISSING,
        f"{fmean(found.mean(_PRECISION, data, method) for data in known):.3f}",
        f"{median(found.mean(_SECONDS, data, method) for data in known):.1f}",
        MISSING if lead is None else f"{lead.value:+.3f} ({lead.low:+.3f} to {lead.high:+.3f})",
    ]


def _where_behind(experiment: Experiment, found: _Means) -> str:
    """Return in words on which data sets another method has the higher average precision."""
    sentences, n_first = [], 0
    for data in experiment.data:
        ours = found.mean(_AP, data, OURS)
        ahead = {
            method.name: lead
            for method in experiment.methods
            if found.has(data, method.name)
            and (lead := found.mean(_AP, data, method.name) - ours) > _EQUAL
        }
        n_first += not ahead
        if ahead:
            names = [f"{name} (+{lead:.3f})" for name, lead in _largest_first(ahead)]
            sentences.append(f"- {data}: {listed(names)}")
    seconds = {
        method.name: median(times)
        for method in experiment.methods
        if (
            times := [
                found.mean(_SECONDS, data, method.name)
                for data in experiment.data
                if found.has(data, method.name)
            ]
        )
    }
    faster = [name for name, each in seconds.items() if each < seconds[OURS]]
    text = (
        f"**Where toprank is behind.** AutoRanker has the highest average precision on {n_first} "
        f"of {len(experiment.data)} data sets. "
    )
    if sentences:
        text += "Ahead of it are:\n\n" + "\n".join(sentences) + "\n\n"
    slower = "It is the fastest." if not faster else f"Faster are {listed(faster)}."
    return text + f"It takes a median of {seconds[OURS]:.0f} seconds. {slower}"


def _where_close(experiment: Experiment, found: _Means) -> str:
    """Return in words which leads on the payments may be chance."""
    sentences = []
    for data in _BY_TIME:
        ours = found.mean(_AP, data, OURS)
        close = [
            method.name
            for method in experiment.methods
            if method.name != OURS
            and found.has(data, method.name)
            and found.intervals[data, method.name][0] <= ours
            and ours <= found.intervals[data, method.name][1]
        ]
        if close:
            sentences.append(
                f"On the {data}, the intervals of {listed(close)} contain AutoRanker's figure: "
                "these differences may be chance."
            )
    return " ".join(sentences)


def _largest_first(leads: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(leads.items(), key=lambda each: -each[1])
