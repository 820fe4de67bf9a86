"""How the desk is doing: what comes in, what is found, and how sure that is."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import NamedTuple

from starlette.responses import Response

from toprank.data.tables.spans import in_words
from toprank.live.monitor.desk_monitor import DAY, DeskMonitor, desk_monitor
from toprank.live.monitor.ranking_quality import RankingQuality, ranking_quality
from toprank.live.pages import board_values
from toprank.live.pages.bar_plot import BarCount, BarPlot, bar_plot
from toprank.live.pages.page_kit import PageRequest, PageRoute
from toprank.live.pages.rules_pages import catch_up
from toprank.wording import plural

_PAYMENTS = "POST /v1/payments"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Latency(NamedTuple):
    """How long answers took since the start, and the times within which half and 99 % came."""

    plot: BarPlot
    n_answers: int
    median: str
    slowest: str


async def monitor_page(page: PageRequest) -> Response:
    """Return the figures of the last days."""
    settings = page.desk.settings
    silence = int(settings.silent.astype("timedelta64[us]").astype(int))

    def read() -> tuple[DeskMonitor, RankingQuality]:
        catch_up(page.desk)
        with page.desk.database.reading() as connection:
            return (
                desk_monitor(connection, page.now, silence),
                ranking_quality(connection, page.now, silence),
            )

    found, quality = await page.desk.run(read)
    facts = {} if page.desk.engine is None else page.desk.engine.facts()
    return page.render(
        "monitor.html",
        found=found,
        plots=_plots(found) | {"quality": _quality_plot(quality)},
        quality=quality,
        latency=_latency(page),
        facts=facts,
        silence=in_words(settings.silent),
        values=board_values,
    )


def _plots(found: DeskMonitor) -> dict[str, BarPlot]:
    hours = [
        BarCount(_time(each.at, "%H:%M"), each.n_payments, each.n_blocked) for each in found.hours
    ]
    alerts = [BarCount(_day(each.day), each.n_opened, each.n_closed) for each in found.alert_days]
    checks = [
        BarCount(_day(each.counts.day), each.counts.n_checks, each.counts.n_found)
        for each in found.checked_days
    ]
    promised = [
        BarCount(_day(each.counts.day), value, each.counts.n_found, low, high)
        for each in found.checked_days
        for value, low, high in [each.expected]
    ]
    weeks = [
        BarCount(_time(each.at, "%d %b"), each.n_payments, each.n_final) for each in found.weeks
    ]
    return {
        "hours": bar_plot(hours, _text("payments", "blocked", hours, "hour")),
        "alerts": bar_plot(alerts, _text("alerts opened", "closed", alerts, "day"), style="line"),
        "checks": bar_plot(checks, _text("checks", "frauds found", checks, "day", " with checks")),
        "promised": bar_plot(promised, _promise_text(found), style="range"),
        "weeks": bar_plot(weeks, _text("payments", "with a final label", weeks, "week")),
    }


def _quality_plot(quality: RankingQuality) -> BarPlot:
    spans = [
        BarCount(_day(each.first_day), ap.value, 0.0, ap.low, ap.high)
        if (ap := each.adjusted_ap) is not None
        else BarCount(_day(each.first_day), 0.0)
        for each in quality.spans
    ]
    span, n = "week" if quality.is_weekly else "day", len(spans)
    known = [each.total for each in spans if each.total]
    ends = f" From {min(known):.2f} to {max(known):.2f}." if known else ""
    text = f"Prevalence-adjusted AP of {n} {plural(span, n)}, with 95 % intervals.{ends}"
    return bar_plot(spans, text, style="interval")


def _text(what: str, part: str, counts: Sequence[BarCount], of: str, which: str = "") -> str:
    n, total = len(counts), sum(each.total for each in counts)
    filled = sum(each.part for each in counts)
    return f"{total:,.0f} {what} in {n} {plural(of, n)}{which}, {filled:,.0f} {part}."


def _promise_text(found: DeskMonitor) -> str:
    days = [each for each in found.checked_days if each.counts.n_checks]
    total = sum(each.expected.value for each in days)
    n_found = sum(each.counts.n_found for each in days)
    n_held = sum(each.is_held for each in days)
    n_meant = sum(each.chance for each in days)
    return (
        f"{total:,.1f} frauds expected in {len(days)} {plural('day', len(days))} with checks, "
        f"{n_found:,} found. The range held on {n_held} of them, where {n_meant:.0f} are to be "
        "expected: 8 of 10, and more where few frauds are expected, since counts are whole."
    )


def _latency(page: PageRequest) -> Latency | None:
    """Return how long answers to payments took; None if none was asked for."""
    metrics = page.desk.metrics
    found = [] if metrics is None else metrics.latencies(_PAYMENTS)
    total = sum(count for _, count in found)
    if not total:
        return None
    last = max(place for place, (_, count) in enumerate(found) if count)
    counts = [BarCount(_bound(bound), count) for bound, count in found[: last + 1]]
    median, slowest = (_quantile(found, total, share) for share in (0.5, 0.99))
    text = f"Of {total:,} answers, half came within {median} and 99 % within {slowest}."
    return Latency(bar_plot(counts, text, n_names=8), total, median, slowest)


def _quantile(found: Sequence[tuple[float, int]], total: int, share: float) -> str:
    """Return the least bound that this share of the answers is below."""
    for (bound, _), below in zip(found, accumulate(count for _, count in found), strict=True):
        if below >= share * total:
            return _bound(bound)
    return _bound(found[-1][0])


def _bound(seconds: float) -> str:
    if seconds == float("inf"):
        return "longer"
    return f"{seconds * 1000:g} ms" if seconds < 1 else f"{seconds:g} s"


def _day(day: int) -> str:
    return _time(day * DAY, "%d %b")


def _time(microseconds: int, shape: str) -> str:
    return format(_EPOCH + timedelta(microseconds=microseconds), shape)


MONITOR_PAGES = [PageRoute("GET", "/monitor", "monitor.view", monitor_page)]
