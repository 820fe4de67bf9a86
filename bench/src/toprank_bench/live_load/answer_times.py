"""How long payments wait for their answers, and cards for their alerts, under a steady load."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.live.desk_settings import DeskSettings
from toprank.live.web.api_description import MOST_ALERTS
from toprank_bench.live_load.live_figures import LiveFigure, StageOutcome
from toprank_bench.live_load.live_stage import StageSetting
from toprank_bench.live_load.live_world import TEST_AMOUNT, encoded
from toprank_bench.live_load.open_loop import Due, OpenLoop, Reply, on_core, poisson_times
from toprank_bench.live_load.open_loop import request_bytes as request
from toprank_bench.live_load.senders import post_batch, wait_until_scored
from toprank_bench.live_load.served_process import ServedProcess, gauges_in
from toprank_bench.live_load.trivial_replies import quantiles, trivial_replies

WARM_UP = 5.0  # seconds whose answers do not count
_N_FIRST = 500  # payments before the load
_LAST_HOUR = 23
_METRICS, _ALERTS, _SUSPECT = "metrics", "alerts", "suspect"
_POLLS_PER_SECOND, _SUSPECTS_PER_SECOND = 5, 4
_MS = 1e3
_COMPUTING = 1.0  # milliseconds, about what a payment takes: the floor of this machine


class LoadRun(NamedTuple):
    """The replies after the warm-up, the engine's gauges of every second, and plain facts."""

    payments: list[Reply]
    tagged: list[Reply]
    gauges: list[dict[str, float]]
    facts: dict[str, Any]

    @property
    def milliseconds(self) -> NDArray[np.float64]:
        """The time of each payment; one that was lost or refused counts as endless."""
        return _MS * np.array(
            [each.seconds if each.status == 200 else np.inf for each in self.payments]
        )


def latency(setting: StageSetting) -> StageOutcome:
    """Measure answers one by one at a moderate rate."""
    rate, seconds = setting.options["rate"], setting.options["seconds"]
    run = _load(setting, rate, seconds)
    p50, p99, p999, most = quantiles(run.milliseconds)
    replies = trivial_replies(setting, rate, seconds, _COMPUTING)
    floor = quantiles(_MS * np.array([each.seconds for each in replies]))
    names = ("p50", "p99", "p99.9", "longest")
    return StageOutcome(
        [
            LiveFigure("p50", p50, "ms"),
            LiveFigure("p99", p99, "ms", at_most=5),
            LiveFigure("p99.9", p999, "ms", at_most=10),
            LiveFigure("longest", most, "ms"),
            *(
                LiveFigure(f"a server that computes for {_COMPUTING:g} ms: {name}", value, "ms")
                for name, value in zip(names, floor, strict=True)
            ),
        ],
        run.facts,
    )


def sustained(setting: StageSetting) -> StageOutcome:
    """Measure answers one by one at growing rates, and what is left waiting at their ends."""
    figures, facts, best = [], {}, 0
    for rate in setting.options["rates"]:
        run = _load(setting, rate, setting.options["seconds"], name=f"desk-{rate}")
        p50, p99, p999, _ = quantiles(run.milliseconds)
        last = run.gauges[-1]
        figures += [
            LiveFigure(f"{rate}/s: p50", p50, "ms"),
            LiveFigure(f"{rate}/s: p99", p99, "ms"),
            LiveFigure(f"{rate}/s: p99.9", p999, "ms"),
            LiveFigure(f"{rate}/s: scores behind at the end", last["scoring_lag_seconds"], "s"),
            LiveFigure(f"{rate}/s: not scored at the end", last["unscored_payments"], "payments"),
        ]
        facts[str(rate)] = run.facts
        is_bounded = last["scoring_lag_seconds"] <= setting.options["most_lag"]
        best = rate if p99 <= setting.options["most_ms"] and is_bounded else best
    limit = f"highest rate with p99 ≤ {setting.options['most_ms']} ms"
    return StageOutcome([LiveFigure(limit, best, "payments/s", at_least=500), *figures], facts)


