"""The sections of the page, one function each, in the order they are read."""

from collections.abc import Iterable
from datetime import datetime

import numpy as np

from toprank import wording
from toprank.metrics import Interval, checks_curve, precision_at_k, recall_at_k
from toprank.present.report import figures
from toprank.present.report.contents import Alert, ListReport, Period, Report, TreeGroup
from toprank.present.report.markup import count, interval, percent, prose, section, table, text

_MOST_BARS = 15
_MOST_CURVES = 4  # beyond that nobody can distinguish the lines; the table has every model


def key_figures(report: Report) -> str:
    """Return the title, what to expect of the list, and the figures behind it."""
    return header(
        report,
        _tiles(report),
        "A positive is a row of the rare kind you look for, such as a fraud. Ranges in "
        "brackets are 95 % intervals: another test of the same size would mostly land inside.",
        report.period,
    )


def header(
    report: ListReport, tiles: Iterable[tuple[str, str, str]], words: str, period: str = ""
) -> str:
    """Return the top of a page, its key figures given as (name, value, note).

    `period` says which rows the page is about, where that could be mistaken.
    """
    about = f'<p class="period">{prose(period)}</p>\n' if period else ""
    figures_shown = "\n".join(
        f"<div><dt>{name}</dt><dd>{value}</dd><dd>{note}</dd></div>" for name, value, note in tiles
    )
    return (
        f"<header>\n<h1>{text(report.title)}</h1>\n"
        f'<p class="headline">{prose(report.headline)}</p>\n'
        f"{about}"
        f'<dl class="tiles">\n{figures_shown}\n</dl>\n'
        f"<p>{prose(words)}</p>\n"
        f"{_remarks(report.remarks)}</header>"
    )


def alert_list(report: Report) -> str:
    """Return the top of the list with the reasons of each row."""
    alerts = report.alerts
    heading = "The top of the test period's list" if report.periods else "The top of the list"
    if not alerts:
        return section("alerts", heading, "<p>The list is empty.</p>")
    return section(
        "alerts",
        heading,
        f"<p>{_alerts_sentence(alerts)}</p>",
        alerts_table(alerts),
    )


def alerts_table(alerts: list[Alert]) -> str:
    """Return the rows of a list, each with its reasons."""
    has_chances = any(alert.probability is not None for alert in alerts)
    headings = ["Rank", "Row", "Probability" if has_chances else "Suspicion"]
    headings += ["Why it is here", "Values"]
    headings += ["Verdict"] if _has_verdicts(alerts) else []
    head = "".join(f'<th scope="col" role="columnheader">{name}</th>' for name in headings)
    body = "\n".join(_alert_row(alert, headings) for alert in alerts)
    return (
        # On a phone each row is laid out as a card; the roles keep it a table for screen readers.
        f'<table class="alerts" role="table">\n<caption>The most suspicious rows</caption>\n'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>\n'
        f'<tbody role="rowgroup">\n{body}\n</tbody>\n</table>'
    )


def tree(report: ListReport) -> str:
    """Return the tree and the rules of its groups; nothing when there is no tree to read."""
    if report.tree is None:
        return ""
    n_groups = len(report.tree.groups)
    title = f"A tree of questions that ends in {count(n_groups)} groups, the most suspicious left"
    return section(
        "tree",
        "The tree",
        "<p>Each box asks a question of a row; yes is the more suspicious way. The groups at the "
        "bottom are the ranking: rows of group 1 come first on the list. Counts are of the rows "
        "that were learned from.</p>",
        '<div class="wide tree" tabindex="0" role="region" aria-label="The tree">'
        f"{figures.tree_figure(report.tree.svg, title)}</div>",
        "<h3>The rules of each group</h3>\n<p>A row is in a group when it meets any of its rules."
        "</p>",
        '<ol class="rules">\n'
        + "\n".join(f"<li>{_tree_group(group)}</li>" for group in report.tree.groups)
        + "\n</ol>",
    )


