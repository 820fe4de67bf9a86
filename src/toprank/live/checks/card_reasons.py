"""Why a card is listed: its reasons with the payments that each is about, and its rules."""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.alert_table import CardAlert
from toprank.live.store.payment_log import LoggedPayment, StoredScore
from toprank.live.store.rule_outcomes import last_outcomes
from toprank.payments.features.kinds import Feature, Recent, SinceLast, columns_of, microseconds
from toprank.payments.roles import Roles


class CardReason(NamedTuple):
    """A sentence, the feature it is about (or empty), and the payments that it filters."""

    text: str
    feature: str
    positions: list[int]


class MatchedRule(NamedTuple):
    """A rule that put the card on the list; of its last `n_checked` alerts, some were frauds."""

    name: str
    version: int
    n_checked: int
    n_frauds: int


def reasons(
    alert: CardAlert, rows: Sequence[LoggedPayment], features: Iterable[Feature], roles: Roles
) -> list[CardReason]:
    """Return the reasons of an alert; `rows` are the card's payments, in order of time.

    A feature of the card's last hours is about the payments of those hours, all others about the
    most suspicious payment.
    """
    by_name = {each.name: each for each in features}
    top = next((row for row in rows if row.position == alert.position), None)
    names = alert.reason_features or [""] * len(alert.reasons)
    return [
        CardReason(
            text,
            name,
            [alert.position] if top is None else _about(by_name.get(name), top, rows, roles),
        )
        for text, name in zip(alert.reasons, names, strict=True)
    ]


def matched_rules(
    connection: sa.Connection, alert: CardAlert, scores: Iterable[StoredScore]
) -> list[MatchedRule]:
    """Return the rules of an alert with their newest version and what became of their alerts."""
    versions: dict[str, int] = {}
    for score in scores:
        for name, version, _ in json.loads(score.matched):
            versions[name] = max(version, versions.get(name, version))
    outcomes = last_outcomes(connection) if alert.rules else []
    return [
        MatchedRule(
            name,
            versions.get(name, 0),
            sum(name in each.rules for each in outcomes),
            sum(name in each.rules and each.is_fraud for each in outcomes),
        )
        for name in alert.rules
    ]


def _about(
    feature: Feature | None, top: LoggedPayment, rows: Sequence[LoggedPayment], roles: Roles
) -> list[int]:
    """Return the positions of the payments that a feature of `top` is computed from."""
    until = [row for row in rows if row.paid_at <= top.paid_at]
    if isinstance(feature, Recent) and feature.window is not None and feature.until == "row":
        since = top.paid_at - microseconds(feature.window, "window")
        inside = [row for row in until if row.paid_at > since]
        return [row.position for row in _of_key(feature.key, inside, top, roles)]
    if isinstance(feature, SinceLast):
        return [row.position for row in _of_key(feature.key, until, top, roles)[-2:]]
    return [top.position]


def _of_key(
    key: str | tuple[str, ...], rows: list[LoggedPayment], top: LoggedPayment, roles: Roles
) -> list[LoggedPayment]:
    """Return those of the card's payments that have the key of `top`: all, or at its terminal."""
    columns = columns_of(key)
    if columns == (roles.card,):
        return rows
    return (
        [row for row in rows if row.terminal == top.terminal]
        if (roles.terminal in columns)
        else [top]
    )
