"""How the remedies for imbalance compare: in words, in plain values, in a picture."""

from textwrap import fill
from typing import TYPE_CHECKING, Any

from toprank.metrics import Interval
from toprank.present import summary
from toprank.wording import aligned, are, listed, percent, ratio
from toprank.workflow.comparison.differences import LINE_WIDTH, SURE, PairedDifference, size
from toprank.workflow.comparison.imbalance import MEASURES, ComparedMethods, TriedRemedy
from toprank.workflow.comparison.methods import BASELINE, METHODS, RemedyTrial

if TYPE_CHECKING:  # loaded when a picture is drawn
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {
    "AP": "AP by ratio",
    "F1": "F1 by ratio, at the threshold of validation",
    "AUC": "AUC by ratio",
    "F1 by default": "F1 by ratio, at probability .5",
}
STAR = "* the ratio with the highest AP on validation"


def text_of(compared: ComparedMethods, noun: str) -> str:
    """Return the whole account, as `toprank compare --imbalance` prints it."""
    task = compared.task
    n_features = task.features.num_columns
    features = f"{n_features} feature{'' if n_features == 1 else 's'}"
    share = percent(task.is_positive.mean())
    return "\n".join(
        (
            f"{task.is_positive.size:,} rows, {features}, {share} {noun}",
            summary.periods_line(task),
            _table(compared),
            *([STAR] if any(each.trial.ratio for each in compared.tried) else []),
            *(fill(line, LINE_WIDTH) for line in verdicts(compared, noun)),
            *summary.cautions(compared.baseline.test, noun),
        )
    )


def facts_of(compared: ComparedMethods, label: str, time: str | None) -> dict[str, Any]:
    """Return the same account in plain values, as `--json` prints it."""
    task = compared.task
    periods = task.split.periods or {}
    return {
        "label": label,
        "time": time,
        "rows": task.is_positive.size,
        "positives": int(task.is_positive.sum()),
        "periods": {name: [str(begin), str(end)] for name, (begin, end) in periods.items()},
        "base": compared.base,
        "natural_ratio": compared.natural_ratio,
        "ratios": compared.ratios,
        "baseline": BASELINE,
        "tried": [_facts(each, compared) for each in compared.tried],
        "failed": [
            {**trial._asdict(), "reason": reason} for trial, reason in compared.failed.items()
        ],
        "level_of_a_difference": compared.level,
        "differences": [_difference_facts(each) for each in compared.differences],
        "threshold_gain": _difference_facts(compared.threshold_gain),
    }


def figures_rows(compared: ComparedMethods) -> tuple[list[list[str]], dict[int, str]]:
    """Return the figures as rows of text, the head first; and by row, why a method failed."""
    rows = [["", "ratio", "AP", "F1", "F1 at .5", "AUC", "seconds"]]
    failures = {}
    tried = {each.trial: each for each in compared.tried}
    for trial in _rows(compared):
        if trial in tried:
            rows.append(_cells(tried[trial], compared))
        else:
            failures[len(rows)] = _reason(compared, trial)
            rows.append([trial.method, _ratio(trial), *[""] * 5])
    return rows, failures


def picture_of(compared: ComparedMethods) -> "Figure":
    """Return a figure: F1 by threshold with and without sampling, and every measure by ratio."""
    from matplotlib.figure import Figure

    from toprank.plots.canvas import FONT_SIZE, INK

    figure = Figure(figsize=(12.4, 7.4), layout="constrained")
    above, below = figure.subplots(2, 3)
    shown = [each for each in compared.tried if each.train is not None]
    for ax, each in zip(above, shown, strict=False):
        _draw_thresholds(each, ax)
    if len(shown) == 1:
        above[1].set_axis_off()
    for ax, (measure, title) in zip([*below, above[2]], _TITLES.items(), strict=True):
        _draw_by_ratio(compared, measure, ax)
        ax.set_title(title, loc="left", size=FONT_SIZE + 1, color=INK)
    handles, labels = below[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False,
        fontsize=FONT_SIZE, labelcolor=INK,
    )  # fmt: skip
    return figure