def by_checks(report: Report) -> str:
    """Return precision and recall by number of checks, drawn and as a table."""
    model = report.models[0]
    marked = _checks_in_test(report)
    words = (
        "Read it at the number of rows you can check: the solid line is the share of those checks "
        "that are right (precision), the dashed line the share of all positives they find "
        "(recall)."
    )
    title = f"Precision and recall by number of checks. {_spoken_checks(report, marked)}"
    return section(
        "checks",
        "What more or fewer checks would find",
        f"<p>{words} Shaded bands are 95 % intervals; grey lines show checks made at random."
        f"{_per_day_sentence(report, marked)}</p>",
        '<div class="pair">',
        figure(figures.checks_figure(model, marked, title)),
        _checks_table(report, marked),
        "</div>",
    )


def cards(report: Report) -> str:
    """Return what checking cards comes to, day by day; nothing where rows have no card."""
    days = report.cards
    if days is None:
        return ""
    return section(
        "cards",
        "Checking cards instead of rows",
        f"<p>{prose(days.words)}</p>",
        "<p>Each day the most suspicious cards are checked, a card being as suspicious as its "
        "most suspicious row of the day. A card that is found is blocked and does not count "
        "again. The line is the mean of the week around each day, points are single days; grey "
        "is what could have been found.</p>",
        figure(figures.cards_figure(days, "Share of the checked cards that were right, by day.")),
    )


def models_compared(report: Report) -> str:
    """Return the table of all models, the chosen one first."""
    rows = [
        (
            text(model.name) + (' <span class="chosen">chosen</span>' if place == 0 else ""),
            interval(model.average_precision),
            interval(model.found, ".1f"),
            interval(model.positives_at_top, "%"),
            interval(model.roc_auc),
        )
        for place, model in enumerate(report.models)
    ]
    headings = (
        "Model",
        "Average precision",
        f"Found in {_budget_words(report)}",
        "Positives at top",
        "ROC AUC",
    )
    return section(
        "models",
        "Models compared",
        "<p>Every model ranked the same test rows. Average precision is 1 when all positives come "
        "first and close to their share in the data when the order is random; positives at top is "
        "the share found before the first false alarm; ROC AUC is the chance that a positive "
        "ranks above a negative.</p>",
        table("Figures on the test rows, with 95 % intervals", headings, rows),
        _tried(report),
    )


def curves(report: Report) -> str:
    """Return the precision-recall and ROC curves."""
    shown = report.models[:_MOST_CURVES]
    names = ", ".join(model.name for model in shown)
    left_out = len(report.models) - len(shown)
    note = f" The first {_MOST_CURVES} models are drawn." if left_out else ""
    return section(
        "curves",
        "Precision-recall and ROC curves",
        f'<div class="pair">\n<div>\n<h3>Precision and recall</h3>\n<p>Going right, more of the '
        f"positives are found; the height says how many checks are still right.{note}</p>",
        figure(
            figures.precision_recall_figure(shown, f"Precision by recall of these models: {names}")
        ),
        "</div>\n<div>\n<h3>ROC</h3>\n<p>Going right, more negatives are raised as false "
        "alarms; the height says how many positives are found by then.</p>",
        figure(figures.roc_figure(shown, f"Positives found by false alarms raised: {names}")),
        "</div>\n</div>",
    )


def calibration(report: Report) -> str:
    """Return how far the probabilities can be taken at their word."""
    model = report.models[0]
    title = "Share of rows that were positive by predicted probability, on logarithmic scales"
    return section(
        "calibration",
        "Can the probabilities be believed?",
        "<p>Each dot is a group of rows with similar probability: on the grey line, as many of "
        "them were positive as predicted; above it there were more, below it fewer. Bars are 95% "
        "intervals; a hollow dot is a group without any positive.</p>",
        figure(figures.calibration_figure(model, title)),
    )


def importance(report: ListReport) -> str:
    """Return how much each column contributes."""
    heading = "What the ranking depends on"
    if not report.importance:
        return section("importance", heading, "<p>This model gives no shares of columns.</p>")
    largest = sorted(report.importance, key=lambda named: -named[1])[:_MOST_BARS]
    more = len(report.importance) - len(largest)
    rest = f" The other {count(more)} columns share what is left." if more > 0 else ""
    return section(
        "importance",
        heading,
        "<p>The longer the bar, the more the order of the list depends on that column; it does "
        f"not say in which direction.{rest}</p>",
        figure(figures.importance_figure(largest, "Importance of the columns, largest first")),
    )


