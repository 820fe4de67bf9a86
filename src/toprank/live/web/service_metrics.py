"""Figures of the service for Prometheus, in a registry of their own.

What happens per request is counted when it happens; what the engine knows is read when asked for.
"""

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from toprank.live.messages import Answer
from toprank.live.monitor.alarm_readings import Answers
from toprank.payments.features.past import LabelCounts

CONTENT_TYPE = CONTENT_TYPE_LATEST
SECONDS = (
    0.0005, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.009, 0.01, 0.015,
    0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
)  # fmt: skip
"""Fine between 1 and 10 ms, where the promise of a decision is."""

_LONGEST = 60.0  # seconds that are written for whatever takes longer than the last bound
_GAUGES = {
    "position": ("toprank_log_position", "Number of the newest payment in the log."),
    "waiting": ("toprank_waiting_payments", "Payments that wait for their decision."),
    "unscored": ("toprank_unscored_payments", "Payments that wait for the model."),
    "lag": ("toprank_scoring_lag_seconds", "Time that the first of them has waited."),
    "shadow_skipped": (
        "toprank_shadow_skipped_payments",
        "Payments that the challenger has skipped since it was loaded.",
    ),
    "open_alerts": ("toprank_open_alerts", "Cards on the list."),
    "opened_alerts": ("toprank_opened_alerts", "Alerts opened since the start."),
}
"""The facts of the engine that are figures."""


class ServiceMetrics:
    """Counts requests, decisions and errors; `text` is what Prometheus reads."""

    def __init__(self, facts: Callable[[], dict[str, Any]]) -> None:
        self._asked: dict[str, list[int]] = {}
        self._registry = CollectorRegistry()
        self._registry.register(_EngineGauges(facts))
        self._seconds = Histogram(
            "toprank_request_seconds", "Time from a request's headers to the end of its answer.",
            ["route"], buckets=SECONDS, registry=self._registry,
        )  # fmt: skip
        self._requests = Counter(
            "toprank_requests", "Requests by route and status.", ["route", "status"],
            registry=self._registry,
        )  # fmt: skip
        self._errors = Counter(
            "toprank_errors", "Requests that got an error, by its code.", ["code"],
            registry=self._registry,
        )  # fmt: skip
        self._decisions = Counter(
            "toprank_decisions", "Payments decided, by decision.", ["decision"],
            registry=self._registry,
        )  # fmt: skip
        self._repeated = Counter(
            "toprank_repeated_payments", "Payments that had come before.", registry=self._registry
        )
        self._rules = Counter(
            "toprank_rule_blocks", "Payments that a rule blocked, by rule.", ["rule"],
            registry=self._registry,
        )  # fmt: skip
        self._labels = Counter(
            "toprank_labels", "Labels given, by what became of them.", ["outcome"],
            registry=self._registry,
        )  # fmt: skip
        self._rejects = Counter(
            "toprank_stream_rejects", "Messages of streams that could not be taken in.",
            ["stream"], registry=self._registry,
        )  # fmt: skip
        self._connected = Gauge(
            "toprank_stream_connected", "Whether a stream can be read or written to.", ["stream"],
            registry=self._registry,
        )  # fmt: skip
        self._known: dict[Any, Any] = {}

    def saw_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._child(self._seconds, route).observe(seconds)
        self._child(self._requests, route, str(status)).inc()

    def saw_error(self, code: str) -> None:
        """Count an error."""
        self._child(self._errors, code).inc()

    def saw_answers(self, answers: list[Answer]) -> None:
        """Count decisions; those of payments that came again only as repeated."""
        for answer in answers:
            if answer.is_repeated:
                self._repeated.inc()
                continue
            self._child(self._decisions, answer.decision).inc()
            for rule in answer.rules:
                self._child(self._rules, rule).inc()

    def saw_labels(self, counts: LabelCounts) -> None:
        """Count labels."""
        for outcome in ("new", "corrected", "known", "overruled", "unknown"):
            self._child(self._labels, outcome).inc(getattr(counts, f"n_{outcome}"))

    def saw_rejects(self, stream: str, n_rejects: int) -> None:
        """Count messages of a stream that were rejected."""
        self._child(self._rejects, stream).inc(n_rejects)

    def saw_connection(self, stream: str, is_there: bool) -> None:
        """Take in whether a stream can be read or written to."""
        self._child(self._connected, stream).set(is_there)

    def latencies(self, route: str) -> list[tuple[float, int]]:
        """Return how many answers of a route took at most so many seconds, and no less bound."""
        found = [
            (float(sample.labels["le"]), int(sample.value))
            for metric in self._seconds.collect()
            for sample in metric.samples
            if sample.name.endswith("_bucket") and sample.labels["route"] == route
        ]
        found.sort()
        before = [0, *(count for _, count in found)]
        return [(bound, count - less) for (bound, count), less in zip(found, before, strict=False)]

    def answers(self, route: str) -> Answers:
        """Return how many answers of a route there were, and within what time 99 % of them came.

        They are those since the last time this was asked, so that one bad hour does not hide
        behind good weeks, nor last for ever.
        """
        now = self.latencies(route)
        before = self._asked.get(route) or [0] * len(now)
        self._asked[route] = [count for _, count in now]
        counts = [(bound, count - old) for (bound, count), old in zip(now, before, strict=True)]
        n, below = sum(count for _, count in counts), 0
        for bound, count in counts if n else ():
            below += count
            if below >= 0.99 * n:
                return Answers(n, min(bound, _LONGEST))
        return Answers(0, 0.0)

    def text(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        return generate_latest(self._registry)

    def _child(self, metric: Any, *labels: str) -> Any:
        """Return the figure with these labels; `labels` itself takes longer than counting."""
        key = (metric, *labels)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = metric.labels(*labels)
        return found


class _EngineGauges:
    """What the engine says of itself, asked for when the figures are read."""

    def __init__(self, facts: Callable[[], dict[str, Any]]) -> None:
        self._facts = facts

    def describe(self) -> list[Any]:
        """Return nothing: the engine is not asked before it has started."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield the figures that the engine has."""
        facts = self._facts()
        for key, (name, says) in _GAUGES.items():
            if key in facts:
                yield GaugeMetricFamily(name, says, value=facts[key])
        info = {key: str(facts[key]) for key in ("model", "rule_set") if key in facts}
        if info:
            yield InfoMetricFamily("toprank_engine", "Model and rules that decide.", value=info)
