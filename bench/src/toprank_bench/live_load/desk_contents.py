"""What a desk has stored of its payments, to be compared."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toprank.live.desk import Desk
from toprank.live.store import payment_log
from toprank.live.store.payment_log import LoggedPayment, StoredScore


class DeskContents(NamedTuple):
    """The log of a desk and, payment by payment, its scores."""

    log: list[LoggedPayment]
    scores: list[StoredScore | None]

    @classmethod
    def of(cls, folder: Path) -> "DeskContents":
        """Return what the desk in a folder has."""
        with Desk.open(folder) as desk, desk.database.reading() as connection:
            log = list(payment_log.after(connection, 0))
            scores = payment_log.scores_between(connection, log)
        return cls(log, [scores.get(row.position) for row in log])

    def timeless(self) -> "DeskContents":
        """Return the same without the moments at which it came about."""
        return DeskContents(
            [row._replace(received_at=0) for row in self.log],
            [None if each is None else each._replace(scored_at=0) for each in self.scores],
        )


def n_different(these: Sequence[Any], those: Sequence[Any]) -> int:
    """Return how many items differ, place by place; those that one has more count.

    >>> n_different([1, 2, 3], [1, 5])
    2
    """
    n_more = abs(len(these) - len(those))
    return n_more + sum(one != other for one, other in zip(these, those, strict=False))
