"""What people say of cards with and without reasons: whether the desk leads them, and by how much.

Chance decides which cards are shown without reasons, so that a difference beyond chance is due to
what was shown. It may be for the better: claims that come later tell.
"""

from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store import blind_check_table
from toprank.live.store.blind_check_table import SaidOfCards
from toprank.metrics.intervals import Interval
from toprank.metrics.shares import share_difference


class BlindComparison(NamedTuple):
    """Verdicts on cards with reasons and without.

    `difference` is the share of frauds with reasons minus that without, unsure ones left out, and
    its 95 % interval; None until there are verdicts of both kinds.
    """

    shown: SaidOfCards
    blind: SaidOfCards
    difference: Interval | None

    @property
    def is_significant(self) -> bool:
        """Whether the difference is beyond chance."""
        found = self.difference
        return found is not None and not found.low <= 0 <= found.high


def blind_comparison(connection: sa.Connection, first: int, last: int) -> BlindComparison:
    """Return what was said on days of the desk, the first and the last included."""
    said = blind_check_table.said(connection, first, last)
    shown, blind = said[False], said[True]
    counts = [n for each in (shown, blind) for n in (each.n_fraud, each.n_fraud + each.n_genuine)]
    is_known = counts[1] > 0 and counts[3] > 0
    return BlindComparison(shown, blind, share_difference(*counts) if is_known else None)