def data_summary(report: Report) -> str:
    """Return the periods and the columns of the data."""
    share = report.positives / report.rows if report.rows else 0.0
    return section(
        "data",
        "The data",
        f"<p>{count(report.rows)} rows, {count(report.positives)} of them positive "
        f"({percent(share)}). Every figure and curve above is measured on the test rows.</p>",
        _periods_table(report.periods),
        columns_table(report),
    )


def parameters(report: ListReport) -> str:
    """Return every parameter of the run."""
    rows = [
        (text(name), f"<code>{text(value)}</code>") for name, value in report.parameters.items()
    ]
    return section(
        "parameters",
        "Every parameter",
        "<p>Everything that was set for this run, so that it can be repeated.</p>",
        table("Parameters of this run", ("Parameter", "Value"), rows),
    )


def made_with(report: ListReport) -> str:
    """Return the last line of the page."""
    return f'<footer id="made-with">\n<p>Made with {text(report.made_with)}</p>\n</footer>'


def columns_table(report: ListReport) -> str:
    """Return the columns of the data with what is usual in them."""
    rows = [
        (text(column.name), text(column.kind), percent(column.missing), text(column.usual))
        for column in report.columns
    ]
    return table("Columns", ("Column", "Kind", "Missing", "Usual values"), rows) if rows else ""


def figure(svg: str) -> str:
    """Return a drawing as a figure of the page."""
    return f"<figure>{svg}</figure>"


def _tiles(report):
    """Return the key figures as (name, value, note)."""
    model = report.models[0]
    found = model.found
    right = Interval(*(bound / report.budget for bound in found[:3]))
    base = float(np.mean(model.y))
    times = right.value / base
    against = f"{times:,.{0 if times >= 10 else 1}f}×" if np.isfinite(times) else "not known"
    return (
        (
            "Positives found",
            interval(found, ".0f" if found.value >= 10 else ".1f"),
            f"in {_budget_words(report)}",
        ),
        ("Checks that are right", interval(right, "%"), f"{percent(base)} if made at random"),
        ("Against chance", against, "as many found as at random"),
        ("Average precision", interval(model.average_precision, ".2f"), "1 would be perfect"),
    )


def _remarks(remarks):
    if not remarks:
        return ""
    items = "\n".join(f"<li>{prose(remark)}</li>" for remark in remarks)
    return f'<ul class="remarks" aria-label="Remarks">\n{items}\n</ul>\n'


def _has_verdicts(alerts):
    return any(alert.is_positive is not None for alert in alerts)


def _alerts_sentence(alerts):
    words = "The rows to check first, with what raised each of them."
    if not _has_verdicts(alerts):
        return words
    known = [alert.is_positive for alert in alerts if alert.is_positive is not None]
    return (
        f"{words} Of the {count(len(known))} with a known outcome, {count(sum(known))} were right."
    )


def _alert_row(alert: Alert, headings: list[str]) -> str:
    cells = [
        text(alert.row),
        _score(alert),
        _reasons(alert.reasons) + _against(alert.less_suspicious),
        " ".join(
            f"<span><i>{text(name)}</i> {text(value)}</span>"
            for name, value in alert.values.items()
        ),
        _verdict(alert.is_positive),
    ][: len(headings) - 1]
    inside = "".join(
        f'<td role="cell" data-name="{heading}">{cell}</td>'
        for heading, cell in zip(headings[1:], cells, strict=True)
    )
    return f'<tr role="row"><th scope="row" role="rowheader">{alert.rank}</th>{inside}</tr>'


def _score(alert: Alert) -> str:
    if alert.probability is None:
        return f"<strong>{alert.suspicion:.2f}</strong>"
    return (
        f"<strong>{percent(alert.probability)}</strong> "
        f"<small>suspicion {alert.suspicion:.4g}</small>"
    )


def _reasons(reasons):
    if not reasons:
        return "no single reason"
    return "<ul>" + "".join(f"<li>{prose(reason)}</li>" for reason in reasons) + "</ul>"


