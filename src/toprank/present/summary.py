"""What training and evaluation found, in words: the same on the screen and in the report."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from toprank.data.tables.columns import shortened
from toprank.metrics import Interval
from toprank.wording import aligned, percent
from toprank.wording import noun_of as noun_of
from toprank.wording import plural as plural

if TYPE_CHECKING:  # words need no learner: `toprank rank` must not load all of them
    from toprank.workflow.alert_list import AlertList
    from toprank.workflow.evaluation import Evaluation
    from toprank.workflow.plain_facts import Findings
    from toprank.workflow.promise import Promise
    from toprank.workflow.task import Task

FEW_POSITIVES = 10
FEW_DAYS = 5

_RULES_SHOWN = 3
_RECIPES_SHOWN = 2
_MORE_SHARE, _MORE_COUNT = 0.1, 0.25  # what twice as many checks must add to be mentioned
_SAME_SHARE = 0.05
_LINE_WIDTH = 99
_GLUE = "\u00a0"  # a space that no line is broken at


def text_of(trained: Findings, noun: str) -> str:
    """Return the whole account of a training, as `toprank fit` prints it."""
    return "\n".join(
        (
            size_line(trained, noun),
            periods_line(trained.task),
            aligned(figures_rows([(each.name, each.test) for each in trained.candidates], noun)),
            *choice_lines(trained),
            *tree_lines(trained.ranker, noun),
            *refit_lines(trained),
            headline(trained.chosen.test, noun, trained.promise),
            *held_lines(trained.promise, trained.chosen.test),
            *card_lines(trained.chosen.test, noun),
            *cautions(trained.chosen.test, noun),
        )
    )


def size_line(trained: Findings, noun: str) -> str:
    """Return a line: "1,754,155 rows, 14 features, 0.84 % frauds (label 1)"."""
    task = trained.task
    kinds = [column.kind for column in trained.chosen.ranker.schema_.columns]
    n_categories = kinds.count("category")
    categories = f" ({n_categories} {plural('category', n_categories)})" if n_categories else ""
    features = f"{len(kinds)} {plural('feature', len(kinds))}{categories}"
    n_rows, n_positive = task.counts()
    share = percent(n_positive / n_rows)
    positive = f"label {shortened(task.positive)}"
    return f"{n_rows:,} rows, {features}, {share} {noun} ({positive})"


def periods_line(task: Task) -> str:
    """Return a line: "train to 10 Aug | validate to 20 Aug | gap 7 days | test 28 Aug - 3 Sep"."""
    periods = task.split.periods
    if periods is None:
        parts = task.split.parts().values()
        train, validation, test = (percent(part.size / task.is_positive.size) for part in parts)
        return f"drawn at random: train {train} | validate {validation} | test {test}"
    write = moment_writer(task)
    return " | ".join(
        (
            f"train to {write(periods['train'][1])}",
            f"validate to {write(periods['validation'][1])}",
            f"gap {_duration(periods['test'][0] - periods['validation'][1])}",
            f"test {write(periods['test'][0])} - {write(periods['test'][1])}",
        )
    )


def moment_writer(task: Task) -> Callable[[np.datetime64], str]:
    """Return a function that writes a moment as short as the span of the rows allows."""
    assert task.time is not None
    first, last = task.time.min(), task.time.max()
    short_span = last - first < np.timedelta64(7, "D")
    one_year = first.astype("datetime64[Y]") == last.astype("datetime64[Y]")

    def write(moment: np.datetime64) -> str:
        date = moment.astype("datetime64[s]").item()
        year = "" if one_year else f" {date.year}"
        clock = f" {date:%H:%M}" if short_span else ""
        return f"{date.day} {date:%b}{year}{clock}"

    return write


def moment_text(moment: datetime) -> str:
    """Return a moment with its year, to the minute.

    >>> moment_text(datetime(2018, 7, 9, 10, 39, 42))
    '9 Jul 2018 10:39'
    """
    return f"{date_text(moment)} {moment:%H:%M}"


def date_text(moment: datetime) -> str:
    """Return the day of a moment, with its year.

    >>> date_text(datetime(2018, 7, 9, 10, 39, 42))
    '9 Jul 2018'
    """
    return f"{moment.day} {moment:%b %Y}"


def figures_rows(models: list[tuple[str, Evaluation]], noun: str) -> list[list[str]]:
    """Return the models' figures as rows of text, the head first."""
    first = models[0][1]
    per_day = " a day" if first.day is not None else ""
    head = ["", "AP", f"{noun} in {first.budget:,}{per_day}", "before the first false alarm"]
    return [head, *(_figures_row(name, figures) for name, figures in models)]


def alert_heading(alerts: AlertList, place: int) -> str:
    """Return one line that says which row an alert is, and how probable or suspicious."""
    score = f"suspicion {alerts.suspicion[place]:.2f}"
    if alerts.probability is not None:
        score = f"probability {percent(alerts.probability[place])}"
    row = f"row {alerts.row_numbers[place]:,}"
    facts = {} if alerts.facts is None else alerts.facts.slice(place, 1).to_pylist()[0]
    if facts.get("card") is None:
        return f"{row}  {score}"
    time, amount = facts.get("time"), facts.get("amount")
    shown = [str(facts["card"]), score]
    shown += [f"{amount:,.2f}" if isinstance(amount, float) else str(amount)]
    shown += [moment_text(time) if isinstance(time, datetime) else str(time)]
    shown += [f"id {facts['id']}"] if facts.get("id") is not None else []
    return "  ".join([*shown, row])


