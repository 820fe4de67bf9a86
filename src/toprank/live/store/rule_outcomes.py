"""What the last checks found of cards that rules put on the list."""

import json
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.alert_table import alerts
from toprank.live.store.check_table import checks

_LAST = 1_000  # checks that are looked at


class RuleOutcome(NamedTuple):
    """A checked card with its rules and the model's chance of its worst payment."""

    rules: list[str]
    probability: float
    is_fraud: bool


def last_outcomes(connection: sa.Connection) -> list[RuleOutcome]:
    """Return the last final verdicts on cards with rules, fraud or genuine, the newest first.

    Of a verdict that was corrected, the newest correction counts.
    """
    first = (connection.execute(sa.select(sa.func.max(checks.c.number))).scalar() or 0) - _LAST
    c = checks.c
    query = (
        sa.select(
            sa.func.coalesce(c.corrects, c.number).label("root"), c.state, c.verdict,
            alerts.c.rules, alerts.c.probability,
        )
        .join(alerts, alerts.c.number == c.alert)
        .where(c.number > first)
        .order_by(c.number.desc())
    )  # fmt: skip
    found: dict[int, RuleOutcome] = {}
    for row in connection.execute(query):
        # the state is asked here: an index by state would lead through all checks ever made
        if row.state == "finished" and row.verdict != "unsure" and row.rules != "[]":
            outcome = RuleOutcome(json.loads(row.rules), row.probability, row.verdict == "fraud")
            found.setdefault(row.root, outcome)
    return list(found.values())
