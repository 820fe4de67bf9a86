"""What the checks of cards that rules alone put on the list have found, as a chance for the next.

The model sees little in such a card, or it would have listed it itself, so its chance would leave
the card at the end of the queue, where nobody finds out whether the rule is right. A rule begins
with the chance from which the model lists a card, and moves to the share of frauds among its own
checked cards: (2 c + frauds) / (2 + checked), as if two checks had shown the chance c before.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.rule_outcomes import last_outcomes

_CHECKS_BEFORE = 2.0


class RuleEvidence(NamedTuple):
    """The checked cards that each rule alone put on the list, and the frauds among them."""

    alert_from: float
    n_checked: Counter[str]
    n_frauds: Counter[str]

    def chance(self, rules: Iterable[str], probability: float) -> float:
        """Return the chance of a card by the best of its rules; 0 if the model lists it, too.

        >>> evidence = RuleEvidence(0.02, Counter(large=8), Counter(large=3))
        >>> round(evidence.chance(["large"], 0.001), 3), evidence.chance(["large"], 0.5)
        (0.304, 0.0)
        """
        if probability >= self.alert_from:
            return 0.0
        return max((self._of_rule(name) for name in rules), default=0.0)

    def _of_rule(self, name: str) -> float:
        before = _CHECKS_BEFORE * self.alert_from
        return (before + self.n_frauds[name]) / (_CHECKS_BEFORE + self.n_checked[name])


def read_evidence(connection: sa.Connection, alert_from: float) -> RuleEvidence:
    """Return what the last final verdicts say of rules."""
    found = RuleEvidence(alert_from, Counter(), Counter())
    for outcome in last_outcomes(connection):
        if outcome.probability < alert_from:
            found.n_checked.update(outcome.rules)
            found.n_frauds.update(outcome.rules if outcome.is_fraud else ())
    return found
