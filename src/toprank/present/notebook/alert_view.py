"""An alert list in a notebook: what to expect, then each alert with its reasons."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from toprank.present.notebook.frame import MOST_ROWS, bar, frame, list_table
from toprank.present.report.markup import count, percent, prose, text
from toprank.present.summary import counted, moment_text
from toprank.wording import plural
from toprank.workflow.alert_list import AlertList

_REASONS_SHOWN = 4
_VALUES_SHOWN = 4
_LONGEST_VALUE = 60
_ROLES = ("time", "amount", "terminal", "id")


def view_of_alerts(alerts: AlertList) -> str:
    """Return the first alerts of a list, each with its probability and reasons."""
    n_alerts = len(alerts.suspicion)
    if not n_alerts:
        return frame(f"No alerts: the list of {count(alerts.n_seen)} rows is empty.")
    has_cards = _has_cards(alerts)
    shown = range(min(n_alerts, MOST_ROWS))
    score = "Suspicion" if alerts.probability is None else "Probability"
    headings = ["Rank", "Card" if has_cards else "Row", score, "Values", "Why it is here"]
    rows = [_cells(alerts, place, has_cards) for place in shown]
    return frame(_heading(alerts), list_table(headings, rows, n_alerts), _notes(alerts))


def _heading(alerts: AlertList) -> str:
    n_alerts = len(alerts.suspicion)
    unit = plural("card" if _has_cards(alerts) else "row", n_alerts)
    listed = f"{count(n_alerts)} {unit}, the most suspicious of {count(alerts.n_seen)} rows"
    if alerts.expected is None:
        return listed
    return f"Expect about {counted(alerts.expected)} {alerts.noun} in these {listed}"


def _cells(alerts: AlertList, place: int, has_cards: bool) -> list[str]:
    facts = _facts(alerts, place)
    number = count(int(alerts.row_numbers[place]))
    name = text(_shown(facts["card"])) if has_cards else number
    return [
        str(place + 1),
        f"{name}<br>{_soft(f'row {number}')}" if has_cards else name,
        _score(alerts, place),
        _values(alerts, place, facts, has_cards),
        _reasons(alerts, place),
    ]


def _score(alerts: AlertList, place: int) -> str:
    if alerts.probability is None:
        return f'<span class="toprank-number">{alerts.suspicion[place]:.4g}</span>'
    share = float(alerts.probability[place])
    return f'<span class="toprank-number">{percent(share)}</span>{bar(share)}'


def _values(alerts: AlertList, place: int, facts: Mapping[str, Any], has_cards: bool) -> str:
    """Return what a row is: the values in its roles, or else its first columns."""
    if has_cards:
        shown = {role: facts[role] for role in _ROLES if facts.get(role) is not None}
    else:
        row = alerts.rows.slice(place, 1)
        names = row.column_names[:_VALUES_SHOWN]
        shown = row.select(names).to_pylist()[0] if names else {}
    return _list(f"{_soft(text(name))} {text(_shown(value))}" for name, value in shown.items())


def _reasons(alerts: AlertList, place: int) -> str:
    texts = alerts.reason_texts(place)
    items = [prose(each) for each in texts[:_REASONS_SHOWN]]
    if len(texts) > _REASONS_SHOWN:
        items.append(_soft(f"and {len(texts) - _REASONS_SHOWN} more"))
    if alerts.rules is not None:
        items.append(prose(alerts.rules[place]))
    if alerts.cleared is not None and not np.isnat(alerts.cleared[place]):
        moment = alerts.cleared[place].astype("datetime64[s]").item()
        items.append(_soft(f"cleared by an investigator on {text(moment_text(moment))}"))
    return _list(items)


def _notes(alerts: AlertList) -> str:
    if not alerts.n_left_out:
        return ""
    left_out = f"{count(alerts.n_left_out)} rows of cards known as fraud were left out."
    return f'<p class="toprank-soft">{left_out}</p>'


def _has_cards(alerts: AlertList) -> bool:
    return alerts.facts is not None and "card" in alerts.facts.column_names


def _facts(alerts: AlertList, place: int) -> dict[str, Any]:
    return {} if alerts.facts is None else alerts.facts.slice(place, 1).to_pylist()[0]


def _list(items: Any) -> str:
    return "<ul>" + "".join(f"<li>{each}</li>" for each in items) + "</ul>"


def _soft(words: str) -> str:
    """Return HTML in a softer tone."""
    return f'<span class="toprank-soft">{words}</span>'


def _shown(value: Any) -> str:
    """Return a value of a row as it is read; a long text without its end."""
    if value is None:
        return "missing"
    if isinstance(value, datetime):
        return moment_text(value)
    shown = f"{value:,.2f}" if isinstance(value, float) and value != round(value) else str(value)
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[:_LONGEST_VALUE]}…"
