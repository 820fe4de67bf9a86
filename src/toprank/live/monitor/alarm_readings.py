"""Figures that alarms are about, each with its limit.

A figure is beyond its limit if chance does not explain it. It raises its alarm at one
limit and ends it at another, so that alarms do not go up and down with every payment.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betainc

from toprank.live.checks.queue import WORTH
from toprank.live.desk_settings import DeskSettings
from toprank.live.monitor.desk_monitor import CheckedDay, DeskMonitor
from toprank.live.monitor.missed_frauds import MissedFrauds
from toprank.live.rules.rule_board import share_with_interval
from toprank.live.store.digest_tables import DAY
from toprank.wording import percent

_RECENT = 7  # days that are compared with those before
_LEAST_CHECKS = 50
_HELD, _MEANT, _RARE = 0.7, 0.8, 0.01
_LEAST_ALERTS = 30
_MOST_MOVED = 0.3  # share of alerts whose first reason is another
_CALM = 0.8  # share of a limit below which a figure is back


class AlarmReading(NamedTuple):
    """A figure at a moment: beyond its limit, back again, or in between."""

    name: str
    value: float
    limit: float
    is_beyond: bool
    is_calm: bool
    text: str


class Answers(NamedTuple):
    """How long answers took that came since the last look: how many, and the 99 % bound."""

    n: int
    seconds: float


def of_figures(found: DeskMonitor, now: int, settings: DeskSettings) -> Iterator[AlarmReading]:
    """Yield the readings of what the monitor shows."""
    yield from _precision(found.checked_days)
    if found.missed is not None:
        yield from _recall(found.missed, settings.least_recall)
    yield from _yield(found.checked_days)
    if found.oldest is not None:
        age = max(now - found.oldest, 0) / DAY
        yield _too_long("queue age", age, settings.most_queue_days, "the oldest card on the list")
    silence = float(settings.silent / np.timedelta64(1, "D"))
    for delay in found.delays:
        if delay.source == "claim" and delay.n_frauds >= _LEAST_ALERTS:
            what = "until nine of ten claims have come"
            yield _too_long("label delay", delay.ninety, silence, what)


def _precision(days: Sequence[CheckedDay]) -> Iterator[AlarmReading]:
    """Yield the precision of a week's checks, which should be half of what it was before."""
    counts = [each.counts for each in days if each.counts.n_checks]
    if not counts:
        return
    first = counts[-1].day - _RECENT + 1
    parts = [
        [each for each in counts if (each.day >= first) == recent] for recent in (True, False)
    ]
    (n, found), (n_before, found_before) = (
        (sum(each.n_checks for each in part), sum(each.n_found for each in part)) for part in parts
    )
    share = share_with_interval(found, n)
    if share is None or n < _LEAST_CHECKS:
        return
    is_known = n_before >= _LEAST_CHECKS
    limit = max(found_before / n_before / 2 if is_known else 0.0, WORTH)
    text = (
        f"{percent(share.value)} of the last week's {n:,} checks found a fraud; {percent(limit)} "
        "is the limit."
    )
    yield AlarmReading(
        "precision", share.value, limit, share.high < limit, share.value >= limit, text
    )


def _recall(missed: MissedFrauds, least: float) -> Iterator[AlarmReading]:
    if missed.recall is None:
        return
    value, _, high = missed.recall
    text = f"recall is {percent(value)}, at most {percent(high)}; {percent(least)} is the limit."
    yield AlarmReading("recall", value, least, high < least, value >= least, text)


def _yield(days: Sequence[CheckedDay]) -> Iterator[AlarmReading]:
    """Yield on how many of the last ten days the range held: so few are rarely chance."""
    held = [each.is_held for each in days if each.counts.n_checks][-10:]
    if len(held) < 5:
        return
    n_held, n = sum(held), len(held)
    # chance of at most so many if each holds with the chance that is meant
    by_chance = float(betainc(n - n_held, n_held + 1, 1 - _MEANT)) if n_held < n else 1.0
    text = (
        f"the range of frauds to expect held on {n_held} of the last {n} days; 8 of 10 are meant "
        "to."
    )
    share = n_held / n
    yield AlarmReading("yield", share, _HELD, by_chance < _RARE, share >= _HELD, text)


def _too_long(name: str, days: float, limit: float, what: str) -> AlarmReading:
    text = f"{what}: {days:.1f} days; {limit:g} is the limit."
    return AlarmReading(name, days, limit, days > limit, days <= _CALM * limit, text)


def of_answers(answers: Answers, limit: float) -> Iterator[AlarmReading]:
    """Yield how long 99 of 100 answers took, if there were enough."""
    if answers.n < 1000:
        return
    text = (
        f"99 % of answers took up to {answers.seconds * 1000:g} ms; {limit * 1000:g} ms is the "
        "limit."
    )
    is_beyond = answers.seconds > limit
    yield AlarmReading("latency", answers.seconds, limit, is_beyond, not is_beyond, text)


def of_shift(scores: float | None, features: Mapping[str, float]) -> Iterator[AlarmReading]:
    """Yield how unlike the training rows the last day's payments are; None if scores are alike."""
    text = (
        f"the suspicion of {percent(scores or 0.0)} of the last day's payments is unlike that of "
        "the training rows."
    )
    yield AlarmReading("scores", scores or 0.0, 0.0, scores is not None, scores is None, text)
    name, share = next(iter(features.items()), ("", 0.0))
    text = (
        f"{name!r} of {percent(share)} of the last day's payments is unlike that of the training "
        f"rows; so are {max(len(features) - 1, 0)} other features."
    )
    yield AlarmReading("features", share, 0.0, bool(features), not features, text)


def of_reasons(recent: Counter[str], before: Counter[str]) -> Iterator[AlarmReading]:
    """Yield the share of alerts that would need another first reason to be as before."""
    n, n_before = recent.total(), before.total()
    if min(n, n_before) < _LEAST_ALERTS:
        return
    names = [*{*recent, *before}]
    moved = sum(abs(recent[each] / n - before[each] / n_before) for each in names) / 2
    # twice what two random samples differ by
    by_chance = 2 * np.sqrt(len(names) / (2 * np.pi) * (1 / n + 1 / n_before))
    limit = float(_MOST_MOVED + by_chance)
    text = (
        f"{percent(moved)} of the last week's alerts have another first reason than before; "
        f"{percent(limit)} is the limit."
    )
    yield AlarmReading("reasons", moved, limit, moved > limit, moved <= _CALM * limit, text)
