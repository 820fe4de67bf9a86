"""The report of a replay: what `toprank feedback` writes.

Days of checking, way by way: card precision and cards found by day, the table, what was assumed.
"""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toprank import __version__
from toprank.data.tables.spans import in_words
from toprank.plots.feedback_plots import (
    DAYS_SMOOTHED,
    card_precision_by_day,
    cards_found_by_day,
    promise_by_day,
)
from toprank.present.report import sections
from toprank.present.report.contents import ListReport
from toprank.present.report.figures import inline_svg, settings
from toprank.present.report.markup import count, interval, percent, section, table, text
from toprank.present.report.page import whole_page, write_page
from toprank.simulator.feedback import Replay
from toprank.simulator.feedback.feedback_summary import (
    desk_sentences,
    mean_over_days,
    ranked_strategies,
    sentences_of,
)

_MEANINGS = {
    "static": "trained once, before the first day",
    "nightly": "trained anew each night on all labels together",
    "feedback": "two models a night, one on verdicts and one on other labels, averaged",
    "weighted": "trained anew each night on all payments, known frauds weighted",
    "online": "an online learner that takes each label as it becomes known",
    "desk": "a served desk that is retrained each night, its queue worked on through its pages",
    "static desk": "a served desk with the model that it began with",
}


@dataclass(frozen=True, kw_only=True)
class FeedbackReport(ListReport):
    """Everything the page of a replay shows."""

    replay: Replay


def feedback_report_of(
    replay: Replay,
    *,
    title: str,
    parameters: Mapping[str, object],
    remarks: Sequence[str] = (),
) -> FeedbackReport:
    """Return the contents of the report of a replay; `parameters` are all that was set for it."""
    best = ranked_strategies(replay)[0]
    found, checked = (
        int(each.sum())
        for each in (replay.strategies[best].found, replay.strategies[best].checked)
    )
    return FeedbackReport(
        title=title,
        headline=f"{best} found the most: {found:,} cards in {checked:,} checks on "
        f"{replay.dates.size:,} days",
        alerts=[],
        importance=[],
        columns=[],
        parameters={name: str(value) for name, value in parameters.items()},
        remarks=list(remarks),
        made_with=f"toprank {__version__}, Python {platform.python_version()}",
        replay=replay,
    )


def render_feedback_report(report: FeedbackReport) -> str:
    """Return the whole page; the same report always gives the same page."""
    return whole_page(report, (part(report) for part in _SECTIONS))


def write_feedback_report(report: FeedbackReport, path: str | os.PathLike[str]) -> None:
    """Write the page to `path`; a reader of that file meets the old page or the whole new one."""
    write_page(render_feedback_report(report), path)


def _header(report: FeedbackReport) -> str:
    replay = report.replay
    best = ranked_strategies(replay)[0]
    days = replay.strategies[best]
    tiles = (
        ("Most found by", text(best), text(_MEANINGS[best])),
        (
            f"Card precision at {count(replay.budget)}",
            interval(mean_over_days(replay.card_precision(best)), ".3f"),
            f"{replay.ceiling.mean():.3f} if the truth were known",
        ),
        ("Money caught", f"{days.money.sum():,.0f}", "on the days the cards were found"),
        ("Payments", count(replay.n_payments), f"{count(replay.n_positive)} of them frauds"),
    )
    return sections.header(report, tiles, " ".join(map(text, sentences_of(replay))))


def _by_day(report: FeedbackReport) -> str:
    replay = report.replay
    ways = ranked_strategies(replay)
    with settings():
        precision = inline_svg(
            card_precision_by_day(
                replay.dates, {way: replay.card_precision(way) for way in ways}, replay.ceiling
            ),
            "card-precision-figure",
            f"Card precision by day of {', '.join(ways)}",
        )
        found = inline_svg(
            cards_found_by_day(
                replay.dates,
                {way: replay.strategies[way].found for way in ways},
                replay.ceiling * replay.budget,
            ),
            "cards-found-figure",
            f"Cards found up to each day by {', '.join(ways)}",
        )
    return section(
        "by-day",
        "Day by day",
        "<p>A check is right when the card has a fraud that day; a card found leaves for good. "
        "The more a way has found, the fewer are left to find, so late days alone do not tell "
        "which is better: the cards found so far do.</p>",
        '<div class="pair">\n<div>\n<h3>Card precision</h3>',
        f"<p>Points are days, lines the mean of the {DAYS_SMOOTHED} days around. The grey line "
        "knows the truth and finds every card on its first day; a way that has missed some may "
        "be above it later.</p>",
        sections.figure(precision),
        "</div>\n<div>\n<h3>Cards found</h3>\n<p>All cards found up to a day. A card counts once: "
        "it leaves when it is found.</p>",
        sections.figure(found),
        "</div>\n</div>",
    )


