"""Today's alerts as one HTML page: each with its reasons and what its card did lately.

The page needs no network and no scripts, follows the reader's light or dark setting, fits a phone,
and prints with boxes for the verdicts. It names cards: the file is readable by its owner only.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow as pa

from toprank import wording
from toprank.data.atomic import PRIVATE, atomic_path
from toprank.present.report.markup import count, percent, prose, text
from toprank.present.summary import counted, moment_text
from toprank.rankers.reasons import number_text
from toprank.workflow.alert_list import AlertList

PAST_DAYS = 30
_ROWS_SHOWN = 40
_VALUES_SHOWN = 12
_COLUMNS_SHOWN = 4


@dataclass(frozen=True)
class PastRow:
    """One payment of a listed card: when, how much, where; `is_positive` is None if not known."""

    time: datetime
    amount: float | None
    terminal: str
    values: Mapping[str, str] = field(default_factory=dict)
    is_positive: bool | None = None
    is_listed: bool = False


@dataclass(frozen=True)
class AlertPage:
    """All that the page shows; `facts` names the columns that say what a row is, by their role.

    `pasts` has for each alert the payments of its card in the last days; None without cards.
    """

    title: str
    alerts: AlertList
    facts: Mapping[str, str]
    noun: str
    made_with: str
    names: Mapping[str, str] = field(default_factory=dict)
    pasts: Sequence[Sequence[PastRow]] | None = None

    @property
    def unit(self) -> str:
        """What is listed."""
        return "row" if self.pasts is None else "card"


def render_alert_page(page: AlertPage) -> str:
    """Return the whole page; the same list always gives the same page."""
    style = files("toprank.present").joinpath("alert_page.css").read_text(encoding="utf-8")
    articles = "\n".join(_article(page, place) for place in range(len(page.alerts.suspicion)))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>{text(page.title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
{_header(page)}
{articles or "<p>The list is empty.</p>"}
</main>
<footer><p>Made with {text(page.made_with)}. Times are as in the data, in UTC.
This page names {page.unit}s; pass it on with care.</p></footer>
</body>
</html>
"""


def write_alert_page(page: AlertPage, path: str | os.PathLike[str]) -> None:
    """Write the page to `path` in one step; only its owner can read a new file."""
    rendered = render_alert_page(page)
    with atomic_path(path, mode=PRIVATE) as temporary:
        temporary.write_text(rendered, encoding="utf-8", newline="\n")


def past_rows(
    rows: pa.Table, facts: Mapping[str, str], label: str, listed: Mapping[str, Any]
) -> list[PastRow]:
    """Return payments of a card for the page, the latest first.

    `rows` have their times as timestamps and their label as true, false or missing; `listed` has
    the facts of the row on the list.
    """
    roles = {*facts.values(), label}
    others = [name for name in rows.column_names if name not in roles][:_COLUMNS_SHOWN]
    moments = rows[facts["time"]].to_pylist()
    found = []
    for moment, row in zip(moments, rows.to_pylist(), strict=True):
        is_listed = (
            str(row[facts["id"]]) == str(listed["id"])
            if listed.get("id") is not None
            else _is_same(row, facts, listed)
        )
        found.append(
            PastRow(
                moment,
                row.get(facts["amount"]),
                _shown(row.get(facts["terminal"])),
                {name: _shown(row[name]) for name in others},
                row.get(label),
                is_listed,
            )
        )
    return sorted(found, key=lambda each: each.time, reverse=True)


def _is_same(row: Mapping[str, Any], facts: Mapping[str, str], listed: Mapping[str, Any]) -> bool:
    """Return whether a payment without an id is that on the list, by all that is known of it."""
    time = np.datetime64(row[facts["time"]], "us")
    try:
        is_then = time == np.datetime64(listed["time"], "us")
    except (ValueError, TypeError):  # seconds since 1970
        is_then = abs(float(listed["time"]) - float(time.astype(np.int64)) / 1e6) < 1
    return bool(is_then) and row.get(facts["amount"]) == listed.get("amount")


