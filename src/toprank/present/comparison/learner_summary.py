"""How the learners compare, in words, in plain values and in a picture."""

from math import comb
from textwrap import fill
from typing import TYPE_CHECKING, Any

from toprank.metrics import Interval
from toprank.present import summary
from toprank.wording import aligned, are, listed, percent
from toprank.workflow.comparison.differences import (
    LINE_WIDTH,
    SURE,
    PairedDifference,
    significant_sentence,
    size,
)
from toprank.workflow.comparison.learner_comparison import (
    _MOST_CURVES,
    BASELINE,
    Compared,
    JudgedLearner,
)
from toprank.workflow.plain_facts import evaluation_facts

if TYPE_CHECKING:  # loaded when a picture is drawn
    from matplotlib.figure import Figure


def text_of(compared: Compared, noun: str) -> str:
    """Return the whole account, as `toprank compare` prints it."""
    task = compared.task
    n_features = task.features.num_columns
    features = f"{n_features} feature{'' if n_features == 1 else 's'}"
    share = percent(task.is_positive.mean())
    return "\n".join(
        (
            f"{task.is_positive.size:,} rows, {features}, {share} {noun}",
            summary.periods_line(task),
            _table(compared, noun),
            *(fill(line, LINE_WIDTH) for line in verdicts(compared, noun)),
            *summary.cautions(compared.best.test, noun),
        )
    )


def facts_of(compared: Compared, label: str, time: str | None) -> dict[str, Any]:
    """Return the same account in plain values, as `--json` prints it."""
    task = compared.task
    periods = task.split.periods or {}
    return {
        "label": label,
        "time": time,
        "budget": compared.best.test.budget,
        "rows": task.is_positive.size,
        "positives": int(task.is_positive.sum()),
        "periods": {name: [str(begin), str(end)] for name, (begin, end) in periods.items()},
        "baseline": BASELINE,
        "best": compared.best.name,
        "learners": {each.name: _facts(each) for each in compared.judged},
        "failed": compared.failed,
        "level_of_a_difference": compared.level,
        "differences": [
            {
                "learner": each.learner,
                "against": each.against,
                "difference": each.value,
                "low": each.low,
                "high": each.high,
                "is_significant": each.is_significant,
            }
            for each in compared.differences
        ],
    }


def figures_rows(compared: Compared, noun: str) -> list[list[str]]:
    """Return the figures of the learners as rows of text, the head first."""
    first = compared.best.test
    per_day = "" if first.day is None else " a day"
    found = f"{noun} in {first.budget:,}{per_day}"
    return [
        ["", "AP", found, "before a false alarm", "AUC", "seconds"],
        *([each.name, *_cells(each)] for each in compared.judged),
    ]


def verdicts(compared: Compared, noun: str) -> list[str]:
    """Return which differences are significant, in sentences."""
    with_baseline = [each for each in compared.differences if each.against == BASELINE]
    with_best = [each for each in compared.differences if each.against != BASELINE]
    n_positive = int(compared.best.test.is_positive.sum())
    alike = [each.learner for each in with_baseline if not each.is_significant]
    lines = [significant_sentence(each) for each in with_baseline if each.is_significant]
    if alike:
        lines.append(
            f"{listed(alike)} {are(alike)} not significantly different from {BASELINE} on these "
            f"{n_positive:,} {noun}."
        )
    lines += _of_the_best(with_best)
    if compared.differences:
        n_pairs = comb(len(compared.judged), 2)
        pairs = "the one pair" if n_pairs == 1 else f"all {n_pairs} pairs at once"
        lines.append(
            f"Differences are in AP, their intervals at {100 * compared.level:.4g} %: "
            f"{percent(SURE)} for {pairs}."
        )
    return lines


def picture_of(compared: Compared) -> "Figure":
    """Return a figure: every learner's AP with its interval, and the curves of the best few."""
    from matplotlib.figure import Figure

    from toprank import plots

    names = [each.name for each in compared.judged]
    figure = Figure(figsize=(9.2, max(3.6, 1 + 0.28 * len(names))), layout="constrained")
    left, right = figure.subplots(1, 2)
    precisions = [each.test.average_precision for each in compared.judged]
    plots.intervals(names, precisions, left).set_xlabel("Average precision, with 95 % interval")
    shown = names[:_MOST_CURVES]
    if BASELINE in names and BASELINE not in shown:
        shown[-1] = BASELINE
    for each in compared.judged:
        if each.name in shown:
            plots.precision_recall(each.test.is_positive, each.test.suspicion, right, each.name)
    return figure


def _table(compared: Compared, noun: str) -> str:
    rows = [*figures_rows(compared, noun), *([name, *[""] * 5] for name in compared.failed)]
    lines = aligned(rows).splitlines()
    width = max(len(name) for name, *_ in rows)
    for place, sentence in enumerate(compared.failed.values(), start=1 + len(compared.judged)):
        lines[place] = f"{lines[place]:{width}}  failed: {sentence}"
    return "\n".join(lines)


def _cells(judged: JudgedLearner) -> list[str]:
    test, seconds = judged.test, judged.seconds_to_fit
    return [
        str(test.average_precision),
        summary.counted(test.found),
        _percents(test.positives_at_top),
        str(test.roc_auc),
        f"{seconds:,.{int(seconds < 10)}f}",
    ]


def _percents(share: Interval) -> str:
    value, low, high = share
    decimals = int(value < 0.1)
    return f"{percent(value)} ({100 * low:.{decimals}f}-{100 * high:.{decimals}f})"


def _of_the_best(differences: list[PairedDifference]) -> list[str]:
    lines = []
    leads = [each for each in differences if each.is_significant]
    alike = [each.against for each in differences if not each.is_significant]
    if leads:
        sizes = [f"{each.against} by {size(each)}" for each in leads]
        lines.append(f"{leads[0].learner}, the best, leads {listed(sizes)}: significant.")
    if alike:
        best = differences[0].learner
        others = listed(alike, "or")
        lines.append(f"{best}, the best, is not significantly better than {others}.")
    return lines


def _facts(judged: JudgedLearner) -> dict[str, Any]:
    test = judged.test
    return {
        **evaluation_facts(test),
        "precision_at_k": {
            name: value / test.budget for name, value in test.found._asdict().items()
        },
        "seconds_to_fit": judged.seconds_to_fit,
        "rows_scored_a_second": test.is_positive.size / judged.seconds_to_score,
    }
