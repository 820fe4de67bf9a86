"""A task of more rows than fit memory: a sample is learned from, all test rows are scored."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.workflow.backtest import ScoredWindow
from toprank.workflow.task import ScoredTest, Task


class WholeTest(Protocol):
    """All rows of the test period, wherever they are."""

    def scored(self, ranker: Any) -> ScoredTest:
        """Return the rows as a ranker scores them."""

    def features(self, places: NDArray[np.intp]) -> pa.Table:
        """Return the features of some of them."""

    def names(self, places: NDArray[np.intp]) -> list[str]:
        """Return what some of them are called in a report."""


class SampleFacts(NamedTuple):
    """How the rows of a sample were drawn.

    `weight` is the number of rows that each represents, and `is_typical` says which are spread as
    all rows are. `n_rows` and `n_positive` count all rows.
    """

    weight: NDArray[np.float64]
    is_typical: NDArray[np.bool_]
    n_rows: int
    n_positive: int


@dataclass(frozen=True)
class SampledTask(Task):
    """Rows drawn from many more, of positives a larger share than of the others.

    Probabilities are learned with the weights of the rows. Rankers learn without them, since a
    ranking does not depend on how frequent positives are. All rows of the test are scored for the
    figures; the test rows of the sample are for learning in the end.
    """

    facts: SampleFacts | None = None
    test: WholeTest | None = None

    @classmethod
    def of(cls, task: Task, facts: SampleFacts, test: WholeTest) -> Self:
        """Return the task of a sample, whose arrays have a value per row of `task`."""
        own = {each.name: getattr(task, each.name) for each in fields(Task)}
        return cls(**own, facts=facts, test=test)

    def window(
        self,
        rows: NDArray[np.int64],
        suspicion: NDArray[np.float64],
        until: np.datetime64 | None,
    ) -> ScoredWindow:
        """Return rows as scored by a ranker, with the number of rows that each represents."""
        assert self.facts is not None
        window = super().window(rows, suspicion, until)
        return window._replace(weight=self.facts.weight[rows])

    def test_rows(self, ranker: Any) -> ScoredTest:
        """Return all rows of the test period as a ranker scores them."""
        assert self.test is not None and self.time is not None
        rows = self.test.scored(ranker)
        assert rows.time is not None
        day = rows.time.astype("datetime64[D]") - self.time.min().astype("datetime64[D]")
        return rows._replace(day=day.astype(np.int64))

    def test_features(self, places: NDArray[np.intp]) -> pa.Table:
        """Return the features of some rows of `test_rows`."""
        assert self.test is not None
        return self.test.features(places)

    def test_names(self, places: NDArray[np.intp]) -> list[str]:
        """Return what some rows of `test_rows` are called in a report."""
        assert self.test is not None
        return self.test.names(places)

    def with_test(
        self, windows: Sequence[ScoredWindow], rows: ScoredTest, until: np.datetime64 | None
    ) -> list[ScoredWindow]:
        """Return both halves of the test: windows of a sample have no lists to compare with.

        Where a half has no positives, the test is one window, and nothing is promised.
        """
        assert rows.day is not None
        days = np.unique(rows.day)
        is_late = rows.day >= days[days.size // 2]
        halves = [rows.window(until, each) for each in (~is_late, is_late)]
        are_both = all(0 < each.is_positive.sum() < each.is_positive.size for each in halves)
        return halves if are_both else [rows.window(until)]

    def typical_rows(self, *parts: str) -> NDArray[np.int64]:
        """Return numbers of rows of these parts that are spread as all rows are."""
        assert self.facts is not None
        rows = self.rows_in(*parts)
        return rows[self.facts.is_typical[rows]]

    def counts(self, rows: NDArray[np.int64] | None = None) -> tuple[int, int]:
        """Return how many rows there are, and positives; those of some are estimated."""
        assert self.facts is not None
        if rows is None:
            return self.facts.n_rows, self.facts.n_positive
        weight = self.facts.weight[rows]
        return round(weight.sum()), round(weight[self.is_positive[rows]].sum())
