"""The trials by name: what each measures, on which data, and what it needs."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from toprank_bench.protocols.protocol import TrialOutcome
from toprank_bench.trials import (
    attack,
    card_loss,
    convergence,
    feedback_ways,
    fit_speed,
    hostile_days,
    hostile_labeller,
    late_labels,
    latents,
    lifelong,
    months,
    promise_under_drift,
    recall_coverage,
    served_days,
    store_cost,
    stream_crashes,
    stream_memory,
    tree_size,
    two_workers,
    undersampling_curves,
    warm_start,
    yield_coverage,
)


class Trial(NamedTuple):
    """A function `(data, seed, folder, **parameters)` and the metrics it returns.

    `data` are the names it takes; none means that it takes the names of data sets.
    """

    measure: Callable[..., TrialOutcome]
    metrics: Collection[str]
    data: Collection[str] = ()


TRIALS: dict[str, Trial] = {
    "attack": Trial(attack.attack, attack.METRICS, attack.CLASSES),
    "card-loss": Trial(card_loss.card_loss, card_loss.METRICS, card_loss.DATA),
    "convergence": Trial(convergence.convergence, convergence.METRICS),
    "feedback-ways": Trial(
        feedback_ways.feedback_ways, feedback_ways.METRICS, feedback_ways.PATTERNS
    ),
    "fit-speed": Trial(fit_speed.fit_speed, fit_speed.METRICS, fit_speed.DATA),
    "hostile-days": Trial(hostile_days.hostile_days, hostile_days.METRICS, served_days.DATA),
    "hostile-labeller": Trial(
        hostile_labeller.hostile_labeller, hostile_labeller.METRICS, hostile_labeller.DATA
    ),
    "late-labels": Trial(late_labels.late_labels, late_labels.METRICS),
    "latents": Trial(latents.latents, latents.METRICS),
    "lifelong": Trial(lifelong.lifelong, lifelong.METRICS, lifelong.DATA),
    "months": Trial(months.months, months.METRICS, months.DATA),
    "promise-under-drift": Trial(
        promise_under_drift.promise_under_drift,
        promise_under_drift.METRICS,
        promise_under_drift.DATA,
    ),
    "recall-coverage": Trial(
        recall_coverage.recall_coverage, recall_coverage.METRICS, recall_coverage.DATA
    ),
    "served-days": Trial(served_days.served_days, served_days.METRICS, served_days.DATA),
    "store-cost": Trial(store_cost.store_cost, store_cost.METRICS, store_cost.DATA),
    "stream-crashes": Trial(
        stream_crashes.stream_crashes, stream_crashes.METRICS, stream_crashes.DATA
    ),
    "stream-memory": Trial(stream_memory.stream_memory, stream_memory.METRICS, stream_memory.DATA),
    "tree-size": Trial(tree_size.tree_size, tree_size.METRICS),
    "two-workers": Trial(two_workers.two_workers, two_workers.METRICS, two_workers.LOSSES),
    "undersampling-curves": Trial(
        undersampling_curves.undersampling_curves, undersampling_curves.METRICS
    ),
    "warm-start": Trial(warm_start.warm_start, warm_start.METRICS, warm_start.DATA),
    "yield-coverage": Trial(
        yield_coverage.yield_coverage, yield_coverage.METRICS, yield_coverage.DATA
    ),
}
