"""The challenger on live payments: scored beside the champion, without effect.

Its scores are made in the turns in which the champion scores, so no answer waits for them. While
scores lag behind, they are skipped, and counted.
"""

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toprank.live.engine.payment_scores import Scorer
from toprank.live.messages import Payment
from toprank.live.store.shadow_score_table import ShadowScore

_log = logging.getLogger("toprank.live")

LONGEST_LAG = 1.0
"""Seconds that payments may wait for the champion's score before the challenger's are skipped."""


class ShadowModel:
    """A challenger that scores live payments.

    Parameters
    ----------
    number, scorer
        The challenger's number, and what scores by it.

    Attributes
    ----------
    n_skipped
        Payments that it did not score.
    """

    def __init__(self, number: int, scorer: Scorer) -> None:
        self.number, self._scorer, self.n_skipped = number, scorer, 0

    def scores(
        self,
        positions: Sequence[int],
        payments: Sequence[Payment],
        features: NDArray[np.float64],
        lag: float,
    ) -> list[ShadowScore]:
        """Return what it says of payments; nothing if they have waited for too long.

        A challenger that fails must not keep the champion from scoring.
        """
        if lag > LONGEST_LAG:
            self.n_skipped += len(positions)
            return []
        try:
            found = self._scorer.score(payments, features)
        except Exception:
            _log.exception("challenger %s could not score payments.", self.number)
            self.n_skipped += len(positions)
            return []
        assert found.probability is not None
        columns = (found.suspicion.tolist(), found.probability.tolist())
        return [
            ShadowScore(position, self.number, suspicion, probability)
            for position, suspicion, probability in zip(positions, *columns, strict=True)
        ]