def _against(reasons):
    """Return what makes a row less suspicious, apart from the reasons to check it."""
    if not reasons:
        return ""
    items = "".join(f"<li>{prose(reason)}</li>" for reason in reasons)
    return f'<div class="against">Less suspicious:<ul>{items}</ul></div>'


def _tree_group(group: TreeGroup) -> str:
    rules = [f"{text(rule)}: <b>{text(counts)}</b>" for rule, counts in group.rules]
    if group.n_more:
        plural = "" if group.n_more == 1 else "s"
        rules.append(
            f"<em>{count(group.n_more)} more rule{plural} that few rows meet, or none</em>"
        )
    items = "".join(f"<li>{rule}</li>" for rule in rules)
    return f"<strong>{text(group.counts)}</strong><ul>{items}</ul>"


def _verdict(is_positive):
    if is_positive is None:
        return '<span class="unknown">not known</span>'
    if is_positive:
        return '<span class="right">✓ right</span>'
    return '<span class="wrong">✗ wrong</span>'


def _tried(report: Report) -> str:
    """Return the recipes the choice was made from; nothing when there was no choice."""
    if not report.tried:
        return ""
    rows = [
        (
            text(each.words) + (' <span class="chosen">kept</span>' if each.is_kept else ""),
            f"{each.average_precision:.3f}",
            text(each.lead),
        )
        for each in report.tried
    ]
    headings = ("Recipe", "Average precision", "Lead over plain log-loss")
    return (
        f"<h3>What was tried</h3>\n<p>Judged on {text(report.judged_on)}, before the test rows "
        "were looked at. The lead is given with the middle 95 % of resamples.</p>\n"
        + table("Recipes and their results", headings, rows)
    )


def _budget_words(report):
    plural = "" if report.budget == 1 else "s"
    return f"{count(report.budget)} check{plural}{' a day' if report.per_day else ''}"


def _checks_in_test(report) -> int | None:
    """Return the budget over the whole test, or None when its length in days is not known."""
    days = _test_days(report.periods) if report.per_day else 1
    if days is None:
        return None
    return min(days * report.budget, report.models[0].y.size)


def _test_days(periods: list[Period]) -> int | None:
    """Return how many days the test touches, first and last included."""
    for period in periods:
        if period.name == "test":
            try:
                begin, end = map(datetime.fromisoformat, (period.begin, period.end))
            except ValueError:
                return None
            return (end.date() - begin.date()).days + 1
    return None


def _per_day_sentence(report, marked):
    if not report.per_day:
        return ""
    if marked is None:
        return " The checks are counted over the whole test, not by day."
    return (
        " The checks are counted over the whole test, where "
        f"{_budget_words(report)} make {count(marked)}."
    )


def _spoken_checks(report, marked):
    if marked is None:
        return f"At random {percent(float(np.mean(report.models[0].y)))} would be right."
    model = report.models[0]
    precision = wording.percent(precision_at_k(model.y, model.suspicion, marked))
    recall = wording.percent(recall_at_k(model.y, model.suspicion, marked))
    return f"At {count(marked)} checks precision is {precision} and recall {recall}."


def _checks_table(report, marked):
    model = report.models[0]
    middle = marked or report.budget
    wanted = {max(1, round(middle * factor)) for factor in (0.1, 0.2, 0.5, 1, 2, 5, 10)}
    checks = sorted(number for number in wanted if number <= model.y.size)
    at = checks_curve(model.y, model.suspicion, checks=checks)
    rows = []
    for place, number in enumerate(checks):
        shares = [
            Interval(*(float(getattr(at, name + bound)[place]) for bound in ("", "_low", "_high")))
            for name in ("precision", "recall")
        ]
        budget = ' <span class="chosen">budget</span>' if number == marked else ""
        rows.append((count(number) + budget, *(interval(share, "%") for share in shares)))
    return table("By number of checks", ("Checks", "Right (precision)", "Found (recall)"), rows)


def _periods_table(periods):
    rows = [
        (
            text(period.name),
            text(period.begin),
            text(period.end),
            count(period.rows),
            count(period.positives),
            percent(period.positives / period.rows) if period.rows else "",
        )
        for period in periods
    ]
    headings = ("Period", "Begin", "End", "Rows", "Positives", "Share")
    return table("Periods", headings, rows) if rows else ""
