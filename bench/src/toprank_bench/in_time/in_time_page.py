"""The page of toprank beside what one would use instead, and its summary for the first page."""

from collections.abc import Iterable
from statistics import median

from toprank.metrics import Interval
from toprank.wording import listed
from toprank_bench.in_time.time_results import N_RESAMPLES, TimeResults
from toprank_bench.protocols.later_rows import COVERED, MEGABYTES, PRECISION, SECONDS
from toprank_bench.result_tables import BETTER, MISSING, SAME, WORSE

_AP, _AUC = "average_precision", "roc_auc"
_GOAL = 90  # per cent of the days
_LEGEND = (
    "Figures are means over tables, in per cent, seconds of the processor and megabytes medians; "
    f"{MISSING} was not measured on every table. Precision per day is among the rows checked on a "
    "day. Counts are of the tables on which toprank has a significantly higher average precision, "
    "none, or a significantly lower one."
)


def summary(results: TimeResults) -> str:
    """Return the first screen: how toprank compares with each method, over all tables."""
    return "\n\n".join(
        [
            "## toprank beside what you would use instead",
            f"{len(results.tables)} tables in order of time. Every method learns from labelled "
            "rows, chooses its settings on the latest of them, and ranks the rows of later days.",
            _methods_table(results),
            _LEGEND,
            _promise(results),
            f"Every table, where toprank is ahead, even or behind, and its promise day by day: "
            f"[{results.experiment.title}]({results.experiment.name}.md). Run it again: `toprank "
            f"bench run {results.experiment.name}`.",
        ]
    )


def page(results: TimeResults, picture: str, notes: Iterable[str]) -> str:
    """Return the whole page; `picture` is the file of the promise, day by day."""
    experiment = results.experiment
    parts = [
        f"# {experiment.title}",
        f"{experiment.source}.",
        "## Average precision on later rows",
        "In per cent, with 95 % intervals. After the figure of another method comes the lead of "
        f"toprank over it: {BETTER} toprank is ahead, {WORSE} it is behind, {SAME} the interval "
        f"contains 0. Intervals are from {N_RESAMPLES} resamples of the positives, the same for "
        "all methods.",
        _precision_table(results),
        "## Where toprank is ahead, even and behind",
        "\n".join(f"- {line}" for line in _verdicts(results)),
        "## The promise",
        "For each later day, `toprank rank` prints how many positives to expect in its list, and "
        f"a range that is to contain the number found on {_GOAL} % of the days. Thirds are those "
        "of the days: in the last one the model is oldest.",
        _promise(results),
        _promise_table(results),
        f"![Positives found in the list of each later day, and the range printed]({picture})",
        "## All figures",
        _methods_table(results),
        _LEGEND,
        "## About the rows",
        "\n".join(f"- {note}" for note in notes),
    ]
    return "\n\n".join(parts) + "\n"


def _methods_table(results: TimeResults) -> str:
    head = [
        "method", "toprank ahead, even, behind", "AP", "precision per day", "AUC", "covered",
        "seconds", "MB",
    ]  # fmt: skip
    return _table(head, [_method_line(results, each) for each in (results.ours, *results.rivals)])


def _method_line(results: TimeResults, method: str) -> list[str]:
    is_ours = method == results.ours
    counts = [len(tables) for tables in _sides(results, method).values()]
    medians = (_median(results, metric, method) for metric in (SECONDS, MEGABYTES))
    return [
        f"**{method}**" if is_ours else method,
        MISSING if is_ours else ", ".join(map(str, counts)),
        *(_percent(results.mean(metric, method)) for metric in (_AP, PRECISION, _AUC, COVERED)),
        *(MISSING if value is None else f"{value:,.0f}" for value in medians),
    ]


def _precision_table(results: TimeResults) -> str:
    lines = []
    for data in results.tables:
        line = [data, _with_range(results.average_precision(data, results.ours))]
        line += [_against(results, data, rival) for rival in results.rivals]
        lines.append(line)
    return _table(["table", results.ours, *results.rivals], lines)


def _against(results: TimeResults, data: str, rival: str) -> str:
    if not results.has(data, rival):
        return MISSING
    figure, lead = results.figure(_AP, data, rival), results.lead(data, rival)
    low, high = (f"{100 * end:+.1f}" for end in lead[1:])
    return f"{_percent(figure)} {_sign(lead)} {100 * lead.value:+.1f} ({low} to {high})"


def _sign(lead: Interval) -> str:
    return BETTER if lead.low > 0 else WORSE if lead.high < 0 else SAME


def _sides(results: TimeResults, rival: str) -> dict[str, list[str]]:
    """Return the tables on which toprank is ahead of a rival, even and behind."""
    sides: dict[str, list[str]] = {BETTER: [], SAME: [], WORSE: []}
    for data in results.tables:
        if rival != results.ours and results.has(data, rival):
            sides[_sign(results.lead(data, rival))].append(data)
    return sides


def _verdicts(results: TimeResults) -> list[str]:
    """Return a line per rival: where toprank is ahead, even and behind."""
    words = {BETTER: "ahead on", SAME: "even on", WORSE: "behind on"}
    return [
        f"{rival}: "
        + "; ".join(
            f"{words[sign]} {len(tables)} ({listed(tables)})" if tables else f"{words[sign]} none"
            for sign, tables in _sides(results, rival).items()
        )
        + "."
        for rival in results.rivals
    ]


def _promise(results: TimeResults) -> str:
    """Return in a sentence how often the range held."""
    held = results.coverage(results.tables)
    return (
        "**The promise.** The printed range contained what was found on "
        f"{held.n_covered:,} of {held.n_days:,} days, {_percent(held.share)} %, where {_GOAL} % "
        "is the goal."
    )


def _promise_table(results: TimeResults) -> str:
    head = [
        "table", "days", "checks per day", "expected per day", "found per day", "days covered",
        "first third", "last third",
    ]  # fmt: skip
    lines = []
    for data in results.tables:
        lists = results.lists(data)
        lines.append(
            [
                data,
                f"{len(lists)}",
                f"{results.fact('budget', data, results.ours)}",
                f"{sum(each.expected for each in lists) / len(lists):.1f}",
                f"{sum(each.found for each in lists) / len(lists):.1f}",
                *_covered(results, [data]),
            ]
        )
    n_days = results.coverage(results.tables).n_days
    lines.append(["all", f"{n_days}", "", "", "", *_covered(results, results.tables)])
    return _table(head, lines)


def _covered(results: TimeResults, tables: list[str]) -> list[str]:
    """Return the coverage of all days, of the first third and of the last."""
    parts = (results.coverage(tables, third) for third in (None, 0, 2))
    return [f"{_percent(part.share)} %" for part in parts]


def _median(results: TimeResults, metric: str, method: str) -> float | None:
    values = [
        value
        for data in results.tables
        if results.has(data, method)
        and (value := results.figure(metric, data, method)) is not None
    ]
    return median(values) if values else None


def _with_range(figure: Interval) -> str:
    value, low, high = (f"{100 * each:.1f}" for each in figure)
    return f"{value} ({low}–{high})"


def _percent(share: float | None) -> str:
    return MISSING if share is None else f"{100 * share:.1f}"


def _table(head: list[str], lines: Iterable[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))