def indented(text: str) -> str:
    """Return a long rule as lines set in from those around it; none ends within a condition.

    >>> print(indented("amount > 120 and country is not FR: 31 frauds in 44"))
      amount > 120 and country is not FR: 31 frauds in 44
    """
    glued = re.sub(r"(?<!\band)(?<![,;:]) ", _GLUE, text)
    lines = fill(
        glued, _LINE_WIDTH, initial_indent="  ", subsequent_indent="    ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return lines.replace(_GLUE, " ")


def refit_lines(trained: Findings) -> list[str]:
    """Return what the written model learned from besides the rows before the test."""
    if not trained.is_refitted:
        return []
    task = trained.task
    if task.split.periods is None:
        return ["The model written learned from all rows; the figures are from before that."]
    write = moment_writer(task)
    newest, before = task.time.max(), task.split.periods["validation"][1]
    return [
        f"The model written learned from all rows up to {write(newest)}; the figures are those of "
        "the\nsame recipe before it also learned from the last "
        f"{_duration(newest - before)}."
    ]


def held_lines(promise: Promise | None, test: Evaluation) -> list[str]:
    """Return how often the range held in the test period, or what it takes for granted."""
    if test.day is None:
        return ["The range is for new rows that are like these."]
    if promise is None:
        return []
    n_held, n_lists = promise.held
    listed = "days" if np.unique(test.day).size == n_lists else "parts"
    return [
        f"Such a range, made before the test, held on {n_held} of its {n_lists} {listed} "
        "(9 of 10 are meant to)."
    ]


def headline(test: Evaluation, noun: str, promise: Promise | None = None) -> str:
    """Return how many positives to expect in the budget's checks, and what more checks would add.

    Twice as many checks are mentioned only if they would find noticeably more.
    """
    value, low, high = test.likely if promise is None else promise.likely
    range_text = f"{low:.0f}-{high:.0f}"
    checked = f"your {test.budget:,} {plural('check', test.budget)}"
    if test.day is None:
        list_text = f"of a list of {test.is_positive.size:,} rows ({range_text})"
    else:
        list_text = f"a day (most days {range_text})"
    sentence = f"Expect about {_positives(value, noun)} in {checked} {list_text}"
    n_more = min(2 * test.budget, test.longest_list)
    if n_more > test.budget:
        more = test.found_with(n_more) - test.found.value
        if more >= max(_MORE_SHARE * value, _MORE_COUNT):
            sentence += f"; {n_more:,} checks would find {_short_count(value + more)}"
    return f"{sentence}."


def card_lines(test: Evaluation, noun: str) -> list[str]:
    """Return what checking cards a day comes to, found ones being blocked; nothing without cards.

    The budget then counts cards, however many rows of a day each has.
    """
    figures = test.card_checks
    if figures is None:
        return []
    a_day = Interval(*(test.budget * bound for bound in figures.precision))
    possible = test.budget * figures.ceiling
    line = (
        f"Checking {test.budget:,} cards a day and blocking those found: "
        f"{counted(a_day)} of {_short_count(possible)} cards with {noun} a day"
    )
    share = a_day.value / possible if possible else math.nan
    if abs(share - figures.recall) > _SAME_SHARE:  # there are more of them than checks
        line += f" that a perfect ranking would find, {percent(figures.recall)} of all"
    if figures.money is None:
        return [f"{line}."]
    caught, lost = figures.money
    return [f"{line},", f"and {caught:,.0f} of the {lost:,.0f} in amounts of their {noun}."]


def cautions(test: Evaluation, noun: str) -> list[str]:
    """Return what makes the figures rougher than their intervals say."""
    n_positive = int(test.is_positive.sum())
    said = []
    if n_positive < FEW_POSITIVES:
        counted_noun = noun.removesuffix("s") if n_positive == 1 else noun
        said.append(
            f"Rough figures: the test has only {n_positive:,} {counted_noun}, and with fewer "
            f"than {FEW_POSITIVES} the intervals are too narrow."
        )
    n_days = 0 if test.day is None else int(np.unique(test.day).size)
    if 0 < n_days < FEW_DAYS:
        said.append(
            f"Rough range: the test covers {n_days} {plural('day', n_days)}, too few to show how "
            "much days differ."
        )
    return said


def choice_lines(trained: Findings) -> list[str]:
    """Return how the ranker came about, where there was a choice: of recipes or of settings."""
    if trained.account is not None:
        return [choice_line(trained), *skipped_lines(trained)]
    ranker = trained.chosen.ranker
    return [settings_line(ranker)] if hasattr(ranker, "settings_") else []


def choice_line(trained: Findings) -> str:
    """Return what was kept and why."""
    from toprank.rankers.auto.search import AHEAD

    account = trained.account
    assert account is not None
    n_recipes = f"{len(account.tried)} {plural('recipe', len(account.tried))} tried"
    if account.is_plain:
        return f"Kept {trained.chosen.name} ({n_recipes}): {account.reason}."
    difference, low, high, share = account.chosen.lead
    # rounded down: what is not above the share required must not read as if it were
    ahead = percent(math.floor(100 * share) / 100)
    # with a handful of positives, nothing is required of the winner
    required = f"{percent(AHEAD)} required" if share >= AHEAD else "too few positives to judge by"
    return (
        f"Kept {trained.chosen.name} ({n_recipes}): validation AP {difference:+.3f} "
        f"({low:+.3f} to {high:+.3f})\n"
        f"against plain log-loss, ahead in {ahead} of resamples ({required})."
    )


def skipped_lines(trained: Findings) -> list[str]:
    """Return what was not tried, for lack of time or since the effort did not allow it."""
    account, lines = trained.account, []
    assert account is not None
    if account.left_out:
        lines.append(f"No time was left for {_named(account.left_out)}.")
    if not account.is_plain and len(trained.candidates) == 1:
        lines.append("No time was left to measure plain log-loss on the test rows.")
    if account.beyond_effort:
        lines.append(f"A larger effort also tries {_named(account.beyond_effort)}.")
    return [fill(line, _LINE_WIDTH) for line in lines]


def _named(recipes: Sequence[str]) -> str:
    """Return the first recipes by their words, and how many more there are."""
    shown, n_more = list(recipes[:_RECIPES_SHOWN]), len(recipes) - _RECIPES_SHOWN
    more = [f"{n_more} {plural('recipe', n_more)} more"] if n_more > 0 else []
    return "; ".join([*shown, *more])


def tree_lines(ranker: Any, noun: str) -> list[str]:
    """Return a ranking tree in short, its groups and the first rules; nothing of other rankers."""
    if not hasattr(ranker, "groups_"):
        return []
    rows = [
        [str(each.rank + 1), f"{each.n_rows:,}", f"{each.positives:,.0f}", percent(each.precision)]
        for each in ranker.groups_
    ]
    lines = [aligned([["group", "rows", noun, "share"], *rows])]
    groups = rules_of(ranker)
    if groups is None:
        return [*lines, "It has too many cuts to be written as rules."]
    if len(groups) == 1:
        return [*lines, "It makes no cut: all rows are one group."]
    met = [rule for rule in groups[0].rules if rule.tally.n_rows]
    lines.append("Group 1 contains every row where")
    lines += [indented(rule.text(noun)) for rule in met[:_RULES_SHOWN]]
    if (n_more := len(groups[0].rules) - len(met[:_RULES_SHOWN])) > 0:
        lines.append(f"  or one of {n_more} more {plural('rule', n_more)}")
    return lines


def settings_line(ranker: Any) -> str:
    """Return the settings that a ranking tree chose by itself."""
    growth, global_depth, scoring = ranker.settings_
    return (
        "Settings by cross-validated AP on the training rows: "
        f"global depth {global_depth}, local depth {growth.depth},\n"
        f"cuts by {growth.criterion}, at least {growth.min_leaf} "
        f"{plural('row', growth.min_leaf)} per leaf, "
        f"softness {scoring.softness:g}, shrinkage {scoring.shrinkage:g}."
    )


def rules_of(ranker: Any) -> list[Any] | None:
    """Return the groups of a ranking tree in rules; None where nobody would read them."""
    if ranker.seen_ is None:
        return None
    try:
        return ranker.rules()
    except ValueError:  # few cuts, but too many ways past them
        return None


def counted(interval: Interval) -> str:
    """Return a count with its interval; small counts keep a decimal unless the ends are whole.

    >>> counted(Interval(31.2, 23.6, 38.0)), counted(Interval(3.4, 2.9, 4.0))
    ('31 (24-38)', '3.4 (2.9-4.0)')
    >>> counted(Interval(0.4, 0.0, 2.0))
    '0.4 (0-2)'
    """
    value, low, high = interval
    decimals = 0 if value >= 10 or (low.is_integer() and high.is_integer()) else 1
    return f"{_short_count(value)} ({low:,.{decimals}f}-{high:,.{decimals}f})"


def _figures_row(name: str, test: Evaluation) -> list[str]:
    return [
        name,
        str(test.average_precision),
        counted(test.found),
        percent(test.positives_at_top.value),
    ]


def _duration(gap: np.timedelta64) -> str:
    for unit, seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        if (count := gap / np.timedelta64(seconds, "s")) >= 2:
            return f"{round(count)} {unit}s"
    return "under 2 seconds"


def _positives(count: float, noun: str) -> str:
    text = _short_count(count)
    return f"{text} {noun.removesuffix('s') if text == '1' else noun}"


def _short_count(count: float) -> str:
    """Return a count as people say it: below 10, with its first decimal if that is not 0."""
    rounded = round(count, 1)
    return f"{rounded:g}" if rounded < 10 else f"{count:,.0f}"
