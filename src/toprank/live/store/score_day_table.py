"""How the scores of each day are spread, counted so that nothing need read them all again.

    score_days       scores of a model on one day, by bins of `toprank.metrics.score_histogram`
    score_places     one row: up to which payment scores have been counted

`against` is empty where all payments that the model scored are counted, and else names another
model: then those that this one scored, too. So two models can be compared on the same payments.
Payments that a rule denied are left out: nobody reports a fraud that did not happen.

`toprank.live.monitor.score_digest` writes them; both can be made again from log and scores.
"""

from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
import sqlalchemy as sa
from numpy.typing import ArrayLike, NDArray

from toprank.live.store.desk_database import Text, metadata
from toprank.metrics.score_histogram import bins_of

score_days = sa.Table(
    "score_days",
    metadata,
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),  # from 1970
    sa.Column("model", Text, primary_key=True),  # its file
    sa.Column("against", Text, primary_key=True),
    sa.Column("first_position", sa.BigInteger, nullable=False),
    sa.Column("n_payments", sa.BigInteger, nullable=False),
    sa.Column("counts", sa.LargeBinary, nullable=False),
)

score_places = sa.Table(
    "score_places",
    metadata,
    sa.Column("position", sa.BigInteger, nullable=False),
)

_BIN, _COUNT = np.dtype("<u2"), np.dtype("<u4")


class ScoreCounts(NamedTuple):
    """How many scores are in each bin; bins rise."""

    bins: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, suspicion: Iterable[float]) -> Self:
        """Return the counts of some scores.

        >>> ScoreCounts.of([0.5, 0.5, 0.25]).counts.tolist()
        [1, 2]
        """
        return cls(*np.unique(bins_of(np.fromiter(suspicion, float)), return_counts=True))

    def plus(self, other: Self) -> Self:
        """Return the counts of both."""
        bins, place = np.unique(np.append(self.bins, other.bins), return_inverse=True)
        both = np.append(self.counts, other.counts)
        return type(self)(bins, np.bincount(place, both, bins.size).astype(np.int64))

    def without(self, suspicion: ArrayLike) -> Self:
        """Return the counts without some of the scores.

        >>> ScoreCounts.of([0.5, 0.5, 0.25]).without([0.5, 0.25]).counts.tolist()
        [0, 1]
        """
        bins = bins_of(np.asarray(suspicion, float))
        less = np.bincount(np.searchsorted(self.bins, bins), minlength=self.bins.size + 1)
        return self._replace(counts=np.maximum(self.counts - less[: self.bins.size], 0))

    def to_bytes(self) -> bytes:
        """Return them as they are stored."""
        return self.bins.astype(_BIN).tobytes() + self.counts.astype(_COUNT).tobytes()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        """Return what `to_bytes` gave.

        >>> ScoreCounts.from_bytes(ScoreCounts.of([0.5]).to_bytes()).counts.tolist()
        [1]
        """
        n_bins = len(stored) // (_BIN.itemsize + _COUNT.itemsize)
        bins = np.frombuffer(stored, _BIN, n_bins)
        counts = np.frombuffer(stored, _COUNT, n_bins, n_bins * _BIN.itemsize)
        return cls(bins.astype(np.int64), counts.astype(np.int64))


class ScoreKey(NamedTuple):
    """Of which scores a row is: those of a day by a model, all or against another one."""

    day: int
    model: str
    against: str = ""


class ScoreDay(NamedTuple):
    """The scores of a day; `first_position` is that of the first payment among them."""

    day: int
    model: str
    against: str
    first_position: int
    n_payments: int
    scores: ScoreCounts


def place(connection: sa.Connection) -> int | None:
    """Return up to which payment scores have been counted, None before the first time."""
    return connection.execute(sa.select(score_places.c.position)).scalar()


def set_place(connection: sa.Connection, position: int) -> None:
    """Write down up to which payment scores have been counted."""
    connection.execute(score_places.delete())
    connection.execute(score_places.insert().values(position=position))


def add(connection: sa.Connection, key: ScoreKey, first: int, more: ScoreCounts) -> None:
    """Count more scores; `first` is the position of the first of them."""
    c = score_days.c
    is_it = (c.day == key.day) & (c.model == key.model) & (c.against == key.against)
    before = connection.execute(sa.select(c.counts).where(is_it)).scalar()
    n_more = int(more.counts.sum())
    if before is None:
        values = {"first_position": first, "n_payments": n_more, "counts": more.to_bytes()}
        connection.execute(score_days.insert().values(key._asdict() | values))
        return
    both = ScoreCounts.from_bytes(before).plus(more)
    connection.execute(
        score_days.update()
        .where(is_it)
        .values(n_payments=c.n_payments + n_more, counts=both.to_bytes())
    )


def between(
    connection: sa.Connection, first: int, last: int, model: str | None = None, against: str = ""
) -> list[ScoreDay]:
    """Return the scores of some days, in order; of all models, or only of one."""
    c = score_days.c
    query = sa.select(score_days).where(c.day.between(first, last), c.against == against)
    if model is not None:
        query = query.where(c.model == model)
    return [
        ScoreDay(
            row.day, row.model, row.against, row.first_position, row.n_payments,
            ScoreCounts.from_bytes(row.counts),
        )
        for row in connection.execute(query.order_by(c.day, c.model))
    ]  # fmt: skip


def n_days(connection: sa.Connection, first: int, last: int) -> int:
    """Return how many days from one to another have scores."""
    c = score_days.c
    query = sa.select(sa.func.count(c.day.distinct())).where(c.day.between(first, last))
    return connection.execute(query).scalar_one()


def drop_before(connection: sa.Connection, day: int) -> None:
    """Remove what was counted before a day."""
    connection.execute(score_days.delete().where(score_days.c.day < day))
