"""What each worker does while the trees grow.

It trains as one machine does, on its own rows. XGBoost adds up the histograms over the workers,
and `Gather` the sums of the loss.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from toprank.cluster.partition_rows import all_rows
from toprank.data.inputs import TrainingRows
from toprank.rankers.boosted import xgboost_engine
from toprank.rankers.boosted.plan import Plan

TOPIC = "toprank-progress"
"""Where the client hears of the trees grown."""


class Work(NamedTuple):
    """What every worker is asked to grow."""

    plan: Plan
    settings: dict[str, Any]
    feature_types: list[str]
    max_bins: int
    binning: str


def grow_here(
    parts: list[TrainingRows], tracker: dict[str, Any], work: Work, run: str
) -> bytes | None:
    """Return the trees grown on this worker's rows and those of all others; one returns them."""
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
    """Nobody waits for the trees any more."""


class _Watch(NamedTuple):
    """Who asked for the trees: told of each, and asked whether they are still wanted."""

    worker: Any
    task: str
    run: str
    is_speaker: bool

    def see(self, _what: str, n_grown: int, _n_trees: int) -> None:
        """Tell how many trees there are; raise, on all workers at once, when they are unwanted."""
        if self.is_speaker:
            self.worker.log_event(TOPIC, {"run": self.run, "n_grown": n_grown})
        # Dask cannot end a task that runs: after an interrupt it only marks it
        task = self.worker.state.tasks.get(self.task)
        is_dropped = task is None or task.state == "cancelled"
        if xgboost_engine.across_machines(np.array([float(is_dropped)]), "max")[0]:
            raise _UnwantedError
