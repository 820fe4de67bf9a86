"""What an engine should grow, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from toprank.data.inputs import TrainingRows
from toprank.losses import ApCard, Gather, Log, Loss
from toprank.rankers.boosted.objective import Objective
from toprank.rankers.progress import Progress

if TYPE_CHECKING:
    from xgboost import Booster

GROWING = "growing trees"
"""The step that boosters report progress for."""


class Phase(NamedTuple):
    """Consecutive trees that learn one loss; `first` is the number of trees before them."""

    loss: Loss
    n_trees: int
    first: int


@dataclass(frozen=True)
class Plan:
    """The trees to grow: log-loss first, then `loss`; validation may end either phase early."""

    loss: Loss
    n_estimators: int
    warm_start_trees: int
    batch_fraction: float
    seed: int
    gather: Gather
    patience: int | None = None
    progress: Progress | None = None

    def phases(self) -> list[Phase]:
        """Return the phases that have trees."""
        warm = self.n_estimators if isinstance(self.loss, Log) else self.warm_start_trees
        phases = [Phase(Log(), warm, 0), Phase(self.loss, self.n_estimators - warm, warm)]
        return [phase for phase in phases if phase.n_trees]

    def objective(self, phase: Phase, rows: TrainingRows) -> Objective:
        """Return the gradients of a phase."""
        loss, groups = phase.loss, None
        if isinstance(loss, ApCard) and rows.groups is not None:
            groups = rows.groups
            loss = loss.for_groups(groups)
        return Objective(
            loss,
            rows.is_positive,
            rows.weight,
            self.batch_fraction,
            self.seed,
            self.gather,
            groups,
        )

    def start(self, rows: TrainingRows) -> float:
        """Return the score before the first tree."""
        return self.phases()[0].loss.start(rows.is_positive, rows.weight, self.gather)

    def report(self, n_grown: int) -> None:
        """Report how many trees have been grown."""
        if self.progress is not None:
            self.progress(GROWING, n_grown, self.n_estimators)


class Training(NamedTuple):
    """A trained booster and the validation AP after every tree grown (empty without patience)."""

    booster: Booster
    history: list[float]
