"""What each worker does while the trees grow.

It trains on its own rows as one machine would. XGBoost adds up the histograms of all workers, and
`Gather` the sums of the loss.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from toprank.cluster.partition_rows import all_rows
from toprank.data.inputs import TrainingRows
from toprank.rankers.boosted import xgboost_engine
from toprank.rankers.boosted.plan import Plan

TOPIC = "toprank-progress"
"""The topic of events with the number of trees grown."""


class Work(NamedTuple):
    """The trees that every worker has to grow."""

    plan: Plan
    settings: dict[str, Any]
    feature_types: list[str]
    max_bins: int
    binning: str


def grow_here(
    parts: list[TrainingRows], tracker: dict[str, Any], work: Work, run: str
) -> bytes | None:
    """Return the trees of all workers, from the first worker; the others return None."""
    from distributed import get_worker
    from xgboost import collective, config_context
    from xgboost.dask import CommunicatorContext

    worker = get_worker()
    with config_context(verbosity=0), CommunicatorContext(**tracker):
        rank = collective.get_rank()
        watch = _Watch(worker, worker.get_current_task(), run, rank == 0)
        plan = replace(
            work.plan,
            gather=xgboost_engine.gather_of(worker.state.nthreads),
            # each worker draws its own batch
            seed=int(np.random.SeedSequence([work.plan.seed, rank]).generate_state(1)[0]),
            progress=watch.see,
        )
        try:
            training = xgboost_engine.train(
                all_rows(parts),
                plan,
                None,
                settings={**work.settings, "nthread": worker.state.nthreads},
                feature_types=work.feature_types,
                max_bins=work.max_bins,
                binning=work.binning,
            )
        except _UnwantedError:
            return None
        return bytes(training.booster.save_raw("ubj")) if rank == 0 else None


class _UnwantedError(Exception):
    """The training was interrupted: the trees are not needed any more."""


class _Watch(NamedTuple):
    """Reports each tree to the client, and ends the training when the client is gone."""

    worker: Any
    task: str
    run: str
    is_reporter: bool

    def see(self, _what: str, n_grown: int, _n_trees: int) -> None:
        """Report how many trees there are; raise, on all workers at once, if not needed."""
        if self.is_reporter:
            self.worker.log_event(TOPIC, {"run": self.run, "n_grown": n_grown})
        # Dask cannot end a running task: after an interrupt it only flags it as cancelled
        task = self.worker.state.tasks.get(self.task)
        is_dropped = task is None or task.state == "cancelled"
        if xgboost_engine.across_machines(np.array([float(is_dropped)]), "max")[0]:
            raise _UnwantedError