def verdicts(compared: ComparedMethods, noun: str) -> list[str]:
    """Return which differences are significant, and what to do, in sentences."""
    n_positive = int(compared.baseline.test.is_positive.sum())
    lines, alike = [], []
    for name, tried in compared.chosen.items():
        found = [each for each in compared.differences if each.learner == name]
        if any(each.is_significant for each in found):
            lines.append(_of_method(tried.trial, found))
        elif found:
            alike.append(str(tried.trial))
    if alike:
        lines.append(
            f"{listed(alike)} {are(alike)} not significantly different from {BASELINE} in "
            f"{listed(list(MEASURES), 'or')} on these {n_positive:,} {noun}."
        )
    lines.append(_of_threshold(compared))
    n_differences = len(compared.differences) + 1
    together = "the one difference" if n_differences == 1 else f"all {n_differences} at once"
    lines.append(
        f"Intervals of differences are at {100 * compared.level:.4g} %: "
        f"{percent(SURE)} for {together}."
    )
    return [*lines, _advice(compared)] if compared.differences else lines


def _of_method(trial: RemedyTrial, found: list[PairedDifference]) -> str:
    """Return in which measures a method differs from the baseline, and in which it may not."""
    differing = [each for each in found if each.is_significant]
    above, below = (
        [f"in {each.metric} by {size(each)}" for each in differing if (each.value > 0) == is_above]
        for is_above in (True, False)
    )
    unknown = [each.metric for each in found if not each.is_significant]
    parts = [f"leads {BASELINE} {listed(above)}"] if above else []
    if below:
        parts.append(f"trails {'it' if above else BASELINE} {listed(below)}")
    what = "significant, and the measures disagree" if above and below else "significant"
    rest = ""
    if unknown:
        rest = f" In {listed(unknown, 'or')} it is not significantly different."
    return f"{trial} {' but '.join(parts)}: {what}.{rest}"


def _of_threshold(compared: ComparedMethods) -> str:
    gain, baseline = compared.threshold_gain, compared.baseline
    moved = (
        f"Choosing the threshold takes the F1 of {BASELINE} from {baseline.f1_by_default} at "
        f"probability .5 to {baseline.f1}"
    )
    if not gain.is_significant:
        return f"{moved}, which is no significant difference."
    return f"{moved}, a {'gain' if gain.value > 0 else 'loss'} of {size(gain)}: significant."


def _advice(compared: ComparedMethods) -> str:
    """Return what to do, and claim no more than the intervals do."""
    gains = {measure: _gaining(compared, measure) for measure in MEASURES}
    if gains["AP"]:
        names = listed(gains["AP"])
        if len(gains["AP"]) == 1:
            return f"What to do: take {names}. No other has a significant gain in AP."
        return f"What to do: take one of {names}. Which of them is best was not tested."
    aside = [
        f"{measure} rises with {listed(gains[measure])}"
        for measure in ("F1", "AUC")
        if gains[measure]
    ]
    seen = f" ({'; '.join(aside)})" if aside else ""
    gain = compared.threshold_gain
    and_then = " and choose the threshold" if gain.is_significant and gain.value > 0 else ""
    none_of = "None of the methods that ran" if compared.failed else "No method"
    return (
        f"What to do: leave the rows as they are{and_then}. {none_of} has a significant gain in "
        f"AP{seen}."
    )


def _gaining(compared: ComparedMethods, measure: str) -> list[str]:
    """Return the methods with a significant lead in one measure."""
    return [
        str(compared.chosen[each.learner].trial)
        for each in compared.differences
        if each.metric == measure and each.is_significant and each.value > 0
    ]


def _table(compared: ComparedMethods) -> str:
    rows, failures = figures_rows(compared)
    lines = aligned(rows).splitlines()
    width = sum(max(len(row[i]) for row in rows) for i in (0, 1)) + 2
    for place, reason in failures.items():
        lines[place] = f"{lines[place]:{width}}  failed: {reason}"
    return "\n".join(lines)


