"""The chance that a check of a card finds a fraud, from the chances of its open payments.

It is at least that of the most suspicious payment, p. If payments were frauds independently of
each other, it would be 1 - (1 - p) q, where q is the product of the others' chances to be genuine.
They are not: frauds of a card come together, and the features of a payment contain what its card
did before, so that later chances repeat earlier evidence. With the exponent r on q, r = 0 counts
only p and r = 1 everything. Half of it is counted, which fits simulated payments best: see
docs/decisions/0024-order-of-the-queue.md.
"""

import math
from collections.abc import Sequence

_SHARE = 0.5  # of the evidence of further payments that is new


def card_chance(chances: Sequence[float]) -> float:
    """Return the chance that any of a card's payments is a fraud, 0 for none.

    >>> round(card_chance([0.3]), 3), round(card_chance([0.3, 0.2]), 3)
    (0.3, 0.374)
    """
    if not chances:
        return 0.0
    *others, top = sorted(chances)
    if top >= 1.0:
        return 1.0
    return 1.0 - (1.0 - top) * math.exp(_SHARE * sum(math.log1p(-each) for each in others))
