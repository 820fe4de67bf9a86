"""Trials of rules that pages asked for: backtests and suggestions, with what came of them.

running -> done | failed
"""

import json
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Number, Text, metadata

TrialTask = Literal["backtest", "suggest"]
TrialState = Literal["running", "done", "failed"]

rule_trials = sa.Table(
    "rule_trials",
    metadata,
    sa.Column("number", Number, primary_key=True),
    sa.Column("task", Text, nullable=False),
    sa.Column("rule", Text, index=True),  # null of one that is not stored
    sa.Column("text", Text, nullable=False),
    sa.Column("kind", Text, nullable=False),
    sa.Column("options", Text, nullable=False),
    sa.Column("who", Text, nullable=False),
    sa.Column("started_at", sa.BigInteger, nullable=False),  # by the machine's clock
    sa.Column("state", Text, nullable=False),
    sa.Column("finished_at", sa.BigInteger),
    sa.Column("result", Text),
    sa.Column("error", Text),
)

_LISTED = [each for each in rule_trials.c if each.name != "result"]


class RuleTrial(NamedTuple):
    """A trial; `result` is what `to_json` of a backtest gives, or a list of suggested rules."""

    number: int
    task: TrialTask
    rule: str | None
    text: str
    kind: Any
    options: dict[str, Any]
    who: str
    started_at: int
    state: TrialState
    finished_at: int | None = None
    result: Any = None
    error: str | None = None


def add(connection: sa.Connection, trial: RuleTrial) -> int:
    """Store a trial, whatever its number, and return the number that it gets."""
    values = trial._asdict() | {"options": json.dumps(trial.options)}
    del values["number"]
    key = connection.execute(rule_trials.insert().values(values)).inserted_primary_key
    assert key is not None
    return int(key[0])


def finish(
    connection: sa.Connection, number: int, at: int, result: Any = None, error: str | None = None
) -> bool:
    """Store what came of a trial that is running; return False if it is not."""
    changed = connection.execute(
        rule_trials.update()
        .where(rule_trials.c.number == number, rule_trials.c.state == "running")
        .values(
            state="done" if error is None else "failed",
            finished_at=at,
            result=json.dumps(result),
            error=error,
        )
    )
    return changed.rowcount == 1


def by_number(connection: sa.Connection, number: int) -> RuleTrial | None:
    """Return a trial, None if there is none of this number."""
    query = sa.select(rule_trials).where(rule_trials.c.number == number)
    row = connection.execute(query).mappings().first()
    if row is None:
        return None
    result = None if row["result"] is None else json.loads(row["result"])
    return RuleTrial(**{**row, "options": json.loads(row["options"]), "result": result})


def newest(
    connection: sa.Connection, task: TrialTask, rule: str | None = None, limit: int = 10
) -> list[RuleTrial]:
    """Return trials without their results, the newest first; of a rule, if it is given."""
    query = sa.select(*_LISTED).where(rule_trials.c.task == task)
    if rule is not None:
        query = query.where(rule_trials.c.rule == rule)
    found = connection.execute(query.order_by(rule_trials.c.number.desc()).limit(limit))
    return [
        RuleTrial(**{**row, "options": json.loads(row["options"])}) for row in found.mappings()
    ]


def running(connection: sa.Connection) -> dict[int, int]:
    """Return when the trials that are not finished were started, by their numbers."""
    columns = rule_trials.c.number, rule_trials.c.started_at
    query = sa.select(*columns).where(rule_trials.c.state == "running")
    return {row.number: row.started_at for row in connection.execute(query)}


def drop_before(connection: sa.Connection, before: int) -> None:
    """Remove trials that were started before a moment."""
    connection.execute(rule_trials.delete().where(rule_trials.c.started_at < before))
