"""The life of a rule: draft, shadow (evaluated, does nothing), live, retired.

A version never changes; a better text is a new version, and takes the place of the one before
when it reaches the same state. Going live needs a person other than the author. Every change is
written to the audit in its transaction, and makes a new numbered rule set if it matters to
payments.
"""

import re

import sqlalchemy as sa

from toprank.data.checks import nearest_name
from toprank.live.rules.rule_fields import RuleError, RuleFields, RuleKind
from toprank.live.rules.rule_language import parse
from toprank.live.rules.rule_set import ActiveRule, RuleSet
from toprank.live.store import audit_chain, rule_set_table, rule_table
from toprank.live.store.rule_table import RuleState, StoredRule

BREAKER = "job:breaker"
MOST_DESCRIPTION = 2_000

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class RuleLifeError(ValueError):
    """A step that a rule cannot take now; the message is a sentence."""


def add_rule(
    connection: sa.Connection,
    at: int,
    author: str,
    name: str,
    text: str,
    kind: RuleKind,
    fields: RuleFields,
    description: str = "",
) -> StoredRule:
    """Store a new rule, or a new version of one, as a draft; RuleError if it is not valid."""
    if not _NAME.fullmatch(name):
        raise RuleError(
            "name of a rule must be at most 64 small letters, digits, - and _, beginning with a "
            f"letter or digit; got {name[:70]!r}."
        )
    if len(description) > MOST_DESCRIPTION:
        raise RuleError(
            f"description of a rule must have at most {MOST_DESCRIPTION:,} characters; it has "
            f"{len(description):,}."
        )
    parse(text, fields, kind)
    before = rule_table.versions_of(connection, name)
    version = before[0].version + 1 if before else 1
    rule = StoredRule(name, version, kind, text, description, author, at, "draft", None)
    rule_table.add(connection, rule)
    audit_chain.add(
        connection, at, author, "rule.add", _subject(rule), {"kind": kind, "text": text}
    )
    return rule


def stage(
    connection: sa.Connection, at: int, actor: str, name: str, version: int | None = None
) -> StoredRule:
    """Move a draft to shadow: it is evaluated on every payment and does nothing."""
    rule = rule_of(connection, name, version)
    _check_state(rule, "draft", "staged")
    return _entered(connection, at, actor, rule, "shadow", "rule.stage")


def approve(
    connection: sa.Connection, at: int, actor: str, name: str, version: int | None = None
) -> StoredRule:
    """Move a rule from shadow to live; the approver must not be the author."""
    rule = rule_of(connection, name, version)
    _check_state(rule, "shadow", "approved")
    if _person(actor) == _person(rule.author):
        raise RuleLifeError(
            f"rule {name!r} must be approved by a second person; {actor} wrote version "
            f"{rule.version}."
        )
    return _entered(connection, at, actor, rule, "live", "rule.approve", approver=actor)


def retire(
    connection: sa.Connection, at: int, actor: str, name: str, version: int | None = None
) -> list[StoredRule]:
    """Retire a version, or every version of the rule that is not retired."""
    found = [rule_of(connection, name, version)] if version else versions(connection, name)
    left = [each for each in found if each.state != "retired"]
    if not left:
        raise RuleLifeError(f"rule {name!r} is retired already.")
    for rule in left:
        _move(connection, at, actor, rule, "retired", "rule.retire")
    rule_set_table.renew(connection, at)
    return [each._replace(state="retired") for each in left]


def trip(connection: sa.Connection, at: int, name: str, version: int, sentence: str) -> bool:
    """Move a live rule to shadow because its breaker tripped; False if it is not live any more."""
    rule = rule_of(connection, name, version)
    if rule.state != "live":
        return False
    _move(connection, at, BREAKER, rule, "shadow", "rule.trip", {"why": sentence})
    rule_set_table.renew(connection, at)
    return True


def versions(connection: sa.Connection, name: str) -> list[StoredRule]:
    """Return all versions of a rule, the newest first; RuleLifeError if there is none."""
    found = rule_table.versions_of(connection, name)
    if not found:
        hint = nearest_name(name, rule_table.names(connection)) or "."
        raise RuleLifeError(f"there is no rule {name!r} in this desk{hint}")
    return found


def rule_of(connection: sa.Connection, name: str, version: int | None = None) -> StoredRule:
    """Return one version of a rule, the newest by default."""
    found = versions(connection, name)
    if version is None:
        return found[0]
    for rule in found:
        if rule.version == version:
            return rule
    raise RuleLifeError(f"rule {name!r} must have a version {version}; it has {len(found)}.")


def load_rule_set(
    connection: sa.Connection, fields: RuleFields, number: int | None = None
) -> RuleSet:
    """Return a rule set by number, by default the one that holds now; 0 is the empty set."""
    if number is None:
        number = rule_set_table.newest_number(connection)
    rules = []
    for member in rule_set_table.members(connection, number):
        rule = rule_of(connection, member.name, member.version)
        try:
            condition = parse(rule.text, fields, rule.kind)
        except RuleError as error:
            raise RuleError(f"rule {rule.name!r}, version {rule.version}: {error}") from None
        rules.append(ActiveRule(rule.name, rule.version, member.state, condition))  # type: ignore[arg-type]
    return RuleSet(rules, number)


def _entered(
    connection: sa.Connection,
    at: int,
    actor: str,
    rule: StoredRule,
    state: RuleState,
    action: str,
    approver: str | None = None,
) -> StoredRule:
    """Move a version to a state and retire the other version that is in it."""
    for other in rule_table.versions_of(connection, rule.name):
        if other.state == state:
            _move(connection, at, actor, other, "retired", "rule.replace")
    _move(connection, at, actor, rule, state, action, approver=approver)
    rule_set_table.renew(connection, at)
    return rule._replace(state=state, approver=approver)


def _move(
    connection: sa.Connection,
    at: int,
    actor: str,
    rule: StoredRule,
    state: RuleState,
    action: str,
    details: dict[str, str] | None = None,
    approver: str | None = None,
) -> None:
    if not rule_table.change_state(connection, rule, state, approver):
        raise RuleLifeError(f"rule {rule.name!r} was changed by another person just now.")
    facts = {"from": rule.state, "to": state, **(details or {})}
    audit_chain.add(connection, at, actor, action, _subject(rule), facts)


def _check_state(rule: StoredRule, state: RuleState, verb: str) -> None:
    if rule.state != state:
        raise RuleLifeError(
            f"version {rule.version} of rule {rule.name!r} must be in state {state} to be {verb}; "
            f"it is {rule.state}{_way_out(rule)}"
        )


def _way_out(rule: StoredRule) -> str:
    if rule.state == "draft":
        return f"; stage it first: toprank rules stage FOLDER {rule.name}"
    return "; add a new version of it." if rule.state == "retired" else "."


def _subject(rule: StoredRule) -> str:
    return f"rule:{rule.name}:{rule.version}"


def _person(actor: str) -> str:
    """Return who an actor is, however the name is written."""
    return " ".join(actor.split()).casefold()