def _header(page: AlertPage) -> str:
    alerts = page.alerts
    n_listed = len(alerts.suspicion)
    listed = f"{count(n_listed)} {wording.plural(page.unit, n_listed)}"
    headline = f"{listed} to check"
    if alerts.expected is not None:
        headline = f"Expect about {counted(alerts.expected)} {page.noun} in these {listed}"
    notes = [f"{count(alerts.n_seen)} rows were scored; the most suspicious are listed first."]
    if alerts.n_left_out:
        notes.append(f"{count(alerts.n_left_out)} rows of cards known as fraud were left out.")
    if alerts.probability is not None:
        notes.append(
            f"The percentage is the probability that the listed row is one of the {page.noun}."
        )
    return (
        f"<header>\n<h1>{text(page.title)}</h1>\n"
        f'<p class="headline">{prose(headline)}.</p>\n<p>{text(" ".join(notes))}</p>\n</header>'
    )


def _article(page: AlertPage, place: int) -> str:
    alerts = page.alerts
    heading, shown = _facts_of(page, place)
    facts = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>"
                    for name, value in shown)  # fmt: skip
    parts = [
        f'<header><span class="rank">{place + 1}</span><h2>{text(heading)}</h2>'
        f'<span class="score">{_score(alerts, place)}</span></header>',
        f'<dl class="facts">{facts}</dl>',
        _cleared(alerts, place),
        _list("why", "Why it is here", [*alerts.reason_texts(place), *_rule(alerts, place)]),
        _list("against", "Less suspicious", _against(alerts, place)),
        "" if page.pasts is None else _past(page, place),
        '<p class="verdict">☐ fraud &emsp; ☐ genuine &emsp; ☐ unsure</p>',
    ]
    return f'<article id="alert-{place + 1}">\n' + "\n".join(filter(None, parts)) + "\n</article>"


def _facts_of(page: AlertPage, place: int) -> tuple[str, list[tuple[str, str]]]:
    """Return what an alert is called, and what is said of its row: the roles, then the rest."""
    row = page.alerts.rows.slice(place, 1).to_pylist()[0]
    card = page.facts.get("card")
    heading = f"row {count(int(page.alerts.row_numbers[place]))}"
    if card is not None:
        heading = _shown(row.get(card)) or "no card"
    order = [page.facts[role] for role in ("time", "amount", "terminal", "id")
             if role in page.facts]  # fmt: skip
    order += [name for name in row if name not in order and name != card]
    shown = [(page.names.get(name, name), _shown(row[name])) for name in order if name in row]
    if card is not None:
        shown.append(("row", count(int(page.alerts.row_numbers[place]))))
    return heading, shown[: _VALUES_SHOWN + 1]


def _score(alerts: AlertList, place: int) -> str:
    if alerts.probability is None:
        return f"{alerts.suspicion[place]:.4g}"
    return percent(float(alerts.probability[place]))


def _rule(alerts: AlertList, place: int) -> list[str]:
    return [] if alerts.rules is None else [alerts.rules[place]]


def _against(alerts: AlertList, place: int) -> list[str]:
    return [] if alerts.less_suspicious is None else list(map(str, alerts.less_suspicious[place]))


def _cleared(alerts: AlertList, place: int) -> str:
    if alerts.cleared is None or np.isnat(alerts.cleared[place]):
        return ""
    moment = moment_text(alerts.cleared[place].astype("datetime64[s]").item())
    return f'<p class="cleared">Cleared by an investigator on {text(moment)}.</p>'


def _list(name: str, heading: str, texts: list[str]) -> str:
    if not texts:
        return ""
    items = "".join(f"<li>{_reason(each)}</li>" for each in texts)
    return f'<div class="{name}"><h3>{heading}</h3><ul>{items}</ul></div>'


def _reason(words: str) -> str:
    """Return a reason with what it is compared with in a softer tone."""
    first, *others = words.split("; ")
    if not others:
        return prose(first)
    return f"<b>{prose(first)}</b><small>{prose('; '.join(others))}</small>"