def alert(setting: StageSetting) -> StageOutcome:
    """Measure the time until a suspicious payment's card is on the list, under load."""
    rate, seconds = setting.options["rate"], setting.options["seconds"]
    key = setting.world.key
    polls = np.arange(0, WARM_UP + seconds + 5, 1 / _POLLS_PER_SECOND)
    # rules alone list these cards, so they come after those that the model finds suspicious
    path = f"/v1/alerts?limit={MOST_ALERTS}"
    extra = [Due(at, request("GET", path, key), _ALERTS) for at in polls]
    template = setting.world.bodies(_N_FIRST)[-1]
    suspects = WARM_UP + np.arange(0, seconds, 1 / _SUSPECTS_PER_SECOND)
    for number, at in enumerate(suspects):
        body = template | {
            "payment": f"suspect{number}", "card": f"suspect-{number}.", "amount": TEST_AMOUNT
        }  # fmt: skip
        extra.append(Due(at, request("POST", "/v1/payments", key, encoded(body)), _SUSPECT))
    run = _load(setting, rate, seconds, extra)
    seen = _seen_at([each for each in run.tagged if each.tag == _ALERTS])
    waits = np.array([seen.get(number, np.inf) - at for number, at in enumerate(suspects)])
    p50, p99, _, most = quantiles(waits)
    return StageOutcome(
        [
            LiveFigure("p50", p50, "s"),
            LiveFigure("p99", p99, "s", at_most=1),
            LiveFigure("longest", most, "s"),
        ],
        run.facts | {"suspects": len(waits), "polls_per_second": _POLLS_PER_SECOND},
    )


def forgetting(setting: StageSetting) -> StageOutcome:
    """Measure the longest answer when the oldest payments are forgotten, once a day."""
    n_before = _n_before_purge(setting)
    run = _load(setting, setting.options["rate"], setting.options["seconds"], n_before=n_before)
    return StageOutcome(
        [LiveFigure("longest answer", float(run.milliseconds.max()), "ms")], run.facts
    )


def _load(
    setting: StageSetting, rate: float, seconds: float, extra: Iterable[Due] = (),
    name: str = "desk", n_before: int | None = None,
) -> LoadRun:  # fmt: skip
    """Send payments one by one at a rate, with other requests among them.

    Days pass faster here than they do. So nothing is forgotten meanwhile, unless payments begin
    after `n_before` others, just before that happens.
    """
    key = setting.world.key
    times = np.concatenate(
        [
            poisson_times(rate, WARM_UP, setting.seed),
            poisson_times(rate, seconds, setting.seed + 1, start=WARM_UP),
        ]
    )
    settings = {"purge_hour": _LAST_HOUR} if n_before is None else {}
    n_before = _N_FIRST if n_before is None else n_before
    bodies = setting.world.bodies(n_before + len(times))
    due = [
        Due(at, request("POST", "/v1/payments", key, encoded(body)))
        for at, body in zip(times, bodies[n_before:], strict=True)
    ]
    due += [
        Due(at, request("GET", "/metrics", key), _METRICS)
        for at in np.arange(WARM_UP, WARM_UP + seconds + 1)
    ]
    with setting.served(setting.new_desk(name, **settings)) as server:
        for start in range(0, n_before, _N_FIRST):
            post_batch(server.address, key, bodies[start : min(start + _N_FIRST, n_before)])
        wait_until_scored(server, key)
        with on_core(setting.load_core):
            before = server.processor_seconds()
            replies = OpenLoop(server.address, setting.options["connections"]).run([*due, *extra])
            used = server.processor_seconds() - before
        facts = _facts(replies, server, used / (WARM_UP + seconds))
    kept = [each for each in replies if each.due >= WARM_UP]
    gauges = [gauges_in(each.body) for each in kept if each.tag == _METRICS and each.body]
    return LoadRun(
        [each for each in kept if not each.tag], [each for each in kept if each.tag], gauges, facts
    )


def _facts(replies: Sequence[Reply], server: ServedProcess, cores: float) -> dict[str, Any]:
    late = np.array([each.sent - each.due for each in replies if not np.isnan(each.sent)])
    return {
        "statuses": dict(Counter(str(each.status) for each in replies)),
        "sent_late_ms_p99": round(_MS * float(np.quantile(late, 0.99)), 3),
        "server_cores": round(cores, 3),
        "server_megabytes": round(server.resident_megabytes(), 1),
    }


def _n_before_purge(setting: StageSetting) -> int:
    """Return how many payments come before the load, so that all but a few seconds of it follow
    the hour at which old payments are forgotten.
    """
    paid_at = setting.world.later()["paid_at"].to_numpy()
    first_day = paid_at[0].astype("datetime64[D]")
    hour = first_day + np.timedelta64(DeskSettings().purge_hour, "h")
    n_due = int(np.count_nonzero(paid_at < hour))
    return max(n_due - round(setting.options["rate"] * (WARM_UP + 1)), 1)


def _seen_at(polls: Sequence[Reply]) -> dict[int, float]:
    """Return when the card of each suspect was first on the list."""
    seen: dict[int, float] = {}
    for poll in sorted(polls, key=lambda each: each.done):
        for number in re.findall(rb"suspect-(\d+)\.", poll.body):
            seen.setdefault(int(number), poll.done)
    return seen
