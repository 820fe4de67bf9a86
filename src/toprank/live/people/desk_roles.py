"""What each role may do: one table, and one function that asks it.

Whatever the table does not allow is refused, for a role, an action or an object that it does not
know as well.
"""

from collections.abc import Set
from typing import NamedTuple

ROLES = {
    "investigator": "Checks cards and decides them.",
    "senior": "Also takes over and corrects the checks of others, and snoozes cards.",
    "rule_author": "Drafts rules, backtests them and lets them run in shadow.",
    "approver": "Lets rules and models of others go live, retires rules and rolls models back.",
    "auditor": "Reads everything but whole card ids, and changes nothing.",
    "admin": "Looks after accounts and keys; decides no card.",
}
"""The roles, with what they are for."""

_CHECKING = {"investigator", "senior"}
_READING = {*_CHECKING, "auditor"}
_ALL = frozenset(ROLES)

_ANY: dict[str, Set[str]] = {
    "queue.view": _READING,
    "card.view": _READING,
    "card.unmask": _CHECKING,
    "card.block": _CHECKING,
    "card.snooze": {"senior"},
    "check.claim": _CHECKING,
    "check.release": {"senior"},
    "check.take_over": {"senior"},
    "check.correct": {"senior"},
    "check.escalate": _CHECKING,
    "search.view": _READING,
    "day.view": _READING,
    "decisions.view": _READING,
    "decisions.export": {"senior", "auditor"},
    "rules.view": _ALL - {"admin"},
    "rules.edit": {"rule_author"},
    "rules.stage": {"rule_author"},
    "rules.approve": {"approver"},
    "rules.retire": {"approver"},
    "monitor.view": _ALL - {"investigator"},
    "models.view": _ALL - {"investigator"},
    "models.promote": {"approver"},
    "models.rollback": {"approver"},
    "models.reject": {"approver"},
    "alarms.acknowledge": {"senior", "approver", "admin"},
    "users.view": {"admin", "auditor"},
    "users.change": {"admin"},
    "keys.view": {"admin", "auditor"},
    "keys.change": {"admin"},
    "audit.view": {"admin", "auditor"},
}
_OWN: dict[str, Set[str]] = {
    "check.decide": _CHECKING,
    "check.undo": _CHECKING,
    "check.release": _CHECKING,
    "check.correct": _CHECKING,
    "account.own": _ALL,
}

ACTIONS = frozenset(_ANY) | frozenset(_OWN)
"""All that can be done."""

OWNED_ACTIONS = frozenset(_OWN)
"""Those for which it matters whose the object is."""


class Person(NamedTuple):
    """Somebody who has logged in."""

    name: str
    role: str

    @property
    def actor(self) -> str:
        """What the audit calls them."""
        return f"person:{self.name}"

    def may(self, action: str, owner: str | None = None) -> bool:
        """Return whether they may do this; `owner` is whose the object is, None for nobody's."""
        if self.role in _ANY.get(action, ()):
            return True
        return self.role in _OWN.get(action, ()) and owner in (None, self.actor)


class ForbiddenError(Exception):
    """Somebody may not do this; the message says why."""


def authorize(person: Person, action: str, owner: str | None = None) -> None:
    """Raise ForbiddenError unless a person may do this to an object of `owner`."""
    if person.may(action, owner):
        return
    if person.may(action):
        raise ForbiddenError(f"This is not yours: it belongs to {owner}.")
    raise ForbiddenError(f"Your role ({person.role}) does not allow this ({action}).")