def _table(report: FeedbackReport) -> str:
    replay = report.replay
    rows = [_row(replay, way) for way in ranked_strategies(replay)]
    rows.append(
        (
            "ceiling",
            f"{replay.ceiling.mean():.3f}",
            count(round(replay.ceiling.sum() * replay.budget)),
            *[""] * 5,
        )
    )
    headings = (
        "Way",
        f"Card precision at {count(replay.budget)}",
        "Cards found",
        "Of those there were",
        "Money caught",
        "Money saved",
        "Training",
        "Labels known",
    )
    return section(
        "ways",
        "The ways",
        "<p>Intervals are 95%, from days drawn with replacement in stretches of a week. Of those "
        "there were: the share of each day's cards with a fraud that the checks found. Money "
        "caught: the frauds of the found cards on that day; saved: their later ones, which do not "
        "happen since the cards are blocked. Labels known: the share of the payments whose label "
        "is known when the last day is over.</p>",
        table("What each way came to", headings, rows),
        "<ul>\n"
        + "\n".join(
            f"<li><b>{text(way)}</b>: {text(_MEANINGS[way])}.</li>" for way in replay.strategies
        )
        + "\n</ul>",
    )


def _desks(report: FeedbackReport) -> str:
    """Return what each desk promised day by day and what came of it; nothing without desks."""
    replay = report.replay
    parts: list[str] = []
    for name, figures in replay.desks.items():
        promise = figures.promise
        with settings():
            drawn = inline_svg(
                promise_by_day(
                    replay.dates, promise.low, promise.high, promise.found, replay.new_on
                ),
                f"promise-{name.replace(' ', '-')}-figure",
                f"What the checks of {name} were expected to find, and found, by day",
            )
        sentences = " ".join(map(text, desk_sentences(replay, name)))
        parts += [f"<h3>{text(name)}</h3>\n<p>{sentences}</p>", sections.figure(drawn)]
    if not parts:
        return ""
    return section(
        "desks",
        "What the desks promised",
        "<p>A desk says each morning how many frauds its checks of the day will find; the band is "
        "meant to hold on 8 of 10 days. Filled points are outside of it.</p>",
        *parts,
    )


def _assumed(report: FeedbackReport) -> str:
    replay = report.replay
    silence, window = in_words(replay.silence), in_words(replay.window)
    return section(
        "assumed",
        "What was assumed",
        "<ul>\n"
        f"<li>The first {count(replay.n_warm_up_days)} days are a warm-up: frauds are claimed, "
        "nobody is checked.</li>\n"
        f"<li>Each day the {count(replay.budget)} most suspicious cards are checked. The verdicts "
        "on all their payments of the day are right, and known that night.</li>\n"
        "<li>Frauds that no check found are claimed late or never, from the day after on"
        f"{'; a claim blocks the card' if replay.claims_block else ''}.</li>\n"
        f"<li>A payment of which nobody spoke counts as genuine after {silence}, also if it was "
        "a fraud.</li>\n"
        f"<li>Trainings look {window} back: at all payments older than {silence}, and at the "
        "claims and verdicts on younger ones.</li>\n"
        "<li>Each way has its own checks, labels and cards that left. What a card and a terminal "
        "usually do is counted over all payments, also those of cards that left.</li>\n"
        "</ul>",
    )


def _row(replay: Replay, way: str) -> tuple[str, ...]:
    days = replay.strategies[way]
    found, positive = int(days.found.sum()), int(days.positive.sum())
    return (
        text(way),
        interval(mean_over_days(replay.card_precision(way)), ".3f"),
        count(found),
        percent(found / positive) if positive else "",
        f"{days.money.sum():,.0f}",
        f"{days.saved.sum():,.0f}",
        f"{days.seconds.sum():,.1f} s",
        percent(days.maturity),
    )


_SECTIONS = (_header, _by_day, _table, _desks, _assumed, sections.parameters)
