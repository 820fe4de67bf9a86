"""Models and their comparison in words, for commands and pages."""

from datetime import UTC, datetime, timedelta
from typing import Any

from toprank.live.learning.model_comparison import ModelComparison, PairedFigure
from toprank.live.learning.model_shadow import ShadowSummary
from toprank.live.store.model_table import StoredModel
from toprank.wording import plural

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
        f"It {_cards(compared)}; {compared.cards.challenger:.1f} against "
        f"{compared.cards.champion:.1f}. {_verdict(compared.cards)}",
        f"Its prevalence-adjusted AP is {compared.adjusted_ap.challenger:.3f} against "
        f"{compared.adjusted_ap.champion:.3f}: a difference of {_range(compared.adjusted_ap, 3)}. "
        f"{_verdict(compared.adjusted_ap)}{left_out}",
    ]


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


def _cards(compared: ModelComparison) -> str:
    figure = compared.cards
    word = "fewer" if figure.difference < 0 else "more"
    low, high = figure.low, figure.high
    if figure.difference < 0:
        low, high = -high, -low
    return (
        f"finds {abs(figure.difference):.1f} {word} cards per day in {compared.capacity:,} checks "
        f"({low:.1f} to {high:.1f})"
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
