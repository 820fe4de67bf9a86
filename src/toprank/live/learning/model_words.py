"""Models and their comparison in words, for commands and pages."""

from datetime import UTC, datetime, timedelta
from typing import Any

from toprank.live.engine.online_model import OnlineLessons
from toprank.live.learning.live_comparison import (
    LEAST_DAYS,
    LEAST_FRAUDS,
    LiveComparison,
    NotYet,
)
from toprank.live.learning.model_comparison import ModelComparison, PairedFigure
from toprank.live.learning.model_shadow import ShadowSummary
from toprank.live.store.model_table import StoredModel
from toprank.wording import percent, plural

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def comparison_of(model: StoredModel) -> ModelComparison | None:
    """Return the comparison of a model with the champion of then, None if there was none."""
    if model.figures is None or "cards" not in model.figures:
        return None
    return ModelComparison.from_json(model.figures)


def model_lines(model: StoredModel) -> list[str]:
    """Return what there is to know of a model, a sentence or two per line."""
    lines = [f"Model {model.number} ({model.state}), asked for by {model.who}."]
    if model.approver is not None:
        lines.append(f"Approved by {model.approver}, {_minute(model.approved_at)} UTC.")
    if model.n_rows is not None:
        lines.append(learned_line(model))
    lines += comparison_lines(model)
    if model.why is not None:
        lines.append(f"Ended {_minute(model.ended_at)} UTC: {model.why.rstrip('.')}.")
    return lines


def training_words(model: StoredModel, is_running: bool) -> str:
    """Return what came of a training.

    >>> model = StoredModel(2, "0002.toprank", "training", "person:anna", 0, 0)
    >>> training_words(model, is_running=False)
    'interrupted; the next retrain completes it'
    """
    if model.state == "training":
        running = "being trained now"
        return running if is_running else "interrupted; the next retrain completes it"
    return f"failed: {model.why}" if model.state == "failed" else model.state


def learned_line(model: StoredModel) -> str:
    """Return what a model learned from."""
    sources = ", ".join(f"{n:,} from {source}" for source, n in model.frauds.items())
    days = day_range(model.first_day, model.last_day)
    return (
        f"Learned from {model.n_rows:,} payments of {days}, {sum(model.frauds.values()):,} of "
        f"them fraud ({sources or 'none'})."
    )


def comparison_lines(model: StoredModel) -> list[str]:
    """Return how a model compares with the champion of then."""
    compared = comparison_of(model)
    if compared is None:
        why = (model.figures or {}).get("why_not")
        return [f"Not compared: {why}."] if why else []
    days = day_range(compared.first_day, compared.last_day)
    left_out = (
        f" {compared.n_left_out:,} payments known by a verdict alone were left out."
        if compared.n_left_out
        else ""
    )
    return [
        f"Against model {compared.against} on {compared.n_rows:,} payments of {days}, "
        f"{compared.n_frauds:,} of them fraud:",
        _cards_line(compared.cards, compared.capacity),
        _ap_line(compared.adjusted_ap) + left_out,
    ]


def live_lines(found: LiveComparison | NotYet) -> list[str]:
    """Return how a challenger compares on live payments, as far as their labels are known.

    >>> live_lines(NotYet(3, 8, n_waiting=2))[0][:66]
    'On live payments: not yet; 3 of the 7 days and 8 of the 20 frauds '
    """
    if isinstance(found, NotYet):
        waiting = (
            f" Of {found.n_waiting} more {plural('day', found.n_waiting)}, too few claims can be "
            "there yet."
            if found.n_waiting
            else ""
        )
        return [
            f"On live payments: not yet; {found.n_days} of the {LEAST_DAYS} days and "
            f"{found.n_frauds} of the {LEAST_FRAUDS} frauds that a comparison needs are "
            f"known.{waiting}"
        ]
    n_claimed = found.n_frauds - found.n_listed - found.n_drawn
    maturity = (
        f"Provisional: {percent(found.claimed)} of the claims can be expected to be there by now; "
        "those that are count for the others."
        if found.is_provisional
        else "All claims can be expected to be there."
    )
    return [
        f"Against model {found.against} on {found.n_payments:,} live payments of "
        f"{day_range(found.first_day, found.last_day)}, scored before anybody knew. "
        f"{found.n_frauds:,} of them are known as fraud: {found.n_listed:,} by checks of the "
        f"list, {found.n_drawn:,} by random checks, {n_claimed:,} by claims. {maturity}",
        _cards_line(found.cards, found.capacity),
        _ap_line(found.adjusted_ap),
    ]


