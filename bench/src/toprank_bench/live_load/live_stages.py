"""All stages, in the order in which they run."""

from collections.abc import Iterable

from toprank.data import checks
from toprank_bench.live_load import (
    answer_times,
    batch_speed,
    batch_twin,
    broken_requests,
    load_check,
    restarts,
    rule_stages,
)
from toprank_bench.live_load.live_stage import LiveStage
from toprank_bench.live_load.live_world import WorldSize

FULL_WORLD = WorldSize(n_cards=20_000, n_days=45, n_later=8, n_trees=100)
QUICK_WORLD = WorldSize(n_cards=300, n_days=40, n_later=10, n_trees=30)

_LOAD = {"rate": 100, "seconds": 60, "connections": 64}
_QUICK_LOAD = {"rate": 50, "seconds": 3}
_RULE = "amount > 5 * card_mean_amount_30d_before AND channel = 'online'"

STAGES = (
    LiveStage(
        "generator", "The load alone, against a server that answers at once",
        load_check.generator, {"rate": 2_000, "seconds": 30, "connections": 64},
        {"rate": 200, "seconds": 2}, 0.6,
    ),
    LiveStage(
        "latency", "Answers at 100 payments/s, one by one", answer_times.latency, _LOAD,
        _QUICK_LOAD, 1.5,
    ),
    LiveStage(
        "sustained", "Answers at growing rates, one by one", answer_times.sustained,
        {"rates": [300, 500, 800, 1_000], "seconds": 30, "connections": 64, "most_ms": 10,
         "most_lag": 5},
        {"rates": [50, 100], "seconds": 3}, 4,
    ),
    LiveStage(
        "batches", "Requests of 1,000 payments, one after the other", batch_speed.batches,
        {"size": 1_000, "batches": 100}, {"size": 200, "batches": 5}, 1.5,
    ),
    LiveStage(
        "alert", "From a payment to its card on the list, at 100 payments/s",
        answer_times.alert, _LOAD, _QUICK_LOAD, 1.5,
    ),
    LiveStage(
        "forgetting", "Answers when the oldest payments are forgotten, once a day",
        answer_times.forgetting, {**_LOAD, "seconds": 20}, {"rate": 20, "seconds": 3}, 1,
    ),
    LiveStage(
        "start", "From the start of the process until it is ready", restarts.start,
        {"tail": 200_000}, {"tail": 2_000}, 4,
    ),
    LiveStage(
        "large-start", "The start of a server that remembers 20 million payments",
        restarts.large_start, {"more": 18_253_812}, {"more": 5_000}, 8,
    ),
    LiveStage(
        "kills", "SIGKILL at random moments under load", restarts.kills,
        {"kills": 20, "rate": 200, "longest": 3}, {"kills": 2, "rate": 50, "longest": 1}, 6,
    ),
    LiveStage(
        "live-equals-batch", "Payments sent to the server, and the same as one table",
        batch_twin.live_equals_batch, {"payments": 100_000}, {"payments": 2_000}, 3,
    ),
    LiveStage(
        "broken", "Broken requests", broken_requests.broken, {"bodies": 2_000, "examples": 60},
        {"bodies": 150, "examples": 3}, 2,
    ),
    LiveStage(
        "breaker", "A rule that blocks every payment, at 100 payments/s", rule_stages.breaker,
        {"rate": 100, "seconds": 10}, {"rate": 100, "seconds": 3}, 0.5,
    ),
    LiveStage(
        "hostile-rules", "Texts of rules that try to run something",
        rule_stages.hostile_rules, {"texts": 500}, {"texts": 500}, 0.1,
    ),
    LiveStage(
        "backtest", "One rule over all stored payments", rule_stages.backtest, {"rule": _RULE},
        {}, 0.3,
    ),
    LiveStage(
        "score-one", "One payment scored with 5 reasons, in process", rule_stages.score_one,
        {"payments": 2_000}, {"payments": 200}, 0.2,
    ),
)  # fmt: skip


def chosen_stages(names: Iterable[str] = ()) -> list[LiveStage]:
    """Return the stages of these names, in order; all if none is named.

    >>> [stage.name for stage in chosen_stages(["start", "latency"])]
    ['latency', 'start']
    """
    known = tuple(stage.name for stage in STAGES)
    chosen = list(names)
    for name in chosen:
        checks.one_of(name, "--only", known)
    return [stage for stage in STAGES if not chosen or stage.name in chosen]
