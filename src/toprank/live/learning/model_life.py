"""The life of a model: training, challenger, champion, retired.

A challenger only scores beside the champion. It takes the champion's place when a person other
than the one who asked for it promotes it; a rollback brings the champion before back in the same
way. Every step is one transaction with its audit, so that at any moment one model is the champion.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.store import audit_chain, model_table
from toprank.live.store.model_table import ModelState, StoredModel

JOB = "job:"
"""How the names of actors begin that are no persons."""


class ModelLifeError(ValueError):
    """A step that a model cannot take now; the message is a sentence."""


class LearnedFacts(NamedTuple):
    """What a model learned from, and how it compares with the champion."""

    first_day: int
    last_day: int
    n_rows: int
    frauds: dict[str, int]
    figures: dict[str, Any]


def begin(
    connection: sa.Connection, at: int, day: int, who: str, without: Collection[str] = ()
) -> StoredModel:
    """Store that a model is being trained, and return it.

    One whose training was interrupted is resumed: for whoever asks now. `without` are the people
    whose verdicts do not count.
    """
    found = model_table.in_state(connection, "training")
    if found is not None:
        _move(connection, at, who, found, "training", "model.resume", who=who, asked_on=day)
        return found._replace(who=who, asked_on=day)
    number = model_table.next_number(connection)
    model = StoredModel(number, model_table.file_name(number), "training", who, at, day)
    model_table.add(connection, model)
    details = {"without": sorted(without)} if without else {}
    audit_chain.add(connection, at, who, "model.retrain", _subject(model), details)
    return model


def become_challenger(
    connection: sa.Connection, at: int, model: StoredModel, facts: LearnedFacts
) -> StoredModel:
    """Make a trained model the challenger; the one before is retired."""
    before = model_table.in_state(connection, "challenger")
    if before is not None:
        why = f"model {model.number} took its place as challenger"
        _end(connection, at, model.who, before, "retired", "model.replace", why)
    values: dict[str, Any] = facts._asdict() | {"trained_at": at}
    _move(connection, at, model.who, model, "challenger", "model.trained", **values)
    return model._replace(state="challenger", **values)


def fail(connection: sa.Connection, at: int, model: StoredModel, why: str) -> StoredModel:
    """Store why a training has ended without a model."""
    _end(connection, at, model.who, model, "failed", "model.fail", why)
    return model._replace(state="failed", ended_at=at, why=why)


def promote(connection: sa.Connection, at: int, actor: str, number: int) -> StoredModel:
    """Make the challenger the champion; by a person who did not ask for it."""
    model = model_of(connection, number)
    _check_challenger(model, "promoted")
    _check_second_person(model, actor, "promoted")
    champion = _champion(connection)
    why = f"model {number} took its place"
    _end(connection, at, actor, champion, "retired", "model.replace", why)
    values: dict[str, Any] = {"approver": actor, "approved_at": at, "replaced": champion.number}
    _move(connection, at, actor, model, "champion", "model.promote", **values)
    return model._replace(state="champion", **values)


def rollback(connection: sa.Connection, at: int, actor: str) -> StoredModel:
    """Make the champion before the champion again; by a person who did not ask for this one."""
    champion = _champion(connection)
    if champion.replaced is None:
        raise ModelLifeError(
            f"model {champion.number} must have taken the place of another one to be rolled back; "
            "it is the one that the desk was made with."
        )
    _check_second_person(champion, actor, "rolled back")
    before = model_of(connection, champion.replaced)
    why = f"rolled back to model {before.number}"
    _end(connection, at, actor, champion, "retired", "model.rollback", why)
    values: dict[str, Any] = {"approver": actor, "approved_at": at, "ended_at": None, "why": None}
    _move(connection, at, actor, before, "champion", "model.restore", **values)
    return before._replace(state="champion", **values)


def reject(connection: sa.Connection, at: int, actor: str, number: int) -> StoredModel:
    """Retire the challenger."""
    model = model_of(connection, number)
    _check_challenger(model, "rejected")
    why = f"rejected by {actor}"
    _end(connection, at, actor, model, "retired", "model.reject", why)
    return model._replace(state="retired", ended_at=at, why=why)


def model_of(connection: sa.Connection, number: int) -> StoredModel:
    """Return a model by its number; ModelLifeError if there is none."""
    found = model_table.by_number(connection, number)
    if found is None:
        last = model_table.next_number(connection) - 1
        raise ModelLifeError(f"number of a model must be between 1 and {last}; got {number}.")
    return found


def may_approve(model: StoredModel, actor: str) -> bool:
    """Return whether somebody is a second person for a model.

    >>> model = StoredModel(2, "0002.toprank", "challenger", "person:anna", 0, 0)
    >>> may_approve(model, "person:ben"), may_approve(model, "person:Anna")
    (True, False)
    """
    return not actor.startswith(JOB) and _person(actor) != _person(model.who)


def _champion(connection: sa.Connection) -> StoredModel:
    found = model_table.in_state(connection, "champion")
    if found is None:
        raise ModelLifeError("the desk must have a champion; it has none; use a backup.")
    return found


def _check_challenger(model: StoredModel, verb: str) -> None:
    if model.state != "challenger":
        raise ModelLifeError(
            f"model {model.number} must be the challenger to be {verb}; it is "
            f"{'in training' if model.state == 'training' else model.state}; train another one "
            "with: toprank retrain"
        )


def _check_second_person(model: StoredModel, actor: str, verb: str) -> None:
    if not may_approve(model, actor):
        raise ModelLifeError(
            f"model {model.number} must be {verb} by a second person; {model.who} asked for it, "
            f"and got {actor}."
        )


def _end(
    connection: sa.Connection,
    at: int,
    actor: str,
    model: StoredModel,
    state: ModelState,
    action: str,
    why: str,
) -> None:
    _move(connection, at, actor, model, state, action, ended_at=at, why=why)


def _move(
    connection: sa.Connection,
    at: int,
    actor: str,
    model: StoredModel,
    state: ModelState,
    action: str,
    **values: Any,
) -> None:
    if not model_table.change_state(connection, model, state, **values):
        raise ModelLifeError(f"model {model.number} was changed by another person just now.")
    details = {"from": model.state, "to": state}
    if values.get("why"):
        details["why"] = values["why"]
    audit_chain.add(connection, at, actor, action, _subject(model), details)


def _subject(model: StoredModel) -> str:
    return f"model:{model.number}"


def _person(actor: str) -> str:
    """Return who an actor is, however the name is written."""
    return " ".join(actor.split()).casefold()