def online_line(lessons: OnlineLessons) -> str:
    """Return what the online model has learned from.

    >>> online_line(OnlineLessons(90_000, 120))
    'Learned label by label: from 120 frauds and 90,000 genuine payments.'
    """
    return (
        f"Learned label by label: from {lessons.n_frauds:,} {plural('fraud', lessons.n_frauds)} "
        f"and {lessons.n_genuine:,} genuine {plural('payment', lessons.n_genuine)}."
    )


def shadow_line(shadow: ShadowSummary) -> str:
    """Return how a challenger's list of today differs from the champion's."""
    if not shadow.n_scored:
        return "In shadow: no payment of today has been scored by it yet."
    n_skipped, n_both = shadow.n_skipped, shadow.n_both
    skipped = f" It skipped {n_skipped:,} {plural('payment', n_skipped)}." if n_skipped else ""
    are_both = f"{n_both:,} {'card is' if n_both == 1 else 'cards are'} on both"
    one, other = shadow.challenger, shadow.champion
    return (
        f"In shadow today, {shadow.n_scored:,} payments: the first {one.n_cards:,} cards of its "
        f"list are expected to hold {one.expected:.1f} frauds, the first {other.n_cards:,} of the "
        f"champion's {other.expected:.1f}; {are_both}.{skipped}"
    )


def model_facts(model: StoredModel) -> dict[str, Any]:
    """Return a model in plain values; days and times are ISO text."""
    times = {name: _minute(getattr(model, name)) for name in _TIMES}
    days = {name: _day(getattr(model, name)) for name in ("first_day", "last_day", "asked_on")}
    return model._asdict() | times | days


def day_range(first: int | None, last: int | None) -> str:
    """Return the days from one to another, both counted from 1970.

    >>> day_range(0, 1), day_range(None, 1), day_range(None, None)
    ('1970-01-01 to 1970-01-02', 'up to 1970-01-02', 'unknown days')
    """
    if last is None:
        return "unknown days"
    return f"up to {_day(last)}" if first is None else f"{_day(first)} to {_day(last)}"


_TIMES = ("asked_at", "trained_at", "approved_at", "ended_at")


def _cards_line(figure: PairedFigure, capacity: int) -> str:
    word = "fewer" if figure.difference < 0 else "more"
    low, high = figure.low, figure.high
    if figure.difference < 0:
        low, high = -high, -low
    return (
        f"It finds {abs(figure.difference):.1f} {word} cards per day in {capacity:,} checks "
        f"({low:.1f} to {high:.1f}); {figure.challenger:.1f} against {figure.champion:.1f}. "
        f"{_verdict(figure)}"
    )


def _ap_line(figure: PairedFigure) -> str:
    return (
        f"Its prevalence-adjusted AP is {figure.challenger:.3f} against {figure.champion:.3f}: a "
        f"difference of {_range(figure, 3)}. {_verdict(figure)}"
    )


def _range(figure: PairedFigure, decimals: int) -> str:
    numbers = (figure.difference, figure.low, figure.high)
    difference, low, high = (f"{each:+.{decimals}f}" for each in numbers)
    return f"{difference} ({low} to {high})"


def _verdict(figure: PairedFigure) -> str:
    is_significant = figure.low > 0 or figure.high < 0
    return "This is significant." if is_significant else "This is not significant."


def _minute(microseconds: int | None) -> str | None:
    if microseconds is None:
        return None
    return f"{_EPOCH + timedelta(microseconds=microseconds):%Y-%m-%d %H:%M}"


def _day(day: int | None) -> str | None:
    return None if day is None else f"{_EPOCH + timedelta(days=day):%Y-%m-%d}"