def _past(page: AlertPage, place: int) -> str:
    """Return what the card did in the last days, to be opened."""
    assert page.pasts is not None
    rows = page.pasts[place]
    before = [row for row in rows if not row.is_listed]
    if not before:
        return f'<p class="past">No other payment in the {PAST_DAYS} days before.</p>'
    total = sum(row.amount for row in rows if row.amount is not None)
    words = f"Last {PAST_DAYS} days: {count(len(rows))} {wording.plural('payment', len(rows))}"
    words += f", {number_text(total)} in all"
    if n_positive := sum(row.is_positive is True for row in rows):
        noun = page.noun.removesuffix("s") if n_positive == 1 else page.noun
        words += f", {count(n_positive)} known {noun}"
    return (
        f"<details><summary>{prose(words)}</summary>\n{_picture(rows, page.noun)}\n"
        f"{_past_table(page, rows[:_ROWS_SHOWN], len(rows))}\n</details>"
    )


def _past_table(page: AlertPage, rows: Sequence[PastRow], n_rows: int) -> str:
    terminal = page.names.get(page.facts.get("terminal", ""), page.facts.get("terminal", ""))
    amount = page.names.get(page.facts.get("amount", ""), "amount")
    others = list(dict.fromkeys(name for row in rows for name in row.values))
    has_labels = any(row.is_positive is not None for row in rows)
    heads = ["time", amount, terminal, *(page.names.get(name, name) for name in others)]
    heads += ["label"] if has_labels else []
    body = "\n".join(_past_row(page, row, others, has_labels) for row in rows)
    head = "".join(f'<th scope="col">{text(each)}</th>' for each in heads)
    more = n_rows - len(rows)
    rest = f"<p>And {count(more)} earlier ones.</p>" if more else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="Last payments"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>{rest}"
    )


def _past_row(page: AlertPage, row: PastRow, others: list[str], has_labels: bool) -> str:
    amount = "" if row.amount is None else f"{row.amount:,.2f}"
    cells = [f'<td class="number">{text(amount)}</td>', f"<td>{text(row.terminal)}</td>"]
    cells += [f"<td>{text(row.values.get(name, ''))}</td>" for name in others]
    if has_labels:
        known = {True: page.noun.removesuffix("s"), False: "genuine", None: "not known"}
        cells.append(f'<td class="label">{text(known[row.is_positive])}</td>')
    kind = _kind(row)
    time = f'<th scope="row">{text(moment_text(row.time))}</th>'
    return f"<tr{_class(kind)}>{time}{''.join(cells)}</tr>"


def _picture(rows: Sequence[PastRow], noun: str) -> str:
    """Return the amounts over time, a line each: this alert and known positives in colour."""
    drawn = [row for row in rows if row.amount is not None]
    if not drawn:
        return ""
    last = max(row.time for row in rows)
    span = timedelta(days=PAST_DAYS)
    first = last - span
    highest = max(abs(row.amount or 0) for row in drawn) or 1.0
    lines = []
    for row in sorted(drawn, key=lambda each: (_kind(each) != "", each.time)):
        x = 1 + 98 * max((row.time - first) / span, 0)
        y = 100 - 97 * abs(row.amount or 0) / highest
        lines.append(f'<path{_class(_kind(row))} d="M{x:.2f} 100V{y:.1f}"/>')
    keys = ['<span class="listed">this alert</span>'] if any(row.is_listed for row in rows) else []
    if any(_kind(row) == "positive" for row in drawn):
        keys.append(f'<span class="positive">known {text(noun)}</span>')
    return (
        f"<figure><figcaption><span>{text(number_text(highest))}</span>"
        f'<span class="keys">{"".join(keys)}</span></figcaption>'
        '<svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" '
        f'aria-label="Amounts of the last {PAST_DAYS} days">{"".join(lines)}</svg>'
        f'<div class="days"><span>{_day(first)}</span><span>{_day(last)}</span></div></figure>'
    )


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%b}"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _kind(row: PastRow) -> str:
    if row.is_listed:
        return "listed"
    return "positive" if row.is_positive else ""


def _shown(value: Any) -> str:
    """Return a value of a row as it is read: times without empty fractions of a second."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return moment_text(value)
    if isinstance(value, str):
        return value.removesuffix(".000000")
    return f"{value:,.2f}" if isinstance(value, float) and value != round(value) else str(value)