def _rows(compared: ComparedMethods) -> list[RemedyTrial]:
    """Return the trials in order; a method that failed alike at every ratio has one row."""
    trials = {each.trial for each in compared.tried}
    for trial in compared.failed:
        alike = trial.method not in compared.chosen and _reason(
            compared, RemedyTrial(trial.method)
        )
        trials.add(RemedyTrial(trial.method) if alike else trial)
    return sorted(trials, key=lambda each: (METHODS.index(each.method), each.ratio or 0.0))


def _reason(compared: ComparedMethods, trial: RemedyTrial) -> str:
    """Return why a trial failed; without a ratio, why all of its method did if it was the same."""
    reasons = {
        reason
        for each, reason in compared.failed.items()
        if each == trial or (trial.ratio is None and each.method == trial.method)
    }
    return reasons.pop() if len(reasons) == 1 else ""


def _cells(tried: TriedRemedy, compared: ComparedMethods) -> list[str]:
    seconds = tried.seconds_to_fit
    star = "*" if tried.trial.ratio is not None and _is_chosen(tried, compared) else ""
    return [
        tried.trial.method,
        _ratio(tried.trial) + star,
        *(str(_figures(tried)[name]) for name in ("AP", "F1", "F1 by default", "AUC")),
        f"{seconds:,.{int(seconds < 10)}f}",
    ]


def _ratio(trial: RemedyTrial) -> str:
    return "" if trial.ratio is None else ratio(trial.ratio)


def _is_chosen(tried: TriedRemedy, compared: ComparedMethods) -> bool:
    return compared.chosen[tried.trial.method] is tried


def _figures(tried: TriedRemedy) -> dict[str, Interval]:
    return {
        "AP": tried.test.average_precision,
        "F1": tried.f1,
        "AUC": tried.test.roc_auc,
        "F1 by default": tried.f1_by_default,
    }


def _facts(tried: TriedRemedy, compared: ComparedMethods) -> dict[str, Any]:
    figures = _figures(tried)
    return {
        **tried.trial._asdict(),
        "is_chosen": _is_chosen(tried, compared),
        "validation_average_precision": tried.validation_precision,
        "threshold": tried.threshold,
        "average_precision": figures["AP"]._asdict(),
        "f1": figures["F1"]._asdict(),
        "f1_by_default": figures["F1 by default"]._asdict(),
        "roc_auc": figures["AUC"]._asdict(),
        "seconds_to_fit": tried.seconds_to_fit,
    }


def _difference_facts(difference: PairedDifference) -> dict[str, Any]:
    return {
        "method": difference.learner,
        "against": difference.against,
        "metric": difference.metric,
        "difference": difference.value,
        "low": difference.low,
        "high": difference.high,
        "is_significant": difference.is_significant,
    }


def _draw_thresholds(tried: TriedRemedy, ax: "Axes") -> None:
    """Draw F1 by threshold on train, at the ratio learned from, and on test."""
    from toprank import plots
    from toprank.plots.canvas import FONT_SIZE, INK

    assert tried.train is not None
    plots.f_beta_by_threshold(tried.test.is_positive, tried.test.probability, ax, "test")
    plots.f_beta_by_threshold(*tried.train, ax, "train")
    title = f"F1 by threshold: {tried.trial}"
    ax.set_title(title, loc="left", size=FONT_SIZE + 1, color=INK, pad=34)  # above the legend


def _draw_by_ratio(compared: ComparedMethods, measure: str, ax: "Axes") -> None:
    from toprank import plots

    values: dict[str, dict[float | None, Interval]] = {}
    for each in compared.tried:
        if each is not compared.baseline:
            by_ratio = values.setdefault(each.trial.method, {})
            by_ratio[each.trial.ratio] = _figures(each)[measure]
    plots.metrics_by_ratio(values, ax, baseline=_figures(compared.baseline)[measure])
    if (legend := ax.get_legend()) is not None:
        legend.remove()  # one for all of them is below
